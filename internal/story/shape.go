package story

import (
	"time"

	"github.com/lightmem/lightmem/memory"
)

// The shapes below are what the command line prints with --json and the HTTP
// API returns. Scripts depend on them: fields may be added, never changed or
// removed. Lists are never null; open ends of time are.

// Recall is the result of a recall.
type Recall struct {
	TurnID     memory.TurnID     `json:"turn_id"`
	WorkflowID string            `json:"workflow_id"`
	Plan       Plan              `json:"plan"`
	Candidates []Candidate       `json:"candidates"`
	Selected   []Selected        `json:"selected"`
	Degraded   []memory.Degraded `json:"degraded"`
}

// Asked is the result of a turn with an answer: a recall's and the answer, and
// what was written where somebody waited for it.
type Asked struct {
	Recall
	Answer  string     `json:"answer"`
	Written *[]Outcome `json:"written,omitempty"`
}

// Remembered is the result of remembering.
type Remembered struct {
	TurnID     memory.TurnID     `json:"turn_id"`
	WorkflowID string            `json:"workflow_id"`
	Results    []Outcome         `json:"results"`
	Degraded   []memory.Degraded `json:"degraded"`
}

// Recall is t as the result of a recall.
func (t Turn) Recall() Recall {
	return Recall{
		TurnID: t.TurnID, WorkflowID: t.WorkflowID, Plan: t.Plan,
		Candidates: t.Candidates, Selected: t.Selected, Degraded: t.Degraded,
	}
}

// Asked is t as the result of a turn with an answer; waited says that its
// write is over.
func (t Turn) Asked(waited bool) Asked {
	out := Asked{Recall: t.Recall(), Answer: t.Answer}
	if waited {
		out.Written = &t.Written
	}
	return out
}

// Remembered is t as the result of remembering.
func (t Turn) Remembered() Remembered {
	return Remembered{TurnID: t.TurnID, WorkflowID: t.WorkflowID, Results: t.Written, Degraded: t.Degraded}
}

// Memory is one memory.
type Memory struct {
	ID           memory.ID         `json:"id"`
	Memory       string            `json:"memory"`
	UserID       memory.UserID     `json:"user_id"`
	Metadata     map[string]string `json:"metadata"`
	CreatedAt    time.Time         `json:"created_at"`
	ValidFrom    *time.Time        `json:"valid_from"`
	ValidTo      *time.Time        `json:"valid_to"`
	SupersededBy *memory.ID        `json:"superseded_by"`
	Status       memory.Status     `json:"status"`

	Kind         memory.Kind           `json:"kind"`
	Source       memory.Source         `json:"source"`
	Speaker      string                `json:"speaker,omitempty"`
	Conversation memory.ConversationID `json:"conversation,omitempty"`
	Subject      string                `json:"subject,omitempty"`
	Attribute    string                `json:"attribute,omitempty"`
	Value        string                `json:"value,omitempty"`
	EventAt      *time.Time            `json:"event_at"`
	ExpiredAt    *time.Time            `json:"expired_at"`
	LastSeen     *time.Time            `json:"last_seen"`
	Strength     int                   `json:"strength"`
	Accessed     int                   `json:"accessed"`
	Pinned       bool                  `json:"pinned"`
	Evidence     []memory.TurnID       `json:"evidence"`
	Version      int                   `json:"version"`
}

// Memories is a list of memories.
type Memories struct {
	Results []Memory `json:"results"`
	// Next is the cursor of the next page; absent where the list is whole.
	Next string `json:"next_cursor,omitempty"`
}

// MemoryOf gives open ends as null.
func MemoryOf(m memory.Memory) Memory {
	out := Memory{
		ID: m.ID, Memory: m.Text, UserID: m.User, Metadata: m.Metadata, CreatedAt: m.RecordedAt,
		ValidFrom: Open(m.ValidFrom), ValidTo: Open(m.ValidTo), Status: m.Status,
		Kind: m.Kind, Source: m.Source, Speaker: m.Speaker, Conversation: m.Conversation,
		Subject: m.Subject, Attribute: m.Attribute, Value: m.Value,
		EventAt: Open(m.EventAt), ExpiredAt: Open(m.ExpiredAt), LastSeen: Open(m.LastSeen),
		Strength: m.Strength, Accessed: m.Accessed, Pinned: m.Pinned, Evidence: m.Evidence, Version: m.Version,
	}
	if out.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	if out.Evidence == nil {
		out.Evidence = []memory.TurnID{}
	}
	if m.SupersededBy != "" {
		out.SupersededBy = &m.SupersededBy
	}
	return out
}

// MemoriesOf is a list.
func MemoriesOf(list []memory.Memory) Memories {
	out := Memories{Results: make([]Memory, len(list))}
	for i, m := range list {
		out.Results[i] = MemoryOf(m)
	}
	return out
}

// OfRequest is a reply together with what was asked.
func OfRequest(r memory.Request, reply memory.Reply) Turn {
	out := OfReply(reply)
	out.UserID, out.Conversation, out.Mode, out.Input, out.At = r.User, r.Conversation, r.Mode, r.Text, r.At
	out.IdempotencyKey, out.K, out.State = r.IdempotencyKey, r.K, "recorded"
	if out.Answer == "" {
		out.Answer = r.AssistantText
	}
	return out
}

// After is t once its write is over.
func (t Turn) After(r memory.Receipt) Turn {
	t.State, t.Written, t.Unembedded = "committed", OutcomesOf(r.Written), r.Unembedded
	if r.Degraded != nil {
		t.Degraded = r.Degraded
	}
	return t
}
