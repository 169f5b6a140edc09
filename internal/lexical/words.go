package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWordRunes bounds a word; what is longer is cut. No natural word is as
// long, but base64 and URLs are.
const maxWordRunes = 64

// Words returns the analysed words of text, in order:
//
//   - compatibility forms are unified (NFKC), case is folded, and typographic
//     apostrophes, Latin and Greek accents, Arabic and Hebrew vowel points are
//     dropped; decimal digits of all scripts become ASCII;
//   - words are those of Unicode's UAX #29; digits are words, punctuation and
//     emoji are not;
//   - words in Latin script are stemmed in the language whose stop words the
//     text has most of, English by default. A text in another language yields
//     each word's plain form, too, where that differs, so that a query too
//     short to tell its language by finds it;
//   - Cyrillic, Arabic and Tamil words are stemmed as Russian, Arabic, Tamil;
//   - Chinese, Japanese and Korean yield overlapping pairs of characters, and
//     single Chinese characters besides; Thai, Lao, Khmer and Burmese,
//     which put no spaces between words, yield pairs as well;
//   - stop words are dropped, unless nothing else remains.
//
// Invalid UTF-8 separates words.
func Words(text string) []string {
	var a analysis
	a.split(fold(text))
	language := vote(a.latin)
	out := make([]string, 0, len(a.tokens))
	for _, keepStops := range []bool{false, true} {
		for _, t := range a.tokens {
			out = t.emit(out, language, keepStops)
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

// script is how a run of characters is cut and stemmed.
type script uint8

const (
	scriptNone script = iota
	scriptLatin
	scriptCyrillic
	scriptArabic
	scriptTamil
	scriptOther
	// scriptHan to scriptSpaceless are cut into pairs.
	scriptHan
	scriptKana
	scriptHangul
	scriptSpaceless
)

func (s script) paired() bool { return s >= scriptHan }

func scriptOf(r rune) script {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return scriptLatin
		}
		return scriptNone
	case unicode.Is(unicode.Latin, r):
		return scriptLatin
	case unicode.Is(unicode.Han, r):
		return scriptHan
	case unicode.In(r, unicode.Hiragana, unicode.Katakana) || r == 'ー':
		return scriptKana
	case unicode.Is(unicode.Hangul, r):
		return scriptHangul
	case unicode.Is(unicode.Cyrillic, r):
		return scriptCyrillic
	case unicode.Is(unicode.Arabic, r):
		return scriptArabic
	case unicode.Is(unicode.Tamil, r):
		return scriptTamil
	case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
		return scriptSpaceless
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return scriptOther
	default:
		return scriptNone
	}
}

// token is one word, or one run of a script that is cut into pairs.
type token struct {
	text   string
	script script
}

type analysis struct {
	tokens []token
	// latin are the words that vote on the language.
	latin []string
}

// split cuts folded text into tokens.
func (a *analysis) split(text string) {
	segment := func(s string) {
		for it := words.FromString(s); it.Next(); {
			a.word(it.Value())
		}
	}
	start, i := 0, 0 // text[start:i] waits to be segmented
	for i < len(text) {
		r, size := utf8.DecodeRuneInString(text[i:])
		s := scriptOf(r)
		if !s.paired() {
			i += size
			continue
		}
		segment(text[start:i])
		end := i + size
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if scriptOf(r) != s && !unicode.Is(unicode.M, r) {
				break
			}
			end += size
		}
		a.tokens = append(a.tokens, token{text[i:end], s})
		start, i = end, end
	}
	segment(text[start:])
}

// word adds one segment unless it is space or punctuation.
func (a *analysis) word(w string) {
	s := scriptNone
	for _, r := range w {
		if s = scriptOf(r); s != scriptNone {
			break
		}
	}
	if s == scriptNone {
		return
	}
	w = strings.Trim(w, "'_")
	if n := 0; len(w) > maxWordRunes {
		for i := range w {
			if n == maxWordRunes {
				w = w[:i]
				break
			}
			n++
		}
	}
	// French and Italian elision: l'amie, dell'arte.
	if head, tail, ok := strings.Cut(w, "'"); ok && elided[head] && tail != "" {
		w = tail
	}
	a.tokens = append(a.tokens, token{w, s})
	if s == scriptLatin {
		a.latin = append(a.latin, w)
	}
}

