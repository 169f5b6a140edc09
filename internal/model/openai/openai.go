// Package openai serves models from any endpoint that speaks the OpenAI API:
// OpenAI itself, vLLM, the llama.cpp server, LiteLLM and many others.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/lightmem/lightmem/internal/model/endpoint"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// Defaults of Config.
const (
	AddressDefault = "https://api.openai.com/v1"
	// ContextLengthDefault is small on purpose: the API does not say what a
	// model can take, and too long a prompt costs a call to find out.
	ContextLengthDefault = 16_384
)

// Config says which model of which server.
type Config struct {
	// Address is the URL of the API, with its version ("http://host/v1").
	// Defaults to AddressDefault.
	Address string
	// ContextLength is how many tokens prompt and reply may have together.
	// Defaults to ContextLengthDefault.
	ContextLength int
	// Key is the API key; may be empty where the server asks for none.
	Key string
	// Model is the model's name ("gpt-4o-mini"). Required.
	Model string
}

// Model is one model of such a server. It is safe for concurrent use.
type Model struct {
	client *openai.Client
	config Config
	server endpoint.Server
}

// New returns a model. It does not reach the server.
func New(c Config) (*Model, error) {
	c.Address = strings.TrimRight(cmp.Or(c.Address, AddressDefault), "/")
	c.ContextLength = cmp.Or(c.ContextLength, ContextLengthDefault)
	if c.Model == "" {
		return nil, memory.Invalid("model", "an openai model needs a name, for example openai:gpt-4o-mini")
	}
	base, err := url.Parse(c.Address)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, memory.Invalid("address", "the address of an OpenAI-compatible server looks like %s", AddressDefault)
	}
	if c.ContextLength < 0 {
		return nil, memory.Invalid("context_length", "must be positive")
	}
	conf := openai.DefaultConfig(c.Key)
	conf.BaseURL = c.Address
	conf.HTTPClient = endpoint.NewHTTPClient()
	return &Model{
		client: openai.NewClientWithConfig(conf),
		config: c,
		server: endpoint.Server{
			Name:    "the OpenAI API at " + base.Redacted(),
			Model:   c.Model,
			Missing: "check the model's name and what the key may use",
		},
	}, nil
}

// Address is the server's address without credentials.
func (m *Model) Address() string { return strings.TrimPrefix(m.server.Name, "the OpenAI API at ") }

// Name is the model's name.
func (m *Model) Name() string { return m.config.Model }

// ContextLength is how many tokens prompt and reply may have together.
func (m *Model) ContextLength(context.Context) (int, error) { return m.config.ContextLength, nil }

// Complete implements the model interface of the stages.
func (m *Model) Complete(ctx context.Context, req prompts.Request) (prompts.Response, error) {
	start := time.Now()
	octx, seen := endpoint.Observe(ctx)
	var out prompts.Response
	var err error
	if req.Emit == nil {
		out, err = m.whole(octx, req)
	} else {
		out, err = m.stream(octx, req)
	}
	if err != nil {
		return prompts.Response{}, m.server.Error(ctx, seen, err)
	}
	out.Usage.Calls, out.Usage.Duration = 1, time.Since(start)
	return out, nil
}

func (m *Model) whole(ctx context.Context, req prompts.Request) (prompts.Response, error) {
	resp, err := m.client.CreateChatCompletion(ctx, m.request(req))
	if err != nil {
		return prompts.Response{}, err
	}
	if len(resp.Choices) == 0 {
		return prompts.Response{}, m.empty()
	}
	choice := resp.Choices[0]
	out := prompts.Response{
		Text:   choice.Message.Content,
		Finish: finish(choice.FinishReason),
		Usage:  prompts.Usage{InputTokens: resp.Usage.PromptTokens, OutputTokens: resp.Usage.CompletionTokens},
	}
	if choice.Message.Refusal != "" {
		out.Finish = prompts.FinishRefused
	}
	if choice.LogProbs != nil {
		for _, t := range choice.LogProbs.Content {
			token := prompts.Token{Text: t.Token, Logprob: t.LogProb, Top: make([]prompts.Alternative, len(t.TopLogProbs))}
			for i, a := range t.TopLogProbs {
				token.Top[i] = prompts.Alternative{Text: a.Token, Logprob: a.LogProb}
			}
			out.Tokens = append(out.Tokens, token)
		}
	}
	return out, nil
}

