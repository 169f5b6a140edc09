package when

import (
	"strconv"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/speech"
)

// phrase: "yesterday", "the day before yesterday", "week before last".
func (f *finder) phrase(i int) int {
	best := -1
	for _, p := range f.g.starts[f.at(i)] {
		if ws := f.g.phrases[p].words; f.has(i, [][]string{ws}) > 0 && (best < 0 || len(ws) > len(f.g.phrases[best].words)) {
			best = p
		}
	}
	if best < 0 {
		return 0
	}
	p := f.g.phrases[best]
	j := i + len(p.words)
	if len(p.words) == 1 && f.otherMorning(i) {
		return 0
	}
	if p.unit != noUnit {
		from, to, g := f.shifted(p.unit, p.shift)
		return f.putRelative(i, j, from, to, g)
	}
	from := addDays(f.today, p.days)
	return f.putRelative(i, j, from, addDays(from, 1), Day)
}

// otherMorning reports whether "morgen" or "mañana" is the morning.
func (f *finder) otherMorning(i int) bool {
	prev := f.at(i - 1)
	switch f.at(i) {
	case "morgen":
		return prev == "am" || prev == "guten" || prev == "jeden" || prev == "diesen" || prev == "der" || prev == "den" || i > 0 && f.words[i].capital
	case "mañana":
		return prev == "la" || prev == "cada" || prev == "una"
	}
	return false
}

// quantity reads a number at i: "two", "12", "a", "a couple of".
func (f *finder) quantity(i int) (n, words int) {
	w := f.at(i)
	if w == "" {
		return 0, 0
	}
	if f.lang == speech.English && w == "a" && f.at(i+1) == "couple" {
		if f.at(i+2) == "of" {
			return 2, 3
		}
		return 2, 2
	}
	if n, ok := f.g.numbers[w]; ok {
		if f.at(i+1) == "of" && w == "couple" {
			return n, 2
		}
		return n, 1
	}
	if len(w) <= 4 {
		if n, err := strconv.Atoi(w); err == nil && n > 0 {
			return n, 1
		}
	}
	return 0, 0
}

// unit reads a unit at i.
func (f *finder) unit(i int) (unit, int) {
	u := f.g.units[f.noun(i)]
	switch {
	case u == noUnit:
		if f.lang == speech.French && f.noun(i) == "week" && f.at(i+1) == "end" {
			return uWeekend, 2
		}
		return noUnit, 0
	case f.lang == speech.Spanish && u == uWeekend: // fin de semana
		if f.at(i+1) == "de" && f.at(i+2) == "semana" {
			return uWeekend, 3
		}
		return noUnit, 0
	case f.lang == speech.Portuguese && f.at(i) == "fim":
		return noUnit, 0
	}
	return u, 1
}

// ago: "two weeks ago", "vor zwei Wochen", "hace dos semanas".
func (f *finder) ago(i int) int {
	j := i + f.has(i, f.g.agoFront)
	n, k := f.quantity(j)
	if k == 0 {
		return 0
	}
	if d, ok := f.g.weekdays[strings.TrimSuffix(f.at(j+k), "s")]; ok && j == i && n > 1 && n <= 60 { // two Mondays ago
		if b := f.has(j+k+1, f.g.agoBack); b > 0 {
			from := addDays(f.weekdayAt(d, rLast), -7*(n-1))
			return f.putRelative(i, j+k+1+b, from, addDays(from, 1), Day)
		}
	}
	u, l := f.unit(j + k)
	if l == 0 {
		return 0
	}
	end := j + k + l
	if j == i {
		b := f.has(end, f.g.agoBack)
		if b == 0 {
			return 0
		}
		end += b
	}
	from, to, g, ok := f.moved(u, -n)
	if !ok {
		return 0
	}
	return f.putRelative(i, end, from, to, g)
}

// ahead: "in two weeks", "two weeks from now".
func (f *finder) ahead(i int) int {
	j := i + f.has(i, f.g.inFront)
	n, k := f.quantity(j)
	if k == 0 {
		return 0
	}
	u, l := f.unit(j + k)
	if l == 0 {
		return 0
	}
	end := j + k + l
	switch {
	case j == i:
		b := f.has(end, f.g.inBack)
		if b == 0 {
			return 0
		}
		end += b
	case f.at(i-1) == "twice" || f.at(i-1) == "once" || f.at(i-1) == "times":
		return 0
	}
	// "in two years I learned it" and "in zwei Jahren gelernt" took two years.
	if f.leaning() == Past {
		return 0
	}
	from, to, g, ok := f.moved(u, n)
	if !ok {
		return 0
	}
	return f.putRelative(i, end, from, to, g)
}