// elided are the articles and pronouns that lose their vowel before another.
var elided = map[string]bool{
	"l": true, "d": true, "j": true, "m": true, "t": true, "s": true, "n": true, "c": true, "qu": true, "jusqu": true,
	"quoiqu": true, "lorsqu": true, "puisqu": true, "dell": true, "all": true, "nell": true, "dall": true, "sull": true, "un": true, "quest": true,
}

// emit appends the token's terms.
func (t token) emit(out []string, latinLanguage int, keepStops bool) []string {
	l := plain
	switch t.script {
	case scriptHan, scriptKana, scriptHangul, scriptSpaceless:
		return t.pairs(out)
	case scriptLatin:
		l = latin[latinLanguage]
	case scriptCyrillic:
		l = cyrillic
	case scriptArabic:
		l = arabicLg
	case scriptTamil:
		l = tamilLg
	}
	if l.stop[t.text] && !keepStops {
		return out
	}
	if t.script != scriptLatin {
		return append(out, unaccent(l.apply(t.text)))
	}
	// English has accents in foreign words only, its stemmer knows none; others
	// need them to tell their endings.
	stem := latin[englishIndex].apply(unaccent(t.text))
	if latinLanguage == englishIndex {
		return append(out, stem)
	}
	own := unaccent(l.apply(t.text))
	if out = append(out, own); own != stem {
		out = append(out, stem)
	}
	return out
}

// pairs appends the overlapping pairs of a run; a run of one is its own term.
// Chinese words of one character are common, so each Chinese character is a
// term besides; Korean words of two syllables are often a word of one with its
// particle, so their first syllable is.
func (t token) pairs(out []string) []string {
	var chars []string // each with its marks
	for i, r := range t.text {
		if len(chars) > 0 && unicode.Is(unicode.M, r) {
			chars[len(chars)-1] += string(r)
			continue
		}
		chars = append(chars, t.text[i:i+utf8.RuneLen(r)])
	}
	if len(chars) == 1 {
		return append(out, chars[0])
	}
	for i := range chars {
		if t.script == scriptHan || t.script == scriptHangul && len(chars) == 2 && i == 0 {
			out = append(out, chars[i])
		}
		if i+1 < len(chars) {
			out = append(out, chars[i]+chars[i+1])
		}
	}
	return out
}

// fold unifies the forms of characters; see Words.
func fold(text string) string {
	if isPlain(text) {
		return strings.ToLower(text)
	}
	text = cases.Fold().String(norm.NFKC.String(strings.ToValidUTF8(text, " ")))
	return norm.NFC.String(strings.Map(func(r rune) rune {
		switch {
		case r == '’' || r == '‘' || r == 'ʼ' || r == '＇':
			return '\''
		case r == 'ـ' || r == '\u00ad' || r == '\u200b' || r == '\ufeff': // tatweel, soft hyphen, zero-width space, BOM
			return -1
		case r >= '\u064b' && r <= '\u065f' || r == '\u0670' || r >= '\u0591' && r <= '\u05c7' && unicode.Is(unicode.Mn, r):
			return -1
		case r >= utf8.RuneSelf && unicode.IsDigit(r):
			return digit(r)
		}
		return r
	}, text))
}

func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// digit returns the ASCII digit of a decimal digit: the digits of each script
// stand in a row, from zero (The Unicode Standard, section 4.6).
func digit(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if uint32(r) >= uint32(t.Lo) && uint32(r) <= uint32(t.Hi) {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if uint32(r) >= t.Lo && uint32(r) <= t.Hi {
			return '0' + (r-rune(t.Lo))%10
		}
	}
	return r
}

// unaccent drops the accents of Latin and Greek letters, and the points of the
// Russian ё: people leave them out when they type.
func unaccent(word string) string {
	if isPlain(word) {
		return word
	}
	var b strings.Builder
	accented := false // the last base letter is of a script whose accents go
	for _, r := range norm.NFD.String(word) {
		if unicode.Is(unicode.Mn, r) {
			if accented {
				continue
			}
		} else {
			accented = unicode.In(r, unicode.Latin, unicode.Greek) || r == 'е'
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}
