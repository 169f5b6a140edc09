package when

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

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
	for _, try := range []func(int) int{f.phrase, f.ago, f.ahead, f.lastSeveral, f.placed, f.dayOfMonth, f.monthAlone, f.season, f.yearAlone, f.holiday, f.weekday, f.bareWeekend} {
		if n := try(i); n > 0 {
			return n
		}
	}
	return 0
}

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
