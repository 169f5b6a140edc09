package activities

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// Roles are the implementations of a turn's roles, all by rules or all by
// models. A nil role is not configured.
type Roles struct {
	Planner  Planner
	Selector Selector
	Answerer Answerer
	Writer   Writer
}

// Turn is the side effects of a turn. Fields that a worker's queues do not
// need may be nil: a gpu worker has no store, a turns worker no models.
type Turn struct {
	Store     TurnStore
	Retriever Retriever
	// Embedder may be nil: then everything goes by words alone.
	Embedder Embedder
	Rules    Roles
	Models   Roles
	// Serving says who serves each role; a role without an entry is served by
	// its rule.
	Serving memory.Serving
	// Streamer may be nil: then answers are not streamed.
	Streamer Streamer
	Logger   *slog.Logger
}

// Opening is a turn about to begin, and what its opening found.
type Opening struct {
	Turn memory.Turn `json:"turn"`
	// Done is the receipt of an earlier turn with the same idempotency key.
	Done *memory.Receipt `json:"done,omitempty"`
}

const (
	// maxCandidateBytes bounds what a candidate shows of its memory: a hundred
	// candidates stay far below Temporal's 2 MB for a payload. Show the memory
	// to read the whole.
	maxCandidateBytes = 4 << 10
	// maxEmbedBytes bounds what of a memory is sent to be embedded later; no
	// embedding model's context is longer.
	maxEmbedBytes = 8 << 10
)

// embedPatience bounds an embedding inside a local activity: one query takes
// 16 ms on two CPU cores, and without it words alone serve.
const embedPatience = 2 * time.Second

// Open reads what the turn starts from: who serves it, the user's profile and
// the conversation's last messages.
func (a *Turn) Open(ctx context.Context, in Opening) (Opening, error) {
	ctx = tenant.NewContext(ctx, in.Turn.Scope)
	profile, messages, done, err := a.Store.Open(ctx, in.Turn.Request)
	if err != nil {
		return Opening{}, a.failure(ctx, "open turn", err)
	}
	in.Turn.Profile, in.Turn.Context, in.Done = profile, messages, done
	if !in.Turn.Rules {
		in.Turn.Serving = a.Serving
	}
	return in, nil
}

// Plan asks the model for a plan and embeds its queries: one hop for both.
func (a *Turn) Plan(ctx context.Context, in memory.Turn) (memory.Planned, error) {
	defer beat(ctx)()
	ctx = tenant.NewContext(ctx, in.Scope) // calls are counted by tenant
	plan, err := a.Models.Planner.Plan(ctx, in)
	if err != nil {
		return memory.Planned{}, a.failure(ctx, "plan", err)
	}
	return a.embedQueries(ctx, memory.Planned{Turn: in, Plan: plan}), nil
}

// PlanByRule makes the rule's plan. Its queries are embedded by Retrieve.
func (a *Turn) PlanByRule(ctx context.Context, in memory.Turn) (memory.Planned, error) {
	plan, err := a.Rules.Planner.Plan(ctx, in)
	if err != nil {
		return memory.Planned{}, a.failure(ctx, "plan by rule", err)
	}
	return memory.Planned{Turn: in, Plan: plan}, nil
}

// Retrieve finds the candidates. Queries that came without vectors are
// embedded first; when that fails, words alone serve and the turn says so.
func (a *Turn) Retrieve(ctx context.Context, in memory.Planned) (memory.Retrieved, error) {
	ctx = tenant.NewContext(ctx, in.Scope)
	out, err := a.Retriever.Retrieve(ctx, a.embedQueries(ctx, in))
	if err != nil {
		return memory.Retrieved{}, a.failure(ctx, "retrieve", err)
	}
	for i, c := range out.Candidates {
		out.Candidates[i].Memory = cut(c.Memory, maxCandidateBytes)
	}
	// The vectors have done their work. They are larger than all the rest, and
	// would be in each later step's result, so in the history, again.
	out.Plan.Queries = slices.Clone(out.Plan.Queries)
	for i := range out.Plan.Queries {
		out.Plan.Queries[i].Vector = nil
	}
	return out, nil
}

// embedQueries gives each query its vector, unless all have one or the turn
// already knows that the embedder is down.
func (a *Turn) embedQueries(ctx context.Context, in memory.Planned) memory.Planned {
	if a.Embedder == nil || in.Plan.EmbedModel != "" || isDegraded(in.Turn, memory.RoleEmbed) {
		return in
	}
	texts := make([]string, len(in.Plan.Queries))
	for i, q := range in.Plan.Queries {
		texts[i] = q.Text
	}
	ctx, cancel := context.WithTimeout(ctx, embedPatience)
	defer cancel()
	vectors, err := a.Embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = memory.Errorf(memory.CodeInvalidOutput, "the embedder returned %d vectors for %d texts", len(vectors), len(texts))
	}
	if err != nil {
		a.log(ctx, "words alone serve", "embed queries", err)
		in.Degraded = append(in.Degraded, degradation(memory.RoleEmbed, err))
		return in
	}
	in.Plan.EmbedModel = a.Embedder.EmbedModel()
	for i := range in.Plan.Queries {
		in.Plan.Queries[i].Vector = vectors[i]
	}
	return in
}

