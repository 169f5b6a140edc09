// Package story tells what happened in one turn: what was asked, what the plan
// was, what was found and chosen and why, what was answered, and what became of
// memory. It is what `lightmem trace` prints, for people and as JSON.
package story

import (
	"time"

	"github.com/lightmem/lightmem/memory"
)

// Turn is the whole story of one turn. Its JSON form is a stable contract;
// lists are never null.
type Turn struct {
	TurnID         memory.TurnID         `json:"turn_id"`
	WorkflowID     string                `json:"workflow_id"`
	RunID          string                `json:"run_id"`
	UserID         memory.UserID         `json:"user_id"`
	Conversation   memory.ConversationID `json:"conversation"`
	IdempotencyKey string                `json:"idempotency_key"`
	Mode           memory.Mode           `json:"mode"`
	// State is "recorded" while a write may follow, "committed" after it.
	State string `json:"state"`
	Actor string `json:"actor,omitempty"`
	// At is when it happened, AcceptedAt when LightMem took it on.
	At         time.Time `json:"at"`
	AcceptedAt time.Time `json:"accepted_at"`
	Speaker    string    `json:"speaker,omitempty"`
	Input      string    `json:"input"`
	// K is how many memories could be selected, Searched in how many items the
	// plan's constraints left to search, AsOf the knowledge time asked for.
	K        int        `json:"k"`
	Searched int        `json:"searched"`
	AsOf     *time.Time `json:"as_of,omitempty"`
	// Serving says who served each role.
	Serving    memory.Serving    `json:"serving"`
	Plan       Plan              `json:"plan"`
	Candidates []Candidate       `json:"candidates"`
	Selected   []Selected        `json:"selected"`
	Versions   Versions          `json:"versions"`
	Answer     string            `json:"answer"`
	Written    []Outcome         `json:"written"`
	Degraded   []memory.Degraded `json:"degraded"`
	// Unembedded counts written memories that still lacked a vector.
	Unembedded int `json:"unembedded,omitempty"`
}

// Versions name the prompt or rule behind each stage, with its version.
type Versions struct {
	Plan   string `json:"plan,omitempty"`
	Select string `json:"select,omitempty"`
	Answer string `json:"answer,omitempty"`
	Write  string `json:"write,omitempty"`
}

// Plan is what was looked for.
type Plan struct {
	Queries  []Query  `json:"queries"`
	Personal float64  `json:"personal"`
	Entities []string `json:"entities,omitempty"`
}

// Query is one query of a plan.
type Query struct {
	Text string      `json:"text"`
	Tier memory.Tier `json:"tier"`
	// From and To bound the event time; Soft says that they only raise scores.
	From   *time.Time    `json:"from,omitempty"`
	To     *time.Time    `json:"to,omitempty"`
	Soft   bool          `json:"soft,omitempty"`
	Kinds  []memory.Kind `json:"kinds,omitempty"`
	Past   bool          `json:"past,omitempty"`
	Origin string        `json:"origin"`
}

// Candidate is one item that was found.
type Candidate struct {
	ID     memory.ID   `json:"id"`
	Tier   memory.Tier `json:"tier"`
	Memory string      `json:"memory"`
	// Score orders the candidates of one turn; Lexical and Dense are the two
	// channels behind it.
	Score     float64       `json:"score"`
	Lexical   float64       `json:"lexical"`
	Dense     float64       `json:"dense"`
	Queries   []int         `json:"queries"`
	Kind      memory.Kind   `json:"kind,omitempty"`
	Status    memory.Status `json:"status,omitempty"`
	EventAt   *time.Time    `json:"event_at,omitempty"`
	ValidFrom *time.Time    `json:"valid_from,omitempty"`
	ValidTo   *time.Time    `json:"valid_to,omitempty"`
}

// Selected is one candidate that was chosen, and why.
type Selected struct {
	ID     memory.ID   `json:"id"`
	Tier   memory.Tier `json:"tier"`
	Memory string      `json:"memory"`
	Score  float64     `json:"score"`
	Reason string      `json:"reason"`
}

// Outcome is what became of one statement.
type Outcome struct {
	ID     memory.ID    `json:"id"`
	Memory string       `json:"memory"`
	Event  memory.Event `json:"event"`
	Reason string       `json:"reason"`
	// Supersedes is the memory that this one closed.
	Supersedes memory.ID `json:"supersedes,omitempty"`
}

// OfReply tells what a turn's caller gets back at once.
func OfReply(r memory.Reply) Turn {
	t := Turn{
		TurnID: r.TurnID, WorkflowID: r.WorkflowID, RunID: r.RunID,
		Plan:       PlanOf(r.Plan),
		Candidates: CandidatesOf(r.Candidates),
		Selected:   SelectedOf(r.Selected, r.Candidates),
		Versions:   Versions{Plan: r.Plan.Version},
		Answer:     r.Answer,
		Written:    []Outcome{},
		Degraded:   r.Degraded,
	}
	if t.Degraded == nil {
		t.Degraded = []memory.Degraded{}
	}
	return t
}

// PlanOf drops the vectors.
func PlanOf(p memory.Plan) Plan {
	out := Plan{Queries: make([]Query, len(p.Queries)), Personal: p.Personal, Entities: p.Entities}
	for i, q := range p.Queries {
		out.Queries[i] = Query{
			Text: q.Text, Tier: q.Tier, From: Open(q.Window.From), To: Open(q.Window.To),
			Soft: q.Soft, Kinds: q.Kinds, Past: q.Past, Origin: q.Origin,
		}
	}
	return out
}

// CandidatesOf gives open ends as null.
func CandidatesOf(list []memory.Candidate) []Candidate {
	out := make([]Candidate, len(list))
	for i, c := range list {
		out[i] = Candidate{
			ID: c.ID, Tier: c.Tier, Memory: c.Memory, Score: c.Score, Lexical: c.Lexical, Dense: c.Dense,
			Queries: c.Queries, Kind: c.Kind, Status: c.Status,
			EventAt: Open(c.EventAt), ValidFrom: Open(c.ValidFrom), ValidTo: Open(c.ValidTo),
		}
		if out[i].Queries == nil {
			out[i].Queries = []int{}
		}
	}
	return out
}

// SelectedOf joins the chosen ids with their candidates.
func SelectedOf(chosen []memory.Chosen, from []memory.Candidate) []Selected {
	byID := make(map[memory.ID]memory.Candidate, len(from))
	for _, c := range from {
		byID[c.ID] = c
	}
	out := make([]Selected, len(chosen))
	for i, c := range chosen {
		out[i] = Selected{ID: c.ID, Tier: byID[c.ID].Tier, Memory: byID[c.ID].Memory, Score: c.Score, Reason: c.Reason}
	}
	return out
}

// OutcomesOf is the receipt's list.
func OutcomesOf(list []memory.Outcome) []Outcome {
	out := make([]Outcome, len(list))
	for i, o := range list {
		out[i] = Outcome(o)
	}
	return out
}

// Open returns nil for the zero time, which stands for an open end.
func Open(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
