package retrieve

import (
	"math"
	"slices"
	"time"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/memory"
)

// The constants of the ranking; docs/evaluation.md says what each is worth.
// Scores are sums of z-scores, so 1 is one standard deviation of one channel.
const (
	// bm25K1 and bm25B are BM25's usual saturation and length constants.
	bm25K1 = 1.2
	bm25B  = 0.75
	// pairWeight is what "previous item + item" counts against the item alone.
	pairWeight = 0.5
	// speakerBoost is for items said by a person whom the query names.
	speakerBoost = 1.0
	// neighbourWeight is how much of each neighbour's score an item gains.
	neighbourWeight = 0.25
	// conversationWeight is how much of its conversation's best score.
	conversationWeight = 0.3
	// softWindowBoost is for items inside a soft time window.
	softWindowBoost = 1.0
)

// hit is one ranked item.
type hit struct {
	id             memory.ID
	score          float64
	lexical, dense float64
	// queries are the indexes of the queries that found it.
	queries []int
	// status and validTo as the index knows them.
	status  memory.Status
	validTo time.Time
}

// scored is one query's scores over all slots of an index.
type scored struct {
	query memory.Query
	// total, lexical and dense are by slot; meaningless outside the set.
	total, lexical, dense []float64
}

// inSet reports whether an item takes part in a query's statistics.
func inSet(k *slot, q *memory.Query) bool {
	return k.used && (q.Past || live(k.status))
}

// admits reports whether an item meets all constraints of a query.
func admits(k *slot, q *memory.Query) bool {
	if !inSet(k, q) || len(q.Kinds) > 0 && !slices.Contains(q.Kinds, k.kind) {
		return false
	}
	return q.Soft || q.Window.IsZero() || within(k, q.Window)
}

// within reports whether an item happened inside a window, or was true during
// a part of it (only closed spans: what is still true would match every
// window).
func within(k *slot, w memory.Window) bool {
	if inWindow(k.eventAt, w) {
		return true
	}
	if k.validFrom.IsZero() || k.validTo.IsZero() {
		return false
	}
	return (w.To.IsZero() || k.validFrom.Before(w.To)) && (w.From.IsZero() || k.validTo.After(w.From))
}

func inWindow(t time.Time, w memory.Window) bool {
	return !t.IsZero() && (w.From.IsZero() || !t.Before(w.From)) && (w.To.IsZero() || t.Before(w.To))
}

// score ranks every item of the index against one query. The caller holds x.mu
// for reading.
func (x *index) score(q memory.Query) scored {
	n := len(x.slots)
	out := scored{query: q, total: make([]float64, n), lexical: make([]float64, n), dense: make([]float64, n)}
	set := make([]bool, n)
	count, length := 0, 0
	for i := range x.slots {
		if set[i] = inSet(&x.slots[i], &q); set[i] {
			count++
			length += len(x.slots[i].terms)
		}
	}
	if count == 0 {
		return out
	}
	terms, named := x.queryTerms(q.Text)
	pairLexical := make([]float64, n)
	x.bm25(terms, set, count, float64(length)/float64(count), out.lexical, pairLexical)
	standardize(out.lexical, set, nil)
	standardize(pairLexical, set, nil)

	pairDense := make([]float64, n)
	if len(q.Vector) > 0 && len(q.Vector) == x.dim {
		x.cosines(q.Vector, set, out.dense, pairDense)
	}

	for i := range x.slots {
		if !set[i] {
			continue
		}
		k := &x.slots[i]
		t := out.lexical[i] + out.dense[i] + pairWeight*(pairLexical[i]+pairDense[i])
		if k.speaker != nil && named[k.speaker] {
			t += speakerBoost
		}
		if q.Soft && !q.Window.IsZero() && within(k, q.Window) {
			t += softWindowBoost
		}
		out.total[i] = t
	}
	x.spread(&out, set)
	return out
}

// spread lets an item gain from its neighbours and its conversation.
func (x *index) spread(out *scored, set []bool) {
	own := slices.Clone(out.total)
	best := make([]float64, len(x.conversations))
	for i := range best {
		best[i] = math.Inf(-1)
	}
	for i := range x.slots {
		if set[i] {
			c := x.slots[i].conversation.number
			best[c] = max(best[c], own[i])
		}
	}
	for i := range x.slots {
		if !set[i] {
			continue
		}
		k := &x.slots[i]
		for _, j := range [2]int32{k.prev, k.next} {
			if j != none && set[j] {
				out.total[i] += neighbourWeight * own[j]
			}
		}
		out.total[i] += conversationWeight * best[k.conversation.number]
	}
}

