// Package postgrestest gives tests migrated databases and stores over them.
package postgrestest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// URL returns the owner's address of a migrated database of the test's own: a
// clone of one that is migrated once for each state of the migrations.
func URL(tb testing.TB) string {
	tb.Helper()
	return stacktest.PostgresFrom(tb, "schema-"+schema.Hash(), schema.Migrate)
}

// Store opens a store over a database of the test's own. Its URL is filled in.
func Store(tb testing.TB, o postgres.Options) *postgres.Store {
	tb.Helper()
	if o.URL == "" {
		o.URL = URL(tb)
	}
	store, err := postgres.Open(tb.Context(), o)
	require.NoError(tb, err)
	tb.Cleanup(store.Close)
	return store
}

// In returns a context for the memory of one user.
func In(ctx context.Context, tenantID, user string) context.Context {
	return tenant.NewContext(ctx, memory.Scope{Tenant: memory.TenantID(tenantID), User: memory.UserID(user)})
}
