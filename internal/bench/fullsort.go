package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/memory"
)

// The ranking's weights, as package retrieve has them (rank.go); the test of
// this file fails when they part.
const (
	bm25K1, bm25B         = 1.2, 0.75
	reach                 = 2
	ownWords, aroundWords = 5.0, 7.5
	ownMeaning            = 0.75
	aroundMeaning         = 1.0
	wholeOwn, wholeAround = 2.0, 0.25
	speakerBoost          = 4.0
	conversationWeight    = 0.25
	whenBoost             = 3.0
	lengthWeight          = 1.0
	longEnough            = 50
	timePrior             = 1.0
	namePrior             = 0.5
	questionPrior         = -0.5
)

// fullSort ranks one user's items in the plainest way: the formula written
// down in float64 over the vectors as they were before the database rounded
// them to half precision, no index, no cache, everything scored and sorted. It
// is what coarse retrieval is compared with, and shares no code with it but the
// cutting of texts into terms.
type fullSort struct{ items []plainItem }

type plainItem struct {
	id      memory.ID
	speaker string
	terms   map[int32]float64
	length  float64
	vector  []float64
	time    bool
	whole   bool
	prior   float64
	// from and to are the surroundings: items[from:to].
	from, to int
	// talk is the number of the conversation.
	talk int
}

// newFullSort takes the items from the corpus, not from the database.
func newFullSort(c *corpus, u user) *fullSort {
	f := &fullSort{}
	for i := range u.items {
		s := c.of(u.offset, i)
		f.add(memory.ID(fmt.Sprintf("m_%026d", i)), i/perConversation, s)
	}
	return f
}

// add appends an item; those of one conversation follow each other.
func (f *fullSort) add(id memory.ID, talk int, s statement) {
	it := plainItem{id: id, speaker: s.speaker, terms: map[int32]float64{}, length: float64(len(s.terms)), talk: talk, whole: s.kind != memory.KindNote}
	for _, t := range s.terms {
		it.terms[t]++
	}
	for _, x := range s.vector {
		it.vector = append(it.vector, float64(x))
	}
	traits := lexical.TraitsOf(s.text, s.speaker)
	it.time, it.whole = traits.Time, s.kind != memory.KindNote
	it.prior = lengthWeight * math.Log(1+min(it.length, longEnough))
	for _, p := range []struct {
		has    bool
		weight float64
	}{{traits.Time, timePrior}, {traits.Name, namePrior}, {traits.Question, questionPrior}} {
		if p.has {
			it.prior += p.weight
		}
	}
	at := len(f.items)
	it.from, it.to = at, at+1
	for back := 1; back <= reach && at-back >= 0 && f.items[at-back].talk == talk; back++ {
		it.from = at - back
		f.items[at-back].to = at + 1
	}
	f.items = append(f.items, it)
}

// best returns the n best items for a query without constraints.
func (f *fullSort) best(q memory.Query, n int) map[memory.ID]bool {
	total := f.scores(q)
	order := make([]int, len(total))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(f.items[a].id, f.items[b].id))
	})
	out := map[memory.ID]bool{}
	for _, i := range order[:min(n, len(order))] {
		out[f.items[i].id] = true
	}
	return out
}

func (f *fullSort) scores(q memory.Query) []float64 {
	terms, named := f.queryTerms(q.Text)
	ownLexical, aroundLexical := f.bm25(terms)
	ownDense, aroundDense := f.cosines(q.Vector)
	when := lexical.AsksWhen(q.Text)
	total := make([]float64, len(f.items))
	best := map[int]float64{}
	for i, it := range f.items {
		own := ownWords*ownLexical[i] + ownMeaning*ownDense[i]
		around := aroundWords*aroundLexical[i] + aroundMeaning*aroundDense[i]
		if it.whole {
			own, around = wholeOwn*own, wholeAround*around
		}
		total[i] = it.prior + own + around
		if named[it.speaker] {
			total[i] += speakerBoost
		}
		if when && it.time {
			total[i] += whenBoost
		}
		if b, ok := best[it.talk]; !ok || total[i] > b {
			best[it.talk] = total[i]
		}
	}
	for i, it := range f.items {
		total[i] += conversationWeight * best[it.talk]
	}
	return total
}

// queryTerms are the query's terms without speakers' names, and whom it names.
func (f *fullSort) queryTerms(text string) (terms map[int32]bool, named map[string]bool) {
	names := map[string][]int32{}
	for _, it := range f.items {
		if _, ok := names[it.speaker]; !ok {
			names[it.speaker] = lexical.Analyze(it.speaker)
		}
	}
	all := lexical.Analyze(text)
	terms, named = map[int32]bool{}, map[string]bool{}
	for _, t := range all {
		terms[t] = true
	}
	for speaker, words := range names {
		for _, w := range words {
			if slices.Contains(all, w) {
				named[speaker] = true
			}
			delete(terms, w)
		}
	}
	return terms, named
}

// bm25 scores items alone and with their surroundings as one text.
func (f *fullSort) bm25(terms map[int32]bool) (alone, around []float64) {
	n := float64(len(f.items))
	alone, around = make([]float64, len(f.items)), make([]float64, len(f.items))
	var length, aroundLength float64
	for _, it := range f.items {
		length += it.length
		for _, near := range f.items[it.from:it.to] {
			aroundLength += near.length
		}
	}
	saturate := func(count, size, mean float64) float64 {
		return count * (bm25K1 + 1) / (count + bm25K1*(1-bm25B+bm25B*size/mean))
	}
	weight := 1.0
	for _, t := range slices.Sorted(maps.Keys(terms)) {
		df := 0.0
		for _, it := range f.items {
			if it.terms[t] > 0 {
				df++
			}
		}
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		weight += idf
		for i, it := range f.items {
			together, size := 0.0, 0.0
			for _, near := range f.items[it.from:it.to] {
				together += near.terms[t]
				size += near.length
			}
			alone[i] += idf * saturate(it.terms[t], it.length, length/n)
			around[i] += idf * saturate(together, size, aroundLength/n)
		}
	}
	for i := range alone {
		alone[i] /= weight
		around[i] /= weight
	}
	return alone, around
}

// cosines are the z-scores of the similarities, alone and of the surroundings'
// summed vectors.
func (f *fullSort) cosines(v memory.Vector) (alone, around []float64) {
	query := make([]float64, len(v))
	for i, x := range v {
		query[i] = float64(x)
	}
	for _, it := range f.items {
		sum := make([]float64, len(query))
		for _, near := range f.items[it.from:it.to] {
			for i, x := range near.vector {
				sum[i] += x
			}
		}
		alone = append(alone, inner(query, it.vector))
		around = append(around, inner(query, sum)/math.Sqrt(inner(sum, sum)))
	}
	standardize(alone)
	standardize(around)
	return alone, around
}

func inner(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func standardize(values []float64) {
	var mean, squares float64
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		squares += (v - mean) * (v - mean) / float64(len(values))
	}
	for i := range values {
		values[i] = (values[i] - mean) / math.Sqrt(squares)
	}
}
