package retrieve_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/retrieve/retrievetest"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

var _ activities.Retriever = (*retrieve.Retriever)(nil)

var alice = memory.Scope{Tenant: "acme", User: "alice"}

func day(n int) time.Time { return time.Date(2025, 3, n, 12, 0, 0, 0, time.UTC) }

// bundle is a source with a few items of alice, and a retriever over it.
type bundle struct {
	source    *retrievetest.Source
	retriever *retrieve.Retriever
	ctx       context.Context
}

func setup(t *testing.T, o retrieve.Options) *bundle {
	t.Helper()
	b := &bundle{source: &retrievetest.Source{}, ctx: tenant.NewContext(t.Context(), alice)}
	b.retriever = retrieve.New(b.source, o)
	for i, text := range []string{
		"I adopted two cats, Miso and Yuzu",
		"The train to Lyon was late again",
		"My sister paints landscapes",
		"I moved to Lyon for the new job",
		"We had ramen near the station",
	} {
		b.source.Put(alice, item(fmt.Sprintf("m%d", i+1), text, func(it *retrieve.Item) { it.EventAt = day(i + 1) }))
	}
	return b
}

func item(id, text string, edits ...func(*retrieve.Item)) retrieve.Item {
	it := retrieve.Item{Memory: memory.Memory{
		ID: memory.ID(id), Text: text, Status: memory.StatusActive, Kind: memory.KindFact, RecordedAt: day(1), Evidence: []memory.TurnID{"t_" + memory.TurnID(id)},
	}}
	for _, edit := range edits {
		edit(&it)
	}
	return it
}

func input(text string) memory.Query {
	return memory.Query{Text: text, Tier: memory.TierMTM, Origin: "input"}
}

func plan(k int, queries ...memory.Query) memory.Planned {
	return memory.Planned{
		Turn: memory.Turn{Request: memory.Request{Scope: alice, K: k}},
		Plan: memory.Plan{Queries: queries},
	}
}

func (b *bundle) retrieve(t *testing.T, p memory.Planned) memory.Retrieved {
	t.Helper()
	got, err := b.retriever.Retrieve(b.ctx, p)
	require.NoError(t, err)
	return got
}

func ids(r memory.Retrieved) []memory.ID {
	out := []memory.ID{}
	for _, c := range r.Candidates {
		out = append(out, c.ID)
	}
	return out
}

func TestConstraintsComeBeforeRanking(t *testing.T) {
	t.Parallel()
	// xagent#822: a filter after top-k loses what stands further down.
	with := func(edit func(*memory.Query)) memory.Query {
		q := input("Which cats did I adopt?")
		edit(&q)
		return q
	}
	for _, test := range []struct {
		name  string
		query memory.Query
		want  []memory.ID
	}{
		{"a closed window leaves out the best match", with(func(q *memory.Query) { q.Window = memory.Window{From: day(2), To: day(4)} }), []memory.ID{"m2", "m3"}},
		{"the end of a window is outside, its beginning inside", with(func(q *memory.Query) {
			q.Window = memory.Window{From: day(2).Add(-12 * time.Hour), To: day(2)}
		}), []memory.ID{}},
		{"a window open at its end", with(func(q *memory.Query) { q.Window.From = day(4) }), []memory.ID{"m4", "m5"}},
		{"a window in which nothing happened", with(func(q *memory.Query) { q.Window = memory.Window{From: day(20), To: day(21)} }), []memory.ID{}},
		{"kinds", with(func(q *memory.Query) { q.Kinds = []memory.Kind{memory.KindPlan} }), []memory.ID{"plan"}},
		{"a soft window excludes nothing", with(func(q *memory.Query) {
			q.Soft, q.Window = true, memory.Window{From: day(2), To: day(4)}
		}), []memory.ID{"m1", "m2", "m3", "m4", "m5", "plan"}},
		{"only what holds, by default", with(func(*memory.Query) {}), []memory.ID{"m1", "m2", "m3", "m4", "m5", "plan"}},
		{"what was superseded too, when the past is asked for", with(func(q *memory.Query) { q.Past = true }), []memory.ID{"m1", "m2", "m3", "m4", "m5", "plan", "old"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, retrieve.Options{})
			b.source.Put(
				alice,
				item("plan", "adopt a dog", func(it *retrieve.Item) { it.Kind = memory.KindPlan }), // without event time
				item("old", "I have one cat", func(it *retrieve.Item) { it.Status = memory.StatusSuperseded }),
				item("gone", "cats, cats, cats", func(it *retrieve.Item) { it.Status = memory.StatusForgotten }),
				item("evicted", "cats, cats", func(it *retrieve.Item) { it.Status = memory.StatusEvicted }),
				item("merged", "my cats", func(it *retrieve.Item) { it.Status = memory.StatusMerged }),
			)
			got := b.retrieve(t, plan(10, test.query))
			require.ElementsMatch(t, test.want, ids(got))
			require.Equal(t, len(test.want), got.Searched)
		})
	}
}

