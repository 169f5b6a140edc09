// Package workflows holds the durable stories that LightMem tells: a turn, and
// the filling in of missing vectors. Workflow code decides and orders; every
// side effect is in package activities.
package workflows

import (
	"errors"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/memory"
)

// TurnInput starts a turn.
type TurnInput struct {
	Request memory.Request `json:"request"`
	// Digest is Request.Digest, taken by the caller's side.
	Digest string `json:"digest"`
}

// Ask is the argument of UpdateReply.
type Ask struct {
	// Digest must be the turn's own: a second request with the same idempotency
	// key but another body is refused, not answered with the first one's reply.
	Digest string `json:"digest"`
}

// CallerAnswer is the argument of UpdateCallerAnswer.
type CallerAnswer struct {
	Text string `json:"text"`
}

// Turn is one durable turn (spec section 2; Algorithm 1 and 2 of the paper):
// plan, coarse retrieval, selection, answer; then, when the caller has its
// reply, write. UpdateReply returns the reply as soon as it is there; the
// workflow's result is the receipt with every effect on memory.
func Turn(ctx workflow.Context, in TurnInput) (memory.Receipt, error) {
	t := &turn{in: in, phase: "open"}
	if err := t.setup(ctx); err != nil {
		return memory.Receipt{}, err
	}
	receipt, err := t.run(ctx)
	t.finish(ctx, err)
	// The reply's waiters are answered before the workflow ends; nobody's
	// request is cut off by its completion.
	if werr := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); werr != nil {
		return memory.Receipt{}, werr
	}
	return receipt, err
}

// turn is the state of one run of Turn.
type turn struct {
	in    TurnInput
	phase string

	reply   memory.Reply
	replied bool
	failure error

	// waiting says that the turn waits for the caller's own answer, which
	// callerAnswer is once it came.
	waiting      bool
	callerAnswer *string
	degraded     []memory.Degraded
}

var turns *activities.Turn // typed references to activities; never called

// setup registers the handlers, before anything blocks: an update that comes
// with the start must find them.
func (t *turn) setup(ctx workflow.Context) error {
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateReply,
		func(ctx workflow.Context, _ Ask) (memory.Reply, error) {
			if err := workflow.Await(ctx, func() bool { return t.replied }); err != nil {
				return memory.Reply{}, err
			}
			return t.reply, t.failure
		},
		workflow.UpdateHandlerOptions{Validator: func(_ workflow.Context, a Ask) error {
			if a.Digest != t.in.Digest {
				return activities.Failure(memory.Errorf(memory.CodeConflict,
					"the idempotency key was used before with another request"))
			}
			return nil
		}})
	if err != nil {
		return err
	}
	err = workflow.SetUpdateHandlerWithOptions(ctx, UpdateCallerAnswer,
		func(_ workflow.Context, a CallerAnswer) (memory.TurnID, error) {
			t.callerAnswer = &a.Text
			return t.reply.TurnID, nil
		},
		workflow.UpdateHandlerOptions{Validator: func(_ workflow.Context, a CallerAnswer) error {
			switch {
			case t.callerAnswer != nil && *t.callerAnswer == a.Text:
				return nil // the same answer again
			case t.callerAnswer != nil:
				return activities.Failure(memory.Errorf(memory.CodeConflict, "this turn already has another answer"))
			case !t.waiting:
				return activities.Failure(memory.Errorf(memory.CodeConflict, "this turn does not wait for the caller's answer"))
			case strings.TrimSpace(a.Text) == "" || len(a.Text) > memory.MaxTextBytes:
				return activities.Failure(memory.Invalid("text", "must have between 1 and %d bytes", memory.MaxTextBytes))
			}
			return nil
		}})
	if err != nil {
		return err
	}
	return workflow.SetQueryHandler(ctx, QueryPhase, func() (string, error) { return t.phase, nil })
}

