package retrieve

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/memory"
)

// none is the slot number of nothing.
const none = int32(-1)

// index holds one user's searchable items: what is needed to rank them, and no
// text. It is safe for concurrent use: ranking reads, refreshing writes.
type index struct {
	mu sync.RWMutex
	// revision is the state of the source that the index reflects; 0 is empty.
	revision int64
	model    string
	// dim is the vectors' length; 0 until the first vector is seen.
	dim int

	slots []slot
	free  []int32
	byID  map[memory.ID]int32
	// vectors holds dim floats a slot, zeros where there is none.
	vectors  []float32
	postings map[int32][]posting
	// conversations holds each conversation's slots by Seq.
	conversations map[memory.ConversationID]*conversation
	// speakers counts the items of each speaker, by the name's terms.
	speakers map[string]*speaker
	terms    int64 // over all slots, for the size
}

// slot is one item.
type slot struct {
	id   memory.ID
	seq  int64
	used bool

	kind   memory.Kind
	status memory.Status
	// eventAt, validFrom and validTo are kept as times: years 1 and 9999 do
	// not fit nanoseconds.
	eventAt, validFrom, validTo time.Time

	conversation *conversation
	speaker      *speaker
	// prev and next are the neighbours in the conversation.
	prev, next int32

	terms     []int32
	hasVector bool
	// pairNorm is the length of the sum of this item's and prev's vectors.
	pairNorm float32
}

// posting says that a term stands count times in a slot's text.
type posting struct {
	slot  int32
	count int32
}

type conversation struct {
	id    memory.ConversationID
	order []int32
	// number is the conversation's place in a dense array of scores.
	number int32
}

type speaker struct {
	words []int32
	items int
}

func newIndex(model string) *index {
	x := &index{model: model}
	x.reset()
	return x
}

func (x *index) reset() {
	x.revision, x.dim, x.terms = 0, 0, 0
	x.slots, x.free, x.vectors = nil, nil, nil
	x.byID = map[memory.ID]int32{}
	x.postings = map[int32][]posting{}
	x.conversations = map[memory.ConversationID]*conversation{}
	x.speakers = map[string]*speaker{}
}

// searchable reports whether items of a status can be found at all.
func searchable(s memory.Status) bool {
	return live(s) || s == memory.StatusSuperseded
}

func live(s memory.Status) bool {
	return s == memory.StatusActive || s == memory.StatusContested
}

// apply brings the index to d's revision. The caller holds x.mu.
func (x *index) apply(d Delta) {
	if d.Reset {
		x.reset()
	}
	if len(d.Items) > len(x.slots) {
		x.slots = slices.Grow(x.slots, len(d.Items))
	}
	// By Seq, so that conversations mostly grow at their ends.
	items := slices.SortedFunc(slices.Values(d.Items), func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
	})
	touched := map[int32]bool{}
	for i := range items {
		x.put(&items[i], touched)
	}
	for s := range touched {
		x.pair(s)
	}
	x.revision = d.Revision
}

// put adds, changes or removes one item; touched collects the slots whose pair
// with their predecessor changed.
func (x *index) put(it *Item, touched map[int32]bool) {
	s, known := x.byID[it.ID]
	if !searchable(it.Status) {
		if known {
			x.remove(s, touched)
		}
		return
	}
	terms := it.Terms
	if terms == nil {
		terms = lexical.Analyze(it.Text)
	}
	if known && x.sameKey(s, it, terms) {
		x.slots[s].describe(&it.Memory)
		x.setVector(s, it.Vector, touched)
		return
	}
	if known {
		x.remove(s, touched)
	}
	s = x.take()
	x.byID[it.ID] = s
	x.slots[s] = slot{id: it.ID, seq: it.Seq, used: true, terms: terms, prev: none, next: none}
	x.slots[s].describe(&it.Memory)
	x.post(s)
	x.link(s, it.Conversation, touched)
	x.slots[s].speaker = x.speakerOf(it.Speaker)
	x.setVector(s, it.Vector, touched)
}

// sameKey reports whether only describe and setVector are needed.
func (x *index) sameKey(s int32, it *Item, terms []int32) bool {
	k := &x.slots[s]
	return k.seq == it.Seq && k.conversation.id == it.Conversation &&
		k.speaker == x.speakers[it.Speaker] && slices.Equal(k.terms, terms)
}

// describe takes over what constraints ask for.
func (k *slot) describe(m *memory.Memory) {
	k.kind, k.status = m.Kind, m.Status
	k.eventAt, k.validFrom, k.validTo = m.EventAt, m.ValidFrom, m.ValidTo
}

