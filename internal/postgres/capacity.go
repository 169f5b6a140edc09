package postgres

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
)

// Worth is how much a memory is worth keeping, as lightmem.worth in the
// database has it: the binary logarithm of
//
//	utility = kind · (1 + ln strength) · (1 + ln (1 + accessed)) · ½^(idle / 90 days) · ½^(age / 720 days)
//
// up to a term that is the same for all memories at one time, which makes
// their order independent of the time at which they are compared. kind is 1.5
// for facts and preferences, 1 for events and plans, 0.8 for notes; idle counts
// from the last time that it was said, selected or recorded, age from when it
// was recorded; a statement that is over counts half.
func Worth(m memory.Memory) float64 {
	kind := 1.0
	switch m.Kind {
	case memory.KindFact, memory.KindPreference:
		kind = 1.5
	case memory.KindNote:
		kind = 0.8
	}
	if !m.ValidTo.IsZero() {
		kind /= 2
	}
	touched := m.RecordedAt
	for _, t := range []time.Time{m.LastSeen, m.AccessedAt} {
		if t.After(touched) {
			touched = t
		}
	}
	u := kind * (1 + math.Log(float64(max(m.Strength, 1)))) * (1 + math.Log1p(float64(max(m.Accessed, 0))))
	return math.Log2(u) + days(touched)/90 + days(m.RecordedAt)/720
}

func days(t time.Time) float64 { return float64(t.UnixMicro()) / 86400e6 }

// room is what a commit may merge or evict, most dispensable first.
type room struct {
	pairs []query.TwinsRow
	least []query.LeastWorthRow
}

// maxPairs bounds how many pairs one commit tries to merge.
const maxPairs = 16

// makeRoom sees to it that one more live memory fits, when frees others are
// about to be closed: first by merging what says the same, then by evicting
// what is worth least. It reports false when only pinned memories, those of
// this commit and those in use are left.
func (c *committing) makeRoom(ctx context.Context, frees int, inUse []*held) (bool, error) {
	over := c.live + 1 - frees - c.store.capacity
	if over <= 0 {
		return true, nil
	}
	if c.room == nil {
		c.room = &room{}
		p := &pipeline{}
		t, u := string(c.scope.Tenant), string(c.scope.User)
		p.add(func(q *query.Queries) (err error) {
			c.room.pairs, err = q.Twins(ctx, query.TwinsParams{Tenant: t, UserID: u, MinCosine: new(float32(twinCosine)), MaxItems: maxPairs})
			return err
		})
		// Everything that this commit may still need, and what it touched already.
		enough := int32(over + len(c.turn.Drafts) + len(c.memories) + 2*maxPairs)
		p.add(func(q *query.Queries) (err error) {
			c.room.least, err = q.LeastWorth(ctx, query.LeastWorthParams{Tenant: t, UserID: u, MaxItems: enough})
			return err
		})
		if err := p.send(ctx, c.conn); err != nil {
			return false, err
		}
	}
	used := map[memory.ID]bool{}
	for _, h := range inUse {
		used[h.now.ID] = true
	}
	for over > 0 && len(c.room.pairs) > 0 {
		pair := c.room.pairs[0]
		c.room.pairs = c.room.pairs[1:]
		merged, err := c.merge(pair, used)
		if err != nil {
			return false, err
		}
		if merged {
			over--
		}
	}
	for over > 0 && len(c.room.least) > 0 {
		row := c.room.least[0]
		c.room.least = c.room.least[1:]
		h, err := c.hold(row.Memory)
		if err != nil {
			return false, err
		}
		if !isLive(h.now.Status) || h.now.Pinned || used[h.now.ID] || h.now.Strength != h.first.Strength {
			continue // it changed in this commit
		}
		before := h.now
		before.Accessed, before.AccessedAt = int(row.Accessed), fromNull(row.AccessedAt)
		c.close(h, memory.StatusEvicted, "")
		c.note(memory.EventEvicted, h, &before, fmt.Sprintf("capacity %d reached, lowest utility (worth %.3f)", c.store.capacity, row.Worth), "utility")
		over--
	}
	return over <= 0, nil
}

// merge joins two live memories that say the same; the one that says more
// stays and takes over the other's evidence.
func (c *committing) merge(pair query.TwinsRow, used map[memory.ID]bool) (bool, error) {
	a, err := c.hold(pair.Memory)
	if err != nil {
		return false, err
	}
	b, err := c.hold(pair.Memory_2)
	if err != nil {
		return false, err
	}
	for _, h := range []*held{a, b} {
		if !isLive(h.now.Status) || h.fresh || used[h.now.ID] {
			return false, nil
		}
	}
	goes, stays := a, b
	if !says(stays.now, goes.now) {
		goes, stays = b, a
	}
	if goes.now.Pinned || !says(stays.now, goes.now) {
		return false, nil
	}
	before, kept := goes.now, stays.now
	c.close(goes, memory.StatusMerged, stays.now.ID)
	stays.now.Strength += before.Strength
	if before.LastSeen.After(stays.now.LastSeen) {
		stays.now.LastSeen = before.LastSeen
	}
	if before.Source.Strength() > stays.now.Source.Strength() {
		stays.now.Source = before.Source
	}
	c.merges = append(c.merges, merge{before.ID, stays.now.ID})
	reason := fmt.Sprintf("capacity %d reached, says the same", c.store.capacity)
	c.note(memory.EventMerged, goes, &before, reason, "merge")
	c.note(memory.EventReinforced, stays, &kept, reason, "merge")
	return true, nil
}

// says reports whether m says everything that other says: no number, date,
// negation or name differs (as write.Decide judges a pair of close vectors),
// every content word of other is in m, and both are true at the same times.
func says(m, other memory.Memory) bool {
	if m.Kind != other.Kind || m.Status != other.Status || !m.ValidTo.Equal(other.ValidTo) || m.Speaker != other.Speaker {
		return false
	}
	words := map[int32]bool{}
	for _, t := range lexical.Analyze(m.Text) {
		words[t] = true
	}
	for _, t := range lexical.Analyze(other.Text) {
		if !words[t] {
			return false
		}
	}
	v := write.Decide(memory.Answered{}, memory.Draft{
		Text: other.Text, Kind: other.Kind, Speaker: other.Speaker, Subject: other.Subject, Attribute: other.Attribute, Value: other.Value,
		Source: other.Source, EventAt: other.EventAt, ValidFrom: other.ValidFrom, ValidTo: other.ValidTo,
	}, []write.Neighbour{{Memory: m, Cosine: 1, SameText: false}})
	return v.Event == memory.EventReinforced
}
