package schema_test

import (
	"context"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/schema"
)

func TestMigrationsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(os.DirFS("migrations"), ".")
	require.NoError(t, err)
	name := regexp.MustCompile(`^(\d{5})_[a-z_]+\.sql$`)
	for i, entry := range entries {
		parts := name.FindStringSubmatch(entry.Name())
		require.NotNil(t, parts, entry.Name())
		n, err := strconv.Atoi(parts[1])
		require.NoError(t, err)
		require.Equal(t, i+1, n, entry.Name())
	}
	require.Equal(t, int64(len(entries)), schema.Latest())
}

func TestMigrationsGoUpAndDownAndUpAgain(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), stacktest.Postgres(t)
	empty := objects(ctx, t, url)

	require.NoError(t, schema.Migrate(ctx, url))
	full := objects(ctx, t, url)
	require.Greater(t, len(full), len(empty)+50)
	version, err := schema.Version(ctx, url)
	require.NoError(t, err)
	require.Equal(t, schema.Latest(), version)
	require.NoError(t, schema.Migrate(ctx, url), "nothing to do is no error")

	for v := schema.Latest() - 1; v >= 0; v-- { // each step on its own
		require.NoError(t, schema.Down(ctx, url, v))
		if v > 0 {
			version, err = schema.Version(ctx, url)
			require.NoError(t, err)
			require.Equal(t, v, version)
		}
	}
	require.Equal(t, empty, objects(ctx, t, url), "down leaves nothing")
	version, err = schema.Version(ctx, url)
	require.NoError(t, err)
	require.Zero(t, version)

	require.NoError(t, schema.Migrate(ctx, url))
	require.Equal(t, full, objects(ctx, t, url), "up again makes the same")
}

// objects lists what there is in a database, apart from what came with the
// server and the extensions, and who may do what with it.
func objects(ctx context.Context, t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // a test's connection
	rows, err := conn.Query(ctx, `
		SELECT 'relation ' || c.oid::regclass || ' ' || relkind::text || ' ' || coalesce((SELECT string_agg(grantee::regrole::text || ' ' || privilege_type, ',' ORDER BY 1) FROM (SELECT * FROM aclexplode(relacl) x WHERE grantee NOT IN (0, relowner) ORDER BY privilege_type, grantee) x), '') FROM pg_class c
			WHERE c.oid >= 16384 AND relkind <> 't' AND relnamespace <> 'pg_toast'::regnamespace
			AND relname NOT LIKE 'pg_toast%' AND relnamespace <> 'ag_catalog'::regnamespace
		UNION ALL SELECT 'function ' || oid::regprocedure || ' ' || coalesce((SELECT string_agg(grantee::regrole::text || ' ' || privilege_type, ',' ORDER BY 1) FROM (SELECT * FROM aclexplode(proacl) x WHERE grantee NOT IN (0, proowner) ORDER BY privilege_type, grantee) x), '') FROM pg_proc p
			WHERE oid >= 16384 AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
		UNION ALL SELECT 'schema ' || nspname || ' ' || coalesce((SELECT string_agg(grantee::regrole::text || ' ' || privilege_type, ',' ORDER BY 1) FROM (SELECT * FROM aclexplode(nspacl) x WHERE grantee NOT IN (0, nspowner) ORDER BY privilege_type, grantee) x), '') FROM pg_namespace WHERE nspname NOT LIKE 'pg_toast%'
		UNION ALL SELECT 'policy ' || polname || ' ' || polrelid::regclass FROM pg_policy
		UNION ALL SELECT 'constraint ' || conname || ' ' || conrelid::regclass FROM pg_constraint WHERE oid >= 16384 AND conrelid <> 0
		UNION ALL SELECT 'trigger ' || tgname || ' ' || tgrelid::regclass FROM pg_trigger WHERE NOT tgisinternal
		UNION ALL SELECT 'graph ' || name FROM ag_catalog.ag_graph
		UNION ALL SELECT 'label ' || name FROM ag_catalog.ag_label`)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	slices.Sort(list)
	return list
}

