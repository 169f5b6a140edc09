// Package ollama serves models from an Ollama server over its native API. The
// OpenAI-compatible one of the same server cannot carry num_ctx, and a context
// that is too small then drops the conversation without a word
// (OpenViking#2992, mem0#2030).
package ollama

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/lightmem/lightmem/internal/model/endpoint"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// Defaults of Config.
const (
	AddressDefault       = "http://127.0.0.1:11434"
	ContextLengthDefault = 4096
	KeepAliveDefault     = 30 * time.Minute
)

// Config says which model of which server.
type Config struct {
	// Address is the server's URL. Defaults to AddressDefault.
	Address string
	// ContextLength is the num_ctx that each call asks for, in tokens; at most
	// what the model was trained for is used. All roles that share a model
	// should share it: Ollama loads the model anew for another one. Defaults to
	// ContextLengthDefault.
	ContextLength int
	// KeepAlive is how long the server keeps the model in memory after a call.
	// Defaults to KeepAliveDefault.
	KeepAlive time.Duration
	// Model is the model's name ("qwen2.5:1.5b"). Required.
	Model string
}

// Model is one model of an Ollama server. It is safe for concurrent use.
type Model struct {
	client *api.Client
	config Config
	server endpoint.Server

	mu   sync.Mutex
	card *card
}

// card is what the server says about the model.
type card struct {
	contextLength int
	// system says that the model's template places system messages. Without,
	// Ollama drops them without a word.
	system bool
}

// New returns a model. It does not reach the server.
func New(c Config) (*Model, error) {
	c.Address = cmp.Or(c.Address, AddressDefault)
	c.ContextLength = cmp.Or(c.ContextLength, ContextLengthDefault)
	c.KeepAlive = cmp.Or(c.KeepAlive, KeepAliveDefault)
	if c.Model == "" {
		return nil, memory.Invalid("model", "an ollama model needs a name, for example ollama:qwen2.5:1.5b")
	}
	base, err := url.Parse(c.Address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, memory.Invalid("address", "the address of an Ollama server looks like %s", AddressDefault)
	}
	if c.ContextLength < 0 {
		return nil, memory.Invalid("context_length", "must be positive")
	}
	return &Model{
		client: api.NewClient(base, endpoint.NewHTTPClient()),
		config: c,
		server: endpoint.Server{
			Name:    "Ollama at " + base.Redacted(),
			Model:   c.Model,
			Missing: fmt.Sprintf("run: ollama pull %s", c.Model),
		},
	}, nil
}

// Address is the server's address without credentials.
func (m *Model) Address() string { return strings.TrimPrefix(m.server.Name, "Ollama at ") }

// Name is the model's name without the tag "latest", which means the same.
func (m *Model) Name() string { return strings.TrimSuffix(m.config.Model, ":latest") }

// ContextLength is how many tokens prompt and reply may have together: what is
// configured, or less when the model was trained for less. The first call asks
// the server.
func (m *Model) ContextLength(ctx context.Context) (int, error) {
	c, err := m.show(ctx)
	if err != nil {
		return 0, err
	}
	if c.contextLength > 0 {
		return min(c.contextLength, m.config.ContextLength), nil
	}
	return m.config.ContextLength, nil
}

// show asks what the model is, once.
func (m *Model) show(ctx context.Context) (card, error) {
	m.mu.Lock()
	known := m.card
	m.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	octx, seen := endpoint.Observe(ctx)
	resp, err := m.client.Show(octx, &api.ShowRequest{Model: m.config.Model})
	if err != nil {
		return card{}, m.server.Error(ctx, seen, err)
	}
	c := card{system: resp.Renderer != "" || strings.Contains(resp.Template, ".System") ||
		strings.Contains(resp.Template, ".Messages") || resp.RemoteModel != ""}
	arch, _ := resp.ModelInfo["general.architecture"].(string)
	if n, ok := resp.ModelInfo[arch+".context_length"].(float64); ok && n > 0 && n < 1<<30 {
		c.contextLength = int(n)
	}
	m.mu.Lock()
	m.card = &c
	m.mu.Unlock()
	return c, nil
}