// moved is a quantity of units from today. Days and weeks give a day, months a
// month, years a year: as exact as people are.
func (f *finder) moved(u unit, n int) (from, to time.Time, g Grain, ok bool) {
	if n > 3660 || n < -3660 {
		return from, to, Day, false
	}
	switch u {
	case uDay:
		from = addDays(f.today, n)
		return from, addDays(from, 1), Day, true
	case uWeek, uWeekend:
		from = addDays(f.today, 7*n)
		return from, addDays(from, 1), Day, true
	case uMonth:
		from = firstOfMonth(f.today, n)
		return from, firstOfMonth(from, 1), Month, true
	case uYear:
		from = firstOfYear(f.today.Year()+n, f.today.Location())
		return from, firstOfYear(from.Year()+1, from.Location()), Year, true
	}
	return from, to, Day, false
}

// lastSeveral: "the last two weeks", "the next 3 days".
func (f *finder) lastSeveral(i int) int {
	r := f.g.before[f.at(i)]
	if r != rLast && r != rNext && r != rComing {
		return 0
	}
	n, k := f.quantity(i + 1)
	if k == 0 || n < 2 {
		return 0
	}
	u, l := f.unit(i + 1 + k)
	if l == 0 {
		return 0
	}
	sign := 1
	if r == rLast {
		sign = -1
	}
	var edge time.Time
	switch {
	case n > 3660:
		return 0
	case u == uDay:
		edge = addDays(f.today, sign*n)
	case u == uWeek:
		edge = addDays(f.today, sign*7*n)
	case u == uMonth:
		edge = shiftMonths(f.today, sign*n)
	case u == uYear:
		edge = shiftMonths(f.today, sign*12*n)
	default:
		return 0
	}
	if r == rLast {
		return f.putRelative(i, i+1+k+l, edge, addDays(f.today, 1), Span)
	}
	return f.putRelative(i, i+1+k+l, f.today, addDays(edge, 1), Span)
}

// placed: "last week", "next Friday", "this May", "semana pasada", "last Christmas".
func (f *finder) placed(i int) int {
	r, j := f.g.before[f.at(i)], i+1
	if f.lang == speech.Italian && strings.HasPrefix(f.at(i), "quest'") {
		r, j = rThis, i
	}
	if r != rNone {
		n := f.place(i, j, r)
		if n > 0 && f.lang == speech.English && f.at(i+n) == "of" { // "the last week of May"
			f.found = f.found[:len(f.found)-1]
			return 0
		}
		return n
	}
	// The modifier behind.
	if len(f.g.after) == 0 {
		return 0
	}
	k := 1
	if _, l := f.unit(i); l > 0 {
		k = l
	}
	if f.lang == speech.Portuguese && f.at(i+1) == "feira" {
		k = 2
	}
	r = f.g.after[f.at(i+k)]
	extra := 1
	if f.lang == speech.Spanish && f.at(i+k) == "que" && f.at(i+k+1) == "viene" {
		r, extra = rComing, 2
	}
	if r == rNone {
		return 0
	}
	if n := f.place(i, i, r); n > 0 {
		f.found[len(f.found)-1].End = f.words[i+n+extra-1].end
		return n + extra
	}
	return 0
}

// place puts what stands at j, with the mention beginning at i.
func (f *finder) place(i, j int, r rel) int {
	if u, l := f.unit(j); l > 0 {
		if u == uDay {
			return 0
		}
		from, to, g, ok := f.unitAt(u, r)
		if !ok {
			return 0
		}
		return f.putRelative(i, j+l, from, to, g)
	}
	w := f.noun(j)
	if d, ok := f.g.weekdays[w]; ok {
		end := j + 1
		if f.at(end) == "feira" {
			end++
		}
		from := f.weekdayAt(d, r)
		return f.putRelative(i, end, from, addDays(from, 1), Day)
	}
	if m, ok := f.g.months[w]; ok && (!f.g.shy[w] || f.words[j].capital) {
		if _, k := f.year(j + 1); k > 0 {
			return 0 // "last May 2023": the year decides
		}
		year := f.today.Year()
		switch {
		case r == rLast && m >= f.today.Month():
			year--
		case (r == rNext || r == rComing) && m <= f.today.Month():
			year++
		}
		from := time.Date(year, m, 1, 0, 0, 0, 0, f.today.Location())
		return f.putRelative(i, j+1, from, firstOfMonth(from, 1), Month)
	}
	if h, k, ok := f.holidayAt(j); ok {
		lean := map[rel]Lean{rLast: Past, rThis: f.leaning(), rNext: Future, rComing: Future}[r]
		if lean == Auto {
			lean = Future
		}
		if from, ok := f.yearless(time.Month(h[0]), h[1], lean); ok {
			return f.putRelative(i, j+k, from, addDays(from, 1), Day)
		}
	}
	return 0
}

