package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/lightmem/lightmem/internal/devstack"
	"github.com/lightmem/lightmem/internal/devstack/stacktest"
)

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func TestPostgresHasBothExtensionsReadyWithoutLoad(t *testing.T) {
	t.Parallel()
	conn := connect(t, stacktest.Postgres(t))
	var distance float64
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT '[1,0]'::halfvec <=> '[0,1]'::halfvec").Scan(&distance))
	require.InDelta(t, 1, distance, 1e-6)

	_, err := conn.Exec(t.Context(), "SELECT ag_catalog.create_graph('mem')")
	require.NoError(t, err)
	var text string
	err = conn.QueryRow(t.Context(), "SELECT a::text FROM ag_catalog.cypher('mem', $$ CREATE (n:Entity {name: 'x'}) RETURN n.name $$) AS (a ag_catalog.agtype)").Scan(&text)
	require.NoError(t, err)
	require.Equal(t, "x", text)
}

func TestPostgresGivesEachTestItsOwnDatabase(t *testing.T) {
	t.Parallel()
	first, second := connect(t, stacktest.Postgres(t)), connect(t, stacktest.Postgres(t))
	_, err := first.Exec(t.Context(), "CREATE TABLE only_here ()")
	require.NoError(t, err)
	var found *string
	require.NoError(t, second.QueryRow(t.Context(), "SELECT to_regclass('only_here')::text").Scan(&found))
	require.Nil(t, found)
}

func TestPostgresFromRunsFillOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	name := fmt.Sprintf("fill-once-%d", time.Now().UnixNano())
	fill := func(ctx context.Context, address string) error {
		calls.Add(1)
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "CREATE TABLE prepared (n int); INSERT INTO prepared VALUES (7)")
		return err
	}
	for range 3 {
		var n int
		require.NoError(t, connect(t, stacktest.PostgresFrom(t, name, fill)).QueryRow(t.Context(), "SELECT n FROM prepared").Scan(&n))
		require.Equal(t, 7, n)
	}
	require.EqualValues(t, 1, calls.Load())
}

func TestPostgresFromForgetsAFillThatFailed(t *testing.T) {
	t.Parallel()
	server := stacktest.Postgres(t)
	name := fmt.Sprintf("fill-fails-%d", time.Now().UnixNano())
	_, err := devstack.NewDatabase(t.Context(), server, name, func(ctx context.Context, address string) error {
		conn, err := pgx.Connect(ctx, address)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "CREATE TABLE half ()")
		return errors.Join(err, errors.New("fill broke off"))
	})
	require.ErrorContains(t, err, "fill broke off")
	var found *string
	conn := connect(t, stacktest.PostgresFrom(t, name, func(context.Context, string) error { return nil }))
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT to_regclass('half')::text").Scan(&found))
	require.Nil(t, found)
}

func TestPrivatePostgresKeepsCommittedRowsOverKillAndStop(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivatePostgres(t)
	conn := connect(t, server.URL)
	_, err := conn.Exec(t.Context(), "CREATE TABLE kept (n int)")
	require.NoError(t, err)
	for n, end := range []func(context.Context) error{server.Kill, server.Stop, server.Kill} {
		conn := connect(t, server.URL)
		_, err = conn.Exec(t.Context(), "INSERT INTO kept VALUES ($1)", n)
		require.NoError(t, err)
		require.NoError(t, end(t.Context()))
		_, err = pgx.Connect(t.Context(), server.URL)
		require.Error(t, err)
		require.NoError(t, server.Start(t.Context()))
	}
	var rows int
	require.NoError(t, connect(t, server.URL).QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&rows))
	require.Equal(t, 3, rows)
}

func TestPrivateTemporalServesAgainAfterKillAndStop(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivateTemporal(t)
	for _, end := range []func(context.Context) error{server.Kill, server.Stop} {
		require.NoError(t, end(t.Context()))
		require.NoError(t, server.Start(t.Context()))
		dialled, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address})
		require.NoError(t, err)
		dialled.Close()
	}
}

func TestTemporalKnowsOurSearchAttributes(t *testing.T) {
	t.Parallel()
	dialled, err := client.DialContext(t.Context(), client.Options{HostPort: stacktest.Temporal(t)})
	require.NoError(t, err)
	defer dialled.Close()
	for _, condition := range []string{
		"MemBatch = 'x'", "MemConversation = 'x'", "MemItems > 0", "MemOutcome = 'x'",
		"MemPhase = 'x'", "MemRejected > 0", "MemTenant = 'x'", "MemUser = 'x'",
	} {
		_, err := dialled.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: condition})
		require.NoError(t, err, condition)
	}
}
