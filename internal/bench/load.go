package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/memory"
)

const (
	// benchTenant has all users: their writes share one audit chain, as in a
	// large tenant.
	benchTenant = "bench"
	// fullMemory is B of the paper: a full memory.
	fullMemory = memory.DefaultCapacity
	// differentStatements is how many there are; each user has a stretch of them.
	differentStatements = 2 * fullMemory
	// chunk is how many items of each user one statement loads; so the rows of
	// different users lie mingled in the tables, as if they had come with time.
	chunk = 250
)

// user is one of the loaded users.
type user struct {
	id     memory.UserID
	offset int
	items  int
}

func (u user) scope() memory.Scope { return memory.Scope{Tenant: benchTenant, User: u.id} }

// smaller are the numbers of items of the users who have no full memory.
var smaller = []int{100, 1_000, 5_000}

// population is everybody: those with a full memory first.
func population(full int) []user {
	var out []user
	for i := range full {
		out = append(out, user{memory.UserID(fmt.Sprintf("full-%02d", i)), i * 307, fullMemory})
	}
	for i, n := range smaller {
		out = append(out, user{memory.UserID(fmt.Sprintf("small-%d", n)), (full + i) * 307, n})
	}
	return out
}

// load fills the tables as the owner: the different statements by COPY into a
// table of its own, from which each user's rows are made.
func load(ctx context.Context, address string, c *corpus, users []user, say func(string, ...any)) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connect to load: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing to do about it
	for _, sql := range []string{
		// Nothing here can break a reference, and a lost load is loaded again.
		"SET session_replication_role = replica", "SET synchronous_commit = off", "SET work_mem = '128MB'",
		"CREATE TEMP TABLE statement (n int PRIMARY KEY, body text, speaker text, kind text, terms bytea, hash bytea, v text)",
		"CREATE TEMP TABLE someone (user_id text, start int, items int)",
		fmt.Sprintf("INSERT INTO lightmem.tenant VALUES ('%s')", benchTenant),
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("prepare to load: %w", err)
		}
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"statement"}, []string{"n", "body", "speaker", "kind", "terms", "hash", "v"},
		pgx.CopyFromSlice(len(c.statements), func(i int) ([]any, error) {
			s := c.statements[i]
			hash := postgres.ContentHash(s.text, time.Time{}, time.Time{})
			return []any{i, s.text, s.speaker, string(s.kind), s.termBytes(), hash, vectorText(s.vector)}, nil
		}))
	if err != nil {
		return fmt.Errorf("copy the statements: %w", err)
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"someone"}, []string{"user_id", "start", "items"},
		pgx.CopyFromSlice(len(users), func(i int) ([]any, error) {
			return []any{string(users[i].id), users[i].offset, users[i].items}, nil
		}))
	if err != nil {
		return fmt.Errorf("copy the users: %w", err)
	}
	for _, sql := range []string{
		"ALTER TABLE statement ALTER v TYPE public.halfvec USING v::public.halfvec",
		"ANALYZE statement", "ANALYZE someone",
		"INSERT INTO lightmem.app_user (tenant, user_id, name, revision, seq, live, changed_at) SELECT '" + benchTenant + "', user_id, 'Ann', 1, items, items, now() FROM someone",
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("load the users: %w", err)
		}
	}
	for from := 0; from < fullMemory; from += chunk {
		if _, err := conn.Exec(ctx, fill(from, len(c.statements))); err != nil {
			return fmt.Errorf("load the items: %w", err)
		}
		if (from+chunk)%2_500 == 0 {
			say("load: item %d of %d of each of %d users", from+chunk, fullMemory, len(users))
		}
	}
	for _, table := range []string{"app_user", "memory", "memory_use", "memory_evidence", "memory_vector"} {
		if _, err := conn.Exec(ctx, "VACUUM (ANALYZE) lightmem."+table); err != nil {
			return fmt.Errorf("vacuum: %w", err)
		}
	}
	return nil
}

// fill is the statement that loads the items from a number on, a chunk of them
// for each user, into all four tables.
func fill(from, different int) string {
	return strings.NewReplacer(
		"$tenant", benchTenant, "$from", strconv.Itoa(from), "$to", strconv.Itoa(from+chunk-1), "$different", strconv.Itoa(different),
		"$per", strconv.Itoa(perConversation), "$analyzer", strconv.Itoa(lexical.Version), "$full", strconv.Itoa(fullMemory), "$model", embedModel,
	).Replace(`
WITH item AS MATERIALIZED (
    SELECT user_id, n, 'm_' || lpad(n::text, 26, '0') AS id, date_trunc('hour', now()) - ($full - n) * interval '1 hour' AS at, s.*
    FROM generate_series($from, $to) AS i(n)
    JOIN someone u ON i.n < u.items
    JOIN statement s(k, body, speaker, kind, terms, hash, v) ON s.k = (u.start + i.n) % $different
), memories AS (
    INSERT INTO lightmem.memory (tenant, user_id, id, seq, revision, kind, status, source, event_at, valid_from, recorded_at,
        changed_at, last_seen, conversation, turn_id, speaker, text, content_hash, analyzer, terms)
    SELECT '$tenant', user_id, id, n + 1, 1, kind, 'active', 'user', at, at, at,
        at, at, 'c' || n / $per, 't_' || n, speaker, body, hash, $analyzer, terms FROM item
), uses AS (
    INSERT INTO lightmem.memory_use (tenant, user_id, memory_id, worth, evictable)
    SELECT '$tenant', user_id, id, lightmem.worth(kind, 1, 0, NULL, at, at), true FROM item
), evidences AS (
    INSERT INTO lightmem.memory_evidence (tenant, user_id, memory_id, turn_id, at, source)
    SELECT '$tenant', user_id, id, 't_' || n, at, 'user' FROM item
)
INSERT INTO lightmem.memory_vector (tenant, user_id, model, memory_id, live, v)
SELECT '$tenant', user_id, '$model', id, true, v FROM item`)
}

// vectorText is a vector as pgvector reads it.
func vectorText(v memory.Vector) string {
	out := make([]byte, 0, 8*len(v))
	for i, f := range v {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		out = strconv.AppendFloat(append(out, sep), float64(f), 'g', 7, 32)
	}
	return string(append(out, ']'))
}
