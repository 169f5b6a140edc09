// Package when finds the times that a text speaks of and resolves them against
// the time at which it was said, in the speaker's time zone.
//
// It is a small grammar over tables of words, and not a general date library.
// go-dateparser 1.4.7 was tried and left out: it does not know "last Tuesday",
// "next Friday", "hace dos semanas" or "上周二", takes the port 9077, "sat" and
// "may" for dates (hindsight#3250), and took 0.2 to 0.5 ms a sentence.
package when

import (
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
)

// Grain is how exact a mention is.
type Grain uint8

// The grains.
const (
	Day Grain = iota
	Week
	Weekend
	Month
	Season // of three months; also a quarter
	Year
	Span // anything else, from one day to another
)

// Mention is a phrase of a text that names a time.
type Mention struct {
	// Start and End are byte offsets: text[Start:End] is the phrase.
	Start, End int
	// From and To are the first moment of the first day, and the first moment
	// that no longer belongs to it (memanto#1584), in the zone of the reference.
	From, To time.Time
	Grain    Grain
	// Relative says that the words alone do not tell the time: "yesterday".
	Relative bool
	// Yearless says that the year was not said ("on 3 May") and is a guess.
	Yearless bool
	// Guessed says that the direction was not said ("on Friday").
	Guessed bool
}

// Lean says in which direction a time is meant that could be either.
type Lean int8

// The leans.
const (
	Auto   Lean = 0 // by the tense of the sentence
	Past   Lean = -1
	Future Lean = 1
)

// The years between which a time may lie; others are taken for something else
// (hindsight#3413: "十万年前").
const (
	minYear = 1900
	maxYear = 2200
)

// maxMentions bounds what is found in one text.
const maxMentions = 256

// At is the mention as one moment: noon of its first day, so that the day is
// the same in nearly every time zone.
func (m Mention) At() time.Time {
	y, mo, d := m.From.Date()
	return time.Date(y, mo, d, 12, 0, 0, 0, m.From.Location())
}

// String is the mention as a date: "2026-05-03", "2026-05", "2026", "week of
// 2026-04-27", "weekend of 2026-05-02", "2026-04-20 to 2026-05-03".
func (m Mention) String() string {
	const day = "2006-01-02"
	switch m.Grain {
	case Day:
		return m.From.Format(day)
	case Week:
		return "week of " + m.From.Format(day)
	case Weekend:
		return "weekend of " + m.From.Format(day)
	case Month:
		return m.From.Format("2006-01")
	case Season:
		return m.From.Format("2006-01") + " to " + m.To.AddDate(0, 0, -1).Format("2006-01")
	case Year:
		return m.From.Format("2006")
	default:
		return m.From.Format(day) + " to " + m.To.AddDate(0, 0, -1).Format(day)
	}
}

// Find returns the mentions in a text of the given language, in order and not
// overlapping. ref is when it was said, in the speaker's time zone. Times that
// repeat ("every Friday") and mere durations ("for two weeks") are none.
func Find(text string, ref time.Time, lang speech.Lang, lean Lean) []Mention {
	if y := ref.Year(); y < minYear || y > maxYear || len(text) == 0 {
		return nil
	}
	f := finder{text: text, ref: ref, today: midnight(ref), lean: lean, lang: lang}
	f.scan()
	if hasCJK(text) {
		f.scanCJK()
	}
	return f.merge()
}

type finder struct {
	text  string
	ref   time.Time
	today time.Time
	lean  Lean
	lang  speech.Lang
	words []word
	g     *grammar
	found []Mention
	// word is the one that is looked at.
	word int
	// clauses are where the parts of the sentence end that have a tense each;
	// leans are theirs, once worked out.
	clauses []int
	leans   map[int]Lean
}

// word is one word or number of the text, in lower case.
type word struct {
	s          string
	start, end int
	capital    bool
}

