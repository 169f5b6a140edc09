package when

import (
	"slices"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/speech"
)

func sortMentions(list []Mention) []Mention {
	slices.SortStableFunc(list, func(a, b Mention) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	return list
}

func toLower(s string) string { return strings.ToLower(strings.ReplaceAll(s, "’", "'")) }

func trimPossessive(s string) string { return strings.TrimSuffix(s, "'s") }

// scan finds what the tables of the language describe.
func (f *finder) scan() {
	f.g = grammars[f.lang]
	if f.g == nil {
		f.g = grammars[speech.English]
	}
	f.words = split(f.text)
	for i := 0; i < len(f.words); {
		f.word = i
		i += max(f.match(i), 1)
	}
	f.scanNumeric()
}

// at returns the word at i, "" outside.
func (f *finder) at(i int) string {
	if i < 0 || i >= len(f.words) {
		return ""
	}
	return f.words[i].s
}

// noun is the word at i without an elided article (l'année, nell'estate).
func (f *finder) noun(i int) string {
	s := f.at(i)
	if f.lang == speech.French || f.lang == speech.Italian {
		if head, tail, ok := strings.Cut(s, "'"); ok && len(head) <= 5 && tail != "hui" {
			return tail
		}
	}
	return s
}

// has returns the length of the first of the sequences that stands at i.
func (f *finder) has(i int, sequences [][]string) int {
next:
	for _, seq := range sequences {
		for k, w := range seq {
			if f.at(i+k) != w {
				continue next
			}
		}
		return len(seq)
	}
	return 0
}

// put adds a mention over the words from i to before j.
func (f *finder) put(i, j int, from, to time.Time, g Grain) *Mention {
	return f.add(f.words[i].start, f.words[j-1].end, from, to, g)
}

func (f *finder) putRelative(i, j int, from, to time.Time, g Grain) int {
	m := f.put(i, j, from, to, g)
	if m == nil {
		return 0
	}
	m.Relative = true
	return j - i
}

// match tries each kind of mention at word i and returns how many words it took.
func (f *finder) match(i int) int {
	for _, try := range []func(int) int{f.phrase, f.ago, f.ahead, f.lastSeveral, f.placed, f.dayOfMonth, f.dayAlone, f.monthAlone, f.season, f.yearAlone, f.holiday, f.weekday, f.bareWeekend} {
		if n := try(i); n > 0 {
			return n
		}
	}
	return 0
}
