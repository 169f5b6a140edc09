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
	// dim is the vectors' length; 0 until the first vector is seen.
	dim int

	// slots, marks and vectors (dim floats each, zeros where there is none)
	// have one entry an item, at the item's slot number.
	slots   []slot
	marks   []mark
	vectors []float32
	free    []int32

	byID          map[memory.ID]int32
	postings      map[int32][]posting
	conversations map[memory.ConversationID]*conversation
	speakers      map[string]*speaker
	// terms counts the terms of all slots, strings the bytes of their ids and
	// attributes, names those of the conversations' ids and the speakers' names
	// with their words; for the size.
	terms, strings, names int64
}

// slot is what constraints and changes need of an item.
type slot struct {
	id   memory.ID
	seq  int64
	kind memory.Kind
	// attribute is what the statement is about, where a rule knows it.
	attribute string
	// status, and with it live and used in the mark, may change.
	status memory.Status
	// The times are kept as times: years 1 and 9999 do not fit nanoseconds.
	eventAt, validFrom, validTo time.Time
	conversation                *conversation
	speaker                     *speaker
	terms                       []int32
}

// mark is what scoring needs of an item, packed: it is read for every item of
// every query.
type mark struct {
	// prev and next are the neighbours in the conversation.
	prev, next int32
	// conversation and speaker are numbers; none without one.
	conversation, speaker int32
	// terms counts the item's terms, around those of its surroundings.
	terms, around int32
	// norm is the length of the sum of the surroundings' vectors.
	norm float32
	// prior is what the item counts for whatever the query.
	prior float32

	used, live, vector, time bool
	// whole says that the item is a statement that stands by itself, not an
	// utterance kept word for word.
	whole bool
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

func (c *conversation) name() memory.ConversationID {
	if c == nil {
		return ""
	}
	return c.id
}

type speaker struct {
	name   string
	words  []int32
	items  int
	number int32
}

func (p *speaker) is(name string) bool {
	if p == nil {
		return name == ""
	}
	return p.name == name
}

func newIndex() *index {
	x := &index{}
	x.reset()
	return x
}

func (x *index) reset() {
	x.revision, x.dim, x.terms, x.strings, x.names = 0, 0, 0, 0, 0
	x.slots, x.marks, x.vectors, x.free = nil, nil, nil, nil
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
		x.slots = make([]slot, 0, len(d.Items))
		x.marks = make([]mark, 0, len(d.Items))
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
		x.surround(s)
	}
	x.revision = d.Revision
}

// put adds, changes or removes one item; touched collects the slots whose
// surroundings changed.
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
	if known && !x.same(s, it, terms) {
		x.remove(s, touched)
		known = false
	}
	if !known {
		s = x.take()
		x.byID[it.ID] = s
		x.slots[s] = slot{id: it.ID, seq: it.Seq, terms: terms}
		x.strings += int64(len(it.ID))
		x.marks[s] = mark{prev: none, next: none, conversation: none, speaker: none, used: true, terms: int32(len(terms))}
		x.post(s)
		x.link(s, it.Conversation)
		x.attribute(s, it.Speaker)
		x.touch(s, touched)
	}
	x.characterize(s, it)
	k := &x.slots[s]
	x.strings -= k.bytes()
	k.describe(&it.Memory)
	x.strings += k.bytes()
	x.marks[s].live = live(it.Status)
	x.setVector(s, it.Vector, touched)
}

// same reports whether nothing changed but what describe and setVector do.
func (x *index) same(s int32, it *Item, terms []int32) bool {
	k := &x.slots[s]
	return k.seq == it.Seq && k.conversation.name() == it.Conversation &&
		k.speaker.is(it.Speaker) && slices.Equal(k.terms, terms)
}

// bytes are those of the slot's own strings.
func (k *slot) bytes() int64 { return int64(len(k.id) + len(k.attribute)) }

// describe takes over what constraints ask for.
func (k *slot) describe(m *memory.Memory) {
	k.kind, k.status, k.attribute = m.Kind, m.Status, m.Attribute
	k.eventAt, k.validFrom, k.validTo = m.EventAt, m.ValidFrom, m.ValidTo
}

// characterize computes what an item counts for whatever the query.
func (x *index) characterize(s int32, it *Item) {
	m := &x.marks[s]
	t := lexical.TraitsOf(it.Text, it.Speaker)
	m.time = t.Time
	m.whole = it.Kind != memory.KindNote
	prior := lengthWeight * math.Log(1+float64(min(m.terms, longEnough)))
	if t.Time {
		prior += timePrior
	}
	if t.Name {
		prior += namePrior
	}
	if t.Question {
		prior += questionPrior
	}
	m.prior = float32(prior)
}

