package audit

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// memories holds every memory against its last event.
func memories(ctx context.Context, v View, pageSize int, r *Report) error {
	for last := (memory.Memory{}); ; {
		page, err := v.Memories(ctx, last, pageSize)
		if err != nil {
			return err
		}
		for i := range page {
			r.Memories++
			if detail := differs(page[i]); detail != "" {
				r.add(MemoryChanged, page[i].Seq, page[i].Seq, "the memory %s: %s", page[i].Memory.ID, detail)
			}
			last = page[i].Memory
		}
		if len(page) < pageSize {
			return nil
		}
	}
}

// differs says how a memory differs from what its last event left, without any
// text of people; "" when it does not. Where that event's text is gone there is
// nothing to hold it against; that is a fault of its own, or was allowed.
func differs(s State) string {
	erased := s.Memory.Status == memory.StatusForgotten
	switch {
	case s.Seq == 0:
		return "no event tells of it"
	case erased != (s.Event == memory.EventForgotten):
		return "its status is not what the last event says"
	case erased && (s.Memory.Text != "" || s.Memory.Value != ""):
		return "it was forgotten and has words"
	case s.After == "":
		return ""
	}
	var was memory.Memory
	if err := json.Unmarshal([]byte(s.After), &was); err != nil {
		return "the last event's text cannot be read"
	}
	is := s.Memory
	var names []string
	for _, f := range []struct {
		name string
		same bool
	}{
		{"text", is.Text == was.Text},
		{"kind", is.Kind == was.Kind},
		{"status", is.Status == was.Status},
		{"speaker", is.Speaker == was.Speaker},
		{"conversation", is.Conversation == was.Conversation},
		{"subject", is.Subject == was.Subject},
		{"attribute", is.Attribute == was.Attribute},
		{"value", is.Value == was.Value},
		{"source", is.Source == was.Source},
		{"event_at", sameTime(is.EventAt, was.EventAt)},
		{"valid_from", sameTime(is.ValidFrom, was.ValidFrom)},
		{"valid_to", sameTime(is.ValidTo, was.ValidTo)},
		{"recorded_at", sameTime(is.RecordedAt, was.RecordedAt)},
		{"expired_at", sameTime(is.ExpiredAt, was.ExpiredAt)},
		{"superseded_by", is.SupersededBy == was.SupersededBy},
		{"strength", is.Strength == was.Strength},
		{"last_seen", sameTime(is.LastSeen, was.LastSeen)},
		{"pinned", is.Pinned == was.Pinned},
		{"metadata", maps.Equal(is.Metadata, was.Metadata)},
	} {
		if !f.same {
			names = append(names, f.name)
		}
	}
	if names == nil {
		return ""
	}
	return "not as the last event left it: " + strings.Join(names, ", ")
}

// sameTime compares to the microsecond, which is what the database keeps.
func sameTime(a, b time.Time) bool {
	return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond))
}