func TestASoftWindowRaisesWhatLiesInside(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	q := input("What happened with Lyon?")
	before := ids(b.retrieve(t, plan(1, q)))
	require.ElementsMatch(t, []memory.ID{"m2", "m4"}, before)
	second := map[memory.ID]int{"m2": 2, "m4": 4}[before[1]]
	q.Soft, q.Window = true, memory.Window{From: day(second), To: day(second + 1)}
	require.Equal(t, []memory.ID{before[1], before[0]}, ids(b.retrieve(t, plan(1, q))))
}

func TestAClosedStatementMatchesAWindowInWhichItWasTrue(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	b.source.Put(alice, item("oslo", "I live in Oslo", func(it *retrieve.Item) {
		it.Status = memory.StatusSuperseded
		it.EventAt, it.ValidFrom, it.ValidTo = day(1).AddDate(-5, 0, 0), day(1).AddDate(-5, 0, 0), day(1).AddDate(-1, 0, 0)
	}))
	q := input("Where did I live?")
	q.Past, q.Window = true, memory.Window{From: day(1).AddDate(-3, 0, 0), To: day(1).AddDate(-2, 0, 0)}
	require.Equal(t, []memory.ID{"oslo"}, ids(b.retrieve(t, plan(5, q))))
}

func TestSmallMemories(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 9, 10, 11} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			b := &bundle{source: &retrievetest.Source{}, ctx: tenant.NewContext(t.Context(), alice)}
			b.retriever = retrieve.New(b.source, retrieve.Options{})
			for i := range n {
				// All alike: no channel has any spread, ids decide.
				b.source.Put(alice, item(fmt.Sprintf("m%02d", n-i), "the same words", func(it *retrieve.Item) { it.Vector = memory.Vector{1, 0} }))
			}
			p := plan(5, input("same words"))
			p.Plan.EmbedModel, p.Plan.Queries[0].Vector = "test", memory.Vector{0.6, 0.8}
			got := b.retrieve(t, p)
			require.NotNil(t, got.Candidates)
			require.Len(t, got.Candidates, min(n, 10))
			require.Equal(t, n, got.Searched)
			for i, c := range got.Candidates {
				require.Equal(t, memory.ID(fmt.Sprintf("m%02d", i+1)), c.ID)
				require.False(t, c.Score != c.Score, "not a number")
			}
		})
	}
}

func TestTheBudgetIsSharedAndRefilled(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	for i := range 20 {
		b.source.Put(alice, item(fmt.Sprintf("x%02d", i), fmt.Sprintf("Notes about sailing, number %d", i), func(it *retrieve.Item) { it.EventAt = day(20) }))
	}
	cats, trains := input("cats"), memory.Query{Text: "the train to Lyon", Origin: "model"}
	none := memory.Query{Text: "cats", Origin: "model", Window: memory.Window{From: day(28), To: day(29)}}

	t.Run("at most 2K, each once", func(t *testing.T) {
		t.Parallel()
		got := b.retrieve(t, plan(3, cats, trains, cats))
		require.Len(t, got.Candidates, 6)
		seen := map[memory.ID]bool{}
		for _, c := range got.Candidates {
			require.False(t, seen[c.ID])
			seen[c.ID] = true
		}
		require.True(t, seen["m1"] && seen["m2"])
	})
	t.Run("every query gets its share", func(t *testing.T) {
		t.Parallel()
		late := memory.Query{Text: "sailing", Origin: "model", Window: memory.Window{From: day(19), To: day(21)}}
		got := b.retrieve(t, plan(2, cats, late))
		require.Len(t, got.Candidates, 4)
		var found int
		for _, c := range got.Candidates {
			require.NotEmpty(t, c.Queries)
			if c.EventAt.Equal(day(20)) {
				found++
			}
		}
		require.GreaterOrEqual(t, found, 2)
	})
	t.Run("what a query cannot use goes to the others", func(t *testing.T) {
		t.Parallel()
		require.Len(t, b.retrieve(t, plan(5, cats, none, none)).Candidates, 10)
	})
	t.Run("candidates name the queries that found them", func(t *testing.T) {
		t.Parallel()
		for _, c := range b.retrieve(t, plan(5, cats, none)).Candidates {
			require.Equal(t, []int{0}, c.Queries)
		}
	})
	t.Run("K out of range", func(t *testing.T) {
		t.Parallel()
		require.Len(t, b.retrieve(t, plan(0, cats)).Candidates, 2*memory.DefaultK)
		require.Len(t, b.retrieve(t, plan(1_000_000, cats)).Candidates, 25)
	})
	t.Run("no query, no candidate", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, b.retrieve(t, plan(5)).Candidates)
	})
}

