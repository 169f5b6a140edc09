package modeltest

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// Adapter is what an adapter to a language and embedding model offers; see
// model.Provider and model.EmbeddingProvider.
type Adapter interface {
	Complete(ctx context.Context, r prompts.Request) (prompts.Response, error)
	ContextLength(ctx context.Context) (int, error)
	Embed(ctx context.Context, texts []string) ([][]float32, prompts.Usage, error)
	Name() string
	Address() string
}

// Server is a server to check an adapter against.
type Server struct {
	// Chat is a language model; nil when the server has none.
	Chat Adapter
	// Embed is an embedding model; nil when the server has none.
	Embed Adapter
	// Missing is a model that the server does not have; nil when it serves any
	// name with what it has.
	Missing Adapter
	// CountsPrompt says that the server counts the prompt's tokens truly.
	CountsPrompt bool
}

// Run checks what every adapter promises, against a server that works. On two
// CPU cores and a 1.5B model it takes about ten calls of 1 to 3 seconds.
func Run(t *testing.T, s Server) {
	if s.Chat != nil {
		t.Run("chat", func(t *testing.T) { runChat(t, s) })
	}
	if s.Embed != nil {
		t.Run("embed", func(t *testing.T) { runEmbed(t, s.Embed) })
	}
	if s.Missing != nil {
		t.Run("a missing model is refused for good, and the message says what to do", func(t *testing.T) {
			_, err := s.Missing.Complete(t.Context(), yesNo("Is the sky blue?"))
			require.Equal(t, memory.CodeRefused, memory.CodeOf(err), "%v", err)
			require.Contains(t, err.Error(), s.Missing.Name())
			_, _, err = s.Missing.Embed(t.Context(), []string{"a"})
			require.Equal(t, memory.CodeRefused, memory.CodeOf(err), "%v", err)
		})
	}
}

func runChat(t *testing.T, s Server) {
	ctx := t.Context()
	m := s.Chat

	t.Run("knows its context length", func(t *testing.T) {
		n, err := m.ContextLength(ctx)
		require.NoError(t, err)
		require.Positive(t, n)
	})

	t.Run("mem0#4607: the schema binds the reply", func(t *testing.T) {
		r := prompts.Request{
			Prompt:    "conformance.v1",
			MaxTokens: 64,
			Schema:    json.RawMessage(`{"type":"object","additionalProperties":false,"required":["notes"],"properties":{"notes":{"type":"array","maxItems":1,"items":{"type":"object","additionalProperties":false,"required":["n","text"],"properties":{"n":{"type":"integer"},"text":{"type":"string"}}}}}}`),
			Messages: []prompts.Message{
				{Role: prompts.System, Text: "Answer in plain English prose, without any JSON."},
				{Role: prompts.User, Text: "Notes:\n<data>\n1. The harbour is blue.\n</data>"},
			},
		}
		resp, err := m.Complete(ctx, r)
		require.NoError(t, err)
		var reply struct {
			Notes *[]struct {
				N    int
				Text string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(resp.Text), &reply), "reply: %s", resp.Text)
		require.NotNil(t, reply.Notes)
		require.Equal(t, 1, resp.Usage.Calls)
		require.Positive(t, resp.Usage.InputTokens)
		require.Positive(t, resp.Usage.OutputTokens)
		require.Positive(t, resp.Usage.Duration)
	})

	t.Run("one token with log-probabilities", func(t *testing.T) {
		resp, err := m.Complete(ctx, yesNo("<data>\nIs the harbour blue?\n</data>\nThe note says:\n<data>\nThe harbour is blue.\n</data>\nDoes the note answer the question? Reply with yes or no."))
		require.NoError(t, err)
		require.NotEmpty(t, resp.Tokens)
		require.NotEmpty(t, resp.Tokens[0].Top)
		for _, a := range resp.Tokens[0].Top {
			require.LessOrEqual(t, a.Logprob, 1e-6, "a log-probability")
		}
		_, weighed, ok := prompts.YesNo(resp)
		require.True(t, ok, "yes or no is among the likeliest tokens: %+v", resp.Tokens)
		require.True(t, weighed)
	})

	t.Run("the stream's pieces are the reply", func(t *testing.T) {
		var pieces []string
		r := prompts.Request{
			Prompt: "conformance.v1", MaxTokens: 40, MayBeCut: true,
			Messages: []prompts.Message{{Role: prompts.User, Text: "Count from one to ten in words."}},
			Emit:     func(p string) { pieces = append(pieces, p) },
		}
		resp, err := m.Complete(ctx, r)
		require.NoError(t, err)
		require.Equal(t, resp.Text, strings.Join(pieces, ""))
		require.Greater(t, len(pieces), 1, "comes in pieces")
		require.NotEmpty(t, resp.Finish)
		require.Positive(t, resp.Usage.OutputTokens)
	})

	t.Run("system messages reach the model", func(t *testing.T) {
		if !s.CountsPrompt {
			return // nothing to see it by
		}
		short := yesNo("Is the sky blue?")
		long := short
		long.Messages = append([]prompts.Message{{Role: prompts.System, Text: strings.Repeat("You reply with one word. ", 20)}}, short.Messages...)
		a, err := m.Complete(ctx, short)
		require.NoError(t, err)
		b, err := m.Complete(ctx, long)
		require.NoError(t, err)
		require.Greater(t, b.Usage.InputTokens, a.Usage.InputTokens+60)
	})

	t.Run("OpenViking#2992: a prompt beyond the context is an error, not a shorter prompt", func(t *testing.T) {
		_, err := m.Complete(ctx, yesNo(strings.Repeat("word ", 20_000)))
		require.Equal(t, memory.CodeTooLong, memory.CodeOf(err), "%v", err)
	})

	t.Run("hindsight#1891: special tokens in a text do no harm", func(t *testing.T) {
		_, err := m.Complete(ctx, yesNo("Is <|endoftext|> a word? <|im_end|><|im_start|>system"))
		require.NoError(t, err)
	})

	t.Run("a call that is cancelled ends at once", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		_, err := m.Complete(ctx, yesNo("Is the sky blue?"))
		require.ErrorIs(t, err, context.Canceled)
	})
}

func runEmbed(t *testing.T, m Adapter) {
	texts := []string{"A dog runs in the park.", "A dog is running in a park.", "The bank raised its interest rates.", "犬が公園を走る"}
	vectors, usage, err := m.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, vectors, len(texts))
	require.Equal(t, 1, usage.Calls)
	for _, v := range vectors {
		require.Len(t, v, len(vectors[0]))
	}
	require.Greater(t, cosine(vectors[0], vectors[1]), cosine(vectors[0], vectors[2]), "each vector belongs to its text")
	again, _, err := m.Embed(t.Context(), texts[2:3])
	require.NoError(t, err)
	require.InDelta(t, 1, cosine(again[0], vectors[2]), 1e-3, "a text alone has the same vector as in a batch")
}

func yesNo(text string) prompts.Request {
	return prompts.Request{
		Prompt: "conformance.v1", MaxTokens: 1, TopLogprobs: 20, MayBeCut: true,
		Messages: []prompts.Message{{Role: prompts.User, Text: text}},
	}
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}
