package retrieve

import (
	"math"
	"slices"
	"time"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/memory"
)

// The constants of the ranking. They were fitted on some of LoCoMo's
// conversations, judged on the others, and rounded; docs/evaluation.md says
// what each is worth and how flat the optimum is.
const (
	// bm25K1 and bm25B are BM25's saturation and length constants, as usual.
	bm25K1 = 1.2
	bm25B  = 0.75
	// reach is how many items before and after one are its surroundings.
	reach = 2
	// ownWords and aroundWords weigh the lexical channel: BM25 as a share of
	// the query's whole idf, so that a query few of whose words are known
	// leaves the decision to the dense channel.
	ownWords    = 5.0
	aroundWords = 7.5
	// ownMeaning and aroundMeaning weigh the dense channel's z-scores.
	ownMeaning    = 0.75
	aroundMeaning = 1.0
	// wholeOwn and wholeAround change the two above for statements that stand by
	// themselves. An utterance that was kept word for word ("Yes, red gives me
	// headaches") needs what was said around it; a statement that a writer made
	// self-contained does not, and would only borrow its neighbours' relevance.
	// Not fitted: LoCoMo's items are all utterances.
	wholeOwn    = 2.0
	wholeAround = 0.25
	// attributeBoost is for statements about what is asked for.
	attributeBoost = 5.0
	// speakerBoost is for items said by a person whom the query names.
	speakerBoost = 4.0
	// conversationWeight is how much of its conversation's best score an item
	// gains.
	conversationWeight = 0.25
	// whenBoost is for items that say when, if that is what is asked.
	whenBoost = 3.0
	// softWindowBoost is for items inside a soft time window.
	softWindowBoost = 3.0

	// What an item counts for whatever the query: statements that say much,
	// when, and of whom or what; less when it is a question.
	lengthWeight  = 1.0 // of the logarithm of the number of terms
	longEnough    = 50  // terms, from where on more count no more
	timePrior     = 1.0
	namePrior     = 0.5
	questionPrior = -0.5
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
	// total, lexical and dense are by slot. Items that the query does not admit
	// have scores, too: another query may admit them.
	total, lexical, dense []float64
}

// inSet reports whether an item takes part in a query's statistics.
func (m *mark) inSet(past bool) bool { return m.used && (m.live || past) }

// admits reports whether an item meets all constraints of a query. Nothing
// that does not is ranked (xagent#822: a filter after top-k loses results).
func (q constraints) admits(k *slot) bool {
	if !live(k.status) && (!q.Past || k.status != memory.StatusSuperseded) {
		return false
	}
	if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, k.kind) {
		return false
	}
	return q.Soft || q.Window.IsZero() || within(k, q.Window)
}

// constraints are a query seen as φ (Eq. 1).
type constraints struct{ memory.Query }

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

// score rates every item of the index for one query. The caller holds x.mu for
// reading.
func (x *index) score(q memory.Query, w *workspace) scored {
	n := len(x.marks)
	out := scored{query: q, total: w.floats(n), lexical: w.floats(n), dense: w.floats(n)}
	aroundLexical, aroundDense := w.floats(n), w.floats(n)

	terms, named := x.queryTerms(q.Text)
	x.bm25(terms, q.Past, out.lexical, aroundLexical)
	if len(q.Vector) > 0 && len(q.Vector) == x.dim {
		x.cosines(q.Vector, q.Past, out.dense, aroundDense)
	}
	when := 0.0
	if lexical.AsksWhen(q.Text) {
		when = whenBoost
	}
	soft := q.Soft && !q.Window.IsZero()

	best := w.floats(len(x.conversations))
	for i := range best {
		best[i] = math.Inf(-1)
	}
	for i := range x.marks {
		m := &x.marks[i]
		if !m.used {
			continue
		}
		own := ownWords*out.lexical[i] + ownMeaning*out.dense[i]
		around := aroundWords*aroundLexical[i] + aroundMeaning*aroundDense[i]
		if m.whole {
			own, around = wholeOwn*own, wholeAround*around
		}
		t := float64(m.prior) + own + around
		if a := x.slots[i].attribute; a != "" && slices.Contains(q.Attributes, a) {
			t += attributeBoost
		}
		if m.speaker != none && named[m.speaker] {
			t += speakerBoost
		}
		if m.time {
			t += when
		}
		if soft && within(&x.slots[i], q.Window) {
			t += softWindowBoost
		}
		out.total[i] = t
		if m.conversation != none && m.inSet(q.Past) {
			best[m.conversation] = max(best[m.conversation], t)
		}
	}
	for i := range x.marks {
		t := out.total[i]
		if c := x.marks[i].conversation; c != none {
			t = max(t, best[c])
		}
		out.total[i] += conversationWeight * t
	}
	return out
}

