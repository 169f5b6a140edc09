// Package activities holds the side effects of workflows as small methods over
// interfaces that are declared here, by their consumer. It knows no database
// driver and no model client; the worker joins them.
package activities

import (
	"context"

	"github.com/lightmem/lightmem/memory"
)

// Planner makes a plan (SLM-1, or its rule). The result always holds the
// user's own words as its first query (Origin "input"). Vectors are not its
// task.
type Planner interface {
	Plan(ctx context.Context, t memory.Turn) (memory.Plan, error)
}

// Embedder turns texts into unit vectors: one for each text, in order, all of
// one length, or an error (mem0#5604: fewer vectors than texts misalign).
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([]memory.Vector, error)
	// EmbedModel names the model; vectors of different models are never compared.
	EmbedModel() string
}

// Retriever is coarse retrieval: at most 2K candidates within the plan's
// constraints and the scope of ctx, best first, unused budget refilled.
// Queries without a vector are answered by words alone.
type Retriever interface {
	Retrieve(ctx context.Context, p memory.Planned) (memory.Retrieved, error)
}

// Selector picks at most K of the candidates (SLM-2, or its rule).
type Selector interface {
	Select(ctx context.Context, r memory.Retrieved) (memory.Selection, error)
}

// Answerer answers from the input, the context and the selected memories. It
// calls emit, when that is not nil, with each piece of the answer as it comes.
type Answerer interface {
	Answer(ctx context.Context, s memory.Selected, emit func(piece string)) (memory.Answer, error)
}

// Writer proposes what to keep of a turn (SLM-3, or its rule). It sees the
// turn's input, answer and context only. An empty result means that there was
// nothing worth keeping; a failure is an error, never an empty result.
type Writer interface {
	Draft(ctx context.Context, a memory.Answered) (memory.Drafted, error)
}

// TurnStore keeps turns and memories. All methods take the scope from ctx and
// hold no connection when they return.
type TurnStore interface {
	// Open reads what a turn starts from: the profile and the conversation's
	// last messages. When a turn with the request's idempotency key is already
	// on record, it returns that turn's receipt as done, Unfinished when its
	// write has not ended; with another request a CodeConflict error.
	Open(ctx context.Context, r memory.Request) (profile memory.Profile, context []memory.Message, done *memory.Receipt, err error)
	// Record writes the turn's row: transcript, plan, candidates, selection and
	// answer, and counts the selected memories as accessed. Doing it again for
	// the same turn changes nothing.
	Record(ctx context.Context, a memory.Answered) error
	// Commit decides about the drafts and applies every change with its audit
	// event in one transaction, once per turn: doing it again returns the first
	// receipt. Reply's fields other than Written are the caller's to fill.
	Commit(ctx context.Context, d memory.Drafted) (memory.Receipt, error)
	// Unembedded returns up to limit memories that lack a vector of the model.
	Unembedded(ctx context.Context, model string, limit int) ([]memory.Memory, error)
	// SetVectors stores vectors for memories, by id; unknown ids are ignored.
	SetVectors(ctx context.Context, model string, vectors map[memory.ID]memory.Vector) error
}

// Streamer carries the pieces of an answer to whoever waits for them. It is a
// convenience: the workflow's record is the answer, a lost piece loses nothing.
type Streamer interface {
	// Publish appends a piece of the given attempt to the stream of the turn
	// with that workflow id (which a caller knows before it sends the turn).
	// Pieces of a later attempt replace those of an earlier one.
	Publish(ctx context.Context, workflowID string, attempt, seq int, piece string) error
}
