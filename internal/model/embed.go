package model

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// EmbeddingProvider is an adapter to one embedding model of one server.
type EmbeddingProvider interface {
	// Embed returns the server's vectors for the texts, as they come.
	Embed(ctx context.Context, texts []string) ([][]float32, prompts.Usage, error)
	Name() string
	Address() string
}

// embedBatch is how many texts go into one call: enough to fill a GPU, few
// enough that a call stays within its timeout on two CPU cores.
const embedBatch = 32

// Embedder embeds texts. It checks what the server sends: as many vectors as
// texts (mem0#5604: fewer misalign), all of the length that the first ones had
// (mem0#1700), finite, and scaled to unit length. Its identity is the model's
// name: vectors of different models are never compared.
//
// A text longer than the model's context is embedded by its beginning: MiniLM
// reads 256 tokens. The server makes the exact cut; what is certainly beyond
// cutEmbedBytes is not even sent. Memories are short, so this concerns what a
// caller remembers verbatim: its words are found whole by the lexical channel.
type Embedder struct {
	provider EmbeddingProvider
	breaker  *breaker
	timeout  time.Duration
	meter    Meter

	mu         sync.Mutex
	dimensions int // of the first vectors; 0 before
}

// cutEmbedBytes is how much of a text is sent, and retryEmbedBytes how much
// when the server still finds it too long (one that does not cut itself).
const (
	cutEmbedBytes   = 16 << 10
	retryEmbedBytes = 1 << 10
)

// EmbedModel names the model.
func (e *Embedder) EmbedModel() string { return e.provider.Name() }

// Embed returns one unit vector for each text, in order. An empty or blank text
// is refused before any call (hindsight#2246, CodeInvalid). No texts, no call.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([]memory.Vector, error) {
	for i, t := range texts {
		if strings.TrimSpace(t) == "" {
			return nil, memory.Errorf(memory.CodeInvalid, "text %d of %d to embed is empty", i+1, len(texts))
		}
	}
	start := time.Now()
	out := make([]memory.Vector, 0, len(texts))
	var usage prompts.Usage
	var err error
	for len(out) < len(texts) && err == nil {
		var vectors []memory.Vector
		var u prompts.Usage
		vectors, u, err = e.batch(ctx, texts[len(out):min(len(out)+embedBatch, len(texts))])
		usage, out = usage.Add(u), append(out, vectors...)
	}
	if e.meter != nil && len(texts) > 0 {
		usage.Duration = time.Since(start)
		call := Call{Role: memory.RoleEmbed, Model: e.provider.Name(), Code: memory.CodeOf(err), Usage: usage}
		if scope, err := tenant.FromContext(ctx); err == nil {
			call.Tenant = scope.Tenant
		}
		e.meter.ModelCall(ctx, call)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (e *Embedder) batch(ctx context.Context, texts []string) ([]memory.Vector, prompts.Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	if uncased(e.provider.Name()) {
		texts = foldAll(texts)
	}
	raw, usage, err := e.call(ctx, cutAll(texts, cutEmbedBytes))
	if memory.CodeOf(err) == memory.CodeTooLong {
		raw, usage, err = e.call(ctx, cutAll(texts, retryEmbedBytes))
	}
	if err != nil {
		return nil, usage, err
	}
	vectors, err := e.check(raw, len(texts))
	return vectors, usage, err
}

func (e *Embedder) call(ctx context.Context, texts []string) (raw [][]float32, usage prompts.Usage, err error) {
	err = e.breaker.do(func() error {
		var err error
		raw, usage, err = e.provider.Embed(ctx, texts)
		return err
	})
	return raw, usage, err
}

func (e *Embedder) check(raw [][]float32, want int) ([]memory.Vector, error) {
	name := e.provider.Name()
	if len(raw) != want {
		return nil, memory.Errorf(memory.CodeInvalidOutput, "%s sent %d vectors for %d texts", name, len(raw), want)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	dimensions := e.dimensions
	out := make([]memory.Vector, len(raw))
	for i, v := range raw {
		if dimensions == 0 {
			dimensions = len(v)
		}
		if len(v) != dimensions || dimensions == 0 {
			return nil, memory.Errorf(memory.CodeInvalidOutput, "%s sent a vector of %d dimensions where %d were expected", name, len(v), dimensions)
		}
		out[i] = memory.Vector(v)
		if !out[i].Normalize() {
			return nil, memory.Errorf(memory.CodeInvalidOutput, "%s sent a vector that has no direction", name)
		}
	}
	e.dimensions = dimensions
	return out, nil
}

// Dimensions is the length of the model's vectors, 0 before the first.
func (e *Embedder) Dimensions() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dimensions
}

// uncased reports whether the model knows lower-case text without accents only.
// Its servers differ in what they do about that: llama.cpp folds, Ollama 0.17.4
// does not, and "Zürich" and "Zurich" are strangers there (cosine 0.17). Folded
// here, a text has one vector whoever serves the model.
func uncased(name string) bool { return strings.Contains(strings.ToLower(name), "minilm") }

// typography is punctuation beyond ASCII and what stands for it within.
var typography = strings.NewReplacer(
	"–", "-", "—", "-", "‐", "-", "‑", "-", "’", "'", "‘", "'", "‚", "'", "…", "...",
	"“", `"`, "”", `"`, "„", `"`, "«", `"`, "»", `"`, "「", `"`, "」", `"`, "『", `"`, "』", `"`,
	"。", ". ", "、", ", ", "，", ", ", "！", "! ", "？", "? ", "：", ": ", "；", "; ", "（", " (", "）", ") ",
)

// foldAll does what the tokenizer of an uncased BERT does before it looks words
// up (lower case, no accents, white space around symbols), and leaves out the
// punctuation and symbols beyond ASCII, on which the servers differ and which
// an English vocabulary hardly knows. Scripts that it lacks altogether may still
// get different vectors from different servers.
func foldAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		var b strings.Builder
		for _, r := range norm.NFD.String(strings.ToLower(typography.Replace(t))) {
			switch {
			case unicode.Is(unicode.Mn, r):
			case r >= utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r) && !unicode.Is(unicode.Sc, r)):
				b.WriteByte(' ')
			case unicode.IsSymbol(r):
				b.WriteString(" " + string(r) + " ")
			default:
				b.WriteRune(r)
			}
		}
		if out[i] = b.String(); strings.TrimSpace(out[i]) == "" {
			out[i] = t // nothing but symbols
		}
	}
	return out
}

func cutAll(texts []string, n int) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = prompts.Cut(t, n)
	}
	return out
}