// run is the story of a turn.
func (t *turn) run(ctx workflow.Context) (memory.Receipt, error) {
	opened, done, err := t.open(ctx)
	if err != nil {
		return memory.Receipt{}, t.fail(err)
	}
	if done != nil && !done.Unfinished { // the same request, before this namespace forgot it
		t.release(done.Reply)
		return *done, nil
	}

	answered := memory.Answered{Selected: memory.Selected{Retrieved: memory.Retrieved{Planned: memory.Planned{Turn: opened}}}}
	switch {
	case done != nil: // an earlier run replied and then failed: nobody is asked again
		answered = restored(opened, done.Reply)
	case opened.Mode != memory.ModeRemember:
		planned, err := t.plan(ctx, opened)
		if err != nil {
			return memory.Receipt{}, t.fail(err)
		}
		retrieved, err := t.retrieve(ctx, planned)
		if err != nil {
			return memory.Receipt{}, t.fail(err)
		}
		selected, err := t.choose(ctx, retrieved)
		if err != nil {
			return memory.Receipt{}, t.fail(err)
		}
		if answered, err = t.answer(ctx, selected); err != nil {
			return memory.Receipt{}, t.fail(err)
		}
	}

	if done == nil {
		if err := t.record(withLocal(ctx), answered); err != nil {
			return memory.Receipt{}, t.fail(err)
		}
	}
	t.degraded = answered.Degraded
	t.release(replyOf(answered)) // the caller has its answer here

	switch {
	case opened.Mode == memory.ModeRecall:
		return t.receipt(answered, nil), nil
	case opened.Mode == memory.ModeCaller && answered.Answer.Text == "":
		given, err := t.waitForCaller(ctx, &answered)
		if err != nil || !given {
			return t.receipt(answered, nil), err
		}
	}
	return t.write(ctx, answered)
}

// open reads what the turn starts from.
func (t *turn) open(ctx workflow.Context) (memory.Turn, *memory.Receipt, error) {
	info := workflow.GetInfo(ctx)
	request := t.in.Request
	if request.At.IsZero() {
		request.At = info.WorkflowStartTime
	}
	start := activities.Opening{Turn: memory.Turn{
		Request:       request,
		ID:            memory.TurnIDFor(info.WorkflowExecution.ID, info.WorkflowStartTime),
		AcceptedAt:    info.WorkflowStartTime,
		RequestDigest: t.in.Digest,
		WorkflowID:    info.WorkflowExecution.ID,
		RunID:         info.WorkflowExecution.RunID,
	}}
	var opened activities.Opening
	err := workflow.ExecuteLocalActivity(withLocal(ctx), turns.Open, start).Get(ctx, &opened)
	return opened.Turn, opened.Done, err
}

// plan asks SLM-1 what to look for, and its rule when the model cannot say.
func (t *turn) plan(ctx workflow.Context, in memory.Turn) (planned memory.Planned, err error) {
	t.phase = "plan"
	if !in.Serving.ByRule(memory.RolePlan) {
		err = workflow.ExecuteActivity(withGPU(ctx, fairness(ctx)), turns.Plan, in).Get(ctx, &planned)
		if err == nil || canceled(err) {
			return planned, err
		}
		in.Degraded = append(in.Degraded, degraded(memory.RolePlan, err))
	}
	err = workflow.ExecuteLocalActivity(withLocal(ctx), turns.PlanByRule, in).Get(ctx, &planned)
	return planned, err
}

// retrieve finds at most 2K candidates; no model but the embedder is asked.
func (t *turn) retrieve(ctx workflow.Context, in memory.Planned) (out memory.Retrieved, err error) {
	t.phase = "retrieve"
	err = workflow.ExecuteLocalActivity(withLocal(ctx), turns.Retrieve, in).Get(ctx, &out)
	return out, err
}

// choose asks SLM-2 which candidates help, and its rule when the model cannot
// say. No candidates, nothing to ask.
func (t *turn) choose(ctx workflow.Context, in memory.Retrieved) (out memory.Selected, err error) {
	t.phase = "select"
	if len(in.Candidates) == 0 {
		out, _ = memory.Select(in, memory.Selection{Version: "none"})
		return out, nil
	}
	if !in.Serving.ByRule(memory.RoleSelect) {
		err = workflow.ExecuteActivity(withGPU(ctx, fairness(ctx)), turns.Select, in).Get(ctx, &out)
		if err == nil || canceled(err) {
			return out, err
		}
		in.Degraded = append(in.Degraded, degraded(memory.RoleSelect, err))
	}
	err = workflow.ExecuteLocalActivity(withLocal(ctx), turns.SelectByRule, in).Get(ctx, &out)
	return out, err
}

