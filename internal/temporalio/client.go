package temporalio

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/workflows"
)

// Options say how to reach Temporal.
type Options struct {
	// Address is host:port of the frontend; client.DefaultHostPort when empty.
	Address string
	// Namespace is "default" when empty.
	Namespace string
	// Master encrypts payloads and makes pseudonyms; required.
	Master *secret.Master
	// Logger receives the SDK's warnings; nothing when nil.
	Logger *slog.Logger
}

// ClientOptions are the SDK's options for o: encryption of payloads and
// failures is not optional.
func ClientOptions(o Options) client.Options {
	logger := o.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return client.Options{
		HostPort:         cmp.Or(o.Address, client.DefaultHostPort),
		Namespace:        cmp.Or(o.Namespace, client.DefaultNamespace),
		DataConverter:    DataConverter(o.Master),
		FailureConverter: FailureConverter(o.Master),
		Logger:           log.NewStructuredLogger(logger),
		ConnectionOptions: client.ConnectionOptions{
			// Payloads are encrypted: the SDK's default, gzip, finds nothing to
			// shorten in them and took a tenth of the worker's and of the
			// server's processor time.
			GrpcCompression: &client.GrpcCompressionNone{},
		},
	}
}

// Dial connects to Temporal.
func Dial(ctx context.Context, o Options) (client.Client, error) {
	c, err := client.DialContext(ctx, ClientOptions(o))
	if err != nil {
		return nil, memory.Wrap(memory.CodeUnavailable, err, "reach Temporal at %s (is it running? `make up` starts one; set TEMPORAL_ADDRESS for yours)", cmp.Or(o.Address, client.DefaultHostPort))
	}
	return c, nil
}

// Turns is the client side of turns. Its zero value is not usable.
type Turns struct {
	Client client.Client
	Master *secret.Master
}

// WorkflowID is the id of the workflow of a request's turn.
func (t Turns) WorkflowID(r memory.Request) string {
	return workflows.TurnWorkflowID(t.Master.Tenant(r.Tenant), t.Master.User(r.Scope),
		t.Master.Conversation(r.Scope, r.Conversation), t.Master.Key(r.Scope, r.Conversation, r.IdempotencyKey))
}

// options are those to start the request's turn with.
func (t Turns) options(r memory.Request) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID:        t.WorkflowID(r),
		TaskQueue: workflows.QueueTurns,
		// A running turn is attached to; a finished one is never run again, a
		// failed one may be.
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		WorkflowExecutionTimeout: workflows.TurnTimeout(),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.AttributeTenant.ValueSet(t.Master.Tenant(r.Tenant)),
			workflows.AttributeUser.ValueSet(t.Master.User(r.Scope)),
			workflows.AttributeConversation.ValueSet(t.Master.Conversation(r.Scope, r.Conversation)),
			workflows.AttributePhase.ValueSet(string(r.Mode)),
		),
		StaticSummary: string(r.Mode) + " turn",
		Priority:      temporal.Priority{PriorityKey: 1, FairnessKey: t.Master.Tenant(r.Tenant)},
	}
}

// Reply runs the request's turn, or attaches to it when it runs or ran before,
// and returns its reply. The request must be valid and have an idempotency
// key. Errors are *memory.Error.
func (t Turns) Reply(ctx context.Context, r memory.Request) (memory.Reply, error) {
	ctx, stop := t.watchForWorkers(ctx)
	defer stop()
	digest := r.Digest()
	start := t.Client.NewWithStartWorkflowOperation(t.options(r), workflows.TypeTurn,
		workflows.TurnInput{Request: r, Digest: digest})
	handle, err := t.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			// The digest in the update's id: the same request attaches to the
			// same update, another one is validated (and refused) on its own.
			UpdateID:     workflows.UpdateReply + "-" + digest,
			UpdateName:   workflows.UpdateReply,
			Args:         []any{workflows.Ask{Digest: digest}},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	var reply memory.Reply
	if err == nil {
		err = handle.Get(ctx, &reply)
	}
	if err == nil {
		return reply, nil
	}
	if isClosed(err) {
		receipt, err := t.Receipt(ctx, r)
		return receipt.Reply, err
	}
	return memory.Reply{}, errorOf(ctx, err)
}