// Select asks the model which candidates help.
func (a *Turn) Select(ctx context.Context, in memory.Retrieved) (memory.Selected, error) {
	defer beat(ctx)()
	return a.choose(ctx, "select", a.Models.Selector, in)
}

// SelectByRule lets the scores choose.
func (a *Turn) SelectByRule(ctx context.Context, in memory.Retrieved) (memory.Selected, error) {
	return a.choose(ctx, "select by rule", a.Rules.Selector, in)
}

func (a *Turn) choose(ctx context.Context, step string, s Selector, in memory.Retrieved) (memory.Selected, error) {
	selection, err := s.Select(tenant.NewContext(ctx, in.Scope), in)
	if err != nil {
		return memory.Selected{}, a.failure(ctx, step, err)
	}
	out, dropped := memory.Select(in, selection)
	if dropped > 0 {
		a.Logger.Warn("selection named items that are no candidates", "step", step, "turn", in.ID, "dropped", dropped)
	}
	return out, nil
}

// Answer asks the answer model and streams its pieces.
func (a *Turn) Answer(ctx context.Context, in memory.Selected) (memory.Answered, error) {
	defer beat(ctx)()
	ctx = tenant.NewContext(ctx, in.Scope)
	answer, err := a.Models.Answerer.Answer(ctx, in, a.stream(ctx, in.WorkflowID))
	if err != nil {
		return memory.Answered{}, a.failure(ctx, "answer", err)
	}
	return memory.Answered{Selected: in, Answer: answer}, nil
}

// AnswerByRule answers by quoting the selected memories.
func (a *Turn) AnswerByRule(ctx context.Context, in memory.Selected) (memory.Answered, error) {
	answer, err := a.Rules.Answerer.Answer(ctx, in, nil)
	if err != nil {
		return memory.Answered{}, a.failure(ctx, "answer by rule", err)
	}
	return memory.Answered{Selected: in, Answer: answer}, nil
}

// Record puts the turn on record.
func (a *Turn) Record(ctx context.Context, in memory.Answered) error {
	return a.failure(ctx, "record turn", a.Store.Record(tenant.NewContext(ctx, in.Scope), in))
}

// Draft asks the model what to keep and embeds it: one hop for both.
func (a *Turn) Draft(ctx context.Context, in memory.Answered) (memory.Drafted, error) {
	defer beat(ctx)()
	ctx = tenant.NewContext(ctx, in.Scope)
	drafted, err := a.Models.Writer.Draft(ctx, in)
	if err != nil {
		return memory.Drafted{}, a.failure(ctx, "draft", err)
	}
	return a.embedDrafts(ctx, drafted), nil
}

// Commit applies the host's decisions about the drafts, once.
func (a *Turn) Commit(ctx context.Context, in memory.Drafted) (memory.Receipt, error) {
	receipt, err := a.Store.Commit(tenant.NewContext(ctx, in.Scope), in)
	if err != nil {
		return memory.Receipt{}, a.failure(ctx, "commit", err)
	}
	receipt.Degraded = in.Degraded
	return receipt, nil
}

// WriteByRule lets the rule propose what to keep, embeds it, and commits.
func (a *Turn) WriteByRule(ctx context.Context, in memory.Answered) (memory.Receipt, error) {
	drafted, err := a.Rules.Writer.Draft(ctx, in)
	if err != nil {
		return memory.Receipt{}, a.failure(ctx, "draft by rule", err)
	}
	return a.Commit(ctx, a.embedDrafts(ctx, drafted))
}

// embedDrafts gives each draft its vector. Without one a memory is stored all
// the same and embedded later; it is never lost for want of a vector.
func (a *Turn) embedDrafts(ctx context.Context, in memory.Drafted) memory.Drafted {
	if a.Embedder == nil || len(in.Drafts) == 0 {
		return in
	}
	texts := make([]string, len(in.Drafts))
	for i, d := range in.Drafts {
		texts[i] = d.Text
	}
	ctx, cancel := context.WithTimeout(ctx, 5*embedPatience)
	defer cancel()
	vectors, err := a.Embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = memory.Errorf(memory.CodeInvalidOutput, "the embedder returned %d vectors for %d texts", len(vectors), len(texts))
	}
	in.EmbedModel = a.Embedder.EmbedModel()
	if err != nil {
		a.log(ctx, "memories are stored without vectors", "embed drafts", err)
		if !isDegraded(in.Turn, memory.RoleEmbed) {
			in.Degraded = append(in.Degraded, degradation(memory.RoleEmbed, err))
		}
		return in
	}
	for i := range in.Drafts {
		in.Drafts[i].Vector = vectors[i]
	}
	return in
}

// Unembedded is a memory that lacks a vector.
type Unembedded struct {
	ID   memory.ID `json:"id"`
	Text string    `json:"text"`
}

