package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Counts by the tokenizers themselves (the server's prompt_eval_count) are
// compared with the estimate in the conformance suite; these are texts whose
// number of tokens is known or bounded by construction.
func TestCountTokensIsAnUpperBound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		least      int // tokens that Qwen2.5 or Llama 3 make of it
	}{
		{"nothing", "", 0},
		{"an English sentence", "The quick brown fox jumps over the lazy dog.", 10},
		{"digits one by one", "2026-12-01 15:04:05", 19},
		{"punctuation", "?!?!...---", 3},
		{"Chinese", "我昨天去了北京,今天回来了。", 10},
		{"emoji with modifiers", "👩🏽‍🚀🎉", 9},
		{"a script that vocabularies hardly know", "ភាសាខ្មែរ", 20},
		{"letters without meaning", "xqzvkjwpqzxvbn", 5},
		{"lines", "\n\n\n\n", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.GreaterOrEqual(t, countTokens(tt.text), tt.least)
			require.LessOrEqual(t, leastTokens(tt.text), max(tt.least, countTokens(tt.text)))
		})
	}
}

func TestCountTokensDoesNotWasteTheContext(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("She told me that her brother moved to another town last spring. ", 50)
	// 650 tokens for both Qwen2.5 and Llama 3.
	require.Less(t, countTokens(text), 1300)
	require.Greater(t, countTokens(text), 650)
}

func FuzzCountTokens(f *testing.F) {
	f.Add("a b 1 é 我 👩🏽‍🚀")
	f.Fuzz(func(t *testing.T, s string) {
		n := countTokens(s)
		require.GreaterOrEqual(t, n, 0)
		require.LessOrEqual(t, n, 3*len(s), "bounded by the bytes")
		require.GreaterOrEqual(t, countTokens(s+"\n more"), n, "more text never counts less")
	})
}
