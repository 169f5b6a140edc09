package postgres

import (
	"cmp"
	"context"
	"math"
	"strconv"
	"time"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

const (
	// DefaultPage is how many rows a page has that does not say.
	DefaultPage = 100
	// MaxPage is the most that a page can have.
	MaxPage = 1000
)

func pageSize(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}

// MemoryFilter says which memories to list. The zero value is a first page of
// the live ones.
type MemoryFilter struct {
	// All lists closed memories as well, whatever closed them.
	All bool
	// AsOf lists what was known then, as it stood then (knowledge time). Zero
	// is now.
	AsOf time.Time
	// Cursor is MemoryPage.Next of the page before; empty for the first page.
	Cursor string
	// Limit is DefaultPage when zero, and MaxPage at most.
	Limit int
	// ValidAt lists what was true then (event time), also if it is over since.
	// Zero does not ask.
	ValidAt time.Time
}

// MemoryPage is a page of memories, newest first.
type MemoryPage struct {
	Memories []memory.Memory
	// Next is the cursor of the next page, empty after the last.
	Next string
}

// ListMemories lists the user's memories with their evidence.
func (s *Store) ListMemories(ctx context.Context, f MemoryFilter) (MemoryPage, error) {
	before := int64(math.MaxInt64)
	if f.Cursor != "" {
		n, err := strconv.ParseInt(f.Cursor, 36, 64)
		if err != nil || n < 0 {
			return MemoryPage{}, memory.Invalid("cursor", "is none that a page has given")
		}
		before = n
	}
	limit := pageSize(f.Limit)
	page := MemoryPage{}
	err := s.once(ctx, "list memories", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		page = MemoryPage{Memories: []memory.Memory{}}
		add := func(row query.Memory, evidence []string, change func(*memory.Memory)) error {
			if len(page.Memories) == limit { // the row beyond the page tells that there is a next one
				page.Next = strconv.FormatInt(before, 36)
				return nil
			}
			m, err := toMemory(row)
			if err != nil {
				return err
			}
			for _, turn := range evidence {
				m.Evidence = append(m.Evidence, memory.TurnID(turn))
			}
			change(&m)
			page.Memories, before = append(page.Memories, m), row.Seq
			return nil
		}
		if f.AsOf.IsZero() {
			p.add(func(q *query.Queries) error {
				rows, err := q.ListMemories(ctx, query.ListMemoriesParams{
					Tenant: t, UserID: u, Before: before, AllStatuses: f.All, ValidAt: toNull(f.ValidAt), MaxItems: int32(limit + 1),
				})
				if err != nil {
					return err
				}
				for _, r := range rows {
					if err := add(r.Memory, r.Evidence, func(m *memory.Memory) {
						m.Accessed, m.AccessedAt = int(r.Accessed), fromNull(r.AccessedAt)
					}); err != nil {
						return err
					}
				}
				return nil
			})
			return
		}
		p.add(func(q *query.Queries) error {
			rows, err := q.ListMemoriesAsOf(ctx, query.ListMemoriesAsOfParams{
				Tenant: t, UserID: u, Before: before, AsOf: f.AsOf, AllStatuses: f.All, ValidAt: toNull(f.ValidAt), MaxItems: int32(limit + 1),
			})
			if err != nil {
				return err
			}
			for _, r := range rows {
				if err := add(r.Memory, r.Evidence, func(m *memory.Memory) {
					rewind(m, r)
				}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return page, err
}

// rewind puts a memory back into the state that it was held in.
func rewind(m *memory.Memory, r query.ListMemoriesAsOfRow) {
	if r.HeldVersion == nil { // unchanged since
		return
	}
	m.Version, m.Status, m.Strength, m.Pinned = int(*r.HeldVersion), memory.Status(*r.HeldStatus), int(*r.HeldStrength), *r.HeldPinned
	m.ValidTo, m.ExpiredAt, m.LastSeen, m.SupersededBy = fromNull(r.HeldValidTo), fromNull(r.HeldExpiredAt), fromNull(r.HeldLastSeen), ""
	if r.HeldSupersededBy != nil {
		m.SupersededBy = memory.ID(*r.HeldSupersededBy)
	}
}

// Evidence is a turn that supports a memory.
type Evidence struct {
	Turn   memory.TurnID `json:"turn_id"`
	At     time.Time     `json:"at"`
	Source memory.Source `json:"source"`
	Rule   string        `json:"rule,omitempty"`
	// Quote is what was said, where the writer named it.
	Quote string `json:"quote,omitempty"`
}

// Version is what a memory was before a change.
type Version struct {
	Version      int           `json:"version"`
	Status       memory.Status `json:"status"`
	Strength     int           `json:"strength"`
	Pinned       bool          `json:"pinned,omitempty"`
	ValidFrom    time.Time     `json:"valid_from"`
	ValidTo      time.Time     `json:"valid_to,omitzero"`
	SupersededBy memory.ID     `json:"superseded_by,omitempty"`
	// HeldFrom and HeldTo bound when it was like this (knowledge time).
	HeldFrom time.Time `json:"held_from"`
	HeldTo   time.Time `json:"held_to"`
}

// Shown is a memory with its evidence and its earlier versions, oldest first.
type Shown struct {
	memory.Memory
	Evidence []Evidence `json:"evidence_turns"`
	Versions []Version  `json:"versions"`
}

// ShowMemory returns one memory of whatever status, CodeNotFound for one that
// does not exist or is not the user's.
func (s *Store) ShowMemory(ctx context.Context, id memory.ID) (Shown, error) {
	var out Shown
	err := s.once(ctx, "show memory", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		out = Shown{Evidence: []Evidence{}, Versions: []Version{}}
		p.add(func(q *query.Queries) error {
			rows, err := q.Fetch(ctx, query.FetchParams{Tenant: t, UserID: u, Ids: []string{string(id)}})
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				return memory.Errorf(memory.CodeNotFound, "there is no such memory")
			}
			if out.Memory, err = toMemory(rows[0].Memory); err != nil {
				return err
			}
			out.Accessed, out.AccessedAt = int(rows[0].Accessed), fromNull(rows[0].AccessedAt)
			return nil
		})
		p.add(func(q *query.Queries) error {
			rows, err := q.EvidenceOf(ctx, query.EvidenceOfParams{Tenant: t, UserID: u, MemoryID: string(id)})
			for _, r := range rows {
				out.Evidence = append(out.Evidence, Evidence{memory.TurnID(r.TurnID), r.At.UTC(), memory.Source(r.Source), r.Rule, r.Quote})
				out.Memory.Evidence = append(out.Memory.Evidence, memory.TurnID(r.TurnID))
			}
			return err
		})
		p.add(func(q *query.Queries) error {
			rows, err := q.VersionsOf(ctx, query.VersionsOfParams{Tenant: t, UserID: u, MemoryID: string(id)})
			for _, r := range rows {
				v := Version{
					Version: int(r.Version), Status: memory.Status(r.Status), Strength: int(r.Strength), Pinned: r.Pinned,
					ValidFrom: r.ValidFrom.UTC(), ValidTo: fromNull(r.ValidTo), HeldFrom: r.HeldFrom.UTC(), HeldTo: r.HeldTo.UTC(),
				}
				if r.SupersededBy != nil {
					v.SupersededBy = memory.ID(*r.SupersededBy)
				}
				out.Versions = append(out.Versions, v)
			}
			return err
		})
	})
	return out, err
}

// Pin keeps a live memory from being evicted; Unpin lets it go again. A memory
// that is not live cannot be pinned (CodeConflict).
func (s *Store) Pin(ctx context.Context, id memory.ID, actor string) (memory.Outcome, error) {
	return s.pin(ctx, id, actor, memory.EventPinned, true)
}

// Unpin undoes Pin.
func (s *Store) Unpin(ctx context.Context, id memory.ID, actor string) (memory.Outcome, error) {
	return s.pin(ctx, id, actor, memory.EventUnpinned, false)
}

func (s *Store) pin(ctx context.Context, id memory.ID, actor string, event memory.Event, pinned bool) (memory.Outcome, error) {
	return s.change(ctx, "pin memory", event, id, actor, "asked for", func(m *mutation, h *held) error {
		switch {
		case pinned && !isLive(h.now.Status):
			return memory.Errorf(memory.CodeConflict, "the memory is %s and cannot be pinned", h.now.Status)
		case h.now.Pinned == pinned:
			return nil
		}
		before := h.now
		h.now.Pinned = pinned
		m.note(event, h, &before, "asked for", "")
		return nil
	})
}

// acting checks a person's wish about one memory and returns whose it is.
func acting(ctx context.Context, id memory.ID, actor, reason string) (memory.Scope, error) {
	for field, text := range map[string]string{"id": string(id), "actor": actor, "reason": reason} {
		if err := checkText(field, text); err != nil {
			return memory.Scope{}, err
		}
		if len(text) > 1024 {
			return memory.Scope{}, memory.Invalid(field, "must have at most 1024 bytes")
		}
	}
	return tenant.FromContext(ctx)
}

// change applies a person's wish to one memory, in one transaction with its
// audit event.
func (s *Store) change(ctx context.Context, step string, event memory.Event, id memory.ID, actor, reason string, apply func(*mutation, *held) error) (memory.Outcome, error) {
	scope, err := acting(ctx, id, actor, reason)
	if err != nil {
		return memory.Outcome{}, err
	}
	var out memory.Outcome
	err = s.locked(ctx, step, scope, func(ctx context.Context, conn sender) error {
		m := &mutation{cause: cause{actor: actor}}
		var row query.LiveByIDRow
		p := m.begin(ctx, scope)
		p.add(func(q *query.Queries) (err error) {
			row, err = q.LiveByID(ctx, query.LiveByIDParams{Tenant: string(scope.Tenant), UserID: string(scope.User), ID: string(id)})
			return err
		})
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		h, err := m.hold(row.Memory)
		if err != nil {
			return err
		}
		out = memory.Outcome{ID: id, Memory: h.now.Text, Event: event, Reason: cmp.Or(reason, "asked for")}
		if err := apply(m, h); err != nil {
			return err
		}
		p = &pipeline{}
		if m.changed() {
			m.write(ctx, p)
		}
		p.statement(ctx, "commit")
		return p.send(ctx, conn)
	})
	if memory.CodeOf(err) == memory.CodeNotFound {
		return memory.Outcome{}, memory.Errorf(memory.CodeNotFound, "there is no such memory")
	}
	return out, err
}
