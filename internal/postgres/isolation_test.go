package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// connect returns a connection over the owner's address that works as the role.
func connect(t *testing.T, address string, role schema.Role) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(address)
	require.NoError(t, err)
	if role != "" {
		config.RuntimeParams["role"] = string(role)
	}
	config.RuntimeParams["search_path"] = "lightmem, public, ag_catalog"
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

// inhabit fills every table for two users of each of two tenants, who all say
// the same words.
func inhabit(t *testing.T, s *postgres.Store) []memory.Scope {
	t.Helper()
	var scopes []memory.Scope
	for _, tenantID := range []memory.TenantID{"acme", "umbrella"} {
		for _, user := range []memory.UserID{"ann", "bob"} {
			scope := memory.Scope{Tenant: tenantID, User: user}
			scopes = append(scopes, scope)
			ctx := tenant.NewContext(t.Context(), scope)
			require.NoError(t, s.SetProfile(ctx, memory.Profile{Name: string(user)}))
			var last memory.ID
			for i, city := range []string{"Berlin", "Oslo"} {
				a := answered(string(user), fmt.Sprint("k", i), "I live in "+city)
				a.Scope = scope
				a.At = day.AddDate(0, i, 0)
				if last != "" {
					a.Candidates = []memory.Candidate{{ID: last, Memory: "Lives in Berlin."}}
					a.Selection.Chosen = []memory.Chosen{{ID: last, Reason: "score"}}
				}
				require.NoError(t, s.Record(ctx, a))
				d := drafted(a, memory.Draft{
					Text: "Lives in " + city + ".", Subject: "user", Attribute: "residence", Value: city, EventAt: a.At, Vector: memory.Vector{1, float32(i)}, Quote: a.Text,
				})
				d.Refused = []memory.Outcome{{Memory: "Hi!", Event: memory.EventRefused, Reason: "small talk"}}
				receipt, err := s.Commit(ctx, d)
				require.NoError(t, err)
				last = receipt.Written[len(receipt.Written)-1].ID
			}
			require.NoError(t, s.Publish(ctx, "turn/"+string(user), 1, 0, "a piece"))
		}
	}
	return scopes
}

type tenantTable struct {
	name       string
	columns    string // those that can be written
	hasUser    bool
	ownerScope string // SQL that is true for rows of another scope than $1, $2
}

// tenantTables finds every table of ours in the catalog: one without policies is
// an error, whoever adds it.
func tenantTables(t *testing.T, owner *pgx.Conn) []tenantTable {
	t.Helper()
	rows, err := owner.Query(t.Context(), `
		SELECT c.relname, c.relrowsecurity, c.relforcerowsecurity, (SELECT count(*) FROM pg_policy WHERE polrelid = c.oid),
			(SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''),
			(SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute WHERE attrelid = c.oid AND attnum IN (1, 2))
		FROM pg_class c WHERE c.relnamespace = 'lightmem'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY 1`)
	require.NoError(t, err)
	defer rows.Close()
	var out []tenantTable
	for rows.Next() {
		var table tenantTable
		var enabled, forced bool
		var policies int
		var first []string
		require.NoError(t, rows.Scan(&table.name, &enabled, &forced, &policies, &table.columns, &first))
		require.True(t, enabled && forced && policies > 0, "table %s: row-level security enabled %v, forced %v, %d policies", table.name, enabled, forced, policies)
		require.Equal(t, "tenant", first[0], "table %s: the first column is the tenant", table.name)
		table.hasUser = first[1] == "user_id"
		table.ownerScope = "(tenant <> $1 OR $2 = '')"
		if table.hasUser {
			table.ownerScope = "(tenant, user_id) <> ($1, $2)"
		}
		out = append(out, table)
	}
	require.NoError(t, rows.Err())
	require.GreaterOrEqual(t, len(out), 15)
	return out
}

// denied reports whether the database refused for want of rights.
func denied(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "42501"
}

