package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/memory"
)

var _ retrieve.Source = (*Store)(nil)

// Changes implements retrieve.Source. Items come without evidence and access
// counts; Fetch has those. Of the closed items a first load brings the newest
// superseded ones, memory.DefaultCapacity at most; what was merged, evicted or
// forgotten is never searched again.
func (s *Store) Changes(ctx context.Context, model string, since int64) (retrieve.Delta, error) {
	var delta retrieve.Delta
	reset := false
	err := s.once(ctx, "read changes", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		delta, reset = retrieve.Delta{}, since <= 0
		// The revision is read first: what a later snapshot adds to the items is
		// brought again the next time, which does no harm.
		p.add(func(q *query.Queries) error {
			row, err := q.Revision(ctx, query.RevisionParams{Tenant: t, UserID: u})
			if err = unlessMissing(err); err == nil {
				delta.Revision = row.Revision
				reset = reset || since > row.Revision || since < row.UnknownBefore
			}
			return err
		})
		if since > 0 {
			p.rows(ctx, query.ItemsSince, []any{t, u, model, since}, func(rows pgx.Rows) (err error) {
				reader := itemReader{scope: scope}
				delta.Items, err = reader.read(rows, nil)
				return err
			})
		}
	})
	if err != nil {
		return retrieve.Delta{}, err
	}
	if reset {
		return s.all(ctx, model)
	}
	return delta, nil
}

// all returns the whole memory.
func (s *Store) all(ctx context.Context, model string) (retrieve.Delta, error) {
	var delta retrieve.Delta
	err := s.once(ctx, "read memory", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		delta = retrieve.Delta{Reset: true}
		live := int32(0)
		p.add(func(q *query.Queries) error {
			row, err := q.Revision(ctx, query.RevisionParams{Tenant: t, UserID: u})
			delta.Revision, live = row.Revision, row.Live
			return unlessMissing(err)
		})
		p.rows(ctx, query.ItemsAll, []any{t, u, model, int32(memory.DefaultCapacity)}, func(rows pgx.Rows) (err error) {
			reader := itemReader{scope: scope}
			delta.Items, err = reader.read(rows, make([]retrieve.Item, 0, live))
			return err
		})
	})
	return delta, err
}

// AsOf implements retrieve.Source: at most memory.DefaultCapacity items, live
// ones first, newest first. What was forgotten since is gone from the past, too.
func (s *Store) AsOf(ctx context.Context, model string, t time.Time) ([]retrieve.Item, error) {
	var items []retrieve.Item
	err := s.once(ctx, "read memory as of a time", func(p *pipeline, scope memory.Scope) {
		items = nil
		p.rows(ctx, query.ItemsAsOf, []any{string(scope.Tenant), string(scope.User), t, model, int32(memory.DefaultCapacity)}, func(rows pgx.Rows) (err error) {
			reader := itemReader{scope: scope}
			items, err = reader.read(rows, nil)
			return err
		})
	})
	return items, err
}

// Fetch implements retrieve.Source, with evidence and access counts.
func (s *Store) Fetch(ctx context.Context, ids []memory.ID) ([]memory.Memory, error) {
	var out []memory.Memory
	if len(ids) == 0 {
		return nil, nil
	}
	wanted := make([]string, len(ids))
	for i, id := range ids {
		wanted[i] = string(id)
	}
	err := s.once(ctx, "fetch memories", func(p *pipeline, scope memory.Scope) {
		out = nil
		p.add(func(q *query.Queries) error {
			rows, err := q.Fetch(ctx, query.FetchParams{Tenant: string(scope.Tenant), UserID: string(scope.User), Ids: wanted})
			if err != nil {
				return err
			}
			out = make([]memory.Memory, len(rows))
			for i, r := range rows {
				if out[i], err = toMemory(r.Memory); err != nil {
					return err
				}
				out[i].Accessed, out[i].AccessedAt = int(r.Accessed), fromNull(r.AccessedAt)
				for _, turn := range r.Evidence {
					out[i].Evidence = append(out[i].Evidence, memory.TurnID(turn))
				}
			}
			return nil
		})
	})
	return out, err
}
