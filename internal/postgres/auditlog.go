package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

var _ audit.Log = (*Store)(nil)

// Snapshot implements audit.Log. It needs a store that works as
// schema.RoleAuditor; to others the chain is not open.
func (s *Store) Snapshot(ctx context.Context, tenant memory.TenantID, f func(audit.View) error) error {
	const step = "read the audit"
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return wrap(err, step)
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	q := query.New(tx)
	if err := q.EnterScope(ctx, query.EnterScopeParams{Tenant: string(tenant)}); err != nil {
		return wrap(err, step)
	}
	return wrap(f(auditView{q, string(tenant)}), step)
}

type auditView struct {
	q      *query.Queries
	tenant string
}

// Head implements audit.View.
func (v auditView) Head(ctx context.Context) (audit.Anchor, bool, error) {
	row, err := v.q.AuditHead(ctx, v.tenant)
	if err != nil || len(row.Hash) != sha256.Size {
		return audit.Anchor{}, false, unlessMissing(err)
	}
	return audit.Anchor{Seq: row.Seq, Hash: [sha256.Size]byte(row.Hash)}, true, nil
}

// Page implements audit.View.
func (v auditView) Page(ctx context.Context, after int64, limit int) ([]audit.Entry, error) {
	rows, err := v.q.AuditPage(ctx, query.AuditPageParams{Tenant: v.tenant, AfterSeq: after, MaxItems: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("read a page: %w", err)
	}
	out := make([]audit.Entry, len(rows))
	for i, r := range rows {
		a := r.AuditEvent
		out[i] = audit.Entry{
			Tenant: a.Tenant, User: a.UserID, Seq: a.Seq, At: a.At, Event: a.Event, MemoryID: a.MemoryID,
			Actor: a.Actor, Reason: a.Reason, Rule: a.Rule, TurnID: a.TurnID, WorkflowID: a.WorkflowID, RunID: a.RunID,
			Content: a.Content, BeforeDigest: a.BeforeDigest, AfterDigest: a.AfterDigest,
			Body: a.Body, PrevHash: a.PrevHash, Hash: a.Hash,
		}
		if r.Before != nil && r.After != nil {
			out[i].Text = &audit.Text{Salt: r.Salt, Before: *r.Before, After: *r.After}
		}
	}
	return out, nil
}
