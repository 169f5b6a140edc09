package retrieve_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/retrieve/retrievetest"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// words is a vocabulary whose frequencies fall as those of language do.
func sentence(r *rand.Rand, length int) string {
	var b strings.Builder
	for range length {
		n := int(1 / (r.Float64() + 1e-4)) // Zipf: 1 to 10,000
		fmt.Fprintf(&b, "word%d ", n)
	}
	return b.String()
}

func vector(r *rand.Rand) memory.Vector {
	v := make(memory.Vector, 384)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	v.Normalize()
	return v
}

// filled returns a source with n items of one user, eight to a conversation.
func filled(scope memory.Scope, n int) *retrievetest.Source {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	source := &retrievetest.Source{}
	items := make([]retrieve.Item, n)
	start := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range items {
		items[i] = retrieve.Item{
			Vector: vector(r), Seq: int64(i + 1),
			Memory: memory.Memory{
				ID: memory.ID(fmt.Sprintf("m%05d", i)), Status: memory.StatusActive, Kind: memory.KindNote,
				Text: sentence(r, 8+r.IntN(20)), Speaker: []string{"Ann", "Ben"}[i%2],
				Conversation: memory.ConversationID(fmt.Sprint(i / 8)), EventAt: start.Add(time.Duration(i) * time.Hour),
			},
		}
	}
	source.Put(scope, items...)
	return source
}

func planned(r *rand.Rand, n int) memory.Planned {
	p := memory.Planned{Plan: memory.Plan{EmbedModel: "test"}}
	for i := range n {
		q := memory.Query{Text: "When did Ann " + sentence(r, 7), Vector: vector(r), Origin: "model"}
		if i == 0 {
			q.Origin = "input"
		}
		p.Plan.Queries = append(p.Plan.Queries, q)
	}
	return p
}

// BenchmarkRetrieve measures coarse retrieval, both channels fused, without
// the database's part.
func BenchmarkRetrieve(b *testing.B) {
	scope := memory.Scope{Tenant: "t", User: "u"}
	ctx := tenant.NewContext(b.Context(), scope)
	for _, n := range []int{100, 1_000, 5_000, 10_000} {
		source := filled(scope, n)
		for _, queries := range []int{1, 3} {
			b.Run(fmt.Sprintf("items=%d/queries=%d", n, queries), func(b *testing.B) {
				r := rand.New(rand.NewPCG(2, 3))
				retriever := retrieve.New(source, retrieve.Options{})
				p := planned(r, queries)
				retrieveOrFail(ctx, b, retriever, p)
				b.ReportAllocs()
				for b.Loop() {
					retrieveOrFail(ctx, b, retriever, p)
				}
			})
		}
	}
}

// BenchmarkLoad measures the first retrieval of a user.
func BenchmarkLoad(b *testing.B) {
	scope := memory.Scope{Tenant: "t", User: "u"}
	ctx := tenant.NewContext(b.Context(), scope)
	source := filled(scope, 10_000)
	p := planned(rand.New(rand.NewPCG(2, 3)), 1)
	for b.Loop() {
		retrieveOrFail(ctx, b, retrieve.New(source, retrieve.Options{}), p)
	}
}

// BenchmarkRefresh measures a retrieval after one item was added to 10,000.
func BenchmarkRefresh(b *testing.B) {
	scope := memory.Scope{Tenant: "t", User: "u"}
	ctx := tenant.NewContext(b.Context(), scope)
	source := filled(scope, 10_000)
	r := rand.New(rand.NewPCG(2, 3))
	p := planned(r, 1)
	retriever := retrieve.New(source, retrieve.Options{})
	v := vector(r)
	for i := 0; b.Loop(); i++ {
		source.Put(scope, retrieve.Item{Vector: v, Memory: memory.Memory{
			ID: memory.ID(fmt.Sprintf("m%05d", i%10_000)), Status: memory.StatusActive, Text: fmt.Sprintf("changed word%d", i), Conversation: "9",
		}})
		retrieveOrFail(ctx, b, retriever, p)
	}
}

func retrieveOrFail(ctx context.Context, tb testing.TB, r *retrieve.Retriever, p memory.Planned) memory.Retrieved {
	got, err := r.Retrieve(ctx, p)
	require.NoError(tb, err)
	return got
}