func TestMissingVectorsLeaveTheWords(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	b.source.Put(alice, item("v1", "Something quite unrelated about garden chairs, number one", func(it *retrieve.Item) { it.Vector = memory.Vector{1, 0} }),
		item("v2", "Something quite unrelated about garden chairs, number two", func(it *retrieve.Item) { it.Vector = memory.Vector{0, 1} }),
		item("v3", "Something quite unrelated about garden chairs, number three", func(it *retrieve.Item) { it.Vector = memory.Vector{0, 1, 0} })) // of a strange length
	p := plan(5, input("Which cats did I adopt?"))

	require.Equal(t, memory.ID("m1"), ids(b.retrieve(t, p))[0], "a query without a vector")
	p.Plan.EmbedModel, p.Plan.Queries[0].Vector = "test", memory.Vector{1, 0}
	require.Equal(t, memory.ID("m1"), ids(b.retrieve(t, p))[0], "an item without a vector")
	p.Plan.Queries[0].Text = "??"
	require.Equal(t, memory.ID("v1"), ids(b.retrieve(t, p))[0], "a query without words")
	p.Plan.Queries[0].Vector = memory.Vector{1, 0, 0, 0}
	require.Len(t, b.retrieve(t, p).Candidates, 8, "a query's vector of a strange length")
}

func TestChangesAreSeenByTheNextRetrieval(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	p := plan(5, input("Which cats did I adopt?"))
	first := func() memory.Candidate { return b.retrieve(t, p).Candidates[0] }
	require.Equal(t, memory.ID("m1"), first().ID)

	b.source.Put(alice, item("m6", "The cats I adopted: Which cats? Kiki and Lulu, adopted on 4 March 2025"))
	require.Equal(t, memory.ID("m6"), first().ID, "a new item")

	b.source.Change(alice, "m6", func(it *retrieve.Item) { it.Status = memory.StatusContested })
	require.Equal(t, memory.StatusContested, first().Status, "a new status")

	b.source.Change(alice, "m6", func(it *retrieve.Item) { it.Status = memory.StatusSuperseded })
	require.Equal(t, memory.ID("m1"), first().ID, "no longer live")

	b.source.Change(alice, "m6", func(it *retrieve.Item) { it.Status = memory.StatusActive })
	require.Equal(t, memory.ID("m6"), first().ID, "live again")

	b.source.Erase(alice, "m6")
	require.Equal(t, memory.ID("m1"), first().ID, "erased")

	b.source.Change(alice, "m2", func(it *retrieve.Item) { it.Vector = memory.Vector{1, 0} })
	b.source.Change(alice, "m3", func(it *retrieve.Item) { it.Vector = memory.Vector{0, 1} })
	p.Plan.Queries[0].Text, p.Plan.EmbedModel, p.Plan.Queries[0].Vector = "??", "test", memory.Vector{0, 1}
	require.Equal(t, memory.ID("m3"), first().ID, "vectors filled in later")
}

func TestRowsThatChangeAfterRankingAreDroppedAndTheirPlacesFilled(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	b.source.Put(alice, item("m6", "a sixth memory"))
	p := plan(2, input("Which cats did I adopt?"))
	require.Len(t, b.retrieve(t, p).Candidates, 4)

	var once sync.Once
	b.source.BeforeFetch = func() {
		once.Do(func() {
			b.source.Change(alice, "m1", func(it *retrieve.Item) { it.Status = memory.StatusForgotten })
			b.source.Erase(alice, "m4")
		})
	}
	got := b.retrieve(t, p)
	require.Len(t, got.Candidates, 4)
	require.NotContains(t, ids(got), memory.ID("m1"))
	require.NotContains(t, ids(got), memory.ID("m4"))
}