func (x *index) take() int32 {
	if n := len(x.free); n > 0 {
		s := x.free[n-1]
		x.free = x.free[:n-1]
		return s
	}
	x.slots = append(x.slots, slot{})
	if x.dim > 0 {
		x.vectors = append(x.vectors, make([]float32, x.dim)...)
	}
	return int32(len(x.slots) - 1)
}

// setVector stores a vector; one of a strange length counts as missing.
func (x *index) setVector(s int32, v memory.Vector, touched map[int32]bool) {
	if x.dim == 0 && len(v) > 0 {
		x.dim = len(v)
		x.vectors = make([]float32, x.dim*len(x.slots), x.dim*cap(x.slots))
	}
	k := &x.slots[s]
	k.hasVector = len(v) > 0 && len(v) == x.dim
	if x.dim == 0 {
		return
	}
	if k.hasVector {
		copy(x.vector(s), v)
	} else {
		clear(x.vector(s))
	}
	touched[s] = true
	if k.next != none {
		touched[k.next] = true
	}
}

func (x *index) vector(s int32) []float32 {
	return x.vectors[int(s)*x.dim : (int(s)+1)*x.dim]
}

// pair computes what ranking needs of a slot together with its predecessor.
func (x *index) pair(s int32) {
	k := &x.slots[s]
	k.pairNorm = 1
	if !k.used || k.prev == none || !k.hasVector || !x.slots[k.prev].hasVector {
		return
	}
	// Both are unit vectors: |a+b|² = 2 + 2ab.
	k.pairNorm = float32(math.Sqrt(math.Max(2+2*float64(dot(x.vector(s), x.vector(k.prev))), 1e-6)))
}

func (x *index) post(s int32) {
	terms := x.slots[s].terms
	counts := make(map[int32]int32, len(terms))
	for _, t := range terms {
		counts[t]++
	}
	for t, n := range counts {
		x.postings[t] = append(x.postings[t], posting{s, n})
	}
	x.terms += int64(len(terms))
}

func (x *index) unpost(s int32) {
	terms := x.slots[s].terms
	for _, t := range terms {
		list := slices.DeleteFunc(x.postings[t], func(p posting) bool { return p.slot == s })
		if len(list) == 0 {
			delete(x.postings, t)
			continue
		}
		x.postings[t] = list
	}
	x.terms -= int64(len(terms))
}

// link puts a slot into its conversation by Seq.
func (x *index) link(s int32, id memory.ConversationID, touched map[int32]bool) {
	c := x.conversations[id]
	if c == nil {
		c = &conversation{id: id, number: int32(len(x.conversations))}
		x.conversations[id] = c
	}
	at, _ := slices.BinarySearchFunc(c.order, s, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.slots[a].seq, x.slots[b].seq), cmp.Compare(x.slots[a].id, x.slots[b].id))
	})
	c.order = slices.Insert(c.order, at, s)
	k := &x.slots[s]
	k.conversation = c
	if at > 0 {
		k.prev = c.order[at-1]
		x.slots[k.prev].next = s
	}
	if at+1 < len(c.order) {
		k.next = c.order[at+1]
		x.slots[k.next].prev = s
		touched[k.next] = true
	}
	touched[s] = true
}

// remove frees a slot. An emptied conversation stays: it is cheap, and its
// number must not be given twice.
func (x *index) remove(s int32, touched map[int32]bool) {
	k := &x.slots[s]
	x.unpost(s)
	c := k.conversation
	if at := slices.Index(c.order, s); at >= 0 {
		c.order = slices.Delete(c.order, at, at+1)
	}
	if k.prev != none {
		x.slots[k.prev].next = k.next
	}
	if k.next != none {
		x.slots[k.next].prev = k.prev
		touched[k.next] = true
	}
	if k.speaker != nil {
		k.speaker.items--
	}
	if x.dim > 0 {
		clear(x.vector(s))
	}
	delete(x.byID, k.id)
	delete(touched, s)
	*k = slot{prev: none, next: none}
	x.free = append(x.free, s)
}

func (x *index) speakerOf(name string) *speaker {
	if name == "" {
		return nil
	}
	p := x.speakers[name]
	if p == nil {
		p = &speaker{words: lexical.Analyze(name)}
		x.speakers[name] = p
	}
	p.items++
	return p
}

// size estimates the bytes that the index holds.
func (x *index) size() int64 {
	const (
		slotBytes    = 320 // the struct, its id, its map entry
		postingBytes = 8
		termBytes    = 48 // a map entry with a short list
	)
	return int64(cap(x.vectors))*4 + int64(cap(x.slots))*slotBytes +
		x.terms*(4+postingBytes) + int64(len(x.postings))*termBytes
}