// Complete implements the model interface of the stages.
func (m *Model) Complete(ctx context.Context, req prompts.Request) (prompts.Response, error) {
	card, err := m.show(ctx)
	if err != nil {
		return prompts.Response{}, err
	}
	start := time.Now()
	octx, seen := endpoint.Observe(ctx)
	var out prompts.Response
	var text strings.Builder
	done := false
	err = m.client.Chat(octx, m.request(req, card), func(r api.ChatResponse) error {
		text.WriteString(r.Message.Content)
		if req.Emit != nil && r.Message.Content != "" {
			req.Emit(r.Message.Content)
		}
		for _, t := range r.Logprobs {
			token := prompts.Token{Text: t.Token, Logprob: t.Logprob, Top: make([]prompts.Alternative, len(t.TopLogprobs))}
			for i, a := range t.TopLogprobs {
				token.Top[i] = prompts.Alternative{Text: a.Token, Logprob: a.Logprob}
			}
			out.Tokens = append(out.Tokens, token)
		}
		if r.Done {
			done = true
			out.Finish = prompts.Finish(cmp.Or(r.DoneReason, string(prompts.FinishStop)))
			out.Usage.InputTokens, out.Usage.OutputTokens = r.PromptEvalCount, r.EvalCount
		}
		return nil
	})
	if err == nil && !done { // the client takes any end of the stream for its proper end
		err = cmp.Or(seen.ReadError(), errBrokeOff)
	}
	if err != nil {
		return prompts.Response{}, m.server.Error(ctx, seen, err)
	}
	out.Text = text.String()
	out.Usage.Calls, out.Usage.Duration = 1, time.Since(start)
	return out, nil
}

var errBrokeOff error = &memory.Error{Code: memory.CodeTransient, Message: "the model server's reply broke off"}

// request is req in Ollama's words.
func (m *Model) request(req prompts.Request, c card) *api.ChatRequest {
	no := false
	stream := req.Emit != nil
	options := map[string]any{
		"num_ctx":     m.config.ContextLength,
		"num_predict": req.MaxTokens,
		"temperature": req.Temperature,
		"seed":        1, // the same prompt gives the same reply
	}
	if c.contextLength > 0 {
		options["num_ctx"] = min(c.contextLength, m.config.ContextLength)
	}
	if len(req.Stop) > 0 {
		options["stop"] = req.Stop
	}
	return &api.ChatRequest{
		Model:     m.config.Model,
		Messages:  messages(req.Messages, c.system),
		Stream:    &stream,
		Format:    req.Schema,
		KeepAlive: &api.Duration{Duration: m.config.KeepAlive},
		Options:   options,
		Think:     &api.ThinkValue{Value: false},
		// A prompt that does not fit is an error, not a shorter prompt, and a
		// reply does not push the prompt out of the context.
		Truncate:    &no,
		Shift:       &no,
		Logprobs:    req.TopLogprobs > 0,
		TopLogprobs: req.TopLogprobs,
	}
}

// messages translates messages. When the model's template has no place for a
// system message, its text goes to the front of the first message of the user.
func messages(in []prompts.Message, system bool) []api.Message {
	out := make([]api.Message, 0, len(in))
	var carried string
	for _, msg := range in {
		if msg.Role == prompts.System && !system {
			carried += msg.Text + "\n\n"
			continue
		}
		text := msg.Text
		if msg.Role == prompts.User && carried != "" {
			text, carried = carried+text, ""
		}
		out = append(out, api.Message{Role: string(msg.Role), Content: text})
	}
	return out
}

// Embed returns one vector a text as the server sends them. Texts longer than
// the model's context are cut by the server, which knows its tokenizer.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, prompts.Usage, error) {
	start := time.Now()
	octx, seen := endpoint.Observe(ctx)
	yes := true
	resp, err := m.client.Embed(octx, &api.EmbedRequest{
		Model:     m.config.Model,
		Input:     texts,
		KeepAlive: &api.Duration{Duration: m.config.KeepAlive},
		Truncate:  &yes,
	})
	if err != nil {
		return nil, prompts.Usage{}, m.server.Error(ctx, seen, err)
	}
	return resp.Embeddings, prompts.Usage{Calls: 1, InputTokens: resp.PromptEvalCount, Duration: time.Since(start)}, nil
}
