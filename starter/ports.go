package main

import (
	"context"
	"time"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/memory"
)

// turns is the client side of turns (temporalio.Turns).
type turns interface {
	// WorkflowID is the id of the workflow of a request's turn.
	WorkflowID(r memory.Request) string
	// Reply runs the request's turn, or attaches to it.
	Reply(ctx context.Context, r memory.Request) (memory.Reply, error)
	// Receipt waits for the request's turn to end.
	Receipt(ctx context.Context, r memory.Request) (memory.Receipt, error)
	// GiveAnswer hands in the caller's own answer of a turn that waits for it.
	GiveAnswer(ctx context.Context, workflowID, text string) (memory.TurnID, error)
	// Ping reports whether Temporal answers.
	Ping(ctx context.Context) error
	Close()
}

// listing says which memories to list.
type listing struct {
	// All lists superseded, merged, evicted and forgotten ones, too.
	All bool
	// AsOf lists what was held to be current then; zero means now.
	AsOf time.Time
	// Limit bounds the list, newest first; zero means no bound.
	Limit int
}

// change is one event of the audit, with the words before and after.
type change struct {
	Seq      int64         `json:"seq"`
	At       time.Time     `json:"at"`
	UserID   memory.UserID `json:"user_id"`
	Event    memory.Event  `json:"event"`
	MemoryID memory.ID     `json:"memory_id"`
	// Before and After are the memory's states; null when there is none, or
	// when its words were erased.
	Before     *story.Memory `json:"before"`
	After      *story.Memory `json:"after"`
	Reason     string        `json:"reason"`
	Rule       string        `json:"rule"`
	Actor      string        `json:"actor"`
	TurnID     memory.TurnID `json:"turn_id"`
	WorkflowID string        `json:"workflow_id"`
	RunID      string        `json:"run_id"`
}

// store is what the commands need of the database. All methods but VerifyAudit
// take the scope from ctx (package tenant).
type store interface {
	// List returns memories, newest first.
	List(ctx context.Context, l listing) ([]memory.Memory, error)
	// Page returns the page of List after a cursor, the first when it is empty,
	// and the cursor of the next page, empty after the last.
	Page(ctx context.Context, l listing, cursor string) (list []memory.Memory, next string, err error)
	// Search ranks the user's memories for a text, best first, without leaving
	// a trace: no turn, no access is counted. degraded says why words alone
	// ranked where an embedder is configured.
	Search(ctx context.Context, text string, k int, asOf time.Time) (found []memory.Candidate, degraded []memory.Degraded, err error)
	// Memory returns one memory; CodeNotFound for another's.
	Memory(ctx context.Context, id memory.ID) (memory.Memory, error)
	// Forget erases a memory's words and keeps that it was.
	Forget(ctx context.Context, id memory.ID, actor, reason string) (memory.Outcome, error)
	// Pin keeps a memory from eviction, or no longer.
	Pin(ctx context.Context, id memory.ID, pinned bool, actor string) (memory.Outcome, error)
	// Trace returns the whole story of one turn.
	Trace(ctx context.Context, id memory.TurnID) (story.Turn, error)
	// History returns the changes to the user's memory, oldest first, of one
	// memory only when id is not empty.
	History(ctx context.Context, id memory.ID, limit int) ([]change, error)
	// Profile and SetProfile are what is known about a user apart from memories.
	Profile(ctx context.Context) (memory.Profile, error)
	SetProfile(ctx context.Context, p memory.Profile) error
	// Follow calls emit with the pieces of the answer of the turn with that
	// workflow id as they come, until ctx ends. Pieces of a later attempt begin
	// the answer anew.
	Follow(ctx context.Context, workflowID string, emit func(attempt int, piece string)) error
	// VerifyAudit checks the tenant's chain of audit events, also against heads
	// that were noted earlier.
	VerifyAudit(ctx context.Context, tenant memory.TenantID, anchors []audit.Anchor) (audit.Report, error)
	// Ping reports whether the database answers.
	Ping(ctx context.Context) error
	Close()
}

// migrations applies the database's schema (package schema).
type migrations interface {
	Up(ctx context.Context, url string) error
	Down(ctx context.Context, url string, to int64) error
	Version(ctx context.Context, url string) (int64, error)
	Latest() int64
}
