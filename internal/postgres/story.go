package postgres

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

// TurnLine is a turn in a list.
type TurnLine struct {
	ID           memory.TurnID         `json:"turn_id"`
	Conversation memory.ConversationID `json:"conversation"`
	Mode         memory.Mode           `json:"mode"`
	// Committed says that the turn's write has ended.
	Committed  bool              `json:"committed"`
	At         time.Time         `json:"at"`
	AcceptedAt time.Time         `json:"accepted_at"`
	WorkflowID string            `json:"workflow_id"`
	RunID      string            `json:"run_id"`
	Speaker    string            `json:"speaker,omitempty"`
	Input      string            `json:"input"`
	Answer     string            `json:"answer,omitempty"`
	Degraded   []memory.Degraded `json:"degraded"`
}

// Turns lists the user's turns, newest first; of one conversation, where it is
// named, and before the turn that is named, for the next page. limit is
// DefaultPage when zero, and MaxPage at most.
func (s *Store) Turns(ctx context.Context, conversation memory.ConversationID, before memory.TurnID, limit int) ([]TurnLine, error) {
	var out []TurnLine
	err := s.once(ctx, "list turns", func(p *pipeline, scope memory.Scope) {
		out = []TurnLine{}
		p.add(func(q *query.Queries) error {
			rows, err := q.ListTurns(ctx, query.ListTurnsParams{
				Tenant: string(scope.Tenant), UserID: string(scope.User), Conversation: string(conversation), Before: string(before),
				MaxItems: int32(pageSize(limit)),
			})
			for _, r := range rows {
				line := TurnLine{
					ID: memory.TurnID(r.ID), Conversation: memory.ConversationID(r.Conversation), Mode: memory.Mode(r.Mode),
					Committed: r.State == "committed", At: r.At.UTC(), AcceptedAt: r.AcceptedAt.UTC(), WorkflowID: r.WorkflowID, RunID: r.RunID,
					Speaker: r.Speaker, Input: r.Input, Answer: r.Answer,
				}
				if err := json.Unmarshal(r.Degraded, &line.Degraded); err != nil {
					return memory.Wrap(memory.CodeInternal, err, "read a turn")
				}
				out = append(out, line)
			}
			return err
		})
	})
	return out, err
}

// Story is everything about one turn.
type Story struct {
	// Turn is the request and the answer, with when and by which run.
	Turn TurnLine `json:"turn"`
	// Receipt is the plan, the candidates with their scores, what was selected
	// and why, the answer, and what was written.
	Receipt   memory.Receipt   `json:"receipt"`
	Selection memory.Selection `json:"selection"`
	// AnswerVersion and DraftVersion name the prompts or rules behind the
	// answer and the write.
	AnswerVersion string         `json:"answer_version,omitempty"`
	DraftVersion  string         `json:"draft_version,omitempty"`
	Serving       memory.Serving `json:"serving,omitempty"`
	K             int            `json:"k"`
	AsOf          time.Time      `json:"as_of,omitzero"`
	// Searched is how many items the plan's constraints left to search in.
	Searched  int          `json:"searched"`
	Usage     memory.Usage `json:"usage,omitzero"`
	Actor     string       `json:"actor,omitempty"`
	Committed time.Time    `json:"committed_at,omitzero"`
	// Refused are the statements that were not kept, newest first.
	Refused []Refusal `json:"refused"`
	// Changes are the changes to memory that the turn caused.
	Changes []Change `json:"changes"`
}

// Refusal is a statement that was proposed and not kept.
type Refusal struct {
	Memory string        `json:"memory"`
	Reason string        `json:"reason"`
	Rule   string        `json:"rule,omitempty"`
	Turn   memory.TurnID `json:"turn_id"`
	At     time.Time     `json:"at"`
}

