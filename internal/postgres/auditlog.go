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
			Body: a.Body, PrevHash: a.PrevHash, Hash: a.Hash, Excused: r.Excused, Lost: r.Lost,
		}
		if r.Before != nil && r.After != nil {
			out[i].Text = &audit.Text{Salt: r.Salt, Before: *r.Before, After: *r.After}
		}
	}
	return out, nil
}

// Memories implements audit.View.
func (v auditView) Memories(ctx context.Context, after memory.Memory, limit int) ([]audit.State, error) {
	rows, err := v.q.AuditMemories(ctx, query.AuditMemoriesParams{
		Tenant: v.tenant, AfterUser: string(after.User), AfterID: string(after.ID), MaxItems: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	out := make([]audit.State, len(rows))
	for i, r := range rows {
		m, err := toMemory(query.Memory{
			Tenant: v.tenant, UserID: r.UserID, ID: r.ID, Strength: r.Strength, Pinned: r.Pinned, Kind: r.Kind, Status: r.Status, Source: r.Source,
			EventAt: r.EventAt, ValidFrom: r.ValidFrom, ValidTo: r.ValidTo, RecordedAt: r.RecordedAt, ExpiredAt: r.ExpiredAt, LastSeen: r.LastSeen,
			Conversation: r.Conversation, SupersededBy: r.SupersededBy, Speaker: r.Speaker, Subject: r.Subject, Attribute: r.Attribute,
			Value: r.Value, Text: r.Text, Metadata: r.Metadata,
		})
		if err != nil {
			return nil, err
		}
		out[i] = audit.State{Memory: m, Seq: r.Seq, Event: memory.Event(r.Event), After: r.After}
	}
	return out, nil
}