func TestNoTableShowsOrTakesAnotherScopesRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	address := postgrestest.URL(t)
	scopes := inhabit(t, postgrestest.Store(t, postgres.Options{URL: address}))
	owner, app := connect(t, address, ""), connect(t, address, schema.RoleApp)

	for _, table := range tenantTables(t, owner) {
		t.Run(table.name, func(t *testing.T) { //nolint:paralleltest // they share two connections
			for _, scope := range append(scopes, memory.Scope{}) {
				within(t, app, scope, func(tx pgx.Tx) {
					var foreign, own int
					err := tx.QueryRow(ctx, "SELECT count(*) FILTER (WHERE "+table.ownerScope+"), count(*) FROM "+table.name, scope.Tenant, scope.User).Scan(&foreign, &own)
					if table.name == "audit_head" {
						require.True(t, denied(err), "the app has no business with %s: %v", table.name, err)
						return
					}
					require.NoError(t, err)
					require.Zero(t, foreign, "reads rows of others")
					if scope.Tenant == "" {
						require.Zero(t, own, "without a scope there is nothing")
					} else {
						require.Positive(t, own, "the test put rows into every table")
					}
				})
				for _, statement := range []string{
					"UPDATE " + table.name + " SET tenant = tenant WHERE " + table.ownerScope,
					"DELETE FROM " + table.name + " WHERE " + table.ownerScope,
				} {
					within(t, app, scope, func(tx pgx.Tx) {
						tag, err := tx.Exec(ctx, statement, scope.Tenant, scope.User)
						if !denied(err) {
							require.NoError(t, err)
							require.Zero(t, tag.RowsAffected(), statement)
						}
					})
				}
				for _, move := range []string{"tenant = 'stolen'", "user_id = 'stolen'"} {
					if !table.hasUser && strings.HasPrefix(move, "user_id") || scope.Tenant == "" {
						continue
					}
					within(t, app, scope, func(tx pgx.Tx) {
						_, err := tx.Exec(ctx, "UPDATE "+table.name+" SET "+move)
						require.True(t, denied(err), "%s moves rows to another scope: %v", move, err)
					})
				}
			}
			// A whole row of another scope, as only a superuser can read it.
			for _, scope := range scopes {
				var row string
				require.NoError(t, owner.QueryRow(ctx, "SELECT to_jsonb(r)::text FROM "+table.name+" r WHERE "+table.ownerScope+" LIMIT 1", scope.Tenant, scope.User).Scan(&row))
				within(t, app, scope, func(tx pgx.Tx) {
					_, err := tx.Exec(ctx, fmt.Sprintf("INSERT INTO %[1]s (%[2]s) SELECT %[2]s FROM jsonb_populate_record(NULL::%[1]s, $1::text::jsonb)", table.name, table.columns), row)
					require.True(t, denied(err), "writes a row of another scope: %v", err)
				})
			}
		})
	}
}

// within runs f in a transaction of the scope that is rolled back.
func within(t *testing.T, conn *pgx.Conn, scope memory.Scope, f func(tx pgx.Tx)) {
	t.Helper()
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }()
	if scope.Tenant != "" {
		_, err = tx.Exec(t.Context(), "SELECT set_config('lightmem.tenant', $1, true), set_config('lightmem.user', $2, true)", scope.Tenant, scope.User)
		require.NoError(t, err)
	}
	f(tx)
}

func TestScopeEndsWithItsTransaction(t *testing.T) {
	t.Parallel()
	address := postgrestest.URL(t)
	inhabit(t, postgrestest.Store(t, postgres.Options{URL: address}))
	app := connect(t, address, schema.RoleApp)
	within(t, app, memory.Scope{Tenant: "acme", User: "ann"}, func(pgx.Tx) {})
	var n int
	require.NoError(t, app.QueryRow(t.Context(), "SELECT count(*) FROM memory").Scan(&n))
	require.Zero(t, n)
}

