package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

// AuditIn reads the audit within a transaction, with what that has changed.
func AuditIn(tx pgx.Tx) audit.Log { return auditIn{tx} }

type auditIn struct{ tx pgx.Tx }

// Snapshot implements audit.Log.
func (a auditIn) Snapshot(_ context.Context, tenant memory.TenantID, f func(audit.View) error) error {
	return f(auditView{query.New(a.tx), string(tenant)})
}
