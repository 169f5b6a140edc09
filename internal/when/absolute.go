package when

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
)

// yearless is the day of a month in the year that the lean points to.
func (f *finder) yearless(m time.Month, d int, lean Lean) (time.Time, bool) {
	best, found := time.Time{}, false
	for y := f.today.Year() - 1; y <= f.today.Year()+1; y++ {
		t, ok := date(y, m, d, f.today.Location())
		if !ok || lean == Past && t.After(f.today) || lean == Future && t.Before(f.today) {
			continue
		}
		if !found || t.Sub(f.today).Abs() < best.Sub(f.today).Abs() {
			best, found = t, true
		}
	}
	return best, found
}

// direction decides where a time without a year lies when the words before it or
// the tense say so; guessed says that they do not.
func (f *finder) direction(i int, m time.Month, d int) (lean Lean, guessed bool) {
	switch f.at(i - 1) {
	case "since", "seit", "desde", "depuis", "dal":
		return Past, false
	case "until", "till", "by", "bis", "hasta", "até":
		return Future, false
	}
	lean = f.leaning()
	switch {
	case lean == Past:
		// "I signed up for the race on 23 May": said in March, that is in May.
		if prev := f.at(i - 1); prev == "to" || prev == "for" || prev == "auf" || slices.ContainsFunc(f.words, func(w word) bool { return arranging[w.s] }) {
			past, ok1 := f.yearless(m, d, Past)
			next, ok2 := f.yearless(m, d, Future)
			if ok1 && ok2 && 2*next.Sub(f.today) < f.today.Sub(past) {
				return Future, true
			}
		}
	case lean == Auto && f.lang == speech.English:
		// English speaks of the past in the past; "we open on 15 November" is to come.
		for _, w := range f.words {
			if presentAux[w.s] || strings.HasSuffix(w.s, "'m") || strings.HasSuffix(w.s, "'re") {
				return Future, false
			}
		}
		return Future, true
	}
	return lean, lean == Auto
}

var (
	presentAux = words("is are am isn't aren't start starts open opens leave leaves arrive arrives begin begins end ends expire expires")
	// arranging is done now for a time to come.
	arranging = words("signed registered booked scheduled reserved planned enrolled invited arranged tickets angemeldet gebucht reserviert verschoben reservé reservado prenotato reservei")
)

// year reads a year at i.
func (f *finder) year(i int) (year, words int) {
	w := f.at(i)
	if len(w) != 4 {
		return 0, 0
	}
	y, err := strconv.Atoi(w)
	if err != nil || y < minYear || y > maxYear || countNouns[f.at(i+1)] {
		return 0, 0
	}
	return y, 1
}

// glued skips words that join the parts of a date.
func (f *finder) glued(i int) int {
	for k := 0; k < 2 && f.g.glue[f.at(i)]; k++ {
		i++
	}
	return i
}

// day reads a day of a month at i: "3", "3rd", "first".
func (f *finder) day(i int) int {
	w := f.at(i)
	for _, suffix := range []string{"st", "nd", "rd", "th", "er", "º", "°"} {
		w = strings.TrimSuffix(w, suffix)
	}
	if w == "" || len(w) > 2 {
		return 0
	}
	d, err := strconv.Atoi(w)
	if err != nil || d < 1 || d > 31 {
		return 0
	}
	return d
}

// dayOfMonth: "3 May 2023", "May 3rd, 2023", "3 de mayo", "Friday, May 3".
func (f *finder) dayOfMonth(i int) int {
	j := i
	if _, ok := f.g.weekdays[f.noun(i)]; ok {
		if j++; f.at(j) == "the" || f.at(j) == "der" || f.at(j) == "den" {
			j++
		}
	}
	var d int
	var m time.Month
	end, shy := j, false
	if d = f.day(j); d > 0 {
		k := f.glued(j + 1)
		name := f.noun(k)
		var ok bool
		if m, ok = f.g.months[name]; !ok {
			return 0
		}
		end, shy = k+1, f.g.shy[name] && !f.words[k].capital
		if !f.near(j, k) {
			return 0
		}
	} else {
		name := f.noun(j)
		var ok bool
		if m, ok = f.g.months[name]; !ok || f.lang != speech.English {
			return 0
		}
		k := j + 1
		if f.at(k) == "the" {
			k++
		}
		if d = f.day(k); d == 0 || f.isClock(k) {
			return 0
		}
		end, shy = k+1, f.g.shy[name] && !f.words[j].capital
		if _, isUnit := f.g.units[f.at(end)]; isUnit || !f.near(j, k) {
			return 0
		}
	}
	y, k := f.year(f.glued(end))
	if k > 0 && f.near(end-1, f.glued(end)) {
		from, ok := date(y, m, d, f.today.Location())
		if !ok {
			return 0
		}
		end = f.glued(end) + 1
		f.put(i, end, from, addDays(from, 1), Day)
		return end - i
	}
	if shy && !f.g.onDay[f.at(i-1)] {
		return 0
	}
	lean, guessed := f.direction(i, m, d)
	from, ok := f.yearless(m, d, lean)
	if !ok {
		return 0
	}
	if p := f.put(i, end, from, addDays(from, 1), Day); p != nil {
		p.Yearless, p.Guessed = true, guessed
	}
	return end - i
}