// Change is one audit event: what happened to a memory, when, by whom, and why.
type Change struct {
	// Seq is the event's place in the tenant's chain.
	Seq    int64        `json:"seq"`
	At     time.Time    `json:"at"`
	Event  memory.Event `json:"event"`
	ID     memory.ID    `json:"id"`
	Actor  string       `json:"actor,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Rule   string       `json:"rule,omitempty"`
	// Turn, WorkflowID and RunID are the cause; empty for a person's own act.
	Turn       memory.TurnID `json:"turn_id,omitempty"`
	WorkflowID string        `json:"workflow_id,omitempty"`
	RunID      string        `json:"run_id,omitempty"`
	// Before and After are the memory's states; nil when there is none, or when
	// the user's texts were erased.
	Before *memory.Memory `json:"before,omitempty"`
	After  *memory.Memory `json:"after,omitempty"`
}

// Trace returns the whole story of a turn, CodeNotFound for one that does not
// exist or is not the user's.
func (s *Store) Trace(ctx context.Context, id memory.TurnID) (Story, error) {
	var out Story
	if err := checkText("turn", string(id)); err != nil {
		return out, err
	}
	err := s.once(ctx, "trace turn", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		out = Story{Refused: []Refusal{}, Changes: []Change{}}
		p.add(func(q *query.Queries) error {
			row, err := q.TurnByID(ctx, query.TurnByIDParams{Tenant: t, UserID: u, ID: string(id)})
			if err != nil {
				return err
			}
			return out.fill(row.Turn, row.Receipt)
		})
		p.add(func(q *query.Queries) error {
			rows, err := q.RefusalsOf(ctx, query.RefusalsOfParams{Tenant: t, UserID: u, TurnID: string(id), MaxItems: MaxPage})
			out.Refused = append(out.Refused, toRefusals(rows)...)
			return err
		})
		p.add(func(q *query.Queries) error {
			rows, err := q.History(ctx, query.HistoryParams{Tenant: t, UserID: u, TurnID: string(id), MaxItems: MaxPage})
			if err != nil {
				return err
			}
			out.Changes, err = toChanges(rows)
			return err
		})
	})
	if memory.CodeOf(err) == memory.CodeNotFound {
		return Story{}, memory.Errorf(memory.CodeNotFound, "there is no such turn")
	}
	return out, err
}

func (s *Story) fill(t query.Turn, written []byte) (err error) {
	if s.Receipt, err = toReceipt(t, written); err != nil {
		return err
	}
	var rest settings
	if err := json.Unmarshal(t.Settings, &rest); err != nil {
		return memory.Wrap(memory.CodeInternal, err, "read a turn")
	}
	if err := json.Unmarshal(t.Selection, &s.Selection); err != nil {
		return memory.Wrap(memory.CodeInternal, err, "read a turn")
	}
	s.Turn = TurnLine{
		ID: memory.TurnID(t.ID), Conversation: memory.ConversationID(t.Conversation), Mode: memory.Mode(t.Mode),
		Committed: t.State == "committed", At: t.At.UTC(), AcceptedAt: t.AcceptedAt.UTC(), WorkflowID: t.WorkflowID, RunID: t.RunID,
		Speaker: t.Speaker, Input: t.Input, Answer: t.Answer, Degraded: s.Receipt.Degraded,
	}
	s.AnswerVersion, s.DraftVersion, s.Actor, s.Committed = t.AnswerVersion, t.DraftVersion, t.Actor, fromNull(t.CommittedAt)
	s.Serving, s.K, s.AsOf, s.Searched, s.Usage = rest.Serving, rest.K, rest.AsOf, rest.Searched, rest.Usage
	return nil
}

func toRefusals(rows []query.RefusalsOfRow) []Refusal {
	out := make([]Refusal, len(rows))
	for i, r := range rows {
		out[i] = Refusal{Memory: r.Text, Reason: r.Reason, Rule: r.Rule, Turn: memory.TurnID(r.TurnID), At: r.At.UTC()}
	}
	return out
}

// HistoryFilter says which changes to list. The zero value is a first page of all.
type HistoryFilter struct {
	// After is the Seq of the last change of the page before.
	After int64
	// Limit is DefaultPage when zero, and MaxPage at most.
	Limit int
	// Memory and Turn ask for the changes of one.
	Memory memory.ID
	Turn   memory.TurnID
}

// History lists what happened to the user's memory, oldest first. Seq numbers
// are the tenant's and have gaps within a user.
func (s *Store) History(ctx context.Context, f HistoryFilter) ([]Change, error) {
	var out []Change
	err := s.once(ctx, "list history", func(p *pipeline, scope memory.Scope) {
		p.add(func(q *query.Queries) error {
			rows, err := q.History(ctx, query.HistoryParams{
				Tenant: string(scope.Tenant), UserID: string(scope.User), AfterSeq: f.After,
				MemoryID: string(f.Memory), TurnID: string(f.Turn), MaxItems: int32(pageSize(f.Limit)),
			})
			if err != nil {
				return err
			}
			out, err = toChanges(rows)
			return err
		})
	})
	return out, err
}

func toChanges(rows []query.HistoryRow) ([]Change, error) {
	out := make([]Change, len(rows))
	for i, r := range rows {
		a := r.AuditEvent
		out[i] = Change{
			Seq: a.Seq, At: a.At.UTC(), Event: memory.Event(a.Event), ID: memory.ID(a.MemoryID), Actor: a.Actor, Reason: a.Reason, Rule: a.Rule,
			Turn: memory.TurnID(a.TurnID), WorkflowID: a.WorkflowID, RunID: a.RunID,
		}
		for _, text := range []struct {
			json *string
			into **memory.Memory
		}{{r.Before, &out[i].Before}, {r.After, &out[i].After}} {
			if text.json == nil || *text.json == "" {
				continue
			}
			*text.into = &memory.Memory{}
			if err := json.Unmarshal([]byte(*text.json), *text.into); err != nil {
				return nil, memory.Wrap(memory.CodeInternal, err, "read the text of an audit event")
			}
		}
	}
	return out, nil
}

// Refusals lists the newest statements that were proposed and not kept, at
// most limit (DefaultPage when zero); Counts tells how many there were in all.
func (s *Store) Refusals(ctx context.Context, limit int) ([]Refusal, error) {
	var out []Refusal
	err := s.once(ctx, "list refusals", func(p *pipeline, scope memory.Scope) {
		p.add(func(q *query.Queries) error {
			rows, err := q.RefusalsOf(ctx, query.RefusalsOfParams{
				Tenant: string(scope.Tenant), UserID: string(scope.User), MaxItems: int32(pageSize(limit)),
			})
			out = toRefusals(rows)
			return err
		})
	})
	return out, err
}

// Counts is how much there is of a user.
type Counts struct {
	// Live is the number of active and contested memories.
	Live    int   `json:"live"`
	Refused int64 `json:"refused"`
	Turns   int64 `json:"turns"`
	// Revision counts the changes to the user's memory.
	Revision int64 `json:"revision"`
}

// Counts returns how much there is of the user; zeros for an unknown one.
func (s *Store) Counts(ctx context.Context) (Counts, error) {
	var out Counts
	err := s.once(ctx, "count", func(p *pipeline, scope memory.Scope) {
		p.add(func(q *query.Queries) error {
			row, err := q.Counts(ctx, query.CountsParams{Tenant: string(scope.Tenant), UserID: string(scope.User)})
			out = Counts{Live: int(row.Live), Refused: row.Refused, Turns: row.Turns, Revision: row.Revision}
			return unlessMissing(err)
		})
	})
	return out, err
}
