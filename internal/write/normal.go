package write

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// NormalizeText returns the form of a text by which exact duplicates are told,
// the input of the content hash: compatibility forms unified (NFKC), case
// folded, typographic quotes made plain, runs of white space made one space,
// and surrounding space, quotes and closing punctuation dropped. A question
// mark stays: it makes another sentence. The result is stable:
// NormalizeText(NormalizeText(s)) == NormalizeText(s).
func NormalizeText(s string) string {
	for range 4 { // dropping an end may uncover a form that folds on; 2 suffice
		next := normalizeOnce(s)
		if next == s {
			break
		}
		s = next
	}
	return s
}

func normalizeOnce(s string) string {
	s = norm.NFKC.String(cases.Fold().String(norm.NFKC.String(strings.ToValidUTF8(s, " "))))
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '’' || r == '‘' || r == 'ʼ' || r == '`' || r == '´':
			return '\''
		case r == '“' || r == '”' || r == '„' || r == '«' || r == '»':
			return '"'
		case r == '–' || r == '—' || r == '‐' || r == '‑':
			return '-'
		case r == '\u200b' || r == '\ufeff' || r == '\u00ad' || r == '\u2060':
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	return strings.Trim(s, " .!,;:…。！，；：、\"")
}
