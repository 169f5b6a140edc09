package retrieve

import (
	"container/list"
	"context"
	"sync"

	"github.com/lightmem/lightmem/memory"
)

// cache keeps the indexes of the users who were served last, bounded in bytes.
type cache struct {
	limit int64

	mu      sync.Mutex
	used    int64
	entries map[key]*entry
	// order has the entry used last at its front.
	order *list.List
	// models remembers each user's last model, for calls that have no vector.
	models map[memory.Scope]string
}

// key says whose index it is, and by which model its vectors are.
type key struct {
	memory.Scope
	model string
}

// entry is a user's index and the turnstile through which it is refreshed.
type entry struct {
	key   key
	index *index
	// turn holds one token: who has it may load. Callers that come meanwhile
	// wait, or give up with their context.
	turn chan struct{}
	// bytes is what the entry counts for in cache.used.
	bytes   int64
	element *list.Element
}

func newCache(limit int64) *cache {
	return &cache{limit: limit, entries: map[key]*entry{}, order: list.New(), models: map[memory.Scope]string{}}
}

// entryBytes is what an entry counts for whatever it holds: the entry, its
// places in the list and the two maps, an index with its empty maps and its lock.
const entryBytes = 1 << 10

// fixed is what an entry of a key counts for before anything is loaded.
func fixed(k key) int64 {
	return entryBytes + 2*int64(len(k.Tenant)+len(k.User)+len(k.model))
}

// get returns the entry of a key, a new one if there is none. A call without a
// model uses the index of the user's last model, if that is still here. A new
// one counts at once.
func (c *cache) get(scope memory.Scope, model string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := key{scope, model}
	if model == "" {
		k.model = c.models[scope]
	}
	if e := c.entries[k]; e != nil {
		c.order.MoveToFront(e.element)
		return e
	}
	e := &entry{key: k, index: newIndex(), turn: make(chan struct{}, 1), bytes: fixed(k)}
	e.element = c.order.PushFront(e)
	c.entries[k] = e
	c.models[scope] = k.model
	c.used += e.bytes
	// The new one stays until it is settled or abandoned, so that callers who
	// come meanwhile share its load: at most one for each call under way.
	for c.used > c.limit && c.order.Back() != e.element {
		c.drop(c.order.Back().Value.(*entry))
	}
	return e
}

// abandon drops an entry whose refresh failed, unless something was loaded
// before: nothing would be kept but its place. Callers that wait for their turn
// load it for themselves.
func (c *cache) abandon(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[e.key] == e && e.index.at() == 0 {
		c.drop(e)
	}
}

// settle records the size of an entry's index and drops the least recently used ones
// until the bound holds again; the entry itself, too, when it alone is larger.
// Callers that still rank on a dropped index finish undisturbed.
func (c *cache) settle(e *entry, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[e.key] != e {
		return // dropped meanwhile
	}
	bytes += fixed(e.key)
	c.used += bytes - e.bytes
	e.bytes = bytes
	for c.used > c.limit {
		c.drop(c.order.Back().Value.(*entry))
	}
}

func (c *cache) drop(e *entry) {
	c.order.Remove(e.element)
	delete(c.entries, e.key)
	c.used -= e.bytes
	if c.models[e.key.Scope] == e.key.model {
		delete(c.models, e.key.Scope)
	}
}

// refresh brings an entry's index to the source's present state. The common
// case, nothing changed, asks the source once and takes no turn.
func (c *cache) refresh(ctx context.Context, source Source, e *entry) error {
	since := e.index.at()
	if since > 0 {
		d, err := source.Changes(ctx, e.key.model, since)
		if err != nil {
			return memory.Wrap(memory.CodeOf(err), err, "read changes of memory")
		}
		if d.Revision == since && !d.Reset && len(d.Items) == 0 {
			return nil
		}
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return memory.Wrap(memory.CodeTransient, ctx.Err(), "wait for the index")
	}
	// Asked again inside the turn: another caller may have applied the same
	// changes, and theirs may be older than this call.
	d, err := source.Changes(ctx, e.key.model, e.index.at())
	if err != nil {
		c.abandon(e)
		return memory.Wrap(memory.CodeOf(err), err, "load memory")
	}
	c.settle(e, e.index.refresh(d))
	return nil
}

// at returns the revision that the index reflects.
func (x *index) at() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.revision
}

// refresh applies d and returns the index's size.
func (x *index) refresh(d Delta) int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	if d.Reset || len(d.Items) > 0 || d.Revision != x.revision {
		x.apply(d)
	}
	return x.size()
}
