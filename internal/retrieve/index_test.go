package retrieve

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
)

func randomItem(r *rand.Rand, n int) Item {
	words := []string{"cat", "train", "Lyon", "yesterday", "music", "river", "Mia", "garden", "seven", "tea?"}
	text := "I"
	for range 1 + r.IntN(8) {
		text += " " + words[r.IntN(len(words))]
	}
	it := Item{Seq: int64(n), Memory: memory.Memory{
		ID: memory.ID(fmt.Sprintf("m%03d", n)), Text: text, Status: memory.StatusActive,
		Speaker: []string{"", "Ann", "Ben"}[r.IntN(3)], Conversation: memory.ConversationID([]string{"", "a", "b", "c"}[r.IntN(4)]),
	}}
	if r.IntN(10) == 0 {
		it.Status = memory.StatusSuperseded
	}
	if r.IntN(5) > 0 {
		it.Vector = randomVector(r)
	}
	return it
}

func randomVector(r *rand.Rand) memory.Vector {
	v := make(memory.Vector, 64)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	v.Normalize()
	return v
}

func randomQueries(r *rand.Rand, n int) []memory.Query {
	out := []memory.Query{{Text: "When did Ann hear music by the river?", Origin: originInput, Vector: randomVector(r)}}
	for range n - 1 {
		out = append(out, memory.Query{Text: "the train to Lyon", Origin: "model", Vector: randomVector(r), Past: r.IntN(2) == 0})
	}
	return out
}

// What an index becomes by changes is what it would be when built anew.
func TestAnIndexRefreshedRanksAsOneBuiltAnew(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(7, seed))
		grown, now := newIndex(), map[memory.ID]Item{}
		n := 0
		for step := range int64(40) {
			d := Delta{Revision: step + 1}
			for range 1 + r.IntN(6) {
				var it Item
				switch {
				case n > 0 && r.IntN(3) == 0: // change one that is there
					it = now[memory.ID(fmt.Sprintf("m%03d", 1+r.IntN(n)))]
					switch r.IntN(4) {
					case 0:
						it.Status = memory.StatusForgotten
					case 1:
						it.Status = memory.StatusActive
					case 2:
						it.Vector = randomVector(r)
					case 3:
						it.Text += " again"
					}
				default:
					n++
					it = randomItem(r, n)
				}
				now[it.ID] = it
				d.Items = append(slices.DeleteFunc(d.Items, func(o Item) bool { return o.ID == it.ID }), it)
			}
			grown.refresh(d)
		}
		all := Delta{Revision: 40, Reset: true}
		for _, it := range now {
			all.Items = append(all.Items, it)
		}
		built := newIndex()
		built.refresh(all)

		queries := randomQueries(r, 3)
		got, gotSearched := grown.rank(queries, 40, nil, &workspace{})
		want, wantSearched := built.rank(queries, 40, nil, &workspace{})
		require.Equal(t, wantSearched, gotSearched)
		require.Len(t, got, len(want))
		for i := range want {
			require.InDelta(t, want[i].score, got[i].score, 1e-4, "seed %d, place %d", seed, i)
		}
	}
}

// Nothing is approximate: the best items are those of a full sort.
func TestRankingEqualsAFullSort(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	x := newIndex()
	d := Delta{Revision: 1, Reset: true}
	for n := range 3_000 {
		d.Items = append(d.Items, randomItem(r, n))
	}
	x.refresh(d)
	w := &workspace{}
	for range 20 {
		q := randomQueries(r, 1)[0]
		s := x.score(q, w)
		var order []int32
		for i := range x.slots {
			if x.marks[i].live {
				order = append(order, int32(i))
			}
		}
		slices.SortFunc(order, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.total[b], s.total[a]), cmp.Compare(x.slots[a].id, x.slots[b].id))
		})
		var want []memory.ID
		for _, i := range order[:20] {
			want = append(want, x.slots[i].id)
		}
		w.reclaim()
		hits, searched := x.rank([]memory.Query{q}, 20, nil, w)
		var got []memory.ID
		for _, h := range hits {
			got = append(got, h.id)
		}
		require.Equal(t, want, got)
		require.Equal(t, len(order), searched)
	}
}

func TestSpeakersAndConversationsThatCannotBeConfused(t *testing.T) {
	t.Parallel()
	x := newIndex()
	x.refresh(Delta{Revision: 1, Reset: true, Items: []Item{{Memory: memory.Memory{ID: "a", Text: "tea", Status: memory.StatusActive}}}})
	// From no conversation to one that the index does not know yet.
	x.refresh(Delta{Revision: 2, Items: []Item{{Memory: memory.Memory{ID: "a", Text: "tea", Status: memory.StatusActive, Conversation: "c", Speaker: "Ann"}}}})
	require.Len(t, x.conversations["c"].order, 1)
	require.Equal(t, 1, x.speakers["Ann"].items)
}