func TestAppCannotTouchTheAudit(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	address := postgrestest.URL(t)
	scopes := inhabit(t, postgrestest.Store(t, postgres.Options{URL: address}))
	app := connect(t, address, schema.RoleApp)
	for _, statement := range []string{
		"UPDATE audit_event SET reason = 'x'", "DELETE FROM audit_event", "TRUNCATE audit_event",
		"UPDATE audit_content SET after = ''", "DELETE FROM audit_content", "UPDATE audit_head SET seq = 0", "DELETE FROM audit_head",
		"SELECT * FROM audit_head", "ALTER TABLE audit_event DISABLE TRIGGER ALL", "DROP TABLE audit_event",
		"SELECT lightmem.chain_audit()", "CREATE TABLE lightmem.x ()",
		"ALTER TABLE memory DISABLE ROW LEVEL SECURITY", "DROP POLICY scope ON memory",
	} {
		within(t, app, scopes[0], func(tx pgx.Tx) {
			_, err := tx.Exec(ctx, statement)
			require.Error(t, err, statement)
		})
	}
	// It may erase the texts of what is forgotten, and no others.
	owner := connect(t, address, "")
	var ids []string
	require.NoError(t, owner.QueryRow(ctx, "SELECT array_agg(DISTINCT memory_id) FROM audit_event").Scan(&ids))
	within(t, app, scopes[0], func(tx pgx.Tx) {
		var before, after int
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FROM audit_content").Scan(&before))
		_, err := tx.Exec(ctx, "SELECT lightmem.erase_audit_content($1)", ids)
		require.NoError(t, err)
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FROM audit_content").Scan(&after))
		require.Equal(t, before, after)
	})
	for _, statement := range []string{"RESET ROLE", "DISCARD ALL", "SET SESSION AUTHORIZATION DEFAULT"} {
		_, err := app.Exec(ctx, statement)
		require.NoError(t, err)
		var role string
		require.NoError(t, app.QueryRow(ctx, "SELECT current_user", pgx.QueryExecModeExec).Scan(&role))
		require.Equal(t, string(schema.RoleApp), role, statement)
	}
}

func TestStoreRefusesARoleThatIsNotBound(t *testing.T) {
	t.Parallel()
	address := postgrestest.URL(t)
	_, err := postgres.Open(t.Context(), postgres.Options{URL: address, Role: "lightmem"})
	require.Equal(t, memory.CodeForbidden, memory.CodeOf(err))
}

func TestStoreNeedsAScope(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	_, err := s.Changes(t.Context(), "test", 0)
	require.Equal(t, memory.CodeForbidden, memory.CodeOf(err))
	_, err = s.Commit(t.Context(), memory.Drafted{})
	require.Equal(t, memory.CodeForbidden, memory.CodeOf(err))
}

func TestUsersWithTheSameWordsDoNotMeet(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	scopes := inhabit(t, s)
	seen := map[memory.ID]memory.Scope{}
	for _, scope := range scopes {
		ctx := tenant.NewContext(t.Context(), scope)
		delta, err := s.Changes(ctx, "test", 0)
		require.NoError(t, err)
		require.Len(t, delta.Items, 2)
		for _, item := range delta.Items {
			require.Equal(t, scope, item.Scope)
			require.NotContains(t, seen, item.ID)
			seen[item.ID] = scope
		}
		counts, err := s.Counts(ctx)
		require.NoError(t, err)
		require.Equal(t, postgres.Counts{Live: 1, Refused: 2, Turns: 2, Revision: 2}, counts)
	}
	// Ids of others are missing, not forbidden: nobody learns that they exist.
	for id, scope := range seen {
		for _, other := range scopes {
			if other == scope {
				continue
			}
			ctx := tenant.NewContext(t.Context(), other)
			found, err := s.Fetch(ctx, []memory.ID{id})
			require.NoError(t, err)
			require.Empty(t, found)
			_, err = s.ShowMemory(ctx, id)
			require.Equal(t, memory.CodeNotFound, memory.CodeOf(err))
			_, err = s.Forget(ctx, id, "me", "")
			require.Equal(t, memory.CodeNotFound, memory.CodeOf(err))
			_, err = s.Pin(ctx, id, "me")
			require.Equal(t, memory.CodeNotFound, memory.CodeOf(err))
			require.NoError(t, s.SetVectors(ctx, "test", map[memory.ID]memory.Vector{id: {0, 1}}))
		}
	}
	a := answered("ann", "k0", "")
	_, err := s.Trace(tenant.NewContext(t.Context(), memory.Scope{Tenant: "acme", User: "bob"}), a.ID)
	require.Equal(t, memory.CodeNotFound, memory.CodeOf(err))
	_, err = s.Trace(tenant.NewContext(t.Context(), memory.Scope{Tenant: "acme", User: "ann"}), a.ID)
	require.NoError(t, err)
}