// Databases of one cluster share its roles; migrations of many at once must not
// trip over each other, nor may many of one database.
func TestMigrationsRunAtTheSameTime(t *testing.T) {
	t.Parallel()
	one, two := stacktest.Postgres(t), stacktest.Postgres(t)
	var group errgroup.Group
	for _, url := range []string{one, two, one, two, one} {
		group.Go(func() error { return schema.Migrate(t.Context(), url) })
	}
	require.NoError(t, group.Wait())
}

func TestRolesAreBoundByRowLevelSecurity(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), stacktest.Postgres(t)
	require.NoError(t, schema.Migrate(ctx, url))
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // a test's connection
	for _, role := range []schema.Role{schema.RoleApp, schema.RoleAuditor} {
		var bound, owns bool
		require.NoError(t, conn.QueryRow(ctx, `SELECT NOT (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication),
			EXISTS (SELECT FROM pg_class WHERE relowner = r.oid) FROM pg_roles r WHERE rolname = $1`, string(role)).Scan(&bound, &owns))
		require.True(t, bound, role)
		require.False(t, owns, role)
	}
}

func TestGraphTakesVerticesAndEdgesOncePerKey(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), stacktest.Postgres(t)
	require.NoError(t, schema.Migrate(ctx, url))
	conn, err := pgx.Connect(ctx, url)
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // a test's connection
	_, err = conn.Exec(ctx, "SET search_path = public, ag_catalog")
	require.NoError(t, err)
	const upsert = `INSERT INTO ltm."Entity" (properties) VALUES ($1::text::ag_catalog.agtype)
		ON CONFLICT (ag_catalog.agtype_access_operator(properties, '"tenant"'::ag_catalog.agtype),
			ag_catalog.agtype_access_operator(properties, '"key"'::ag_catalog.agtype))
		DO UPDATE SET properties = EXCLUDED.properties RETURNING id::text`
	insert := func(properties string) (id string) {
		require.NoError(t, conn.QueryRow(ctx, upsert, properties).Scan(&id))
		return id
	}
	a := insert(`{"tenant": "acme", "key": "kubernetes", "weight": 1.0}`)
	require.Equal(t, a, insert(`{"tenant": "acme", "key": "kubernetes", "weight": 2.0}`))
	require.NotEqual(t, a, insert(`{"tenant": "other", "key": "kubernetes"}`))
	b := insert(`{"tenant": "acme", "key": "containers"}`)
	_, err = conn.Exec(ctx, `INSERT INTO ltm."RelatedTo" (start_id, end_id, properties)
		VALUES ($1::text::ag_catalog.graphid, $2::text::ag_catalog.graphid, '{"tenant": "acme"}')`, a, b)
	require.NoError(t, err)
	_, err = conn.Exec(ctx, `INSERT INTO ltm."Entity" (properties) VALUES ('{"tenant": "acme"}')`)
	require.ErrorContains(t, err, "Entity_has_key")

	var found string
	require.NoError(t, conn.QueryRow(ctx, `SELECT k::text FROM ag_catalog.cypher('ltm', $cy$
		MATCH (n:Entity)-[:RelatedTo]->(m:Entity) WHERE n.tenant = 'acme' AND n.key = 'kubernetes' RETURN m.key $cy$) AS (k ag_catalog.agtype)`).Scan(&found))
	require.Equal(t, `containers`, found)
}

func TestPasswordLetsARoleLogIn(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivatePostgres(t) // roles are the whole cluster's
	ctx := t.Context()
	require.NoError(t, schema.Migrate(ctx, server.URL))
	config, err := pgx.ParseConfig(server.URL)
	require.NoError(t, err)
	config.User, config.Password = string(schema.RoleApp), `it's "secret" \ %L`
	_, err = pgx.ConnectConfig(ctx, config)
	require.Error(t, err)
	require.NoError(t, schema.SetPassword(ctx, server.URL, schema.RoleApp, config.Password))
	conn, err := pgx.ConnectConfig(ctx, config)
	require.NoError(t, err)
	require.NoError(t, conn.Close(ctx))
	require.NoError(t, schema.SetPassword(ctx, server.URL, schema.RoleApp, ""))
	_, err = pgx.ConnectConfig(ctx, config)
	require.Error(t, err)
	require.ErrorContains(t, schema.SetPassword(ctx, server.URL, "postgres", "x"), "role")
}
