package eval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// Options of a measurement on LoCoMo.
type Options struct {
	// Steps are the product's steps of a turn, as a worker joins them: the
	// store, retrieval, the embedder and the rules. No model is called but the
	// embedder.
	Steps activities.Turn
	// Tenant keeps what the measurement writes. Each run needs one of its own:
	// memories of an earlier run would be found as well.
	Tenant memory.TenantID
	// Conversations are the ids to measure; all of the file when empty.
	Conversations []string
	// Cutoffs are the k of the recall. Defaults to DefaultCutoffs.
	Cutoffs []int
	// Progress, unless nil, is called after each conversation.
	Progress func(done, of int)
}

// LoCoMoRetrieval measures the recall of evidence on conversations through the
// product's own write and retrieval: each conversation is a user, each session
// a conversation, each utterance a memory kept word for word.
func LoCoMoRetrieval(ctx context.Context, all []Conversation, o Options) (RetrievalReport, error) {
	chosen, err := choose(all, o.Conversations)
	if err != nil {
		return RetrievalReport{}, err
	}
	p := &product{steps: o.Steps, tenant: o.Tenant}
	if o.Steps.Embedder != nil {
		p.vectors = &cachedEmbedder{Embedder: o.Steps.Embedder, known: map[string]memory.Vector{}}
		p.steps.Embedder = p.vectors
	}
	progress := func(done int) {
		if o.Progress != nil {
			o.Progress(done, len(chosen))
		}
	}
	return Retrieval(ctx, chosen, o.Cutoffs, func(ctx context.Context, c Conversation) context.Context {
		return tenant.NewContext(ctx, p.scope(c))
	}, p, p, progress)
}

func choose(all []Conversation, ids []string) ([]Conversation, error) {
	if len(ids) == 0 {
		return all, nil
	}
	var out []Conversation
	for _, id := range ids {
		i := slices.IndexFunc(all, func(c Conversation) bool { return c.ID == id })
		if i < 0 {
			return nil, memory.Invalid("conversations", "the data have no conversation %q", id)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// product is the product as the measurement sees it.
type product struct {
	steps   activities.Turn
	tenant  memory.TenantID
	vectors *cachedEmbedder
}

func (p *product) scope(c Conversation) memory.Scope {
	return memory.Scope{Tenant: p.tenant, User: memory.UserID(c.ID)}
}

// Remember implements Rememberer.
func (p *product) Remember(ctx context.Context, c Conversation) (map[string]memory.ID, error) {
	if err := p.embedAll(ctx, c); err != nil {
		return nil, err
	}
	where := map[string]memory.ID{}
	for _, s := range c.Sessions {
		for i, u := range s.Utterances {
			t := p.turn(c, fmt.Sprintf("session_%d", s.Number), u.Dialogue, s.At.Add(time.Duration(i)*time.Second))
			t.Mode, t.Text, t.Speaker, t.Verbatim = memory.ModeRemember, u.Memory(), u.Speaker, true
			answered := memory.Answered{Selected: memory.Selected{Retrieved: memory.Retrieved{Planned: memory.Planned{Turn: t}}}}
			if err := p.steps.Record(ctx, answered); err != nil {
				return nil, err
			}
			receipt, err := p.steps.WriteByRule(ctx, answered)
			if err != nil {
				return nil, err
			}
			for _, w := range receipt.Written {
				if w.ID != "" && w.Event != memory.EventRefused && w.Event != memory.EventEvicted {
					where[u.Dialogue] = w.ID
				}
			}
		}
	}
	return where, nil
}

// Recall implements Recaller.
func (p *product) Recall(ctx context.Context, c Conversation, question string, k int) ([]memory.ID, error) {
	last := c.Sessions[len(c.Sessions)-1]
	t := p.turn(c, "questions", question, last.At.Add(24*time.Hour))
	t.Mode, t.Text, t.K = memory.ModeRecall, question, (k+1)/2
	planned, err := p.steps.PlanByRule(ctx, t)
	if err != nil {
		return nil, err
	}
	retrieved, err := p.steps.Retrieve(ctx, planned)
	if err != nil {
		return nil, err
	}
	ids := make([]memory.ID, len(retrieved.Candidates))
	for i, candidate := range retrieved.Candidates {
		ids[i] = candidate.ID
	}
	return ids, nil
}

func (p *product) turn(c Conversation, conversation, key string, at time.Time) memory.Turn {
	r := memory.Request{Scope: p.scope(c), Conversation: memory.ConversationID(conversation), IdempotencyKey: key, At: at, Rules: true, Actor: "eval"}
	workflow := fmt.Sprintf("eval/%s/%s/%s/%s", p.tenant, c.ID, conversation, key)
	return memory.Turn{Request: r, ID: memory.TurnIDFor(workflow, at), AcceptedAt: at, WorkflowID: workflow, RunID: "eval"}
}

// embedAll embeds what the conversation needs in a few large calls. Without it
// the same vectors would come one by one.
func (p *product) embedAll(ctx context.Context, c Conversation) error {
	if p.vectors == nil {
		return nil
	}
	var texts []string
	for _, s := range c.Sessions {
		for _, u := range s.Utterances {
			texts = append(texts, u.Memory())
		}
	}
	for _, q := range c.Questions {
		if q.measured() {
			texts = append(texts, q.Text)
		}
	}
	p.vectors.forget()
	_, err := p.vectors.Embed(ctx, texts)
	return memory.Wrap(memory.CodeOf(err), err, "embed")
}

// cachedEmbedder embeds each text once.
type cachedEmbedder struct {
	activities.Embedder

	mu    sync.Mutex
	known map[string]memory.Vector
}

func (e *cachedEmbedder) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.known)
}

// embedAtOnce is how many texts one call embeds.
const embedAtOnce = 64

// Embed implements activities.Embedder.
func (e *cachedEmbedder) Embed(ctx context.Context, texts []string) ([]memory.Vector, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var missing []string
	for _, t := range texts {
		if _, ok := e.known[t]; !ok && !slices.Contains(missing, t) {
			missing = append(missing, t)
		}
	}
	for batch := range slices.Chunk(missing, embedAtOnce) {
		vectors, err := e.Embedder.Embed(ctx, batch)
		if err != nil {
			return nil, err
		}
		if len(vectors) != len(batch) {
			return nil, memory.Errorf(memory.CodeInvalidOutput, "the embedder returned %d vectors for %d texts", len(vectors), len(batch))
		}
		for i, t := range batch {
			e.known[t] = vectors[i]
		}
	}
	out := make([]memory.Vector, len(texts))
	for i, t := range texts {
		out[i] = e.known[t]
	}
	return out, nil
}
