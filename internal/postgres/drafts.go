package postgres

import (
	"cmp"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lightmem/lightmem/memory"
)

const (
	// maxDrafts bounds what one turn may write.
	maxDrafts = 64
	// maxField bounds a draft's speaker, subject and attribute, in bytes.
	maxField = 1024
)

// fit makes a draft storable, whoever proposed it, or says why it cannot be
// kept. One bad statement is refused and the others are kept: an error would
// lose them all, and trying again would not mend it.
func fit(d memory.Draft, at time.Time) (_ memory.Draft, refusal string) {
	if strings.TrimSpace(d.Text) == "" {
		return d, "empty"
	}
	if len(d.Text) > memory.MaxTextBytes || len(d.Value) > memory.MaxTextBytes ||
		max(len(d.Speaker), len(d.Subject), len(d.Attribute)) > maxField {
		return d, "too long"
	}
	for _, s := range []string{d.Text, d.Speaker, d.Subject, d.Attribute, d.Value, d.Rule} {
		if strings.ContainsRune(s, 0) || !utf8.ValidString(s) {
			return d, "not text"
		}
	}
	d.Quote = storable(d.Quote)
	switch d.Kind {
	case memory.KindFact, memory.KindPreference, memory.KindEvent, memory.KindPlan, memory.KindNote:
	default:
		d.Kind = memory.KindNote
	}
	switch d.Source {
	case memory.SourceUser, memory.SourceRepeated, memory.SourceAssistant:
	default: // claimed by nobody we know
		d.Source = memory.SourceAssistant
	}
	// "100,000 years ago" is a date that neither JSON nor a calendar has
	// (hindsight#3217); what is out of range is unknown.
	d.EventAt = within(d.EventAt, at)
	d.ValidFrom, d.ValidTo = within(d.ValidFrom, time.Time{}), within(d.ValidTo, time.Time{})
	d = spanned(d)
	if !finite(d.Vector) {
		d.Vector = nil // it is embedded later
	}
	return d, ""
}

// spanned gives a draft the interval that it is stored with. Decisions and
// hashes see no other: two that differ would make one statement two. The
// beginning is often but the time of saying ("I sailed until 2019"), so an end
// before it moves the beginning.
func spanned(d memory.Draft) memory.Draft {
	d.EventAt, d.ValidTo = d.EventAt.UTC(), d.ValidTo.UTC()
	d.ValidFrom = cmp.Or(d.ValidFrom, d.EventAt).UTC()
	if !d.ValidTo.IsZero() && d.ValidTo.Before(d.ValidFrom) {
		d.ValidFrom = d.ValidTo
	}
	return d
}

// draftHash is the content hash that a draft is stored under.
func draftHash(d memory.Draft) []byte {
	d = spanned(d)
	return ContentHash(d.Text, d.ValidFrom, d.ValidTo)
}

// within returns t, or instead where t is zero or no date of the years 1 to 9999.
func within(t, instead time.Time) time.Time {
	if y := t.UTC().Year(); t.IsZero() || y < 1 || y > 9999 {
		return instead
	}
	return t
}

func finite(v memory.Vector) bool {
	if len(v) > maxDimensions {
		return false
	}
	for _, f := range v {
		if f != f || math.Abs(float64(f)) > 65504 { // the largest half-precision number
			return false
		}
	}
	return true
}

// storable returns what Postgres can store of a text that is kept for people
// to look at only.
func storable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	for len(text) > memory.MaxTextBytes {
		text = text[:memory.MaxTextBytes]
		for !utf8.ValidString(text[len(text)-min(len(text), utf8.UTFMax):]) && len(text) > 0 {
			text = text[:len(text)-1]
		}
	}
	return text
}
