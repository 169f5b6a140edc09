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
// prompt that fits by it fits; one that does not may have fitted.
//
// It walks the text like byte-pair encoders split it: a word of ASCII letters
// costs one token for each three letters (English has four to five a token,
// names and other languages fewer), digits and punctuation one each, a rune
// beyond ASCII as many as it has bytes less one, which is what tokenizers
// with small vocabularies spend on scripts that they hardly know.
func countTokens(s string) int {
	n, word := 0, 0
	end := func() {
		n += (word + 2) / 3
		word = 0
	}
	space := false
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'):
			word++
			space = false
			continue
		case r == ' ':
			end()
			if space { // a run of spaces; a single one belongs to the next word
				n++
			}
			space = true
			continue
		case r < utf8.RuneSelf:
			end()
			n++
		case unicode.IsMark(r) || unicode.IsLetter(r) && r < 0x250:
			end()
			n += 2
		default:
			end()
			n += max(2, utf8.RuneLen(r)-1)
		}
		space = false
	}
	end()
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