// leaning returns the direction of the clause that is looked at, and that of the
// whole text where the clause alone does not tell: "I saw Tom on Monday and will
// see him on Friday".
func (f *finder) leaning() Lean {
	if f.lean != Auto {
		return f.lean
	}
	if f.leans == nil {
		f.clauses, f.leans = clauseEnds(f.text), make(map[int]Lean)
	}
	at := 0
	if f.word < len(f.words) {
		at = f.words[f.word].start
	}
	from, to := 0, len(f.text)
	for _, end := range f.clauses {
		if end > at {
			to = end
			break
		}
		from = end
	}
	lean, known := f.leans[from]
	if !known {
		if lean = leanOf(f.text[from:to], f.lang); lean == Auto && to-from < len(f.text) {
			lean = leanOf(f.text, f.lang)
		}
		f.leans[from] = lean
	}
	return lean
}

func leanOf(text string, lang speech.Lang) Lean {
	switch speech.TenseOf(text, lang) {
	case speech.Past:
		return Past
	case speech.Future:
		return Future
	}
	return Auto
}

// clauseEnds are where the clauses of a text end. A conjunction may join words
// only; the tense then is that of the whole.
func clauseEnds(text string) []int {
	var out []int
	for _, m := range conjunction.FindAllStringIndex(text, maxMentions) {
		out = append(out, m[1])
	}
	return out
}

var conjunction = regexp.MustCompile(`(?i)[;.!?] | (?:and|but|then|und|aber|y|pero|et|mais|e|ma|mas) `)

func (f *finder) add(start, end int, from, to time.Time, g Grain) *Mention {
	if from.Year() < minYear || to.Year() > maxYear+1 || !from.Before(to) || len(f.found) >= maxMentions {
		return nil
	}
	f.found = append(f.found, Mention{Start: start, End: end, From: from, To: to, Grain: g})
	return &f.found[len(f.found)-1]
}

// merge sorts the mentions and drops those that overlap an earlier or longer one.
func (f *finder) merge() []Mention {
	out := f.found[:0]
	for _, m := range sortMentions(f.found) {
		if len(out) > 0 && m.Start < out[len(out)-1].End {
			continue
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// split cuts the text into words; "3rd", "i'm" and "'26" are one word each.
func split(text string) []word {
	var out []word
	start := -1
	flush := func(end int) {
		if start < 0 {
			return
		}
		raw := text[start:end]
		r, _ := utf8.DecodeRuneInString(raw)
		out = append(out, word{s: lower(raw), start: start, end: end, capital: unicode.IsUpper(r)})
		start = -1
	}
	for i, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || start >= 0 && (r == '\'' || r == '’') && letterAfter(text[i+utf8.RuneLen(r):]) {
			if start < 0 {
				start = i
			}
			continue
		}
		flush(i)
	}
	flush(len(text))
	return out
}

func letterAfter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r)
}

// lower is strings.ToLower with plain apostrophes and without a possessive ending.
func lower(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' || c == '\'' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return trimPossessive(toLower(s))
}

// Calendar arithmetic. All days begin at local midnight.

func midnight(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, t.Location())
}

func addDays(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d+n, 0, 0, 0, 0, t.Location())
}

// monday returns the first day of the ISO week of t.
func monday(t time.Time) time.Time { return addDays(t, -(int(t.Weekday())+6)%7) }

func firstOfMonth(t time.Time, months int) time.Time {
	return time.Date(t.Year(), t.Month()+time.Month(months), 1, 0, 0, 0, 0, t.Location())
}

func firstOfYear(year int, loc *time.Location) time.Time {
	return time.Date(year, 1, 1, 0, 0, 0, 0, loc)
}

// shiftMonths moves by months and keeps the day, or takes the month's last.
func shiftMonths(t time.Time, n int) time.Time {
	first := firstOfMonth(t, n)
	last := addDays(firstOfMonth(t, n+1), -1)
	return addDays(first, min(t.Day(), last.Day())-1)
}

// date is a day that exists.
func date(y int, m time.Month, d int, loc *time.Location) (time.Time, bool) {
	if m < 1 || m > 12 || d < 1 || d > 31 || y < minYear || y > maxYear {
		return time.Time{}, false
	}
	t := time.Date(y, m, d, 0, 0, 0, 0, loc)
	return t, t.Month() == m
}
