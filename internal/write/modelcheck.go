package write

import (
	"strings"
	"unicode"

	"github.com/lightmem/lightmem/memory"
)

// sources are the words that a reworded note may use: those of the turn's
// input and of its context. The assistant's answer is not among them, for the
// user did not say it (spec section 3, junk).
type sources struct {
	words   map[string]bool
	speaker map[string]bool
	text    string // lower case, for scripts without spaces
}

func newSources(a memory.Answered) sources {
	s := sources{words: make(map[string]bool), speaker: make(map[string]bool)}
	if name := a.UserName(); name != (memory.Turn{}).UserName() {
		for _, w := range split(name) {
			s.speaker[strings.ToLower(w)] = true
		}
	}
	var all strings.Builder
	add := func(text string) {
		for _, w := range split(text) {
			s.words[strings.ToLower(w)] = true
		}
		all.WriteString(strings.ToLower(text) + "\n")
	}
	add(a.Text)
	add(a.UserName())
	for _, m := range a.Context {
		add(m.Text)
		add(m.Speaker)
	}
	s.text = all.String()
	return s
}

// check returns why the note may not replace the draft, "" when it may.
func (s sources) check(note, draft string) string {
	mine, theirs := split(note), split(draft)
	if len(mine) == 0 || len(theirs) == 0 {
		return "empty"
	}
	drafted := make(map[string]bool, len(theirs))
	for _, w := range theirs {
		drafted[strings.ToLower(w)] = true
	}
	for i, w := range mine {
		lw := strings.ToLower(w)
		if s.speaker[lw] && !drafted[lw] {
			return "nobody speaks of himself as she or he"
		}
		if !s.knows(w, drafted, i == 0) {
			return "a word that nobody said"
		}
	}
	have := make(map[string]bool, len(mine))
	for _, w := range mine {
		have[strings.ToLower(w)] = true
	}
	for _, w := range theirs {
		if lw := strings.ToLower(w); !function[lw] && !pronoun[lw] && !have[lw] && !like(lw, have) && !overlaps(lw, strings.ToLower(note)) {
			return "a word is lost"
		}
	}
	if negations(mine) != negations(theirs) {
		return "a negation is lost or added"
	}
	first, was := strings.ToLower(mine[0]), strings.ToLower(theirs[0])
	if first != was && !pronoun[was] {
		return "another subject"
	}
	return ""
}

// knows reports whether the word was said. Numbers and names must be said
// exactly so (mem0#5630: Ann is not Anna), other words in a form of theirs.
func (s sources) knows(w string, drafted map[string]bool, first bool) bool {
	lw := strings.ToLower(w)
	if s.words[lw] || drafted[lw] || function[lw] {
		return true
	}
	if strings.ContainsFunc(w, unicode.IsDigit) {
		return false
	}
	if overlaps(lw, s.text) {
		return true
	}
	if !first && w != lw { // a name
		return false
	}
	return like(lw, s.words) || like(lw, drafted)
}

// like reports whether one of the words is a form of w: they begin alike, and
// their ends are short. Short words have no forms.
func like(w string, words map[string]bool) bool {
	r := []rune(w)
	if len(r) < 4 {
		return false
	}
	for other := range words {
		o := []rune(other)
		if len(o) < 4 {
			continue
		}
		n := 0
		for n < len(r) && n < len(o) && r[n] == o[n] {
			n++
		}
		if n >= 4 && len(r)-n <= 3 && len(o)-n <= 3 {
			return true
		}
	}
	return false
}

// overlaps reports whether a word in a script without spaces stands in text:
// all its pairs of neighbouring runes do.
func overlaps(w, text string) bool {
	r := []rune(w)
	if !strings.ContainsFunc(w, unspaced) {
		return false
	}
	if len(r) == 1 {
		return strings.ContainsRune(text, r[0])
	}
	for i := range len(r) - 1 {
		if !strings.Contains(text, string(r[i:i+2])) {
			return false
		}
	}
	return true
}

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// split is the text's words; an apostrophe belongs to its word, a possessive
// ending does not.
func split(s string) []string {
	words := strings.FieldsFunc(strings.ReplaceAll(s, "’", "'"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\''
	})
	out := words[:0]
	for _, w := range words {
		w = strings.TrimSuffix(strings.Trim(w, "'"), "'s")
		if w != "" {
			out = append(out, w)
		}
	}
	return out
}

// pronouns are the text's pronouns, as written.
func pronouns(text string) []string {
	var out []string
	for _, w := range split(text) {
		if pronoun[strings.ToLower(w)] {
			out = append(out, w)
		}
	}
	return out
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// plain is the text's words, for telling a rewording from a repetition.
func plain(s string) string { return strings.ToLower(strings.Join(split(s), " ")) }

func negations(words []string) int {
	n := 0
	for _, w := range words {
		w = strings.ToLower(w)
		if negation[w] || strings.HasSuffix(w, "n't") {
			n++
		}
	}
	return n
}

func set(words string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

var (
	// function words may come and go when a sentence is put together anew.
	function = set("a an the of in on at to for from with by as and or but that which who is are was were be been being has have had do does did will would said says told this these those so then also")
	// pronouns are what a rewording is to replace: English, and those of German,
	// French and Spanish that are no articles too.
	pronoun = set("it its itself she her hers herself he him his himself they them their theirs themselves there " +
		"er ihn ihm sie ihr ihnen dort elle elles il ils lui eux leur ella él ellos ellas allí")
	// negations turn a sentence around.
	negation = set("no not never none nobody nothing without neither nor cannot kein keine keinen nicht nie niemals ne pas jamais non nunca ningún")
)
