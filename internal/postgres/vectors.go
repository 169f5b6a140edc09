package postgres

import (
	"context"
	"slices"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// Unembedded implements activities.TurnStore: live memories, oldest first.
func (s *Store) Unembedded(ctx context.Context, model string, limit int) ([]memory.Memory, error) {
	var out []memory.Memory
	if model == "" {
		return nil, memory.Invalid("model", "must not be empty")
	}
	err := s.once(ctx, "list memories without vectors", func(p *pipeline, scope memory.Scope) {
		out = nil
		p.add(func(q *query.Queries) error {
			rows, err := q.Unembedded(ctx, query.UnembeddedParams{
				Tenant: string(scope.Tenant), UserID: string(scope.User), Model: model, MaxItems: int32(min(max(limit, 0), memory.DefaultCapacity)),
			})
			if err != nil {
				return err
			}
			out = make([]memory.Memory, len(rows))
			for i, r := range rows {
				if out[i], err = toMemory(r.Memory); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return out, err
}

// SetVectors implements activities.TurnStore.
func (s *Store) SetVectors(ctx context.Context, model string, vectors map[memory.ID]memory.Vector) error {
	if model == "" {
		return memory.Invalid("model", "must not be empty")
	}
	ids := make([]string, 0, len(vectors))
	for id, v := range vectors {
		if len(v) == 0 || len(v) > maxDimensions {
			return memory.Errorf(memory.CodeInvalidOutput, "set vectors: a vector of %d dimensions, must be between 1 and %d", len(v), maxDimensions)
		}
		ids = append(ids, string(id))
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return err
	}
	t, u := string(scope.Tenant), string(scope.User)
	return s.locked(ctx, "set vectors", scope, func(ctx context.Context, conn sender) error {
		m := &mutation{}
		if err := m.begin(ctx, scope).send(ctx, conn); err != nil {
			return err
		}
		p := &pipeline{}
		for _, id := range ids {
			p.add(func(q *query.Queries) error {
				_, err := q.SetVector(ctx, query.SetVectorParams{Tenant: t, UserID: u, Model: model, MemoryID: id, V: vectors[memory.ID(id)]})
				return err
			})
		}
		p.add(func(q *query.Queries) error {
			return q.MarkRevision(ctx, query.MarkRevisionParams{Tenant: t, UserID: u, Ids: ids, Revision: m.revision})
		})
		m.write(ctx, p)
		p.statement(ctx, "commit")
		return p.send(ctx, conn)
	})
}