// unitAt is a unit relative to now: "last week".
func (f *finder) unitAt(u unit, r rel) (from, to time.Time, g Grain, ok bool) {
	shift := map[rel]int{rLast: -1, rThis: 0, rNext: 1, rComing: 1}[r]
	if u == uWeekend {
		if r == rComing {
			shift = 0
		}
		if wd := f.today.Weekday(); r == rThis && f.leaning() == Past && wd != time.Saturday && wd != time.Sunday {
			shift = -1
		}
	}
	if u >= uSpring {
		from = f.seasonAt(u, r)
		return from, firstOfMonth(from, 3), Season, true
	}
	from, to, g = f.shifted(u, shift)
	return from, to, g, !from.IsZero()
}

// shifted is a unit of the calendar some units from the present one.
func (f *finder) shifted(u unit, n int) (from, to time.Time, g Grain) {
	switch u {
	case uWeek:
		from = addDays(monday(f.today), 7*n)
		return from, addDays(from, 7), Week
	case uWeekend:
		from = addDays(monday(f.today), 5+7*n)
		return from, addDays(from, 2), Weekend
	case uMonth:
		from = firstOfMonth(f.today, n)
		return from, firstOfMonth(from, 1), Month
	case uQuarter:
		first := firstOfMonth(f.today, -(int(f.today.Month())-1)%3)
		from = firstOfMonth(first, 3*n)
		return from, firstOfMonth(from, 3), Season
	case uYear:
		from = firstOfYear(f.today.Year()+n, f.today.Location())
		return from, firstOfYear(from.Year()+1, from.Location()), Year
	}
	return from, to, Day
}

// seasonAt is the first day of a season (of the northern half, whole months).
func (f *finder) seasonAt(u unit, r rel) time.Time {
	start := func(year int) time.Time { return time.Date(year, seasonMonth(u), 1, 0, 0, 0, 0, f.today.Location()) }
	y := f.today.Year() - 1
	for !firstOfMonth(start(y), 3).After(f.today) {
		y++ // the first one that is not over
	}
	running := !start(y).After(f.today)
	switch r {
	case rLast:
		y--
	case rThis:
		if !running && f.leaning() == Past {
			y--
		}
	default:
		if running {
			y++
		}
	}
	return start(y)
}

func seasonMonth(u unit) time.Month {
	return map[unit]time.Month{uSpring: 3, uSummer: 6, uAutumn: 9, uWinter: 12}[u]
}

// weekdayAt resolves a weekday with a word before or after it. "Last Friday" is
// the most recent one, "next Friday" that of the next week, "this" and "coming"
// the first that comes, today included.
func (f *finder) weekdayAt(d time.Weekday, r rel) time.Time {
	ahead := (int(d) - int(f.today.Weekday()) + 7) % 7 // 0..6
	switch r {
	case rLast:
		if ahead == 0 {
			return addDays(f.today, -7)
		}
		return addDays(f.today, ahead-7)
	case rNext:
		return addDays(monday(f.today), 7+(int(d)+6)%7)
	case rThis:
		if f.leaning() == Past && ahead > 0 {
			return addDays(f.today, ahead-7)
		}
	case rComing:
		if ahead == 0 {
			return addDays(f.today, 7)
		}
	}
	return addDays(f.today, ahead)
}

// holidayAt reads a holiday's name at i; possessive endings were cut from words.
func (f *finder) holidayAt(i int) (day [2]int, words int, ok bool) {
	for n := holidayStarts[f.at(i)]; n >= 1; n-- {
		if i+n > len(f.words) {
			continue
		}
		name := f.at(i)
		for k := 1; k < n; k++ {
			name += " " + f.at(i+k)
		}
		if d, found := holidays[name]; found {
			return d, n, true
		}
	}
	return day, 0, false
}

// holiday: "on Christmas Eve", "at Christmas 2022".
func (f *finder) holiday(i int) int {
	h, n, ok := f.holidayAt(i)
	if !ok || f.g.every[f.at(i-1)] {
		return 0
	}
	if y, k := f.year(i + n); k > 0 {
		if from, ok := date(y, time.Month(h[0]), h[1], f.today.Location()); ok {
			f.put(i, i+n+k, from, addDays(from, 1), Day)
			return n + k
		}
	}
	prev := f.at(i - 1)
	if lean := f.leaning(); lean != Auto && (f.g.onDay[prev] || prev == "at" || prev == "over" || prev == "an" || prev == "zu") {
		if from, ok := f.yearless(time.Month(h[0]), h[1], lean); ok {
			return f.putRelative(i, i+n, from, addDays(from, 1), Day)
		}
	}
	return 0
}

