package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Traits are what a text shows of its kind, whatever it is about.
type Traits struct {
	// Question: it ends with a question mark.
	Question bool
	// Time: it says when: a date, a year, a day's or month's name, "yesterday".
	Time bool
	// Name: it names somebody or something: a capital inside a sentence.
	Name bool
}

// TraitsOf returns the traits of what a speaker said. The speaker's own name,
// and a leading "Name:", show nothing. Times are known in English and as
// figures in any language; names in scripts with capitals.
func TraitsOf(text, speaker string) Traits {
	body := text
	if speaker != "" {
		body = strings.TrimPrefix(strings.TrimPrefix(body, speaker), ":")
	}
	var t Traits
	t.Question = strings.HasSuffix(spoken(body), "?") || strings.HasSuffix(spoken(body), "？") || strings.HasSuffix(spoken(body), "؟")
	inside := false // a sentence has begun before the word
	for body != "" {
		word, gap, rest := nextWord(body)
		if strings.ContainsAny(gap, ".!?:。！？") {
			inside = false
		}
		if word != "" {
			t.Time = t.Time || isTime(word)
			t.Name = t.Name || inside && isName(word) && !strings.Contains(speaker, word)
			inside = true
		}
		body = rest
	}
	return t
}

// spoken leaves out what stands in brackets at the end ("[sends a picture:
// a cat]"): it is a note, not speech.
func spoken(text string) string {
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, "]") {
		if at := strings.LastIndexByte(text, '['); at >= 0 {
			text = strings.TrimSpace(text[:at])
		}
	}
	return text
}

// nextWord cuts the first run of letters and digits off, with what precedes it.
func nextWord(s string) (word, gap, rest string) {
	isWord := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	start := strings.IndexFunc(s, isWord)
	if start < 0 {
		return "", s, ""
	}
	n := strings.IndexFunc(s[start:], func(r rune) bool { return !isWord(r) })
	if n < 0 {
		n = len(s) - start
	}
	return s[start : start+n], s[:start], s[start+n:]
}

// isName reports whether a word has a capital and then at least two small
// letters: neither "I" nor an abbreviation.
func isName(word string) bool {
	first, size := utf8.DecodeRuneInString(word)
	if !unicode.IsUpper(first) || utf8.RuneCountInString(word) < 3 {
		return false
	}
	for _, r := range word[size:] {
		if !unicode.IsLower(r) {
			return false
		}
	}
	return true
}

func isTime(word string) bool {
	if len(word) == 4 && (word[:2] == "19" || word[:2] == "20") {
		return word[2] >= '0' && word[2] <= '9' && word[3] >= '0' && word[3] <= '9'
	}
	return timeWords[strings.ToLower(word)]
}

var timeWords = set(`yesterday today tonight tomorrow last ago next week weekend month year recently just since
	monday tuesday wednesday thursday friday saturday sunday
	january february march april may june july august september october november december`)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// AsksWhen reports whether a question asks for a time: "when", or a phrase to
// the same effect, in the more common languages.
func AsksWhen(question string) bool {
	q := " " + strings.Join(strings.FieldsFunc(strings.ToLower(question), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ") + " "
	for _, p := range whenPhrases {
		if strings.HasPrefix(q, p) || len(p) > len(" when ") && strings.Contains(q, p) {
			return true
		}
	}
	for _, p := range whenUnspaced {
		if strings.Contains(q, p) {
			return true
		}
	}
	return false
}

var (
	// whenPhrases stand at the beginning; the longer ones anywhere.
	whenPhrases = []string{
		" when ", " what date ", " which date ", " what day ", " which day ", " what month ", " which month ", " what year ", " which year ",
		" what time ", " how long ago ", " wann ", " quand ", " cuándo ", " quando ", " wanneer ", " kiedy ", " когда ", " متى ",
	}
	whenUnspaced = []string{"什么时候", "何时", "哪天", "哪年", "いつ", "언제", "เมื่อไหร่", "เมื่อไร"}
)