// Embedded are vectors of one model by memory.
type Embedded struct {
	Model   string                      `json:"model"`
	Vectors map[memory.ID]memory.Vector `json:"vectors"`
}

// Unembedded lists up to limit memories of the user that lack a vector.
func (a *Turn) Unembedded(ctx context.Context, scope memory.Scope, limit int) ([]Unembedded, error) {
	if a.Embedder == nil {
		return nil, nil
	}
	items, err := a.Store.Unembedded(tenant.NewContext(ctx, scope), a.Embedder.EmbedModel(), limit)
	if err != nil {
		return nil, a.failure(ctx, "list unembedded", err)
	}
	out := make([]Unembedded, len(items))
	for i, m := range items {
		out[i] = Unembedded{ID: m.ID, Text: cut(m.Text, maxEmbedBytes)}
	}
	return out, nil
}

// Embed embeds memories for Unembedded's list. What the model will never take
// is left out, so that one bad text does not keep the others without vectors.
func (a *Turn) Embed(ctx context.Context, in []Unembedded) (Embedded, error) {
	defer beat(ctx)()
	out := Embedded{Model: a.Embedder.EmbedModel(), Vectors: make(map[memory.ID]memory.Vector, len(in))}
	err := a.embedInto(ctx, out, in)
	if err == nil || memory.CodeOf(err).Retryable() {
		return out, a.failure(ctx, "embed", err)
	}
	for i := range in {
		err := a.embedInto(ctx, out, in[i:i+1])
		if err != nil && memory.CodeOf(err).Retryable() {
			return Embedded{}, a.failure(ctx, "embed", err)
		}
		if err != nil {
			a.log(ctx, "a memory stays without a vector", "embed", err)
		}
	}
	return out, nil
}

func (a *Turn) embedInto(ctx context.Context, out Embedded, in []Unembedded) error {
	texts := make([]string, len(in))
	for i, m := range in {
		texts[i] = m.Text
	}
	vectors, err := a.Embedder.Embed(ctx, texts)
	if err != nil {
		return err
	}
	if len(vectors) != len(in) {
		return memory.Errorf(memory.CodeTransient, "the embedder returned %d vectors for %d texts", len(vectors), len(in))
	}
	for i, m := range in {
		out.Vectors[m.ID] = vectors[i]
	}
	return nil
}

// SetVectors stores what Embed made.
func (a *Turn) SetVectors(ctx context.Context, scope memory.Scope, in Embedded) error {
	return a.failure(ctx, "set vectors", a.Store.SetVectors(tenant.NewContext(ctx, scope), in.Model, in.Vectors))
}

// stream returns the function that carries an answer's pieces, nil when
// nobody streams. A piece that cannot be published ends the streaming of this
// attempt: the whole answer comes with the reply in any case.
func (a *Turn) stream(ctx context.Context, workflowID string) func(string) {
	if a.Streamer == nil {
		return nil
	}
	attempt, seq, broken := int(activity.GetInfo(ctx).Attempt), 0, false
	return func(piece string) {
		if broken {
			return
		}
		if err := a.Streamer.Publish(ctx, workflowID, attempt, seq, piece); err != nil {
			broken = true
			a.Logger.Warn("streaming stopped; the reply will hold the whole answer", "workflow_id", workflowID, "code", memory.CodeOf(err))
		}
		seq++
	}
}

// failure logs the cause, once and without text of people, and returns what
// Temporal may record. It is the boundary where causes end.
func (a *Turn) failure(ctx context.Context, step string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return err // the SDK tells a cancelled activity from a failed one by this
	}
	failure := Failure(err)
	a.log(ctx, "step failed", step, err)
	return failure
}

// log tells operators what went wrong and in which workflow.
func (a *Turn) log(ctx context.Context, message, step string, err error) {
	workflow := ""
	if activity.IsActivity(ctx) {
		workflow = activity.GetInfo(ctx).WorkflowExecution.ID
	}
	var safe string
	var e *memory.Error
	if errors.As(err, &e) {
		safe = e.Error()
	}
	a.Logger.Warn(message, "step", step, "code", memory.CodeOf(err), "error", safe, "cause", cause(err), "workflow_id", workflow)
}

// cut shortens a text to at most limit bytes, at the end of a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-len("…")], "") + "…"
}

func isDegraded(t memory.Turn, role memory.Role) bool {
	for _, d := range t.Degraded {
		if d.Role == role {
			return true
		}
	}
	return false
}

// degradation says why a role went without its model.
func degradation(role memory.Role, err error) memory.Degraded {
	d := memory.Degraded{Role: role, Reason: memory.CodeOf(err)}
	if e, ok := err.(*memory.Error); ok { //nolint:errorlint // only our own message is safe to show
		d.Detail = e.Error()
	}
	return d
}

// beat heartbeats until the returned function is called, so that a worker that
// dies in the middle of a model's call is noticed in seconds. Outside an
// activity (make bench calls the steps directly) nobody is told.
func beat(ctx context.Context) func() {
	if !activity.IsActivity(ctx) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			}
		}
	}()
	return cancel
}