// queryTerms returns the distinct terms of a query without the names of the
// speakers, and by their numbers which speakers it names: a name that stands
// in every item of a person tells little as a word, but much as a speaker.
func (x *index) queryTerms(text string) (terms []int32, named []bool) {
	all := lexical.Analyze(text)
	named = make([]bool, len(x.speakers))
	names := map[int32]bool{}
	for _, p := range x.speakers {
		if p.items == 0 {
			continue
		}
		for _, w := range p.words {
			names[w] = true
			if slices.Contains(all, w) {
				named[p.number] = true
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
// surroundings, both as shares of the query's whole weight. The statistics are
// those of the user's own items (mem0 lost points by collection-wide ones).
func (x *index) bm25(terms []int32, past bool, alone, around []float64) {
	var count, length, aroundLength float64
	for i := range x.marks {
		if m := &x.marks[i]; m.inSet(past) {
			count++
			length += float64(m.terms)
			aroundLength += float64(m.around)
		}
	}
	if count == 0 || len(terms) == 0 {
		return
	}
	mean, aroundMean := max(length/count, 1), max(aroundLength/count, 1)
	together := make([]int32, len(x.marks))
	var seen []int32
	var room [2*reach + 1]int32
	weight := 1.0
	for _, t := range terms {
		df := 0.0
		for _, p := range x.postings[t] {
			if x.marks[p.slot].inSet(past) {
				df++
			}
		}
		idf := math.Log(1 + (count-df+0.5)/(df+0.5))
		weight += idf
		for _, p := range x.postings[t] {
			m := &x.marks[p.slot]
			alone[p.slot] += idf * saturate(p.count, m.terms, mean)
			for _, s := range x.surroundings(p.slot, &room) {
				if together[s] == 0 {
					seen = append(seen, s)
				}
				together[s] += p.count
			}
		}
		for _, s := range seen {
			around[s] += idf * saturate(together[s], x.marks[s].around, aroundMean)
			together[s] = 0
		}
		seen = seen[:0]
	}
	for i := range alone {
		alone[i] /= weight
		around[i] /= weight
	}
}

// saturate is BM25's weight of a term that stands count times among size.
func saturate(count, size int32, mean float64) float64 {
	f := float64(count)
	return f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(size)/mean))
}

// cosines fills in the standardised similarities of items alone, and of items
// together with their surroundings: the mean of the stored vectors stands for
// a vector of all the texts, and is as good (docs/evaluation.md). Items without
// a vector stand at the mean.
func (x *index) cosines(v memory.Vector, past bool, alone, around []float64) {
	for i := range x.marks {
		if x.marks[i].vector {
			alone[i] = float64(dot(v, x.vector(int32(i))))
		}
	}
	var room [2*reach + 1]int32
	for i := range x.marks {
		if m := &x.marks[i]; m.used && m.norm > 0 {
			for _, p := range x.surroundings(int32(i), &room) {
				around[i] += alone[p]
			}
			around[i] /= float64(m.norm)
		}
	}
	x.standardize(alone, past, func(m *mark) bool { return m.vector })
	x.standardize(around, past, func(m *mark) bool { return m.norm > 0 })
}

// standardize turns the values that items have into z-scores, by the mean and
// the spread over the set; what has no value becomes 0, the mean, and so does
// everything when there is no spread.
func (x *index) standardize(values []float64, past bool, has func(*mark) bool) {
	var n, sum, squares float64
	for i, v := range values {
		if m := &x.marks[i]; has(m) && m.inSet(past) {
			n++
			sum += v
			squares += v * v
		}
	}
	mean := sum / max(n, 1)
	deviation := math.Sqrt(max(squares/max(n, 1)-mean*mean, 0))
	for i, v := range values {
		if deviation < 1e-7 || !has(&x.marks[i]) {
			values[i] = 0
			continue
		}
		values[i] = (v - mean) / deviation
	}
}

// workspace lends slices of zeros and takes them all back at once.
type workspace struct {
	free, lent [][]float64
}

func (w *workspace) floats(n int) []float64 {
	for i := len(w.free) - 1; i >= 0; i-- {
		if s := w.free[i]; cap(s) >= n {
			w.free = slices.Delete(w.free, i, i+1)
			w.lent = append(w.lent, s)
			s = s[:n]
			clear(s)
			return s
		}
	}
	s := make([]float64, n)
	w.lent = append(w.lent, s)
	return s
}

func (w *workspace) reclaim() {
	w.free = append(w.free, w.lent...)
	w.lent = w.lent[:0]
	if extra := len(w.free) - maxWorkspace; extra > 0 {
		w.free = slices.Delete(w.free, 0, extra)
	}
}

// maxWorkspace is enough for a plan of four queries.
const maxWorkspace = 32

// originInput marks the user's own words among a plan's queries.
const originInput = "input"

// rank returns the best items for the queries, at most budget, best first and
// none of those excluded, and how many others met any query's constraints.
func (x *index) rank(queries []memory.Query, budget int, excluded map[memory.ID]bool, w *workspace) (hits []hit, searched int) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	defer w.reclaim()
	if len(queries) == 0 || budget <= 0 {
		return nil, 0
	}
	all := make([]scored, len(queries))
	for i, q := range queries {
		all[i] = x.score(q, w)
	}
	return x.merge(all, budget, excluded, w)
}
