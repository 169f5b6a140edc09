// Package retrievetest has a retrieve.Source that lives in memory, for tests
// and measurements of retrieval alone.
package retrievetest

import (
	"context"
	"sync"
	"time"

	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// Source keeps items in memory. The zero value is empty and ready to use by
// many goroutines.
type Source struct {
	// BeforeFetch, when set, runs at the start of each Fetch: the moment
	// between ranking and reading the rows.
	BeforeFetch func()
	// BeforeChanges, when set, runs at the start of each Changes and may fail
	// it.
	BeforeChanges func(since int64) error

	mu    sync.Mutex
	users map[memory.Scope]*user
}

type user struct {
	revision int64
	reset    int64 // the revision of the last removal for good
	items    map[memory.ID]versioned
	seq      int64
}

type versioned struct {
	retrieve.Item
	revision int64
}

func (s *Source) user(scope memory.Scope) *user {
	if s.users == nil {
		s.users = map[memory.Scope]*user{}
	}
	u := s.users[scope]
	if u == nil {
		u = &user{items: map[memory.ID]versioned{}}
		s.users[scope] = u
	}
	return u
}

// Put adds items, or replaces those with the same id, as one change. An item
// without Seq gets the next one.
func (s *Source) Put(scope memory.Scope, items ...retrieve.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(scope)
	u.revision++
	for _, it := range items {
		it.Scope = scope
		if old, ok := u.items[it.ID]; ok && it.Seq == 0 {
			it.Seq = old.Seq
		}
		if it.Seq == 0 {
			u.seq++
			it.Seq = u.seq
		}
		u.seq = max(u.seq, it.Seq)
		u.items[it.ID] = versioned{it, u.revision}
	}
}

// Change edits one item in place, as one change.
func (s *Source) Change(scope memory.Scope, id memory.ID, edit func(*retrieve.Item)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(scope)
	it := u.items[id].Item
	edit(&it)
	u.revision++
	u.items[id] = versioned{it, u.revision}
}

// Erase removes items for good.
func (s *Source) Erase(scope memory.Scope, ids ...memory.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(scope)
	for _, id := range ids {
		delete(u.items, id)
	}
	u.revision++
	u.reset = u.revision
}

// Changes implements retrieve.Source.
func (s *Source) Changes(ctx context.Context, _ string, since int64) (retrieve.Delta, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return retrieve.Delta{}, err
	}
	if s.BeforeChanges != nil {
		if err := s.BeforeChanges(since); err != nil {
			return retrieve.Delta{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(scope)
	d := retrieve.Delta{Revision: u.revision, Reset: since == 0 || since < u.reset || since > u.revision}
	if !d.Reset && since == u.revision {
		return d, nil
	}
	for _, it := range u.items {
		if d.Reset || it.revision > since {
			d.Items = append(d.Items, it.Item)
		}
	}
	return d, nil
}

// AsOf implements retrieve.Source. It knows an item's closing by its ExpiredAt.
func (s *Source) AsOf(ctx context.Context, _ string, t time.Time) ([]retrieve.Item, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []retrieve.Item
	for _, it := range s.user(scope).items {
		if it.RecordedAt.After(t) {
			continue
		}
		if it.ExpiredAt.After(t) {
			it.Status, it.ExpiredAt, it.ValidTo, it.SupersededBy = memory.StatusActive, time.Time{}, time.Time{}, ""
		}
		out = append(out, it.Item)
	}
	return out, nil
}

// Fetch implements retrieve.Source.
func (s *Source) Fetch(ctx context.Context, ids []memory.ID) ([]memory.Memory, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return nil, err
	}
	if s.BeforeFetch != nil {
		s.BeforeFetch()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []memory.Memory
	for _, id := range ids {
		if it, ok := s.user(scope).items[id]; ok {
			out = append(out, it.Memory)
		}
	}
	return out, nil
}
