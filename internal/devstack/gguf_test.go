package devstack

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFloat16RoundsToTheNearestEven(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   float32
		want uint16
	}{
		{"zero", 0, 0x0000},
		{"negative zero", float32(math.Copysign(0, -1)), 0x8000},
		{"one", 1, 0x3c00},
		{"minus two", -2, 0xc000},
		{"a third", 1.0 / 3, 0x3555},
		{"half-way rounds down to even", 1 + 1.0/2048, 0x3c00},
		{"half-way rounds up to even", 1 + 3.0/2048, 0x3c02},
		{"fraction carries into the exponent", 1.9999, 0x4000},
		{"largest", 65504, 0x7bff},
		{"too large", 70000, 0x7c00},
		{"smallest normal", 6.103515625e-05, 0x0400},
		{"subnormal", 5.960464477539063e-08, 0x0001},
		{"too small", 1e-9, 0x0000},
		{"infinity", float32(math.Inf(1)), 0x7c00},
		{"not a number", float32(math.NaN()), 0x7e00},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, float16(tt.in))
		})
	}
}

func TestWordPiecesMarksWordStartsAndFindsSpecialTokens(t *testing.T) {
	t.Parallel()
	words, kinds, special := wordPieces("[PAD]\n[unused0]\n[UNK]\nhouse\n##s\n")
	require.Equal(t, []string{"[PAD]", "[unused0]", "[UNK]", "\u2581house", "s"}, words)
	require.Equal(t, []int32{3, 1, 3, 1, 1}, kinds)
	require.Equal(t, map[string]uint32{"[PAD]": 0, "[UNK]": 2}, special)
}

func TestGGUFNamesCoverABERTLayer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"embeddings.word_embeddings.weight":               "token_embd.weight",
		"embeddings.LayerNorm.bias":                       "token_embd_norm.bias",
		"encoder.layer.5.attention.self.query.weight":     "blk.5.attn_q.weight",
		"encoder.layer.0.attention.output.dense.bias":     "blk.0.attn_output.bias",
		"encoder.layer.0.attention.output.LayerNorm.bias": "blk.0.attn_output_norm.bias",
		"encoder.layer.0.intermediate.dense.weight":       "blk.0.ffn_up.weight",
		"encoder.layer.0.output.dense.weight":             "blk.0.ffn_down.weight",
		"encoder.layer.0.output.LayerNorm.weight":         "blk.0.layer_output_norm.weight",
		"pooler.dense.weight":                             "",
		"embeddings.position_ids":                         "",
	} {
		require.Equal(t, want, ggufName(name), name)
	}
}
