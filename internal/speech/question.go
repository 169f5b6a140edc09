package speech

import (
	"strings"
	"unicode"
)

// IsQuestion reports whether a sentence asks something: it ends in a question
// mark, or begins as questions of its language do. Exclamations and statements
// that hold a question ("I don't know where he is") are none.
func IsQuestion(sentence string, lang Lang) bool {
	s := strings.TrimRight(sentence, " \t\"'”’»)!.…")
	if strings.HasSuffix(s, "?") || strings.HasSuffix(s, "？") || strings.HasSuffix(s, "؟") {
		return true
	}
	if strings.HasPrefix(s, "¿") {
		return true
	}
	switch lang {
	case Chinese:
		return strings.HasSuffix(s, "吗") || strings.HasSuffix(s, "呢") || hasAnyPrefix(s, "谁", "什么", "哪", "为什么", "怎么", "多少", "几点")
	case Japanese:
		return strings.HasSuffix(strings.TrimRight(s, "。"), "か")
	}
	words := Words(s, 4)
	if len(words) < 2 {
		return false
	}
	first, second := words[0], words[1]
	if (first == "and" || first == "but" || first == "so" || first == "und" || first == "y" || first == "et") && len(words) > 2 {
		first, second = second, words[2]
	}
	switch lang {
	case English:
		switch first {
		case "what", "who", "whom", "whose", "where", "why", "which", "how", "what's", "who's", "where's", "how's":
			// "What a day", "How nice", "Which is why": none of them asks.
			return second != "a" && second != "an" && first != "which" || first == "which" && second != "is" && second != "was"
		case "when":
			return subjectAux[second]
		case "do", "does", "did", "is", "are", "was", "were", "can", "could", "will", "would", "should", "have", "has", "had", "am", "may":
			return pronouns[second] || second == "my" || second == "your" || second == "the" || second == "there" || second == "any"
		}
	case German:
		switch first {
		case "was", "wer", "wo", "wann", "warum", "wie", "welche", "welcher", "welches", "wohin", "woher", "wem", "wen":
			return true
		}
	case Spanish:
		switch first {
		case "qué", "quién", "cuándo", "dónde", "cómo", "cuál", "cuánto":
			return true
		}
	case French:
		switch first {
		case "qui", "où", "pourquoi", "comment", "combien", "est-ce", "qu'est-ce":
			return true
		}
	case Italian:
		switch first {
		case "chi", "cosa", "dove", "perché", "come", "qual", "quale", "quanto":
			return true
		}
	case Portuguese:
		switch first {
		case "quem", "onde", "qual", "quanto":
			return true
		}
	}
	return false
}

var (
	subjectAux = set("do does did is are was were will would can could should have has am")
	pronouns   = set("i you he she it we they this that these those")
)

// Words returns up to limit words of a text in lower case, with plain
// apostrophes; limit 0 means all.
func Words(text string, limit int) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ReplaceAll(text, "’", "'"), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\'' && r != '-'
	}) {
		if w = strings.ToLower(strings.Trim(w, "'-")); w == "" {
			continue
		}
		if out = append(out, w); len(out) == limit {
			break
		}
	}
	return out
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
