package model

import (
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/prompts"
)

// messageTokens is what a chat template puts around one message, at most:
// Llama 3 needs 5, ChatML 5, Gemma 4.
const messageTokens = 8

// countRequest estimates the tokens of a request's prompt, from above.
func countRequest(r prompts.Request) int {
	n := messageTokens // what opens the reply
	for _, m := range r.Messages {
		n += messageTokens + countTokens(m.Text)
	}
	return n
}

// countTokens estimates from above how many tokens a text has, whatever the
// model's tokenizer: adapters serve models whose vocabulary we do not have. A
// prompt that fits by it fits; one that does not may have fitted. Letters
// without meaning can have more tokens; then the server itself refuses the
// prompt, for it is told not to shorten it.
//
// It walks the text like byte-pair encoders split it: a word of ASCII letters
// costs one token for each three letters, the space before it included (English
// has four to five a token, names and other languages fewer); digits,
// punctuation and other spaces one each; a rune of the scripts that all
// vocabularies know two, any other as many as it has bytes.
func countTokens(s string) int {
	n, word, space := 0, 0, false
	end := func() {
		n += (word + 2) / 3
		word = 0
	}
	for _, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter {
			end()
		}
		if space && !letter { // only a letter takes the space before it along
			n++
		}
		space = r == ' '
		switch {
		case space:
		case letter:
			word++
		case r < utf8.RuneSelf:
			n++
		case unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Han, unicode.Hiragana, unicode.Katakana,
			unicode.Hangul, unicode.Arabic, unicode.Hebrew, unicode.Devanagari):
			n += 2
		default:
			n += utf8.RuneLen(r)
		}
	}
	end()
	if space {
		n++
	}
	return n
}

// leastTokens estimates from below: no tokenizer in use makes fewer tokens of
// running text. Words count one token in two (some vocabularies hold whole
// phrases), other scripts one a six runes.
func leastTokens(s string) int {
	words, other, in := 0, 0, false
	for _, r := range s {
		letter := r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
		if letter && !in {
			words++
		}
		in = letter
		if r >= utf8.RuneSelf {
			other++
		}
	}
	return words/2 + other/6
}