func (x *index) take() int32 {
	if n := len(x.free); n > 0 {
		s := x.free[n-1]
		x.free = x.free[:n-1]
		return s
	}
	x.slots = append(x.slots, slot{})
	x.marks = append(x.marks, mark{})
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
	m := &x.marks[s]
	if !m.vector && len(v) == 0 {
		return
	}
	m.vector = len(v) == x.dim
	if m.vector {
		copy(x.vector(s), v)
	} else {
		clear(x.vector(s))
	}
	x.touch(s, touched)
}

func (x *index) vector(s int32) []float32 {
	return x.vectors[int(s)*x.dim : (int(s)+1)*x.dim]
}

// surroundings returns a slot with its neighbours up to reach away.
func (x *index) surroundings(s int32, out *[2*reach + 1]int32) []int32 {
	out[0] = s
	n := 1
	for i, p := 0, x.marks[s].prev; i < reach && p != none; i, p = i+1, x.marks[p].prev {
		out[n] = p
		n++
	}
	for i, p := 0, x.marks[s].next; i < reach && p != none; i, p = i+1, x.marks[p].next {
		out[n] = p
		n++
	}
	return out[:n]
}

// touch marks a slot and all that have it in their surroundings.
func (x *index) touch(s int32, touched map[int32]bool) {
	var around [2*reach + 1]int32
	for _, p := range x.surroundings(s, &around) {
		touched[p] = true
	}
}

// surround computes what scoring needs of a slot's surroundings.
func (x *index) surround(s int32) {
	m := &x.marks[s]
	if !m.used {
		return
	}
	var room [2*reach + 1]int32
	around := x.surroundings(s, &room)
	m.around, m.norm = 0, 0
	for _, p := range around {
		m.around += x.marks[p].terms
	}
	if x.dim == 0 {
		return
	}
	sum := make([]float32, x.dim)
	for _, p := range around {
		if x.marks[p].vector {
			for i, f := range x.vector(p) {
				sum[i] += f
			}
		}
	}
	m.norm = float32(math.Sqrt(float64(dot(sum, sum))))
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

// link puts a slot into its conversation by Seq. Items of no conversation have
// no neighbours.
func (x *index) link(s int32, id memory.ConversationID) {
	if id == "" {
		return
	}
	c := x.conversations[id]
	if c == nil {
		c = &conversation{id: id, number: int32(len(x.conversations))}
		x.conversations[id] = c
		x.names += int64(len(id))
	}
	at, _ := slices.BinarySearchFunc(c.order, s, func(a, b int32) int {
		return cmp.Or(cmp.Compare(x.slots[a].seq, x.slots[b].seq), cmp.Compare(x.slots[a].id, x.slots[b].id))
	})
	c.order = slices.Insert(c.order, at, s)
	x.slots[s].conversation = c
	m := &x.marks[s]
	m.conversation = c.number
	if at > 0 {
		m.prev = c.order[at-1]
		x.marks[m.prev].next = s
	}
	if at+1 < len(c.order) {
		m.next = c.order[at+1]
		x.marks[m.next].prev = s
	}
}

// attribute notes who said an item.
func (x *index) attribute(s int32, name string) {
	if name == "" {
		return
	}
	p := x.speakers[name]
	if p == nil {
		p = &speaker{name: name, words: lexical.Analyze(name), number: int32(len(x.speakers))}
		x.speakers[name] = p
		x.names += int64(len(name) + 4*len(p.words))
	}
	p.items++
	x.slots[s].speaker = p
	x.marks[s].speaker = p.number
}

// remove frees a slot. An emptied conversation stays: it is cheap, and its
// number must not be given twice.
func (x *index) remove(s int32, touched map[int32]bool) {
	k, m := &x.slots[s], &x.marks[s]
	x.touch(s, touched)
	x.unpost(s)
	if c := k.conversation; c != nil {
		at := slices.Index(c.order, s)
		c.order = slices.Delete(c.order, at, at+1)
	}
	if m.prev != none {
		x.marks[m.prev].next = m.next
	}
	if m.next != none {
		x.marks[m.next].prev = m.prev
	}
	if k.speaker != nil {
		k.speaker.items--
	}
	if x.dim > 0 {
		clear(x.vector(s))
	}
	x.strings -= k.bytes()
	delete(x.byID, k.id)
	*k, *m = slot{}, mark{prev: none, next: none, conversation: none, speaker: none}
	x.free = append(x.free, s)
}

// size estimates the bytes that the index holds.
func (x *index) size() int64 {
	const (
		slotBytes    = 320 // slot, mark, its entry in byID
		postingBytes = 8
		termBytes    = 48  // an entry of postings with a short list
		nameBytes    = 128 // a conversation or speaker, its entry in the map
		orderBytes   = 4   // an item's place in its conversation
		freeBytes    = 4
	)
	return int64(cap(x.vectors))*4 + int64(cap(x.slots))*(slotBytes+orderBytes) + int64(cap(x.free))*freeBytes +
		x.terms*(4+postingBytes) + int64(len(x.postings))*termBytes +
		x.strings + int64(len(x.conversations)+len(x.speakers))*nameBytes + x.names
}
