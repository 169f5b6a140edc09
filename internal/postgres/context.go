package postgres

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

// runesForToken times the short-term budget is more runes than a message that
// fits into it has.
const runesForToken = 5

// shortTerm makes the short-term context from a conversation's newest turns
// (newest first): their messages, oldest first, at most budget tokens. The
// newest message is cut where it alone is longer; older ones fit whole or
// not at all, and nothing is left out between two that are in.
func shortTerm(newest []query.LastTurnsRow, budget int) []memory.Message {
	var out []memory.Message
	for _, t := range newest {
		said := []memory.Message{{From: memory.FromAssistant, Text: t.Answer}, {From: memory.FromUser, Speaker: t.Speaker, Text: t.Input}}
		for _, m := range said {
			if m.Text == "" {
				continue
			}
			cost := tokens(m.Text)
			if cost > budget {
				if len(out) > 0 {
					return reversed(out)
				}
				m.Text = cut(m.Text, budget)
				cost = budget
			}
			budget -= cost
			m.At, m.Turn = t.At.UTC(), memory.TurnID(t.ID)
			out = append(out, m)
		}
	}
	return reversed(out)
}

func reversed(m []memory.Message) []memory.Message {
	slices.Reverse(m)
	return m
}

// tokens is a generous estimate of how many tokens a text has in any model's
// vocabulary: one for four letters of an alphabet, one for anything else. The
// model's side counts exactly before it calls.
func tokens(text string) int {
	quarters := 0
	for _, r := range text {
		quarters += weight(r)
	}
	return (quarters + 3) / 4
}

func weight(r rune) int {
	switch {
	case r < utf8.RuneSelf || unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic):
		return 1
	default:
		return 4
	}
}

// cut returns the beginning of text that has at most budget tokens, to the last
// space before the end where there is one.
func cut(text string, budget int) string {
	left := 4*budget - 4 // one token for the mark of omission
	for i, r := range text {
		if left -= weight(r); left < 0 {
			text = text[:i]
			break
		}
	}
	if i := strings.LastIndexFunc(text, unicode.IsSpace); i > len(text)/2 {
		text = text[:i]
	}
	return text + "…"
}

// checkText refuses what Postgres cannot store; the edge has cleaned it already.
func checkText(field, text string) error {
	switch {
	case strings.ContainsRune(text, 0):
		return memory.Invalid(field, "must not have NUL characters")
	case !utf8.ValidString(text):
		return memory.Invalid(field, "must be UTF-8")
	}
	return nil
}