func TestNobodyFindsAnothersMemory(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	others := []memory.Scope{{Tenant: "acme", User: "bob"}, {Tenant: "globex", User: "alice"}}
	for i, s := range others {
		b.source.Put(s, item("m1", "I adopted two cats, Miso and Yuzu"), item(fmt.Sprintf("o%d", i), "cats adopted"))
	}
	p := plan(50, input("Which cats did I adopt?"))
	require.Len(t, b.retrieve(t, p).Candidates, 5)
	for i, s := range others {
		got, err := b.retriever.Retrieve(tenant.NewContext(t.Context(), s), p)
		require.NoError(t, err)
		require.ElementsMatch(t, []memory.ID{"m1", memory.ID(fmt.Sprintf("o%d", i))}, ids(got))
	}
	_, err := b.retriever.Retrieve(t.Context(), p)
	require.Equal(t, memory.CodeForbidden, memory.CodeOf(err))
}

func TestTheStateOfAnEarlierTime(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	b.source.Put(
		alice,
		item("old", "I live in Oslo", func(it *retrieve.Item) {
			it.Status, it.ExpiredAt, it.ValidTo = memory.StatusSuperseded, day(10), day(9)
		}),
		item("new", "I live in Lyon", func(it *retrieve.Item) { it.RecordedAt = day(10) }),
	)
	p := plan(10, input("Where do I live?"))
	p.AsOf = day(5)
	got := b.retrieve(t, p)
	require.Equal(t, memory.ID("old"), got.Candidates[0].ID)
	require.Equal(t, memory.StatusActive, got.Candidates[0].Status, "as it stood then")
	require.True(t, got.Candidates[0].ValidTo.IsZero())
	require.NotContains(t, ids(got), memory.ID("new"))

	b.source.Change(alice, "old", func(it *retrieve.Item) { it.Status = memory.StatusForgotten })
	require.NotContains(t, ids(b.retrieve(t, p)), memory.ID("old"), "forgotten since: not shown again")

	p.AsOf = time.Time{}
	require.Equal(t, memory.ID("new"), ids(b.retrieve(t, p))[0])
}

func TestColdCallersShareOneLoad(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	var loads atomic.Int32
	b.source.BeforeChanges = func(since int64) error {
		if since == 0 {
			loads.Add(1)
		}
		return nil
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			got, err := b.retriever.Retrieve(b.ctx, plan(5, input("cats")))
			if err != nil || len(got.Candidates) != 5 {
				t.Errorf("got %d candidates, error %v", len(got.Candidates), err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, loads.Load())
}

func TestReadersAndWritersAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{CacheBytes: 200_000}) // evictions among them
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			scope := memory.Scope{Tenant: "acme", User: memory.UserID(fmt.Sprint(g % 3))}
			ctx := tenant.NewContext(b.ctx, scope)
			r := rand.New(rand.NewPCG(1, uint64(g)))
			for i := range 25 {
				id := fmt.Sprintf("w%d-%d", g, i)
				b.source.Put(scope, item(id, sentence(r, 9), func(it *retrieve.Item) {
					it.Vector, it.Conversation = vector(r), memory.ConversationID(fmt.Sprint(i%4))
				}))
				p := plan(50, input("word1 word2"))
				p.Scope = scope
				p.Plan.EmbedModel, p.Plan.Queries[0].Vector = "test", vector(r)
				got, err := b.retriever.Retrieve(ctx, p)
				if err != nil {
					t.Error(err)
					return
				}
				if own := i + 1 - i/10; len(got.Candidates) < own {
					t.Errorf("found %d of at least %d", len(got.Candidates), own)
				}
				if i%10 == 9 {
					b.source.Erase(scope, memory.ID(id))
				}
			}
		})
	}
	wg.Wait()
}

func TestAFailedLoadIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, retrieve.Options{})
	fail := true
	b.source.BeforeChanges = func(int64) error {
		if fail {
			return memory.Wrap(memory.CodeUnavailable, errors.New("connection refused"), "read changes")
		}
		return nil
	}
	_, err := b.retriever.Retrieve(b.ctx, plan(5, input("cats")))
	require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
	fail = false
	require.Len(t, b.retrieve(t, plan(5, input("cats"))).Candidates, 5)
}

