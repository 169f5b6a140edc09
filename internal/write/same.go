package write

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/memory"
)

// sameMeaning reports whether text says nothing but what known says. Numbers,
// dates, negations and names must be the same (graphiti#630); then
//
//   - with a cosine over samePoint content words may differ, unless they are of
//     one family (left and right, red and white: two facts);
//   - with a cosine over nearPoint, or without one when most content words are
//     shared, text may have no content word that known lacks;
//   - when both are about one topic with one value, which the caller has
//     checked, words that only express the topic ("works at", "is employed by")
//     do not count.
func sameMeaning(text, known string, cosine float64, topic bool) bool {
	a, b := read(text), read(known)
	if a.negated != b.negated || !slices.Equal(a.numbers, b.numbers) || a.namesLacking(b) || b.namesLacking(a) {
		return false
	}
	mine, theirs, both := differ(a.content, b.content)
	if topic {
		mine, theirs = slices.DeleteFunc(mine, isCue), slices.DeleteFunc(theirs, isCue)
	}
	if len(mine) == 0 && len(theirs) == 0 {
		return both > 0 || topic
	}
	if contrast(mine, theirs) {
		return false
	}
	if cosine >= samePoint {
		return true
	}
	if len(mine) > 0 {
		return false
	}
	if cosine >= nearPoint || topic {
		return true
	}
	return cosine < 0 && float64(both) >= sharePoint*float64(both+len(theirs))
}

// sameBut reports whether two texts are one sentence but for the negation.
func sameBut(text, known string) bool {
	a, b := read(text), read(known)
	if a.negated == b.negated || !slices.Equal(a.numbers, b.numbers) || !slices.Equal(a.names, b.names) {
		return false
	}
	mine, theirs, both := differ(a.content, b.content)
	return both > 0 && len(mine) == 0 && len(theirs) == 0
}

// reading is what of a text tells facts apart.
type reading struct {
	numbers, names, content []string // sorted, distinct
	said                    map[string]bool
	negated                 bool
}

// namesLacking reports whether r names somebody or something that other does not
// (mem0#5630: "Ann" is not "Anna").
func (r reading) namesLacking(other reading) bool {
	return slices.ContainsFunc(r.names, func(n string) bool { return !other.said[n] })
}

func read(text string) reading {
	r := reading{negated: negated(text), said: make(map[string]bool)}
	for i, w := range tokens(text) {
		lower := strings.ToLower(w)
		r.said[lower] = true
		if n, ok := number(lower); ok {
			r.numbers = append(r.numbers, n)
			continue
		}
		if calendar[lower] {
			r.numbers = append(r.numbers, lower)
		}
		if first, _ := firstRune(w); unicode.IsUpper(first) && i > 0 && lower != "i" {
			r.names = append(r.names, lower)
		}
	}
	for _, w := range lexical.Words(possessives.Replace(text)) {
		if _, ok := number(w); !ok && !negationWords[w] && !adverbs[w] {
			r.content = append(r.content, w)
		}
	}
	for _, s := range []*[]string{&r.numbers, &r.names, &r.content} {
		slices.Sort(*s)
		*s = slices.Compact(*s)
	}
	return r
}

// differ splits two sorted lists into what only one has, and counts the rest.
func differ(a, b []string) (onlyA, onlyB []string, both int) {
	for _, w := range a {
		if _, ok := slices.BinarySearch(b, w); ok {
			both++
		} else {
			onlyA = append(onlyA, w)
		}
	}
	for _, w := range b {
		if _, ok := slices.BinarySearch(a, w); !ok {
			onlyB = append(onlyB, w)
		}
	}
	return onlyA, onlyB, both
}

// contrast reports whether two lists have different members of one family.
func contrast(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if f := families[x]; f != 0 && f == families[y] {
				return true
			}
		}
	}
	return false
}

// sameValue reports whether two values of an attribute are the same. A place or
// an employer may be given more exactly ("Berlin", "Berlin, Germany"); when in
// doubt that is no change.
func sameValue(attribute, a, b string) bool {
	a, b = NormalizeText(a), NormalizeText(b)
	if a == b {
		return true
	}
	x, y := valueWords(a), valueWords(b)
	if slices.Equal(x, y) {
		return len(x) > 0
	}
	switch attribute {
	case Residence, Employer, Origin:
	default:
		return false
	}
	if len(x) == len(y) && slices.EqualFunc(x, y, sameRussian) {
		return true
	}
	mine, theirs, both := differ(x, y)
	return both > 0 && (len(mine) == 0 || len(theirs) == 0)
}

// sameRussian reports whether two words differ in the ending of their case alone:
// "в Москве", "в Москву".
func sameRussian(a, b string) bool {
	a, b = strings.TrimRight(a, "аеёиоуыэюяй"), strings.TrimRight(b, "аеёиоуыэюяй")
	return a == b && len(a) > 3 && a[0] >= 0xd0
}

// sameStem reports whether two values are the same but for their endings
// ("peanut", "peanuts").
func sameStem(a, b string) bool {
	return NormalizeText(a) == NormalizeText(b) || slices.Equal(lexical.Words(a), lexical.Words(b))
}

func valueWords(s string) []string {
	words := tokens(s)
	words = slices.DeleteFunc(words, func(w string) bool { return articles[w] })
	for i, w := range words {
		if n, ok := number(w); ok {
			words[i] = n
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
}

// echoed reports whether a draft only repeats a memory that was retrieved into
// this turn (mem0#4573: memories that breed), and which. The assistant's words
// are an echo when they say nothing that the memory does not. The user's own
// words are one only when they are visibly a copy: the memory's text in
// quotation marks, with marks that only LightMem makes, or among others; people
// do say the same thing twice, and then it counts twice.
func echoed(a memory.Answered, d memory.Draft) (memory.ID, bool) {
	if d.Verbatim {
		return "", false
	}
	input := NormalizeText(a.Text)
	copies := 0
	for _, c := range a.Candidates {
		if t := NormalizeText(c.Memory); t != "" && strings.Contains(input, t) {
			copies++
		}
	}
	said := NormalizeText(d.Quote)
	for _, c := range a.Candidates {
		known := NormalizeText(c.Memory)
		if known == "" {
			continue
		}
		if d.Source == memory.SourceAssistant {
			if covers(c.Memory, cmp.Or(d.Quote, d.Text)) || said != "" && strings.Contains(known, said) {
				return c.ID, true
			}
			continue
		}
		if said == "" || !strings.Contains(said, known) && said != known {
			continue
		}
		if copies > 1 || quotedIn(input, known) || composed(c.Memory) {
			return c.ID, true
		}
	}
	return "", false
}

// covers reports whether known says everything that text says.
func covers(known, text string) bool {
	a, b := read(text), read(known)
	mine, _, both := differ(a.content, b.content)
	numbers, _, _ := differ(a.numbers, b.numbers)
	return both > 0 && len(mine) == 0 && len(numbers) == 0 && a.negated == b.negated
}

func quotedIn(text, part string) bool {
	for rest := text; ; {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		before, after := strings.TrimRight(rest[:i], " "), rest[i+len(part):]
		if strings.HasSuffix(before, "\"") || strings.HasPrefix(strings.TrimLeft(after, ".,! "), "\"") {
			return true
		}
		rest = rest[i+len(part):]
	}
}

// possessives are cut before stemming: "Atlas's" and "Atlas" stem apart.
var possessives = strings.NewReplacer("'s ", " ", "’s ", " ")
