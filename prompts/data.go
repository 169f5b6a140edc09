package prompts

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// What a model, its tokenizer or our templates take for structure is replaced
// inside data by a look-alike: a reader sees the same, a tokenizer reads plain
// text (hindsight#1891: a literal <|endoftext|> made the tokenizer raise;
// letta#3342: instructions in memories are obeyed). A literal <think> stays: it
// is somebody's text (hindsight#3426).
var (
	bars     = strings.NewReplacer("<|", "<¦", "|>", "¦>", "<｜", "<¦", "｜>", "¦>") // the last two are DeepSeek's
	tags     = regexp.MustCompile(`(?i)<(\s*/?\s*(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn|data)\b[^<>]*)>`)
	brackets = regexp.MustCompile(`(?i)\[(/?\s*INST)\]`)
	doubled  = regexp.MustCompile(`(?i)<<(/?\s*SYS)>>`)
)

// neutral replaces markers once.
func neutral(s string) string {
	if !strings.ContainsAny(s, "<>[") {
		return s
	}
	s = doubled.ReplaceAllString(bars.Replace(s), "‹‹$1››")
	return brackets.ReplaceAllString(tags.ReplaceAllString(s, "‹$1›"), "［$1］")
}

// Data makes text of people safe to stand inside a prompt, between the tags
// <data> and </data> that every template puts around it: what looks like
// structure no longer is, control characters are gone, and what is not UTF-8
// becomes U+FFFD. Words keep their meaning.
func Data(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r', r < 0x20, r >= 0x7f && r < 0xa0:
			return -1
		case r >= 0xE0000 && r <= 0xE007F: // tags: invisible text that models read
			return -1
		}
		return r
	}, s)
	for { // a replacement may lay another marker bare ("<<|s>")
		t := neutral(s)
		if t == s {
			return t
		}
		s = t
	}
}

// Line is Data on one line, so that an item of a numbered list cannot pretend
// to be several.
func Line(s string) string {
	return strings.Join(strings.Fields(Data(s)), " ")
}

// Cut shortens s to at most n bytes at a word's or rune's end and marks that it
// did with "…". Zero and negative n mean no limit.
func Cut(s string, n int) string {
	if n <= 0 || len(s) <= n {
		return s
	}
	n = max(0, n-len("…"))
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	cut := s[:n]
	if i := strings.LastIndexAny(cut, " \n\t"); i > n*3/4 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " \n\t") + "…"
}