// graph is long-term memory with the same answer to every query.
type graph []memory.Candidate

func (g graph) Search(_ context.Context, _ memory.Query, limit int) ([]memory.Candidate, error) {
	return g[:min(limit, len(g))], nil
}

func TestTheGraphAddsWithinItsOwnShare(t *testing.T) {
	t.Parallel()
	general := memory.Query{Text: "cats", Tier: memory.TierLTM, Origin: "rule"}
	for _, test := range []struct {
		name  string
		graph retrieve.Graph
		long  int
		all   int
	}{
		{"none yet: the budget goes to the user's own memory", nil, 0, 4},
		{"nothing found", graph{}, 0, 4},
		{"less than its share", graph{{ID: "g1"}}, 1, 4},
		{"more than its share", graph{{ID: "g1"}, {ID: "g2"}, {ID: "g3"}, {ID: "g4"}}, 2, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, retrieve.Options{Graph: test.graph})
			got := b.retrieve(t, plan(2, input("cats"), general))
			require.Len(t, got.Candidates, test.all)
			require.Equal(t, memory.ID("m1"), got.Candidates[0].ID)
			long := 0
			for _, c := range got.Candidates {
				if c.Tier == memory.TierLTM {
					long++
					require.Equal(t, []int{1}, c.Queries)
				}
			}
			require.Equal(t, test.long, long)
		})
	}
}

func TestPeopleWhoAreNamed(t *testing.T) {
	t.Parallel()
	b := &bundle{source: &retrievetest.Source{}, ctx: tenant.NewContext(t.Context(), alice)}
	b.retriever = retrieve.New(b.source, retrieve.Options{})
	says := func(id, who, text string) retrieve.Item {
		return item(id, who+": "+text, func(it *retrieve.Item) { it.Speaker = who })
	}
	b.source.Put(alice, says("a1", "Ann", "My holiday was in Rome"), says("b1", "Ben", "My holiday was in Bern"), says("b2", "Ben", "Ann, how are you?"))
	require.Equal(t, memory.ID("a1"), ids(b.retrieve(t, plan(1, input("Where was Ann's holiday?"))))[0])
	require.Equal(t, memory.ID("b1"), ids(b.retrieve(t, plan(1, input("Where was Ben's holiday?"))))[0])
}

// A statement that stands by itself must not borrow the relevance of what was
// said beside it, as an utterance kept word for word may.
func TestStatementsThatStandByThemselvesDoNotBorrowFromTheirNeighbours(t *testing.T) {
	t.Parallel()
	b := &bundle{source: &retrievetest.Source{}, ctx: tenant.NewContext(t.Context(), alice)}
	b.retriever = retrieve.New(b.source, retrieve.Options{})
	talk := func(conversation string) func(*retrieve.Item) {
		return func(it *retrieve.Item) { it.Conversation = memory.ConversationID(conversation) }
	}
	for i, text := range []string{"The ferry leaves at nine", "Alice packed a ferry timetable", "Bob likes chess", "Carol sings"} {
		b.source.Put(alice, item(fmt.Sprintf("one%d", i), text, talk("one")))
	}
	b.source.Put(alice, item("two", "Dan took a ferry once, years ago, and he was seasick", talk("two")))
	got := b.retrieve(t, plan(5, input("ferry")))
	first := []memory.ID{got.Candidates[0].ID, got.Candidates[1].ID, got.Candidates[2].ID}
	require.ElementsMatch(t, []memory.ID{"one0", "one1", "two"}, first, "what names the thing is before what stood beside it")
}

func TestStatementsAboutWhatIsAskedForComeFirst(t *testing.T) {
	t.Parallel()
	b := &bundle{source: &retrievetest.Source{}, ctx: tenant.NewContext(t.Context(), alice)}
	b.retriever = retrieve.New(b.source, retrieve.Options{})
	b.source.Put(alice,
		item("friend", "Her best friend Elif lives there already"),
		item("home", "Maya moved to Gothenburg", func(it *retrieve.Item) { it.Attribute = "residence" }),
	)
	q := input("Where do I live?")
	q.Attributes = []string{"residence", "address"}
	require.Equal(t, memory.ID("home"), b.retrieve(t, plan(5, q)).Candidates[0].ID)
}
