package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// TestNothingIsLostOrDoneTwiceWhenTheServerIsKilled writes turns while the
// server is killed and started again, and repeats each step until it has its
// receipt, as the workflow does.
func TestNothingIsLostOrDoneTwiceWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivatePostgres(t)
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	require.NoError(t, schema.Migrate(ctx, server.URL))
	s := postgrestest.Store(t, postgres.Options{URL: server.URL})

	const writers, turns = 4, 25
	until := func(ctx context.Context, step func() error) error {
		for {
			err := step()
			if err == nil {
				return nil
			}
			if code := memory.CodeOf(err); code != memory.CodeUnavailable && code != memory.CodeTransient {
				return err
			}
			select { // what Temporal's retry policy does
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	var group errgroup.Group
	written := make(chan struct{}, writers*turns)
	for w := range writers {
		group.Go(func() error {
			for i := range turns {
				text := fmt.Sprintf("Fact %d of writer %d.", i, w)
				a := answered("ann", fmt.Sprint(w, "-", i), text)
				if err := until(ctx, func() error { return s.Record(ctx, a) }); err != nil {
					return err
				}
				if err := until(ctx, func() error {
					_, err := s.Commit(ctx, drafted(a, memory.Draft{Text: text}, memory.Draft{Text: "Everybody says this."}))
					return err
				}); err != nil {
					return err
				}
				written <- struct{}{}
			}
			return nil
		})
	}
	for range 2 {
		for range turns {
			<-written
		}
		require.NoError(t, server.Kill(t.Context()))
		require.NoError(t, server.Start(t.Context()))
	}
	require.NoError(t, group.Wait())

	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, writers*turns+1, counts.Live)
	require.EqualValues(t, writers*turns, counts.Turns)
	page, err := s.ListMemories(ctx, postgres.MemoryFilter{Limit: postgres.MaxPage})
	require.NoError(t, err)
	for _, m := range page.Memories {
		if m.Text == "Everybody says this." {
			require.Equal(t, writers*turns, m.Strength)
			require.Len(t, m.Evidence, writers*turns)
		}
	}
	report, err := audit.Verify(ctx, postgrestest.Store(t, postgres.Options{URL: server.URL, Role: schema.RoleAuditor}), "acme", audit.Options{})
	require.NoError(t, err)
	require.True(t, report.OK(), report.Faults)
	require.EqualValues(t, 2*writers*turns, report.Events)
}

func TestDatabaseThatIsNotMigratedSaysWhatToRun(t *testing.T) {
	t.Parallel()
	postgrestest.URL(t) // so the cluster has the roles
	for name, prepare := range map[string]string{
		"empty":                     "SELECT",
		"with the vector type only": "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public",
		"of which a part is there":  "CREATE EXTENSION IF NOT EXISTS vector SCHEMA public; CREATE TABLE public.lightmem_schema_version (version_id bigint); GRANT SELECT ON public.lightmem_schema_version TO public",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := stacktest.Postgres(t)
			_, err := connect(t, url, "").Exec(t.Context(), prepare)
			require.NoError(t, err)
			_, err = postgres.Open(t.Context(), postgres.Options{URL: url})
			require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
			require.ErrorIs(t, err, postgres.ErrNotMigrated)
			require.ErrorContains(t, err, "the database is not migrated: run `lightmem migrate up`")
		})
	}
}

func TestServerThatIsGoneIsUnavailable(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivatePostgres(t)
	ctx := postgrestest.In(t.Context(), "acme", "ann")

	_, err := postgres.Open(ctx, postgres.Options{URL: server.URL})
	require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err), "the cluster does not have the role: %v", err)
	require.ErrorIs(t, err, postgres.ErrNotMigrated)
	require.ErrorContains(t, err, "run `lightmem migrate up`")
	require.NoError(t, schema.Migrate(ctx, server.URL))
	require.NoError(t, schema.Down(ctx, server.URL, schema.Latest()-1))
	_, err = postgres.Open(ctx, postgres.Options{URL: server.URL})
	require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
	require.ErrorContains(t, err, "run `lightmem migrate up`")
	require.NoError(t, schema.Migrate(ctx, server.URL))

	s := postgrestest.Store(t, postgres.Options{URL: server.URL})
	require.NoError(t, s.Ping(ctx))
	require.NoError(t, server.Kill(t.Context()))
	a := answered("ann", "k", "a secret in words")
	for name, err := range map[string]error{
		"ping": s.Ping(ctx), "record": s.Record(ctx, a), "commit": func() error { _, err := s.Commit(ctx, drafted(a)); return err }(),
		"changes": func() error { _, err := s.Changes(ctx, "test", 1); return err }(),
	} {
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err), name)
		require.NotContains(t, err.Error(), "127.0.0.1", name)
		require.NotContains(t, err.Error(), "secret", name)
	}
	require.NoError(t, server.Start(t.Context()))
	require.NoError(t, s.Record(ctx, a), "the same store goes on")
}

func TestCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := postgrestest.Store(t, postgres.Options{URL: url})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	require.NoError(t, s.SetProfile(ctx, memory.Profile{Name: "Ann"}))
	owner := connect(t, url, "")
	tx, err := owner.Begin(ctx)
	require.NoError(t, err)
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // a test's transaction
	_, err = tx.Exec(ctx, "SELECT 1 FROM app_user FOR NO KEY UPDATE")
	require.NoError(t, err)

	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = s.Commit(short, drafted(answered("ann", "k", "x")))
	require.Equal(t, memory.CodeTransient, memory.CodeOf(err), "%v", err)

	impatient := postgrestest.Store(t, postgres.Options{URL: url, StatementTimeout: 200 * time.Millisecond})
	_, err = impatient.Commit(ctx, drafted(answered("ann", "k", "x")))
	require.Equal(t, memory.CodeTransient, memory.CodeOf(err), "%v", err)
	_, _, _, err = s.Open(ctx, answered("ann", "k", "x").Request)
	require.NoError(t, err, "reading does not wait for the lock")
	require.NoError(t, s.Record(ctx, answered("ann", "k", "x")), "nor does recording")
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	_, err := postgres.Open(t.Context(), postgres.Options{URL: "postgres://:bad:port/"})
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
	_, err = postgres.Open(t.Context(), postgres.Options{URL: "postgres://localhost/x", Capacity: -1})
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
}

// mem0#6237, mem0#5155: one user's rush took every connection.
func TestManyWritesOfOneUserLeaveTheOthersConnections(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := postgrestest.Store(t, postgres.Options{URL: url, MaxConns: 2})
	ann, bob := postgrestest.In(t.Context(), "acme", "ann"), postgrestest.In(t.Context(), "acme", "bob")
	require.NoError(t, s.SetProfile(ann, memory.Profile{Name: "Ann"}))
	owner := connect(t, url, "")
	tx, err := owner.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT 1 FROM app_user WHERE user_id = 'ann' FOR NO KEY UPDATE")
	require.NoError(t, err)
	var rush errgroup.Group
	for i := range 10 {
		rush.Go(func() error {
			_, err := s.Commit(ann, drafted(answered("ann", fmt.Sprint("k", i), "x")))
			return err
		})
	}
	for i := range 5 {
		_, err := s.Commit(bob, drafted(answered("bob", fmt.Sprint("k", i), "x")))
		require.NoError(t, err)
	}
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, rush.Wait())
}