// The graph's labels hold a tenant's shared knowledge: nothing crosses it, by SQL
// or by Cypher, with a label or (through the parent tables) without one.
func TestGraphShowsAndTakesOneTenantOnly(t *testing.T) {
	t.Parallel()
	ctx, address := t.Context(), postgrestest.URL(t)
	owner, app := connect(t, address, ""), connect(t, address, schema.RoleApp)
	for _, tenantID := range []string{"acme", `um"brella`} {
		_, err := owner.Exec(ctx, `INSERT INTO ltm."Concept" (properties)
			SELECT jsonb_build_object('tenant', $1::text, 'key', 'k' || i)::text::ag_catalog.agtype FROM generate_series(1, 2) i`, tenantID)
		require.NoError(t, err)
	}
	rows, err := owner.Query(ctx, `SELECT relname, relrowsecurity AND relforcerowsecurity AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid)
		FROM pg_class c WHERE relnamespace = 'ltm'::regnamespace AND relkind = 'r'`)
	require.NoError(t, err)
	for rows.Next() {
		var name string
		var closed bool
		require.NoError(t, rows.Scan(&name, &closed))
		require.True(t, closed, name)
	}
	require.NoError(t, rows.Err())
	for scope, want := range map[memory.Scope]int{
		{Tenant: "acme", User: "ann"}: 2, {Tenant: `um"brella`, User: "ann"}: 2, {Tenant: "nobody", User: "ann"}: 0, {}: 0,
	} {
		within(t, app, scope, func(tx pgx.Tx) {
			for _, query := range []string{
				`SELECT count(*) FROM ltm."Concept"`, `SELECT count(*) FROM ltm._ag_label_vertex`,
				`SELECT count(*) FROM ag_catalog.cypher('ltm', $cy$ MATCH (n:Concept) RETURN n $cy$) AS (n ag_catalog.agtype)`,
				`SELECT count(*) FROM ag_catalog.cypher('ltm', $cy$ MATCH (n) RETURN n $cy$) AS (n ag_catalog.agtype)`,
			} {
				var n int
				require.NoError(t, tx.QueryRow(ctx, query).Scan(&n), query)
				require.Equal(t, want, n, "%v: %s", scope, query)
			}
			tag, err := tx.Exec(ctx, `DELETE FROM ltm."Concept"`)
			require.NoError(t, err)
			require.EqualValues(t, want, tag.RowsAffected())
			_, err = tx.Exec(ctx, `INSERT INTO ltm."Concept" (properties) VALUES ('{"tenant": "third", "key": "k"}')`)
			require.True(t, denied(err), "%v", err)
		})
	}
}

// The owner of a managed database is no superuser: FORCE binds him, and the
// audit's trigger, which runs as he, too.
func TestOwnerNeedNotBeASuperuser(t *testing.T) {
	t.Parallel()
	ctx, server := t.Context(), stacktest.PrivatePostgres(t)
	admin := connect(t, server.URL, "")
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	database := pgx.Identifier{strings.TrimPrefix(address.Path, "/")}.Sanitize()
	for _, statement := range []string{
		"CREATE EXTENSION IF NOT EXISTS vector", "CREATE EXTENSION IF NOT EXISTS age",
		"CREATE ROLE landlord LOGIN CREATEROLE PASSWORD 'x'", "ALTER DATABASE " + database + " OWNER TO landlord",
		"GRANT USAGE ON SCHEMA ag_catalog TO landlord WITH GRANT OPTION", "GRANT ALL ON ALL TABLES IN SCHEMA ag_catalog TO landlord WITH GRANT OPTION",
	} {
		_, err := admin.Exec(ctx, statement)
		require.NoError(t, err, statement)
	}
	address.User = url.UserPassword("landlord", "x")
	require.NoError(t, schema.Migrate(ctx, address.String()))
	inhabit(t, postgrestest.Store(t, postgres.Options{URL: address.String()}))
	owner := connect(t, address.String(), "")
	for _, table := range tenantTables(t, admin) {
		var n int
		require.NoError(t, owner.QueryRow(ctx, "SELECT count(*) FROM "+table.name).Scan(&n))
		require.Zero(t, n, "%s binds its owner", table.name)
	}
	auditor := postgrestest.Store(t, postgres.Options{URL: address.String(), Role: schema.RoleAuditor})
	report, err := audit.Verify(ctx, auditor, "acme", audit.Options{})
	require.NoError(t, err)
	require.True(t, report.OK(), report.Faults)
	require.EqualValues(t, 6, report.Events)
	require.NoError(t, schema.Down(ctx, address.String(), 0))
}