func TestTheCacheStaysWithinItsBound(t *testing.T) {
	t.Parallel()
	user := func(n int) memory.Scope { return memory.Scope{Tenant: "t", User: memory.UserID(fmt.Sprint(n))} }
	each := 300 + fixed(key{user(0), "m"})
	c := newCache(3*each + 100)
	for n := range 5 {
		c.settle(c.get(user(n), "m"), 300)
		require.LessOrEqual(t, c.used, c.limit)
	}
	require.Len(t, c.entries, 3)
	require.Nil(t, c.entries[key{user(1), "m"}], "the least recently used ones go")

	kept := c.get(user(2), "m")
	c.settle(c.get(user(5), "m"), 300)
	require.Same(t, kept, c.get(user(2), "m"), "use keeps")
	require.Same(t, kept, c.get(user(2), ""), "a call without a vector uses what there is")

	big := c.get(user(9), "m")
	c.settle(big, 5_000)
	require.Empty(t, c.entries, "one that is too large alone is not kept")
	require.Zero(t, c.used)
	c.settle(big, 10)
	require.Zero(t, c.used, "dropped is dropped")
	require.Empty(t, c.models)
}

func TestUsersWithoutMemoriesCountForTheBound(t *testing.T) {
	t.Parallel()
	source, ctx := nothing{}, t.Context()
	for _, limit := range []int64{0, 10 * entryBytes} {
		c := newCache(limit)
		for n := range 1_000 {
			e := c.get(memory.Scope{Tenant: "t", User: memory.UserID(fmt.Sprint(n))}, "m")
			require.NoError(t, c.refresh(ctx, source, e))
			require.LessOrEqual(t, int64(len(c.entries)), limit/entryBytes)
			require.LessOrEqual(t, c.used, limit)
			require.Equal(t, len(c.entries), c.order.Len())
			require.LessOrEqual(t, len(c.models), len(c.entries))
		}
	}
}

func TestAnEntryWhoseLoadFailedIsNotKept(t *testing.T) {
	t.Parallel()
	c := newCache(1 << 20)
	scope := memory.Scope{Tenant: "t", User: "u"}
	failing := nothing{memory.Errorf(memory.CodeUnavailable, "away")}
	require.Error(t, c.refresh(t.Context(), failing, c.get(scope, "m")))
	require.Empty(t, c.entries)
	require.Empty(t, c.models)
	require.Zero(t, c.order.Len())
	require.Zero(t, c.used)

	e := c.get(scope, "m")
	require.NoError(t, c.refresh(t.Context(), nothing{}, e))
	require.Error(t, c.refresh(t.Context(), failing, e))
	require.Same(t, e, c.get(scope, "m"), "what was loaded is kept")
}

// nothing is the source of users without memories.
type nothing struct{ err error }

func (n nothing) Changes(context.Context, string, int64) (Delta, error) {
	return Delta{Revision: 1, Reset: true}, n.err
}

func (n nothing) Fetch(context.Context, []memory.ID) ([]memory.Memory, error) { return nil, n.err }

func (n nothing) AsOf(context.Context, string, time.Time) ([]Item, error) { return nil, n.err }

func TestTheSizeCountsNamesAndFallsWithThem(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1_000)
	load := func(items ...Item) *index {
		x := newIndex()
		x.refresh(Delta{Revision: 1, Reset: true, Items: items})
		return x
	}
	plain := Item{Memory: memory.Memory{ID: "a", Text: "tea", Status: memory.StatusActive, Conversation: "c", Speaker: "Ann", Attribute: "x"}}
	base := load(plain).size()
	for name, change := range map[string]func(*Item){
		"id":           func(it *Item) { it.ID = memory.ID(long) },
		"attribute":    func(it *Item) { it.Attribute = long },
		"conversation": func(it *Item) { it.Conversation = memory.ConversationID(long) },
		"speaker":      func(it *Item) { it.Speaker = long },
	} {
		it := plain
		change(&it)
		require.GreaterOrEqual(t, load(it).size(), base+900, name)
	}

	x := load(plain)
	it := plain
	it.Attribute = long
	x.refresh(Delta{Revision: 2, Items: []Item{it}})
	require.GreaterOrEqual(t, x.size(), base+900)
	it.Attribute = "x"
	x.refresh(Delta{Revision: 3, Items: []Item{it}})
	require.Equal(t, base, x.size())
	it.Status = memory.StatusForgotten
	x.refresh(Delta{Revision: 4, Items: []Item{it}})
	require.Zero(t, x.strings)
}
