package model

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/memory"
)

func newTestEmbedder(s scripted.Script) (*Embedder, *meter) {
	met := &meter{}
	return &Embedder{provider: scripted.New("mini", s), breaker: newBreaker("m", BreakerConfig{}), timeout: time.Second, meter: met}, met
}

func TestEmbedderReturnsUnitVectorsInOrder(t *testing.T) {
	t.Parallel()
	sizes := []int{}
	e, met := newTestEmbedder(func(c scripted.Call) scripted.Reply {
		sizes = append(sizes, len(c.Texts))
		vectors := make([][]float32, len(c.Texts))
		for i, text := range c.Texts {
			vectors[i] = []float32{float32(len(text)), 3}
		}
		return scripted.Reply{Vectors: vectors}
	})
	texts := make([]string, embedBatch+3)
	for i := range texts {
		texts[i] = strings.Repeat("x", i+1)
	}
	got, err := e.Embed(t.Context(), texts)
	require.NoError(t, err)
	require.Len(t, got, len(texts))
	require.Equal(t, []int{embedBatch, 3}, sizes)
	for i, v := range got {
		n := math.Hypot(float64(i+1), 3)
		require.InDelta(t, float64(i+1)/n, v[0], 1e-6, "text %d", i)
		require.InDelta(t, 3/n, v[1], 1e-6)
	}
	require.Equal(t, 2, e.Dimensions())
	require.Equal(t, "mini", e.EmbedModel())
	require.Equal(t, 2, met.calls[0].Usage.Calls)
	require.Equal(t, memory.RoleEmbed, met.calls[0].Role)
}

func TestEmbedderRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	nan := float32(math.NaN())
	for _, tt := range []struct {
		name  string
		reply scripted.Reply
		code  memory.Code
	}{
		{"mem0#5604: fewer vectors than texts", scripted.Reply{Fault: scripted.TooFew}, memory.CodeInvalidOutput},
		{"mem0#5966: more vectors than texts", scripted.Reply{Vectors: [][]float32{{1}, {1}, {1}}}, memory.CodeInvalidOutput},
		{"none at all", scripted.Reply{Fault: scripted.Empty}, memory.CodeInvalidOutput},
		{"vectors of different lengths", scripted.Reply{Fault: scripted.WrongDimension}, memory.CodeInvalidOutput},
		{"vectors of no length", scripted.Reply{Vectors: [][]float32{{}, {}}}, memory.CodeInvalidOutput},
		{"a zero vector", scripted.Reply{Vectors: [][]float32{{1, 0}, {0, 0}}}, memory.CodeInvalidOutput},
		{"a vector that is not finite", scripted.Reply{Vectors: [][]float32{{1, 0}, {nan, 0}}}, memory.CodeInvalidOutput},
		{"server down", scripted.Reply{Fault: scripted.Down}, memory.CodeUnavailable},
		{"server busy", scripted.Reply{Fault: scripted.Busy}, memory.CodeTransient},
		{"too long even when cut", scripted.Reply{Fault: scripted.TooLong}, memory.CodeTooLong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, met := newTestEmbedder(scripted.Always(tt.reply))
			got, err := e.Embed(t.Context(), []string{"a", "b"})
			require.Equal(t, tt.code, memory.CodeOf(err), "%v", err)
			require.Nil(t, got)
			require.Equal(t, tt.code, met.calls[0].Code)
			require.Zero(t, e.Dimensions(), "a bad reply teaches nothing")
		})
	}
}

func TestEmbedderRefusesAnotherDimensionLater(t *testing.T) { // mem0#1700
	t.Parallel()
	size := 3
	e, _ := newTestEmbedder(func(scripted.Call) scripted.Reply {
		v := make([]float32, size)
		v[0] = 1
		return scripted.Reply{Vectors: [][]float32{v}}
	})
	_, err := e.Embed(t.Context(), []string{"a"})
	require.NoError(t, err)
	size = 4
	_, err = e.Embed(t.Context(), []string{"a"})
	require.Equal(t, memory.CodeInvalidOutput, memory.CodeOf(err))
	require.ErrorContains(t, err, "4 dimensions where 3")
}

func TestEmbedderRefusesEmptyTextsBeforeAnyCall(t *testing.T) { // hindsight#2246, AMS#134
	t.Parallel()
	e, _ := newTestEmbedder(func(scripted.Call) scripted.Reply {
		t.Error("called")
		return scripted.Reply{}
	})
	for _, texts := range [][]string{{""}, {"a", " \n\t"}} {
		_, err := e.Embed(t.Context(), texts)
		require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
	}
	got, err := e.Embed(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestEmbedderCutsLongTextsDeliberately(t *testing.T) {
	t.Parallel()
	var sizes []int
	e, _ := newTestEmbedder(func(c scripted.Call) scripted.Reply {
		sizes = append(sizes, len(c.Texts[0]))
		if len(c.Texts[0]) > retryEmbedBytes {
			return scripted.Reply{Fault: scripted.TooLong}
		}
		return scripted.Reply{}
	})
	_, err := e.Embed(t.Context(), []string{strings.Repeat("word ", 20_000)})
	require.NoError(t, err)
	require.Len(t, sizes, 2)
	require.LessOrEqual(t, sizes[0], cutEmbedBytes)
	require.LessOrEqual(t, sizes[1], retryEmbedBytes)
}

func TestUncasedModelsGetFoldedTexts(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"zurich, cafe - naive", "東京", "\u0301"}, foldAll([]string{"Zürich, CAFÉ — naïve", "東京", "\u0301"})[:3])
	var sent []string
	script := func(c scripted.Call) scripted.Reply {
		sent = c.Texts
		return scripted.Reply{}
	}
	for name, want := range map[string]string{"all-minilm": "zurich", "text-embedding-3-small": "Zürich"} {
		e := &Embedder{provider: scripted.New(name, script), breaker: newBreaker("m", BreakerConfig{}), timeout: time.Second}
		_, err := e.Embed(t.Context(), []string{"Zürich"})
		require.NoError(t, err)
		require.Equal(t, []string{want}, sent)
	}
}
