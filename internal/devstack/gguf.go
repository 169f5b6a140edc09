package devstack

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The sentence embedding model comes as safetensors; both model servers read
// GGUF. This file writes the one as the other: the same numbers (matrices in
// half precision) under llama.cpp's names.

// ggufAlignment is where each tensor's data starts a multiple of.
const ggufAlignment = 32

// GGUF's value types and tensor types, by their numbers in the format.
const (
	ggufUint32  uint32 = 4
	ggufInt32   uint32 = 5
	ggufFloat32 uint32 = 6
	ggufBool    uint32 = 7
	ggufString  uint32 = 8
	ggufArray   uint32 = 9

	ggmlFloat32 uint32 = 0
	ggmlFloat16 uint32 = 1
)

// safetensor is one tensor of a safetensors file.
type safetensor struct {
	DType   string   `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// convertBERT writes the BERT model in folder (config.json, vocab.txt,
// model.safetensors with 32-bit floats) as a GGUF file that pools by the mean.
func convertBERT(folder, target string) error {
	var config struct {
		Hidden    uint32  `json:"hidden_size"`
		FeedFwd   uint32  `json:"intermediate_size"`
		Epsilon   float32 `json:"layer_norm_eps"`
		Positions uint32  `json:"max_position_embeddings"`
		Heads     uint32  `json:"num_attention_heads"`
		Layers    uint32  `json:"num_hidden_layers"`
		Types     uint32  `json:"type_vocab_size"`
	}
	text, err := os.ReadFile(filepath.Join(folder, "config.json"))
	if err == nil {
		err = json.Unmarshal(text, &config)
	}
	if err != nil {
		return fmt.Errorf("read the model's configuration: %w", err)
	}
	vocabulary, err := os.ReadFile(filepath.Join(folder, "vocab.txt"))
	if err != nil {
		return fmt.Errorf("read the vocabulary: %w", err)
	}
	words, kinds, special := wordPieces(string(vocabulary))

	weights, err := os.Open(filepath.Join(folder, "model.safetensors"))
	if err != nil {
		return fmt.Errorf("open the weights: %w", err)
	}
	defer weights.Close()
	tensors, dataStart, err := readSafetensors(weights)
	if err != nil {
		return err
	}

	metadata := []struct {
		key   string
		value any
	}{
		{"general.architecture", "bert"},
		{"general.name", "all-MiniLM-L6-v2"},
		{"general.file_type", uint32(1)},
		{"bert.block_count", config.Layers},
		{"bert.context_length", config.Positions},
		{"bert.embedding_length", config.Hidden},
		{"bert.feed_forward_length", config.FeedFwd},
		{"bert.attention.head_count", config.Heads},
		{"bert.attention.layer_norm_epsilon", config.Epsilon},
		{"bert.attention.causal", false},
		{"bert.pooling_type", uint32(1)}, // mean
		{"tokenizer.ggml.model", "bert"},
		{"tokenizer.ggml.pre", "jina-v2-en"}, // the name that llama.cpp gives to plain BERT's
		{"tokenizer.ggml.token_type_count", config.Types},
		{"tokenizer.ggml.tokens", words},
		{"tokenizer.ggml.token_type", kinds},
		{"tokenizer.ggml.unknown_token_id", special["[UNK]"]},
		{"tokenizer.ggml.seperator_token_id", special["[SEP]"]}, // the format's own spelling
		{"tokenizer.ggml.padding_token_id", special["[PAD]"]},
		{"tokenizer.ggml.cls_token_id", special["[CLS]"]},
		{"tokenizer.ggml.mask_token_id", special["[MASK]"]},
	}
	names := make([]string, 0, len(tensors))
	for name := range tensors {
		if ggufName(name) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)

	out, err := os.Create(target)
	if err != nil {
		return fmt.Errorf("create GGUF file: %w", err)
	}
	defer out.Close()
	w := &ggufWriter{w: bufio.NewWriterSize(out, 1<<20)}
	w.raw([]byte("GGUF"))
	w.put(uint32(3), uint64(len(names)), uint64(len(metadata)))
	for _, pair := range metadata {
		w.text(pair.key)
		w.value(pair.value)
	}
	offset := uint64(0)
	for _, name := range names {
		tensor := tensors[name]
		if tensor.DType != "F32" {
			return fmt.Errorf("convert %s: its numbers are %s, not F32", name, tensor.DType)
		}
		w.text(ggufName(name))
		w.put(uint32(len(tensor.Shape)))
		for _, extent := range slices.Backward(tensor.Shape) { // GGUF names the fastest dimension first
			w.put(extent)
		}
		kind, size := ggufLayout(name, tensor)
		w.put(kind, offset)
		offset += roundUp(size)
	}
	w.pad()
	for _, name := range names {
		tensor := tensors[name]
		data := make([]byte, tensor.Offsets[1]-tensor.Offsets[0])
		if _, err := weights.ReadAt(data, dataStart+tensor.Offsets[0]); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if kind, _ := ggufLayout(name, tensor); kind == ggmlFloat16 {
			data = halve(data)
		}
		w.raw(data)
		w.pad()
	}
	if err := w.flush(); err != nil {
		return fmt.Errorf("write GGUF file: %w", err)
	}
	return out.Close()
}

// wordPieces turns a WordPiece vocabulary into the form that llama.cpp's
// tokenizer wants: the start of a word marked, instead of its continuation.
func wordPieces(vocabulary string) (words []string, kinds []int32, special map[string]uint32) {
	const normal, control = 1, 3
	special = map[string]uint32{}
	for line := range strings.Lines(vocabulary) {
		word := strings.TrimRight(line, "\r\n")
		kind := int32(normal)
		switch {
		case slices.Contains([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, word):
			special[word] = uint32(len(words))
			kind = control
		case strings.HasPrefix(word, "[") && strings.HasSuffix(word, "]"):
		case strings.HasPrefix(word, "##"):
			word = word[2:]
		default:
			word = "\u2581" + word
		}
		words, kinds = append(words, word), append(kinds, kind)
	}
	return words, kinds, special
}

// readSafetensors reads the header of a safetensors file and tells where the
// data starts.
func readSafetensors(file io.ReaderAt) (map[string]safetensor, int64, error) {
	var length [8]byte
	if _, err := file.ReadAt(length[:], 0); err != nil {
		return nil, 0, fmt.Errorf("read the weights' header: %w", err)
	}
	size := binary.LittleEndian.Uint64(length[:])
	if size > 16<<20 {
		return nil, 0, fmt.Errorf("read the weights' header: %d bytes are too many", size)
	}
	header := make([]byte, size)
	if _, err := file.ReadAt(header, 8); err != nil {
		return nil, 0, fmt.Errorf("read the weights' header: %w", err)
	}
	entries := map[string]json.RawMessage{}
	if err := json.Unmarshal(header, &entries); err != nil {
		return nil, 0, fmt.Errorf("read the weights' header: %w", err)
	}
	tensors := map[string]safetensor{}
	for name, entry := range entries {
		if name == "__metadata__" {
			continue
		}
		var tensor safetensor
		if err := json.Unmarshal(entry, &tensor); err != nil {
			return nil, 0, fmt.Errorf("read the weights' header: %s: %w", name, err)
		}
		tensors[name] = tensor
	}
	return tensors, 8 + int64(size), nil
}

// ggufName is llama.cpp's name of a BERT tensor, or "" for one it has no use
// for.
func ggufName(name string) string {
	if strings.HasPrefix(name, "pooler.") || name == "embeddings.position_ids" {
		return ""
	}
	return strings.NewReplacer(
		"embeddings.word_embeddings", "token_embd",
		"embeddings.token_type_embeddings", "token_types",
		"embeddings.position_embeddings", "position_embd",
		"embeddings.LayerNorm", "token_embd_norm",
		"encoder.layer", "blk",
		"attention.self.query", "attn_q",
		"attention.self.key", "attn_k",
		"attention.self.value", "attn_v",
		"attention.output.dense", "attn_output",
		"attention.output.LayerNorm", "attn_output_norm",
		"intermediate.dense", "ffn_up",
		"output.dense", "ffn_down",
		"output.LayerNorm", "layer_output_norm",
	).Replace(name)
}

// ggufLayout says how a tensor is stored and how many bytes it takes. Vectors
// and the small embedding tables stay in full precision, which llama.cpp
// expects.
func ggufLayout(name string, tensor safetensor) (kind uint32, size uint64) {
	size = uint64(tensor.Offsets[1] - tensor.Offsets[0])
	if len(tensor.Shape) < 2 || strings.Contains(name, "position_embeddings") || strings.Contains(name, "token_type_embeddings") {
		return ggmlFloat32, size
	}
	return ggmlFloat16, size / 2
}

func roundUp(n uint64) uint64 { return (n + ggufAlignment - 1) / ggufAlignment * ggufAlignment }

// halve converts little-endian 32-bit floats to 16 bits, to the nearest even.
func halve(full []byte) []byte {
	half := make([]byte, len(full)/2)
	for i := 0; i < len(full); i += 4 {
		bits := float16(math.Float32frombits(binary.LittleEndian.Uint32(full[i:])))
		binary.LittleEndian.PutUint16(half[i/2:], bits)
	}
	return half
}

// float16 rounds to half precision; what is too large becomes infinite.
func float16(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	exponent := int32(bits>>23&0xff) - 127 + 15
	fraction := bits & 0x7fffff
	switch {
	case bits&0x7fffffff > 0x7f800000:
		return sign | 0x7e00 // not a number
	case exponent >= 31:
		return sign | 0x7c00
	case exponent <= 0:
		if exponent < -10 {
			return sign
		}
		fraction |= 0x800000
		return sign | roundShift(fraction, uint32(14-exponent))
	}
	// A fraction that rounds up to one carries into the exponent, as it should.
	return sign | (uint16(exponent)<<10 + roundShift(fraction, 13))
}

// roundShift drops the lowest n bits, rounding to the nearest, halves to even.
func roundShift(value, n uint32) uint16 {
	kept := value >> n
	rest := value & (1<<n - 1)
	if half := uint32(1) << (n - 1); rest > half || rest == half && kept&1 == 1 {
		kept++
	}
	return uint16(kept)
}

// ggufWriter writes GGUF's little-endian values and remembers the first error.
type ggufWriter struct {
	w       *bufio.Writer
	written uint64
	err     error
}

func (w *ggufWriter) raw(data []byte) {
	if w.err == nil {
		_, w.err = w.w.Write(data)
		w.written += uint64(len(data))
	}
}

func (w *ggufWriter) put(values ...any) {
	for _, value := range values {
		data, err := binary.Append(nil, binary.LittleEndian, value)
		if err != nil && w.err == nil {
			w.err = err
		}
		w.raw(data)
	}
}

func (w *ggufWriter) text(s string) {
	w.put(uint64(len(s)))
	w.raw([]byte(s))
}

func (w *ggufWriter) value(value any) {
	switch v := value.(type) {
	case bool:
		w.put(ggufBool, v)
	case float32:
		w.put(ggufFloat32, v)
	case string:
		w.put(ggufString)
		w.text(v)
	case uint32:
		w.put(ggufUint32, v)
	case []int32:
		w.put(ggufArray, ggufInt32, uint64(len(v)), v)
	case []string:
		w.put(ggufArray, ggufString, uint64(len(v)))
		for _, s := range v {
			w.text(s)
		}
	default:
		w.err = fmt.Errorf("no GGUF type for %T", value)
	}
}

func (w *ggufWriter) pad() { w.raw(make([]byte, roundUp(w.written)-w.written)) }

func (w *ggufWriter) flush() error {
	if w.err != nil {
		return w.err
	}
	return w.w.Flush()
}