// Receipt waits for the request's turn to end and returns its receipt. The
// turn must have been started.
func (t Turns) Receipt(ctx context.Context, r memory.Request) (memory.Receipt, error) {
	var receipt memory.Receipt
	if err := t.Client.GetWorkflow(ctx, t.WorkflowID(r), "").Get(ctx, &receipt); err != nil {
		return memory.Receipt{}, errorOf(ctx, err)
	}
	if receipt.RequestDigest != r.Digest() {
		return memory.Receipt{}, memory.Errorf(memory.CodeConflict, "the idempotency key was used before with another request")
	}
	return receipt, nil
}

// noWorkerAfter is how long a turn waits before its caller asks whether anybody
// serves turns at all.
const noWorkerAfter = 3 * time.Second

// watchForWorkers returns a context that ends, with a cause that says so, when
// after a while no worker has polled the turns' queue in the last minutes.
// Otherwise a caller would wait out its whole time without knowing why.
func (t Turns) watchForWorkers(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	timer := time.AfterFunc(noWorkerAfter, func() {
		queue, err := t.Client.DescribeTaskQueue(ctx, workflows.QueueTurns, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
		if err == nil && len(queue.GetPollers()) == 0 {
			cancel(memory.Errorf(memory.CodeUnavailable, "no worker serves the task queue %q; start lightmem-worker (`make demo` runs one); "+
				"the turn is accepted and runs as soon as there is one", workflows.QueueTurns))
		}
	})
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// GiveAnswer hands in the caller's own answer of a ModeCaller turn. Giving the
// same answer again changes nothing; another one is a conflict, and so is one
// for a turn that does not wait for any.
func (t Turns) GiveAnswer(ctx context.Context, workflowID, text string) (memory.TurnID, error) {
	digest := sha256.Sum256([]byte(text))
	handle, err := t.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: workflows.UpdateCallerAnswer,
		// Another text is another update, which the workflow judges.
		UpdateID: workflows.UpdateCallerAnswer + "-" + hex.EncodeToString(digest[:16]),
		Args:     []any{workflows.CallerAnswer{Text: text}}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	var id memory.TurnID
	if err == nil {
		err = handle.Get(ctx, &id)
	}
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		if _, derr := t.Client.DescribeWorkflow(ctx, workflowID, ""); derr == nil {
			return "", memory.Wrap(memory.CodeConflict, err, "this turn is over and does not wait for an answer")
		}
		return "", memory.Wrap(memory.CodeNotFound, err, "no such turn")
	}
	return id, errorOf(ctx, err)
}

// isClosed reports that the workflow ended before, or while, it was asked.
func isClosed(err error) bool {
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return true
	}
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return true
	}
	var multi *serviceerror.MultiOperationExecution
	if errors.As(err, &multi) {
		for _, e := range multi.OperationErrors() {
			if e != nil && temporal.IsWorkflowExecutionAlreadyStartedError(e) {
				return true
			}
		}
	}
	return false
}

// errorOf turns what the SDK returns into a memory.Error.
func errorOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var known *memory.Error
	if errors.As(context.Cause(ctx), &known) {
		return known
	}
	if ctx.Err() != nil {
		return memory.Wrap(memory.CodeUnavailable, err, "no answer in time; the turn goes on, and the same idempotency key gives its result")
	}
	var unavailable *serviceerror.Unavailable
	var deadline *serviceerror.DeadlineExceeded
	var late *client.WorkflowUpdateServiceTimeoutOrCanceledError
	if errors.As(err, &unavailable) || errors.As(err, &deadline) || errors.As(err, &late) {
		return memory.Wrap(memory.CodeUnavailable, err, "Temporal does not answer; send the request again with the same idempotency key")
	}
	var refused *serviceerror.InvalidArgument
	if errors.As(err, &refused) {
		return memory.Wrap(memory.CodeInternal, err, "Temporal refuses the turn; does its namespace have the search attributes MemTenant, MemUser, MemConversation, MemPhase and MemOutcome (all Keyword)?")
	}
	var namespace *serviceerror.NamespaceNotFound
	if errors.As(err, &namespace) {
		return memory.Wrap(memory.CodeUnavailable, err, "Temporal has no such namespace; set TEMPORAL_NAMESPACE, or make it")
	}
	if strings.Contains(err.Error(), encodedFailure) {
		return memory.Wrap(memory.CodeInternal, err, "the worker's messages cannot be read: it runs with another master key (master_key_file must be the same for every process)")
	}
	return activities.ErrorOf(err)
}

// encodedFailure is what the SDK leaves of a failure's message when its
// encrypted attributes cannot be decrypted.
const encodedFailure = "Encoded failure"

// DialTimeout is how long Dial should be given at most.
const DialTimeout = 10 * time.Second