// queryTerms returns the distinct terms of a query without the names of the
// speakers, and the speakers that it names.
func (x *index) queryTerms(text string) (terms []int32, named map[*speaker]bool) {
	all := lexical.Analyze(text)
	named = map[*speaker]bool{}
	names := map[int32]bool{}
	for _, p := range x.speakers {
		if p.items == 0 {
			continue
		}
		for _, w := range p.words {
			names[w] = true
			if slices.Contains(all, w) {
				named[p] = true
			}
		}
	}
	for _, t := range all {
		if !names[t] && !slices.Contains(terms, t) {
			terms = append(terms, t)
		}
	}
	return terms, named
}

// bm25 adds up the scores of items alone, and of items together with their
// predecessors.
func (x *index) bm25(terms []int32, set []bool, count int, mean float64, alone, pairs []float64) {
	together := make([]int32, len(x.slots))
	var seen []int32
	for _, t := range terms {
		df := 0
		for _, p := range x.postings[t] {
			if set[p.slot] {
				df++
			}
		}
		if df == 0 {
			continue
		}
		idf := math.Log(1 + (float64(count)-float64(df)+0.5)/(float64(df)+0.5))
		for _, p := range x.postings[t] {
			if !set[p.slot] {
				continue
			}
			alone[p.slot] += idf * saturate(p.count, len(x.slots[p.slot].terms), mean)
			for _, s := range [2]int32{p.slot, x.slots[p.slot].next} {
				if s == none || !set[s] {
					continue
				}
				if together[s] == 0 {
					seen = append(seen, s)
				}
				together[s] += p.count
			}
		}
		for _, s := range seen {
			size := len(x.slots[s].terms)
			if p := x.slots[s].prev; p != none && set[p] {
				size += len(x.slots[p].terms)
			}
			pairs[s] += idf * saturate(together[s], size, 2*mean)
			together[s] = 0
		}
		seen = seen[:0]
	}
}

func saturate(count int32, size int, mean float64) float64 {
	f := float64(count)
	return f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(size)/mean))
}

// cosines fills in the standardised similarities of items alone, and of items
// together with their predecessors: the mean of two stored vectors stands for
// the vector of both texts. Items without a vector stand at the mean.
func (x *index) cosines(v memory.Vector, set []bool, alone, pairs []float64) {
	has := make([]bool, len(x.slots))
	for i := range x.slots {
		if has[i] = set[i] && x.slots[i].hasVector; has[i] {
			alone[i] = float64(dot(v, x.vector(int32(i))))
		}
	}
	for i := range x.slots {
		if !has[i] {
			continue
		}
		pairs[i] = alone[i]
		if p := x.slots[i].prev; p != none && has[p] {
			pairs[i] = (alone[i] + alone[p]) / float64(x.slots[i].pairNorm)
		}
	}
	standardize(alone, set, has)
	standardize(pairs, set, has)
}

// standardize turns values into z-scores over the set, or over the part of it
// that has a value; others become 0, and so do all when there is no spread.
func standardize(values []float64, set, has []bool) {
	if has == nil {
		has = set
	}
	var n, sum, squares float64
	for i, v := range values {
		if has[i] {
			n++
			sum += v
		}
	}
	mean := sum / max(n, 1)
	for i, v := range values {
		if has[i] {
			squares += (v - mean) * (v - mean)
		}
	}
	deviation := math.Sqrt(squares / max(n, 1))
	for i, v := range values {
		if !has[i] || deviation < 1e-9 {
			values[i] = 0
			continue
		}
		values[i] = (v - mean) / deviation
	}
}

// originInput marks the user's own words among a plan's queries.
const originInput = "input"

// rank returns the best items for the queries, at most budget, best first and
// none of those excluded, and how many items met any query's constraints.
func (x *index) rank(queries []memory.Query, budget int, excluded map[memory.ID]bool) (hits []hit, searched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if len(queries) == 0 || budget <= 0 {
		return nil, 0
	}
	all := make([]scored, len(queries))
	for i, q := range queries {
		all[i] = x.score(q)
	}
	return x.merge(all, budget, excluded)
}
