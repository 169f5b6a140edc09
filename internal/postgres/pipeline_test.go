package postgres

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// vectorConn is a connection of the application to a migrated database.
func vectorConn(t *testing.T) *pgx.Conn {
	t.Helper()
	config, err := pgx.ParseConfig(stacktest.PostgresFrom(t, "schema-"+schema.Hash(), schema.Migrate))
	require.NoError(t, err)
	config.RuntimeParams["role"] = string(schema.RoleApp)
	conn, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	require.NoError(t, registerHalfvec(t.Context(), conn, &atomic.Uint32{}))
	return conn
}

func TestPipelineIsOneTransaction(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), vectorConn(t)
	scope := memory.Scope{Tenant: "acme", User: "ann"}
	profile := func() (got query.ProfileRow) {
		p := &pipeline{}
		p.enter(ctx, scope)
		p.add(func(q *query.Queries) (err error) {
			got, err = q.Profile(ctx, query.ProfileParams{Tenant: "acme", UserID: "ann"})
			return unlessMissing(err)
		})
		require.NoError(t, p.send(ctx, conn))
		return got
	}
	write := func(name string, fail error) error {
		p := &pipeline{}
		p.enter(ctx, scope)
		p.add(func(q *query.Queries) error {
			return q.EnsureUser(ctx, query.EnsureUserParams{Tenant: "acme", UserID: "ann"})
		})
		p.add(func(q *query.Queries) error {
			return q.SetProfile(ctx, query.SetProfileParams{Tenant: "acme", UserID: "ann", Name: name})
		})
		if fail != nil {
			p.statement(ctx, "SELECT 1/0")
		}
		return p.send(ctx, conn)
	}
	require.Error(t, write("Ann", errors.New("fail")))
	require.Empty(t, profile().Name, "nothing stays of a pipeline that failed")
	require.NoError(t, write("Ann", nil))
	require.Equal(t, "Ann", profile().Name)
	var left string
	require.NoError(t, conn.QueryRow(ctx, "SELECT current_setting('lightmem.tenant', true)").Scan(&left))
	require.Empty(t, left, "the scope ends with the pipeline")
}

func TestPipelineRefusesStepsThatItCannotPlay(t *testing.T) {
	t.Parallel()
	ctx, conn := t.Context(), vectorConn(t)
	own := errors.New("own")
	p := &pipeline{}
	p.add(func(*query.Queries) error { return own })
	require.ErrorIs(t, p.send(ctx, conn), own)
	p = &pipeline{}
	p.steps = append(p.steps, func(db query.DBTX) error {
		_, _ = db.Exec(ctx, "SELECT 1")
		_, err := db.Exec(ctx, "SELECT 2")
		return err
	})
	require.ErrorContains(t, p.send(ctx, conn), "exactly one query")
}

func TestErrorsHaveCodesAndNoWords(t *testing.T) {
	t.Parallel()
	for sqlstate, want := range map[string]memory.Code{
		"40001": memory.CodeTransient, "40P01": memory.CodeTransient, "55P03": memory.CodeTransient, "57014": memory.CodeTransient,
		"57P01": memory.CodeUnavailable, "08006": memory.CodeUnavailable, "53300": memory.CodeUnavailable, "53100": memory.CodeUnavailable,
		"42501": memory.CodeForbidden, "22021": memory.CodeInvalid, "42P01": memory.CodeUnavailable, "23514": memory.CodeInvalid, "XX000": memory.CodeInternal,
	} {
		err := wrap(&pgconn.PgError{Code: sqlstate, Message: "secret", Detail: "Key (text)=(secret)"}, "do it")
		require.Equal(t, want, memory.CodeOf(err), sqlstate)
		require.NotContains(t, err.Error(), "secret")
		require.True(t, strings.HasPrefix(err.Error(), "do it") || errors.Is(err, ErrNotMigrated), err)
	}
	require.Equal(t, memory.CodeNotFound, memory.CodeOf(wrap(pgx.ErrNoRows, "x")))
	require.ErrorIs(t, wrap(context.Canceled, "x"), context.Canceled)
	require.NoError(t, wrap(nil, "x"))
}

func TestOnlyPassingErrorsAreTriedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err   error
		tries int
	}{
		"deadlock":                          {&pgconn.PgError{Code: "40P01"}, attempts},
		"refused":                           {memory.Errorf(memory.CodeConflict, "no"), 1},
		"duplicate":                         {&pgconn.PgError{Code: "23505"}, 1},
		"plan of a table that was migrated": {&pgconn.PgError{Code: "0A000", Routine: "RevalidateCachedQuery"}, attempts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			require.Error(t, retrying(t.Context(), "x", func(context.Context) error { tries++; return test.err }))
			require.Equal(t, test.tries, tries)
		})
	}
	tries := 0
	require.NoError(t, retrying(t.Context(), "x", func(context.Context) error {
		if tries++; tries < 3 {
			return &pgconn.PgError{Code: "40001"}
		}
		return nil
	}))
	require.Equal(t, 3, tries)
}

func TestShortTermContextKeepsTheNewestWithinItsBudget(t *testing.T) {
	t.Parallel()
	turn := func(id, input, answer string) query.LastTurnsRow {
		return query.LastTurnsRow{ID: id, Input: input, Answer: answer, At: time.Unix(0, 0)}
	}
	texts := func(budget int, newest ...query.LastTurnsRow) []string {
		out := []string{}
		for _, m := range shortTerm(newest, budget) {
			require.LessOrEqual(t, tokens(m.Text), budget)
			out = append(out, m.From+": "+m.Text)
		}
		return out
	}
	require.Equal(t, []string{"user: one", "assistant: two", "user: three"}, texts(100, turn("b", "three", ""), turn("a", "one", "two")))
	require.Equal(t, []string{"assistant: two", "user: three"}, texts(3, turn("b", "three", ""), turn("a", "one too many words", "two")))
	require.Empty(t, texts(100))
	long := strings.Repeat("word ", 100)
	require.Equal(t, []string{"user: word word word…"}, texts(5, turn("b", long, ""), turn("a", "one", "two")))
	cjk := strings.Repeat("柏林", 50)
	got := texts(10, turn("b", cjk, ""))
	require.Equal(t, []string{"user: " + strings.Repeat("柏林", 4) + "柏…"}, got)
}

func TestContentHashIsOfWordsAndClosedInterval(t *testing.T) {
	t.Parallel()
	at, to := time.Unix(1e9, 0), time.Unix(2e9, 0)
	base := ContentHash("I live in Berlin", at, time.Time{})
	for _, same := range []string{"i live in berlin.", "  I  live\tin BERLIN!", "I live in Berlin…", "Ｉ live in Berlin"} {
		require.Equal(t, base, ContentHash(same, to, time.Time{}), same)
	}
	for _, other := range []string{"I live in Bern", "I do not live in Berlin", "I live in Berlin?", ""} {
		require.NotEqual(t, base, ContentHash(other, at, time.Time{}), other)
	}
	require.NotEqual(t, base, ContentHash("I live in Berlin", at, to))
	require.NotEqual(t, ContentHash("!!!", at, time.Time{}), ContentHash("...", at, time.Time{}))
}