// answer makes y_t, unless the caller does or nobody asked.
func (t *turn) answer(ctx workflow.Context, in memory.Selected) (out memory.Answered, err error) {
	t.phase = "answer"
	switch {
	case in.Mode == memory.ModeRecall:
		return memory.Answered{Selected: in}, nil
	case in.Mode == memory.ModeCaller:
		return memory.Answered{Selected: in, Answer: memory.Answer{Text: in.AssistantText, Version: "caller"}}, nil
	case !in.Serving.ByRule(memory.RoleAnswer):
		err = workflow.ExecuteActivity(withAnswer(ctx, fairness(ctx)), turns.Answer, in).Get(ctx, &out)
		if err == nil || canceled(err) {
			return out, err
		}
		in.Degraded = append(in.Degraded, degraded(memory.RoleAnswer, err))
	}
	err = workflow.ExecuteLocalActivity(withLocal(ctx), turns.AnswerByRule, in).Get(ctx, &out)
	return out, err
}

// record puts the turn on record before anybody hears of it.
func (t *turn) record(local workflow.Context, in memory.Answered) error {
	t.phase = "record"
	return workflow.ExecuteLocalActivity(local, turns.Record, in).Get(local, nil)
}

// waitForCaller waits for the caller's own answer and puts it on record. It
// reports false when none came in time.
func (t *turn) waitForCaller(ctx workflow.Context, in *memory.Answered) (bool, error) {
	t.phase, t.waiting = "wait", true
	_, err := workflow.AwaitWithTimeout(ctx, callerAnswerWait, func() bool { return t.callerAnswer != nil })
	t.waiting = false
	if err != nil || t.callerAnswer == nil {
		return false, err
	}
	in.Answer = memory.Answer{Text: *t.callerAnswer, Version: "caller"}
	// What was acknowledged outlives an outage, unlike what a caller waits for.
	return true, workflow.ExecuteActivity(withWrite(ctx), turns.Record, *in).Get(ctx, nil)
}

// write lets SLM-3, or its rule, propose what to keep and commits the host's
// decisions. The caller no longer waits, so nothing here is hurried.
func (t *turn) write(ctx workflow.Context, in memory.Answered) (memory.Receipt, error) {
	t.phase = "write"
	var receipt memory.Receipt
	committed := false
	if !in.Serving.ByRule(memory.RoleWrite) && !in.Verbatim {
		var drafted memory.Drafted
		err := workflow.ExecuteActivity(withDraft(ctx, fairness(ctx)), turns.Draft, in).Get(ctx, &drafted)
		switch {
		case err == nil:
			if err := workflow.ExecuteActivity(withWrite(ctx), turns.Commit, drafted).Get(ctx, &receipt); err != nil {
				return memory.Receipt{}, err
			}
			in, committed = drafted.Answered, true
		case canceled(err):
			return memory.Receipt{}, err
		default:
			in.Degraded = append(in.Degraded, degraded(memory.RoleWrite, err))
		}
	}
	if !committed {
		if err := workflow.ExecuteActivity(withWrite(ctx), turns.WriteByRule, in).Get(ctx, &receipt); err != nil {
			return memory.Receipt{}, err
		}
	}
	if receipt.Degraded != nil {
		in.Degraded = receipt.Degraded
	}
	t.degraded = in.Degraded
	if receipt.Unembedded > 0 {
		t.startBackfill(ctx, in.Scope)
	}
	out := t.receipt(in, receipt.Written)
	out.Unembedded = receipt.Unembedded
	return out, nil
}

// startBackfill sees to it that missing vectors are filled in later. One that
// already runs for this user finds the new ones, too; in the moment between its
// last look and its end it may miss them, and then the user's next write
// without vectors starts another.
func (t *turn) startBackfill(ctx workflow.Context, scope memory.Scope) {
	id := embedWorkflowID(workflow.GetInfo(ctx).WorkflowExecution.ID)
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		TaskQueue:             QueueTurns,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	})
	started := workflow.ExecuteChildWorkflow(child, Embed, EmbedInput{Scope: scope}).GetChildWorkflowExecution()
	if err := started.Get(ctx, nil); err != nil && !temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		// The vectors stay missing until the user's next write; words still find them.
		workflow.GetLogger(ctx).Warn("start of embedding backfill failed", "embed_workflow_id", id)
	}
}

// release hands the reply to whoever waits for it.
func (t *turn) release(r memory.Reply) { t.reply, t.replied = r, true }

// fail hands the failure to whoever waits for the reply, and returns it.
func (t *turn) fail(err error) error {
	t.failure, t.replied = err, true
	return err
}

// finish marks the run for operators' lists.
func (t *turn) finish(ctx workflow.Context, err error) {
	outcome := "ok"
	switch {
	case err != nil:
		outcome = "failed"
	case len(t.degraded) > 0:
		outcome = "degraded"
	}
	if outcome == "ok" {
		return // the common case costs no visibility write
	}
	// The only failure is an attribute that the namespace lacks; the turn's
	// result must not depend on a list view.
	if uerr := workflow.UpsertTypedSearchAttributes(ctx, AttributeOutcome.ValueSet(outcome)); uerr != nil {
		workflow.GetLogger(ctx).Warn("marking the outcome failed", "outcome", outcome)
	}
}