// near reports whether nothing but spaces, commas and points stand between two
// words.
func (f *finder) near(i, j int) bool {
	for k := i; k < j && k+1 < len(f.words); k++ {
		if strings.Trim(f.text[f.words[k].end:f.words[k+1].start], " ,.\u00a0-") != "" {
			return false
		}
	}
	return true
}

// isClock reports whether the number at i is a time of day: "May 3pm", "3:30".
func (f *finder) isClock(i int) bool {
	end := f.words[i].end
	return end < len(f.text) && (f.text[end] == ':' || f.text[end] == '%') || f.at(i+1) == "pm" || f.at(i+1) == "am" || f.at(i+1) == "o'clock"
}

// monthAlone: "May 2023", "in May", "im Mai".
func (f *finder) monthAlone(i int) int {
	name := f.noun(i)
	m, ok := f.g.months[name]
	if !ok {
		return 0
	}
	k := f.glued(i + 1)
	if y, n := f.year(k); n > 0 && f.near(i, k) {
		from := time.Date(y, m, 1, 0, 0, 0, 0, f.today.Location())
		f.put(i, k+1, from, firstOfMonth(from, 1), Month)
		return k + 1 - i
	}
	prev := f.at(i - 1)
	if !f.g.inMonth[prev] && name == f.at(i) {
		return 0
	}
	if f.g.shy[name] && !f.words[i].capital && prev != "in" && prev != "since" && prev != "en" {
		return 0
	}
	lean, guessed := f.direction(i, m, 1)
	now := firstOfMonth(f.today, 0)
	from, found := time.Time{}, false
	for y := now.Year() - 1; y <= now.Year()+1; y++ {
		t := time.Date(y, m, 1, 0, 0, 0, 0, now.Location())
		if lean == Past && t.After(now) || lean == Future && t.Before(now) {
			continue
		}
		if !found || t.Sub(now).Abs() < from.Sub(now).Abs() {
			from, found = t, true
		}
	}
	if p := f.put(i, i+1, from, firstOfMonth(from, 1), Month); p != nil {
		p.Yearless, p.Guessed = true, guessed
	}
	return 1
}

// season: "summer 2022", "in the summer of 2022", "Q3 2026".
func (f *finder) season(i int) int {
	u := f.g.units[f.noun(i)]
	k := f.glued(i + 1)
	y, n := f.year(k)
	if n == 0 {
		return 0
	}
	var from time.Time
	switch w := f.at(i); {
	case u >= uSpring:
		from = time.Date(y, seasonMonth(u), 1, 0, 0, 0, 0, f.today.Location())
	case len(w) == 2 && w[0] == 'q' && w[1] >= '1' && w[1] <= '4':
		from = time.Date(y, time.Month(3*int(w[1]-'1')+1), 1, 0, 0, 0, 0, f.today.Location())
	default:
		return 0
	}
	f.put(i, k+1, from, firstOfMonth(from, 3), Season)
	return k + 1 - i
}

// yearAlone: "in 2019", "seit 2019". A number that nothing makes a year is none
// (hindsight#3250: "port 9077").
func (f *finder) yearAlone(i int) int {
	y, n := f.year(i)
	if n == 0 {
		return 0
	}
	prev := f.at(i - 1)
	if prev == "and" || prev == "und" || prev == "y" || prev == "et" { // between 2015 and 2018
		if len(f.found) == 0 || f.found[len(f.found)-1].End != f.words[i-2].end {
			return 0
		}
	} else if !f.g.inMonth[prev] && prev != "zwischen" && prev != "entre" && prev != "year" && prev != "jahr" && prev != "año" && prev != "année" && prev != "anno" && prev != "ano" {
		return 0
	}
	switch prev {
	case "between", "zwischen", "entre":
		if _, k := f.year(i + 2); k == 0 {
			return 0
		}
	case "of", "to", "through", "around", "after":
		if len(f.found) == 0 || f.found[len(f.found)-1].Grain != Year {
			return 0
		}
	}
	if end := f.words[i].end; end < len(f.text) && strings.ContainsRune("%€$.,:-/", rune(f.text[end])) && end+1 < len(f.text) && f.text[end+1] >= '0' && f.text[end+1] <= '9' {
		return 0
	}
	if start := f.words[i].start; start > 0 {
		if r, _ := utf8.DecodeLastRuneInString(f.text[:start]); strings.ContainsRune("$€£#.:-/", r) {
			return 0
		}
	}
	from := firstOfYear(y, f.today.Location())
	f.put(i, i+1, from, firstOfYear(y+1, from.Location()), Year)
	return 1
}
