package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

var (
	_ activities.TurnStore = (*Store)(nil)
	_ activities.Streamer  = (*Store)(nil)
)

// maxContextTurns bounds how many turns the short-term context is cut from.
const maxContextTurns = 24

// settings is what a turn's row keeps of the request and its serving besides
// the columns.
type settings struct {
	AsOf     time.Time         `json:"as_of,omitzero"`
	K        int               `json:"k"`
	Verbatim bool              `json:"verbatim,omitempty"`
	Rules    bool              `json:"rules,omitempty"`
	TimeZone string            `json:"time_zone,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Serving  memory.Serving    `json:"serving,omitempty"`
	Searched int               `json:"searched,omitempty"`
	Usage    memory.Usage      `json:"usage,omitzero"`
}

// Open implements activities.TurnStore. A turn that is on record but whose
// write has not ended comes back as Unfinished: the workflow goes on with it
// where it stopped. An unknown user is a new one.
func (s *Store) Open(ctx context.Context, r memory.Request) (memory.Profile, []memory.Message, *memory.Receipt, error) {
	var (
		profile memory.Profile
		last    []query.LastTurnsRow
		earlier *query.TurnByKeyRow
	)
	err := s.once(ctx, "open turn", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		profile, last, earlier = memory.Profile{}, nil, nil
		p.add(func(q *query.Queries) error {
			row, err := q.Profile(ctx, query.ProfileParams{Tenant: t, UserID: u})
			profile = memory.Profile{Name: row.Name, TimeZone: row.TimeZone}
			return unlessMissing(err)
		})
		p.add(func(q *query.Queries) (err error) {
			last, err = q.LastTurns(ctx, query.LastTurnsParams{
				Tenant: t, UserID: u, Conversation: string(r.Conversation), At: cmp.Or(r.At, farFuture),
				AsOf: toNull(r.AsOf), IdempotencyKey: r.IdempotencyKey,
				MaxRunes: int32(runesForToken * s.contextTokens), MaxTurns: maxContextTurns,
			})
			return err
		})
		p.add(func(q *query.Queries) error {
			row, err := q.TurnByKey(ctx, query.TurnByKeyParams{
				Tenant: t, UserID: u, Conversation: string(r.Conversation), IdempotencyKey: r.IdempotencyKey,
			})
			if err == nil {
				earlier = &row
			}
			return unlessMissing(err)
		})
	})
	if err != nil {
		return memory.Profile{}, nil, nil, err
	}
	done, err := doneReceipt(r, earlier)
	if err != nil {
		return memory.Profile{}, nil, nil, err
	}
	return profile, shortTerm(last, s.contextTokens), done, nil
}

// farFuture is later than every time of a turn.
var farFuture = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// doneReceipt returns the receipt of an earlier turn with the request's
// idempotency key, nil when there is none.
func doneReceipt(r memory.Request, earlier *query.TurnByKeyRow) (*memory.Receipt, error) {
	if earlier == nil {
		return nil, nil
	}
	// The digest was taken of the request as it came; a request without a time
	// has since got that of its workflow.
	timeless := r
	timeless.At = time.Time{}
	if d := earlier.Turn.RequestDigest; d != r.Digest() && d != timeless.Digest() {
		return nil, memory.Errorf(memory.CodeConflict, "the idempotency key was used before with another request")
	}
	receipt, err := toReceipt(earlier.Turn, earlier.Receipt)
	receipt.Unfinished = earlier.Turn.Mode != string(memory.ModeRecall) && earlier.Turn.State != "committed"
	return &receipt, err
}

// toReceipt restores a turn's receipt from its row and its write's receipt.
func toReceipt(t query.Turn, written []byte) (memory.Receipt, error) {
	r := memory.Receipt{Written: []memory.Outcome{}}
	if written != nil {
		if err := json.Unmarshal(written, &r); err != nil {
			return r, memory.Wrap(memory.CodeInternal, err, "read a receipt")
		}
	}
	r.Reply = memory.Reply{
		TurnID: memory.TurnID(t.ID), WorkflowID: t.WorkflowID, RunID: t.RunID, Answer: t.Answer,
	}
	r.RequestDigest = t.RequestDigest
	var selection memory.Selection
	err := errors.Join(json.Unmarshal(t.Plan, &r.Plan), json.Unmarshal(t.Candidates, &r.Candidates),
		json.Unmarshal(t.Selection, &selection), json.Unmarshal(t.Degraded, &r.Degraded))
	r.Selected = selection.Chosen
	if r.Selected == nil {
		r.Selected = []memory.Chosen{}
	}
	return r, memory.Wrap(memory.CodeInternal, err, "read a turn")
}

// Record implements activities.TurnStore. For a turn whose caller hands in its
// answer later, a second call adds the answer.
func (s *Store) Record(ctx context.Context, a memory.Answered) error {
	if err := checkText("answer", a.Answer.Text); err != nil {
		return err
	}
	selected := make([]string, len(a.Selection.Chosen))
	for i, c := range a.Selection.Chosen {
		selected[i] = string(c.ID)
	}
	slices.Sort(selected)
	plan := a.Plan
	plan.Queries = make([]memory.Query, len(a.Plan.Queries))
	for i, q := range a.Plan.Queries {
		q.Vector = nil // of no use later, and larger than all the rest
		plan.Queries[i] = q
	}
	row := query.RecordTurnParams{
		ID: string(a.ID), Conversation: string(a.Conversation), IdempotencyKey: a.IdempotencyKey, RequestDigest: a.RequestDigest,
		WorkflowID: a.WorkflowID, RunID: a.RunID, Mode: string(a.Mode), Actor: a.Actor,
		At: a.At, AcceptedAt: a.AcceptedAt, Speaker: a.Speaker, Input: a.Text,
		Answer: a.Answer.Text, AnswerVersion: a.Answer.Version, Selected: selected,
		Settings: encode(settings{
			AsOf: a.AsOf, K: a.K, Verbatim: a.Verbatim, Rules: a.Rules, TimeZone: a.TimeZone,
			Metadata: a.Metadata, Serving: a.Serving, Searched: a.Searched, Usage: a.Answer.Usage,
		}, "{}"),
		Plan: encode(plan, "{}"), Candidates: encode(a.Candidates, "[]"),
		Selection: encode(a.Selection, "{}"), Degraded: encode(a.Degraded, "[]"),
	}
	err := s.once(ctx, "record turn", func(p *pipeline, scope memory.Scope) {
		row.Tenant, row.UserID = string(scope.Tenant), string(scope.User)
		p.add(func(q *query.Queries) error {
			return q.EnsureConversation(ctx, query.EnsureConversationParams{Tenant: row.Tenant, UserID: row.UserID, ID: row.Conversation})
		})
		p.add(func(q *query.Queries) error {
			_, err := q.RecordTurn(ctx, row)
			return err
		})
		if a.Mode == memory.ModeCaller && a.Answer.Text != "" {
			p.add(func(q *query.Queries) error {
				return q.RecordAnswer(ctx, query.RecordAnswerParams{
					Tenant: row.Tenant, UserID: row.UserID, ID: row.ID, Answer: row.Answer, AnswerVersion: row.AnswerVersion,
				})
			})
		}
		if a.Mode == memory.ModeAnswer {
			p.add(func(q *query.Queries) error {
				return q.DeleteStream(ctx, query.DeleteStreamParams{Tenant: row.Tenant, UserID: row.UserID, WorkflowID: row.WorkflowID})
			})
		}
	})
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "23505" {
		return memory.Wrap(memory.CodeConflict, err, "record turn: the idempotency key belongs to another turn")
	}
	return err
}

// SetProfile stores what is known about a user apart from memories; an unknown
// user is made.
func (s *Store) SetProfile(ctx context.Context, profile memory.Profile) error {
	if err := checkText("name", profile.Name); err != nil {
		return err
	}
	if len(profile.Name) > 1024 {
		return memory.Invalid("name", "must have at most 1024 bytes")
	}
	if _, err := time.LoadLocation(profile.TimeZone); err != nil {
		return memory.Invalid("time_zone", "is no known time zone")
	}
	return s.once(ctx, "set profile", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		p.add(func(q *query.Queries) error {
			return q.EnsureUser(ctx, query.EnsureUserParams{Tenant: t, UserID: u})
		})
		p.add(func(q *query.Queries) error {
			return q.SetProfile(ctx, query.SetProfileParams{Tenant: t, UserID: u, Name: profile.Name, TimeZone: profile.TimeZone})
		})
	})
}
