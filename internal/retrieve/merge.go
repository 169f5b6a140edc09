package retrieve

import (
	"cmp"
	"slices"

	"github.com/lightmem/lightmem/memory"
)

// originRule marks the queries of the planning rule. They repeat parts of the
// user's own words and count half; a model's add words of their own.
const (
	originRule = "rule"
	ruleWeight = 0.5
)

// merge divides the budget among the queries (spec section 2.2): K1 =
// ceil(budget/n) each, duplicates dropped, cut to the budget; what duplicates
// and short lists leave unused goes to the next best of all queries.
//
// A query's own list is ranked by its score plus that of the user's own words,
// and the whole by the score of the user's own words plus the mean of the
// others': measured better than any of them alone (docs/evaluation.md).
func (x *index) merge(all []scored, budget int, excluded map[memory.ID]bool, w *workspace) (hits []hit, searched int) {
	n := len(x.slots)
	base, fused, others := w.floats(n), w.floats(n), 0
	input := slices.IndexFunc(all, func(s scored) bool { return s.query.Origin == originInput })
	if input >= 0 {
		copy(base, all[input].total)
	}
	for i := range all {
		if i != input {
			others++
			weight := 1.0
			if all[i].query.Origin == originRule {
				weight = ruleWeight
			}
			for s, v := range all[i].total {
				fused[s] += weight * v
			}
		}
	}
	for s := range fused {
		fused[s] = base[s] + fused[s]/max(float64(others), 1)
	}

	share := (budget + len(all) - 1) / len(all)
	found := map[int32]*hit{}
	var firsts, rest []int32
	admitted := make([]bool, n)
	for i := range all {
		q := &all[i]
		own := func(s int32) float64 {
			if i == input {
				return base[s]
			}
			return base[s] + q.total[s]
		}
		list := x.top(budget, own, func(s int32) bool {
			k := &x.slots[s]
			ok := x.marks[s].used && constraints{q.query}.admits(k) && !excluded[k.id]
			admitted[s] = admitted[s] || ok
			return ok
		})
		for at, s := range list {
			h := found[s]
			if h == nil {
				k := &x.slots[s]
				h = &hit{id: k.id, score: fused[s], lexical: q.lexical[s], dense: q.dense[s], status: k.status, validTo: k.validTo}
				found[s] = h
			}
			h.queries = append(h.queries, i)
			if at < share {
				firsts = append(firsts, s)
			} else {
				rest = append(rest, s)
			}
		}
	}
	byScore := func(a, b int32) int {
		return cmp.Or(cmp.Compare(fused[b], fused[a]), cmp.Compare(x.slots[a].id, x.slots[b].id))
	}
	slices.SortFunc(firsts, byScore)
	slices.SortFunc(rest, byScore)
	taken := map[int32]bool{}
	var chosen []int32
	for _, s := range append(firsts, rest...) {
		if len(chosen) == budget {
			break
		}
		if !taken[s] {
			taken[s] = true
			chosen = append(chosen, s)
		}
	}
	slices.SortFunc(chosen, byScore)
	for _, s := range chosen {
		hits = append(hits, *found[s])
	}
	for _, ok := range admitted {
		if ok {
			searched++
		}
	}
	return hits, searched
}

// top returns the k best slots that are allowed, best first, equals by id.
func (x *index) top(k int, score func(int32) float64, allowed func(int32) bool) []int32 {
	type entry struct {
		slot  int32
		score float64
	}
	best := make([]entry, 0, k+1)
	for s := range int32(len(x.slots)) {
		if !allowed(s) {
			continue
		}
		e := entry{s, score(s)}
		if len(best) == k && e.score < best[k-1].score {
			continue
		}
		at, _ := slices.BinarySearchFunc(best, e, func(a, b entry) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(x.slots[a.slot].id, x.slots[b.slot].id))
		})
		best = slices.Insert(best, at, e)
		best = best[:min(len(best), k)]
	}
	out := make([]int32, len(best))
	for i, e := range best {
		out[i] = e.slot
	}
	return out
}