// weekday: "on Friday".
func (f *finder) weekday(i int) int {
	name := f.noun(i)
	d, ok := f.g.weekdays[name]
	if !ok {
		return 0
	}
	prev, end := f.at(i-1), i+1
	if f.g.every[prev] || f.g.every[f.at(i-2)] && f.at(i-1) != "on" || prev == "good" || prev == "black" {
		return 0
	}
	if f.at(end) == "feira" {
		end++
	} else if f.g.shy[name] && !f.g.onDay[prev] {
		return 0
	}
	if f.lang == speech.English && !f.words[i].capital && !f.g.onDay[prev] {
		return 0
	}
	ahead := (int(d) - int(f.today.Weekday()) + 7) % 7
	lean := f.leaning()
	switch {
	case prev == "since" || prev == "seit" || prev == "desde" || prev == "depuis" || prev == "dal":
		lean = Past
	case prev == "until" || prev == "till" || prev == "by" || lean == Past && f.arranged(i):
		lean = Future
	}
	if lean == Past {
		ahead -= 7
	} else if ahead == 0 {
		ahead = 7
	}
	from := addDays(f.today, ahead)
	if m := f.put(i, end, from, addDays(from, 1), Day); m != nil {
		m.Relative, m.Guessed = true, lean == Auto
	}
	return end - i
}

// arranged reports whether the day at i is one that something was put off to, or
// got ready for: "was moved to Thursday", "booked a table for Friday".
func (f *finder) arranged(i int) bool {
	prev := f.at(i - 1)
	if prev == "the" || prev == "next" {
		prev = f.at(i - 2)
	}
	for _, w := range f.words[:i] {
		switch {
		case enrolling[w.s], (prev == "to" || prev == "until" || prev == "till" || prev == "for" || prev == "auf" || prev == "für") && (arranging[w.s] || moving[w.s]):
			return true
		}
	}
	return false
}

var (
	enrolling = words("signed registered enrolled angemeldet")
	moving    = words("moved postponed rescheduled pushed shifted delayed changed put brought extended bought set agreed verlegt verschoben gekauft")
)

// dayAlone: "on the 15th".
func (f *finder) dayAlone(i int) int {
	if f.lang != speech.English || f.at(i-1) != "the" || len(f.at(i)) < 3 || !dayStart[f.at(i-2)] {
		return 0
	}
	d := f.day(i)
	if d == 0 || strings.Trim(f.at(i), "0123456789") == "" {
		return 0
	}
	if next := f.at(i + 1); next != "" && !dayFollow[next] && strings.TrimSpace(f.text[f.words[i].end:f.words[i+1].start]) == "" {
		return 0 // "on the 3rd floor"
	}
	lean := f.leaning()
	month := firstOfMonth(f.today, 0)
	for step := range 3 { // not every month has a 31st
		if lean == Past {
			step = -step
		}
		first := firstOfMonth(month, step)
		from, ok := date(first.Year(), first.Month(), d, first.Location())
		if !ok || lean == Past && from.After(f.today) || lean != Past && from.Before(f.today) {
			continue
		}
		n := f.putRelative(i, i+1, from, addDays(from, 1), Day)
		if n > 0 {
			f.found[len(f.found)-1].Guessed = lean == Auto
		}
		return n
	}
	return 0
}

var (
	dayStart  = words("on by until till since from before after")
	dayFollow = words("and but at with to in because so for when as i we she he they it my our is was will if by until or")
)

// bareWeekend: "over the weekend", "am Wochenende".
func (f *finder) bareWeekend(i int) int {
	u, l := f.unit(i)
	if u != uWeekend || l == 0 {
		return 0
	}
	switch f.at(i - 1) {
	case "the", "am", "el", "le", "nel", "il":
	default:
		return 0
	}
	lean := f.leaning()
	if lean == Auto || strings.HasSuffix(f.at(i), "s") {
		return 0
	}
	shift := 0
	if wd := f.today.Weekday(); lean == Past && wd != time.Saturday && wd != time.Sunday {
		shift = -1
	}
	from, to, g := f.shifted(uWeekend, shift)
	return f.putRelative(i, i+l, from, to, g)
}