func (t *turn) receipt(a memory.Answered, written []memory.Outcome) memory.Receipt {
	if written == nil {
		written = []memory.Outcome{}
	}
	return memory.Receipt{Reply: replyOf(a), Written: written, RequestDigest: t.in.Digest}
}

// replyOf is what the caller sees of a turn. Lists are never null in JSON.
func replyOf(a memory.Answered) memory.Reply {
	r := memory.Reply{
		TurnID: a.ID, WorkflowID: a.WorkflowID, RunID: a.RunID,
		Plan: a.Plan, Candidates: a.Candidates, Selected: a.Selection.Chosen,
		Answer: a.Answer.Text, Degraded: a.Degraded,
	}
	// Vectors are of no use to a caller and ten times the size of the rest.
	r.Plan.Queries = make([]memory.Query, len(a.Plan.Queries))
	for i, q := range a.Plan.Queries {
		q.Vector = nil
		r.Plan.Queries[i] = q
	}
	if r.Candidates == nil {
		r.Candidates = []memory.Candidate{}
	}
	if r.Selected == nil {
		r.Selected = []memory.Chosen{}
	}
	if r.Degraded == nil {
		r.Degraded = []memory.Degraded{}
	}
	return r
}

// restored is a turn as far as it is on record.
func restored(opened memory.Turn, r memory.Reply) memory.Answered {
	opened.ID, opened.Degraded = r.TurnID, r.Degraded
	var a memory.Answered
	a.Turn, a.Plan, a.Candidates = opened, r.Plan, r.Candidates
	a.Selection.Chosen, a.Answer = r.Selected, memory.Answer{Text: r.Answer, Version: "recorded"}
	return a
}

// degraded says why a role fell back to its rule.
func degraded(role memory.Role, err error) memory.Degraded {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		if timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START {
			return memory.Degraded{Role: role, Reason: memory.CodeUnavailable, Detail: "no free model slot in time"}
		}
		return memory.Degraded{Role: role, Reason: memory.CodeUnavailable, Detail: "no result in time"}
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) && memory.Code(app.Type()).Known() {
		return memory.Degraded{Role: role, Reason: memory.Code(app.Type()), Detail: app.Message()}
	}
	return memory.Degraded{Role: role, Reason: memory.CodeInternal}
}

func canceled(err error) bool { return temporal.IsCanceledError(err) }

// fairness is the tenant's pseudonym, taken from the workflow id.
func fairness(ctx workflow.Context) string {
	parts := strings.SplitN(workflow.GetInfo(ctx).WorkflowExecution.ID, "/", 3)
	if len(parts) < 3 || len(parts[1]) > 64 {
		return ""
	}
	return parts[1]
}

// EmbedInput starts the filling in of a user's missing vectors.
type EmbedInput struct {
	Scope memory.Scope `json:"scope"`
}

// Embed fills in the vectors of memories that were written while the embedding
// model was down. It ends when none is missing; at most one runs for a user.
func Embed(ctx workflow.Context, in EmbedInput) (int, error) {
	total := 0
	for range embedBatchesPerRun {
		var missing []activities.Unembedded
		err := workflow.ExecuteLocalActivity(withLocal(ctx), turns.Unembedded, in.Scope, embedBatch).Get(ctx, &missing)
		if err != nil || len(missing) == 0 {
			return total, err
		}
		var vectors activities.Embedded
		if err := workflow.ExecuteActivity(withBackfill(ctx, fairness(ctx)), turns.Embed, missing).Get(ctx, &vectors); err != nil {
			return total, err
		}
		if err := workflow.ExecuteLocalActivity(withLocal(ctx), turns.SetVectors, in.Scope, vectors).Get(ctx, nil); err != nil {
			return total, err
		}
		total += len(vectors.Vectors)
		if len(vectors.Vectors) == 0 {
			return total, nil // only such are left as the model never takes
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			break
		}
	}
	return total, workflow.NewContinueAsNewError(ctx, Embed, in)
}

// turnTimeout bounds a whole turn: the write's bound, and the caller's answer.
const turnTimeout = writeTotal + callerAnswerWait + time.Hour

// TurnTimeout is the execution timeout to start a turn with.
func TurnTimeout() time.Duration { return turnTimeout }
