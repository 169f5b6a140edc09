package scripted

import (
	"encoding/json"
	"hash/fnv"
	"math"
	"strings"
	"unicode"

	"github.com/lightmem/lightmem/prompts"
)

// InstantDimensions is the length of instant vectors, that of all-MiniLM-L6-v2.
const InstantDimensions = 384

// Instant answers every prompt of this product at once and deterministically,
// well enough for tests of the whole and for measuring everything but a model:
// a plan repeats the request's content words, a memory is judged by the words
// that it shares with the request, notes stay as they are, the answer repeats
// the first memory. It tells the prompts apart by what they ask for.
func Instant(c Call) Reply {
	if len(c.Texts) > 0 {
		return Reply{Vectors: InstantVectors(c.Texts)}
	}
	schema := string(c.Request.Schema)
	blocks := dataBlocks(c.Last())
	switch {
	case strings.Contains(schema, `"queries"`):
		text := ""
		if len(blocks) > 0 {
			text = strings.Join(contentWords(blocks[len(blocks)-1]), " ")
		}
		return jsonReply(map[string]any{
			"personal": 5, "entities": []string{},
			"queries": []any{map[string]any{"text": text, "tier": "mtm", "kinds": []string{}, "past": false}},
		})
	case strings.Contains(schema, `"useful"`):
		useful := []int{}
		if len(blocks) > 1 {
			for i, line := range strings.Split(blocks[1], "\n") {
				if overlap(blocks[0], line) > 0 {
					useful = append(useful, i+1)
				}
			}
		}
		return jsonReply(map[string]any{"useful": useful})
	case strings.Contains(schema, `"notes"`):
		notes := []any{}
		if len(blocks) > 0 {
			for i, line := range strings.Split(blocks[len(blocks)-1], "\n") {
				if _, text, ok := strings.Cut(line, ". "); ok {
					notes = append(notes, map[string]any{"n": i + 1, "text": text})
				}
			}
		}
		return jsonReply(map[string]any{"notes": notes})
	case c.Request.TopLogprobs > 0 || c.Request.MaxTokens == 1:
		p := 0.1
		if len(blocks) > 1 {
			if n := overlap(blocks[0], blocks[len(blocks)-1]); n > 0 {
				p = 1 - 0.4/float64(n+1)
			}
		}
		return Reply{Yes: &p}
	}
	for _, m := range c.Request.Messages {
		if blocks := dataBlocks(m.Text); m.Role == prompts.System && len(blocks) > 0 {
			first, _, _ := strings.Cut(blocks[0], "\n")
			return Reply{Text: "I remember: " + strings.TrimPrefix(first, "- ")}
		}
	}
	return Reply{Text: "I do not know."}
}

func jsonReply(v any) Reply {
	b, err := json.Marshal(v)
	if err != nil {
		return Reply{Fault: Nonsense}
	}
	return Reply{Text: string(b)}
}

// dataBlocks are the texts between <data> and </data>.
func dataBlocks(s string) []string {
	var out []string
	for {
		_, after, ok := strings.Cut(s, "<data>\n")
		if !ok {
			return out
		}
		block, rest, ok := strings.Cut(after, "\n</data>")
		if !ok {
			return out
		}
		out, s = append(out, block), rest
	}
}

// contentWords are the words of more than three letters, lower case.
func contentWords(s string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(w) > 3 {
			out = append(out, w)
		}
	}
	return out
}

func overlap(a, b string) int {
	in := map[string]bool{}
	for _, w := range contentWords(a) {
		in[w] = true
	}
	n := 0
	for _, w := range contentWords(b) {
		if in[w] {
			n++
			in[w] = false
		}
	}
	return n
}

// InstantVectors are unit vectors of hashed words: texts that share words are
// near each other, equal texts have equal vectors.
func InstantVectors(texts []string) [][]float32 {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		v := make([]float32, InstantDimensions)
		for _, w := range strings.Fields(strings.ToLower(t)) {
			h := fnv.New64a()
			_, _ = h.Write([]byte(w)) // never fails
			sum := h.Sum64()
			for k := range 4 { // four features a word
				feature := sum >> (16 * k)
				sign := float32(1)
				if feature&1 == 1 {
					sign = -1
				}
				v[(feature>>1)%InstantDimensions] += sign
			}
		}
		var sum float64
		for _, f := range v {
			sum += float64(f) * float64(f)
		}
		if sum == 0 {
			v[0], sum = 1, 1
		}
		n := float32(1 / math.Sqrt(sum))
		for k := range v {
			v[k] *= n
		}
		out[i] = v
	}
	return out
}
