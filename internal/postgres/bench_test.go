package postgres_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/memory"
)

// words make texts that look like memories to an index.
var words = []string{
	"meeting", "Berlin", "violin", "coffee", "sister", "project", "deadline", "allergy", "marathon", "garden", "novel", "flight", "doctor", "guitar",
	"breakfast", "deposit", "language", "mountain", "cousin", "painting", "server", "budget", "hospital", "bicycle", "concert", "kitchen", "passport",
}

func sentence(r *rand.Rand, n int) string {
	return fmt.Sprintf("Ann said that the %s and the %s of the %s come %d days before the %s.", words[r.IntN(len(words))], words[r.IntN(len(words))],
		words[r.IntN(len(words))], n, words[r.IntN(len(words))])
}

func unit(r *rand.Rand, dims int) memory.Vector {
	v := make(memory.Vector, dims)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	v.Normalize()
	return v
}

// populate gives each user n memories with vectors, interleaved as they would
// have come in.
func populate(tb testing.TB, url string, users []string, n int) {
	tb.Helper()
	ctx := tb.Context()
	conn, err := pgx.Connect(ctx, url)
	require.NoError(tb, err)
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // a test's connection
	_, err = conn.Exec(ctx, "INSERT INTO lightmem.tenant VALUES ('acme')")
	require.NoError(tb, err)
	_, err = conn.Exec(ctx, "INSERT INTO lightmem.app_user (tenant, user_id, revision, seq, live, changed_at) SELECT 'acme', unnest($1::text[]), 1, $2::int, $2::int, now()", users, n)
	require.NoError(tb, err)
	r := rand.New(rand.NewPCG(1, 2))
	type row struct {
		user, id, text string
		seq            int
	}
	rows := make([]row, 0, n*len(users))
	for i := range n {
		for _, u := range users {
			rows = append(rows, row{u, string(memory.NewID(day.Add(time.Duration(i) * time.Second))), sentence(r, i), i + 1})
		}
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"lightmem", "memory"}, []string{
		"tenant", "user_id", "id", "seq", "revision", "kind", "status", "source", "event_at", "valid_from", "recorded_at", "changed_at", "last_seen",
		"conversation", "turn_id", "text", "content_hash", "analyzer", "terms",
	}, pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		x := rows[i]
		terms := []byte{}
		for _, t := range lexical.Analyze(x.text) {
			terms = binary.LittleEndian.AppendUint32(terms, uint32(t))
		}
		return []any{
			"acme", x.user, x.id, int64(x.seq), int64(1), "fact", "active", "user", day, day, day, day, day,
			"c1", "t", x.text, postgres.ContentHash(x.text, day, time.Time{}), int16(lexical.Version), terms,
		}, nil
	}))
	require.NoError(tb, err)
	_, err = conn.Exec(ctx, "INSERT INTO lightmem.memory_use (tenant, user_id, memory_id, worth, evictable) SELECT tenant, user_id, id, lightmem.worth(kind, strength, 0, valid_to, recorded_at, last_seen), true FROM lightmem.memory")
	require.NoError(tb, err)
	_, err = conn.Exec(ctx, "INSERT INTO lightmem.memory_evidence (tenant, user_id, memory_id, turn_id, at, source) SELECT tenant, user_id, id, 't', recorded_at, source FROM lightmem.memory")
	require.NoError(tb, err)
	store := postgrestest.Store(tb, postgres.Options{URL: url})
	for _, u := range users {
		set := map[memory.ID]memory.Vector{}
		for _, x := range rows {
			if x.user == u {
				set[memory.ID(x.id)] = unit(r, 384)
				if len(set) == 2000 {
					require.NoError(tb, store.SetVectors(postgrestest.In(ctx, "acme", u), "bench", set))
					clear(set)
				}
			}
		}
		if len(set) > 0 {
			require.NoError(tb, store.SetVectors(postgrestest.In(ctx, "acme", u), "bench", set))
		}
	}
	_, err = conn.Exec(ctx, "VACUUM ANALYZE")
	require.NoError(tb, err)
}

// report gives the percentiles that a mean hides.
func report(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}

func BenchmarkStore(b *testing.B) {
	url := postgrestest.URL(b)
	users := []string{"ann", "u1", "u2", "u3", "u4"}
	populate(b, url, users, 10_000)
	s := postgrestest.Store(b, postgres.Options{URL: url, Capacity: 1 << 20})
	ctx := postgrestest.In(b.Context(), "acme", "ann")
	r := rand.New(rand.NewPCG(3, 4))
	n := 0
	measure := func(name string, f func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			took := make([]time.Duration, 0, b.N)
			for range 10 {
				f(b)
			}
			b.ResetTimer()
			for range b.N {
				start := time.Now()
				f(b)
				took = append(took, time.Since(start))
			}
			report(b, took)
		})
	}
	delta, err := s.Changes(ctx, "bench", 0)
	require.NoError(b, err)
	require.Len(b, delta.Items, 10_000)
	ids := []memory.ID{}
	for i := range 10 {
		ids = append(ids, delta.Items[i*997].ID)
	}
	turn := func() memory.Answered {
		n++
		a := answered("ann", fmt.Sprint("k", n), sentence(r, n))
		for _, id := range ids {
			a.Candidates = append(a.Candidates, memory.Candidate{ID: id, Memory: sentence(r, n), Tier: memory.TierMTM, Score: 1, Kind: memory.KindFact, EventAt: day, Evidence: []memory.TurnID{"t"}})
		}
		for _, id := range ids[:5] {
			a.Selection.Chosen = append(a.Selection.Chosen, memory.Chosen{ID: id, Score: 1, Reason: "score"})
		}
		return a
	}
	measure("cold", func(b *testing.B) {
		_, err := s.Changes(ctx, "bench", 0)
		require.NoError(b, err)
	})
	measure("unchanged", func(b *testing.B) {
		_, err := s.Changes(ctx, "bench", delta.Revision)
		require.NoError(b, err)
	})
	measure("open", func(b *testing.B) {
		_, _, _, err := s.Open(ctx, turn().Request)
		require.NoError(b, err)
	})
	measure("record", func(b *testing.B) { require.NoError(b, s.Record(ctx, turn())) })
	measure("fetch10", func(b *testing.B) {
		_, err := s.Fetch(ctx, ids)
		require.NoError(b, err)
	})
	measure("commit0", func(b *testing.B) {
		_, err := s.Commit(ctx, drafted(turn()))
		require.NoError(b, err)
	})
	measure("commit1", func(b *testing.B) {
		a := turn()
		d := drafted(a, memory.Draft{Text: a.Text, Vector: unit(r, 384), Subject: "Ann", Attribute: "likes", Value: fmt.Sprint(n)})
		d.EmbedModel = "bench"
		_, err := s.Commit(ctx, d)
		require.NoError(b, err)
	})
	measure("asof", func(b *testing.B) {
		_, err := s.AsOf(ctx, "bench", time.Now())
		require.NoError(b, err)
	})
	full := postgrestest.Store(b, postgres.Options{URL: url, Capacity: 10_000})
	measure("commit1-full", func(b *testing.B) {
		a := turn()
		d := drafted(a, memory.Draft{Text: a.Text, Vector: unit(r, 384)})
		d.EmbedModel = "bench"
		_, err := full.Commit(postgrestest.In(b.Context(), "acme", "u1"), d)
		require.NoError(b, err)
	})
}
