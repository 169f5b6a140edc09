package speech

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/sentences"
)

// Sentence is one sentence of a text without the white space around it. Text is
// text[Start:Start+len(Text)] of the text that it was cut from.
type Sentence struct {
	Text  string
	Start int
}

// Sentences cuts a text into its sentences by Unicode's UAX #29, and besides at
// every line end and after each CJK full stop, also where no space follows;
// abbreviations ("Dr. Kim", "z. B.") end none. Marks of lists and quotations at
// the beginning of a line are left out.
func Sentences(text string) []Sentence {
	var out []Sentence
	for start := 0; start < len(text); {
		end := strings.IndexAny(text[start:], "\n\r\v\f\u2028\u2029")
		if end < 0 {
			end = len(text)
		} else {
			end += start
		}
		out = line(out, text, start, end)
		start = end
		if start < len(text) {
			_, size := utf8.DecodeRuneInString(text[start:])
			start += size
		}
	}
	return out
}

// line appends the sentences of text[start:end], which has no line ends.
func line(out []Sentence, text string, start, end int) []Sentence {
	first := start
	s := strings.TrimLeftFunc(text[start:end], unicode.IsSpace)
	if rest, ok := listMark(s); ok {
		first = end - len(rest)
	}
	from := first // of the sentence that grows
	at := first
	for it := sentences.FromString(text[first:end]); it.Next(); {
		before := at
		at += len(it.Value())
		// UAX #29 sees no end before a number: "I moved. 10 days ago I left."
		for _, m := range beforeNumber.FindAllStringSubmatchIndex(text[before:at], -1) {
			cut := before + m[3]
			if abbreviations[strings.ToLower(text[before+m[4]:before+m[5]])] || quoted(text[from:cut], text[cut:end]) {
				continue
			}
			out = add(out, text, from, cut)
			from = cut
		}
		if at < end && (joins(text[from:at], text[at:end]) || quoted(text[from:at], text[at:end])) {
			continue
		}
		out = add(out, text, from, at)
		from = at
	}
	return add(out, text, from, end)
}

// beforeNumber is an end of a sentence that a number follows; group 1 reaches to
// the end, group 2 is the last word.
var beforeNumber = regexp.MustCompile(`((\p{Ll}{3,})[.)]) \d+ \p{Ll}`)

// maxQuoteBytes bounds how far a quotation is looked for; what is longer was
// never closed.
const maxQuoteBytes = 1000

// quoted reports whether s ends within quotation marks that rest closes: what
// somebody else said stays together.
func quoted(s, rest string) bool {
	if !strings.ContainsAny(s, "\"“„«「『'‘") {
		return false
	}
	if len(rest) > maxQuoteBytes {
		rest = rest[:maxQuoteBytes]
	}
	var closing string
	last := rune(' ')
	for i, r := range s {
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(max(r, 0)):])
		switch {
		case closing != "" && strings.ContainsRune(closing, r):
			if r == '\'' && unicode.IsLetter(next) || r == '’' && unicode.IsLetter(next) {
				break
			}
			closing = ""
		case closing != "":
		case r == '"' && !unicode.IsDigit(last): // 5" is a length
			closing = "\""
		case (r == '\'' || r == '‘') && !unicode.IsLetter(last) && !unicode.IsDigit(last) && unicode.IsLetter(next):
			closing = map[rune]string{'\'': "'", '‘': "’"}[r]
		default:
			closing = quotes[r]
		}
		last = r
	}
	if closing == "" {
		return false
	}
	if closing == "'" || closing == "’" { // and no apostrophe
		return closingApostrophe.MatchString(rest)
	}
	return strings.ContainsAny(rest, closing)
}

var (
	quotes            = map[rune]string{'“': "”", '„': "“”", '«': "»", '「': "」", '『': "』"}
	closingApostrophe = regexp.MustCompile(`[.!?,]['’](?:[^\p{L}]|$)`)
)

func add(out []Sentence, text string, from, to int) []Sentence {
	s := text[from:to]
	trimmed := strings.TrimLeftFunc(s, unicode.IsSpace)
	from += len(s) - len(trimmed)
	if trimmed = strings.TrimRightFunc(trimmed, unicode.IsSpace); trimmed == "" {
		return out
	}
	return append(out, Sentence{Text: trimmed, Start: from})
}

// listMark cuts "- ", "* ", "• ", "> ", "1. ", "2) " and the like.
func listMark(s string) (rest string, ok bool) {
	i := 0
	for i < len(s) && i < 3 && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	switch {
	case i > 0 && i+1 < len(s) && (s[i] == '.' || s[i] == ')') && s[i+1] == ' ':
		return s[i+2:], true
	case i == 0:
		for _, mark := range []string{"- ", "* ", "• ", "– ", "> ", "# ", "## ", "### "} {
			if rest, ok := strings.CutPrefix(s, mark); ok {
				return rest, true
			}
		}
	}
	return s, false
}

// abbreviations do not end a sentence though a capital may follow.
var abbreviations = set(`dr mr mrs ms prof st mt vs etc no nr fig approx inc ltd co jr sr e.g i.e a.m p.m u.s u.k z.b d.h u.a bzw ca dra sra sres sig dott hr fr tel str abs art vol ver ext min max est jan feb mar apr jun jul aug sep sept oct nov dec sec chap pp resp`)

// joins reports whether the break after s is none.
func joins(s, rest string) bool {
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, ".") { // within an address
		word := s[strings.LastIndexFunc(s, unicode.IsSpace)+1:]
		if next, _ := utf8.DecodeRuneInString(rest); !unicode.IsSpace(next) && (strings.Contains(word, "://") || strings.HasPrefix(word, "www.")) {
			return true
		}
	}
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	if !strings.HasSuffix(s, ".") {
		return false
	}
	s = strings.TrimSuffix(s, ".")
	word := s[strings.LastIndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '(' })+1:]
	lower := strings.ToLower(word)
	if lower == "a.m" || lower == "p.m" || lower == "etc" { // may end one: it does before a capital
		r, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(rest, unicode.IsSpace))
		return !unicode.IsUpper(r)
	}
	if abbreviations[lower] {
		return true
	}
	r, size := utf8.DecodeRuneInString(word)
	if size == len(word) && unicode.IsUpper(r) && word != "I" { // an initial: "J. Smith"
		return true
	}
	// "am 3. Mai": an ordinal, when a word in German script follows.
	return ordinal(word) && germanMonth(strings.TrimLeftFunc(rest, unicode.IsSpace))
}

func ordinal(w string) bool {
	if w == "" || len(w) > 2 {
		return false
	}
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' {
			return false
		}
	}
	return true
}

func germanMonth(rest string) bool {
	for _, m := range []string{"Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember", "Jän"} {
		if strings.HasPrefix(rest, m) {
			return true
		}
	}
	return false
}