func (m *Model) stream(ctx context.Context, req prompts.Request) (out prompts.Response, err error) {
	r := m.request(req)
	r.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	s, err := m.client.CreateChatCompletionStream(ctx, r)
	if err != nil {
		return prompts.Response{}, err
	}
	defer func() { _ = s.Close() }() // nothing to lose: the reply is read
	var text strings.Builder
	parts := 0
	for ; ; parts++ {
		part, err := s.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return prompts.Response{}, err
		}
		if part.Usage != nil {
			out.Usage.InputTokens, out.Usage.OutputTokens = part.Usage.PromptTokens, part.Usage.CompletionTokens
		}
		if len(part.Choices) == 0 {
			continue
		}
		choice := part.Choices[0]
		if piece := choice.Delta.Content; piece != "" {
			text.WriteString(piece)
			req.Emit(piece)
		}
		if choice.Delta.Refusal != "" {
			out.Finish = prompts.FinishRefused
		}
		if choice.FinishReason != "" && out.Finish != prompts.FinishRefused {
			out.Finish = finish(choice.FinishReason)
		}
		if choice.Logprobs != nil {
			for _, t := range choice.Logprobs.Content {
				token := prompts.Token{Text: t.Token, Logprob: t.Logprob, Top: make([]prompts.Alternative, len(t.TopLogprobs))}
				for i, a := range t.TopLogprobs {
					token.Top[i] = prompts.Alternative{Text: a.Token, Logprob: a.Logprob}
				}
				out.Tokens = append(out.Tokens, token)
			}
		}
	}
	switch {
	case parts == 0: // whatever that was, it was no stream of events
		return prompts.Response{}, memory.Errorf(memory.CodeInvalidOutput, "%s (%s) sent something that is no reply", m.server.Name, m.config.Model)
	case out.Finish == "": // the connection ended before the reply did
		return prompts.Response{}, memory.Errorf(memory.CodeTransient, "the reply of %s (%s) broke off", m.server.Name, m.config.Model)
	}
	out.Text = text.String()
	return out, nil
}

func (m *Model) empty() error {
	return memory.Errorf(memory.CodeInvalidOutput, "%s (%s) sent a reply without choices", m.server.Name, m.config.Model)
}

// request is req in OpenAI's words.
func (m *Model) request(req prompts.Request) openai.ChatCompletionRequest {
	seed := 1 // the same prompt gives the same reply, as far as the server can
	r := openai.ChatCompletionRequest{
		Model:    m.config.Model,
		Messages: make([]openai.ChatCompletionMessage, len(req.Messages)),
		Stop:     req.Stop,
		Seed:     &seed,
	}
	for i, msg := range req.Messages {
		r.Messages[i] = openai.ChatCompletionMessage{Role: string(msg.Role), Content: msg.Text}
	}
	if len(req.Schema) > 0 {
		r.ResponseFormat = &openai.ChatCompletionResponseFormat{
			Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{
				Name:   schemaName(req.Prompt),
				Schema: json.RawMessage(req.Schema),
				Strict: true,
			},
		}
	}
	if m.reasons() {
		// These models take no temperature and tell no log-probabilities, and
		// what they think counts as reply.
		r.MaxCompletionTokens = req.MaxTokens + reasoningTokens
		r.ReasoningEffort = "low"
		return r
	}
	//lint:ignore SA1019 compatible servers know this name; only OpenAI's reasoning models do not
	r.MaxTokens = req.MaxTokens
	r.Temperature = max(float32(req.Temperature), coldest)
	r.LogProbs, r.TopLogProbs = req.TopLogprobs > 0, req.TopLogprobs
	return r
}

// coldest stands for a temperature of 0, which the library leaves out, and the
// server would then take 1. The smallest float that it proposes instead makes
// llama.cpp divide by it, and its replies random.
const coldest = 1e-3

// reasoningTokens is what a reasoning model may think before its reply.
const reasoningTokens = 2048

// reasons reports whether the model is one of OpenAI's reasoning models.
func (m *Model) reasons() bool {
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(m.config.Model, prefix) {
			return true
		}
	}
	return false
}

// schemaName is a name that the API accepts: letters, digits, _ and -.
func schemaName(prompt string) string {
	return cmp.Or(strings.ReplaceAll(prompt, ".", "_"), "reply")
}

func finish(r openai.FinishReason) prompts.Finish {
	switch r {
	case openai.FinishReasonContentFilter:
		return prompts.FinishRefused
	case openai.FinishReasonLength:
		return prompts.FinishLength
	case openai.FinishReasonStop:
		return prompts.FinishStop
	}
	return prompts.Finish(r)
}

// Embed returns the vectors that the server sends, in the order of the texts as
// far as the server says it.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, prompts.Usage, error) {
	start := time.Now()
	octx, seen := endpoint.Observe(ctx)
	resp, err := m.client.CreateEmbeddings(octx, openai.EmbeddingRequest{
		Input:          texts,
		Model:          openai.EmbeddingModel(m.config.Model),
		EncodingFormat: openai.EmbeddingEncodingFormatFloat,
	})
	if err != nil {
		return nil, prompts.Usage{}, m.server.Error(ctx, seen, err)
	}
	vectors := make([][]float32, len(resp.Data))
	for _, d := range resp.Data {
		if d.Index < 0 || d.Index >= len(vectors) || vectors[d.Index] != nil {
			return nil, prompts.Usage{}, memory.Errorf(memory.CodeInvalidOutput, "%s (%s) numbered its vectors wrongly", m.server.Name, m.config.Model)
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, prompts.Usage{Calls: 1, InputTokens: resp.Usage.PromptTokens, Duration: time.Since(start)}, nil
}
