// Package prompts holds what is said to models: the templates, embedded and
// versioned by name, their rendering, and the terms of one model call. It
// imports the standard library only, so that every stage may use it.
package prompts

import (
	"encoding/json"
	"time"
)

// Role says whose words a message is.
type Role string

// The roles of a chat.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one message of a chat with a model.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text"`
}

// Request is one call of a language model.
type Request struct {
	// Prompt is the prompt's name and version ("plan.v1"), for records and
	// metrics; it is not sent.
	Prompt   string    `json:"prompt"`
	Messages []Message `json:"messages"`
	// Schema is the JSON schema that the reply must satisfy, enforced by the
	// server while decoding and checked again after. Empty asks for plain text.
	Schema json.RawMessage `json:"schema,omitempty"`
	// MaxTokens bounds the reply; required.
	MaxTokens int `json:"max_tokens"`
	// Temperature is 0 (the likeliest token, always the same reply) by default.
	Temperature float64 `json:"temperature,omitempty"`
	// Stop ends the reply before any of these strings.
	Stop []string `json:"stop,omitempty"`
	// TopLogprobs asks for the log-probabilities of so many alternatives of the
	// reply's tokens, 0..20. A server that has none sends none: Response.Tokens
	// is then empty.
	TopLogprobs int `json:"top_logprobs,omitempty"`
	// MayBeCut says that a reply which ended at MaxTokens is as good as any: one
	// token is wanted, or the caller tells its reader.
	MayBeCut bool `json:"may_be_cut,omitempty"`
	// Emit receives the reply's pieces as they come; nil does not stream. The
	// pieces of a failed call may have been emitted.
	Emit func(piece string) `json:"-"`
}

// Finish says why a reply ended.
type Finish string

// The reasons. Anything else that a server says is kept as it is and treated
// like FinishStop when the reply is otherwise good.
const (
	FinishStop Finish = "stop"
	// FinishLength: the reply reached MaxTokens or the end of the context.
	FinishLength Finish = "length"
	// FinishRefused: the model or a content policy declined.
	FinishRefused Finish = "refused"
)

// Response is a model's reply.
type Response struct {
	Text   string `json:"text"`
	Finish Finish `json:"finish"`
	// Tokens are the reply's tokens with their log-probabilities, when asked
	// for and known to the server.
	Tokens []Token `json:"tokens,omitempty"`
	Usage  Usage   `json:"usage"`
}

// Usage is what a call cost, repetitions included.
type Usage struct {
	Calls        int           `json:"calls"`
	InputTokens  int           `json:"input_tokens"`
	OutputTokens int           `json:"output_tokens"`
	Duration     time.Duration `json:"duration"`
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Calls:        u.Calls + v.Calls,
		InputTokens:  u.InputTokens + v.InputTokens,
		OutputTokens: u.OutputTokens + v.OutputTokens,
		Duration:     u.Duration + v.Duration,
	}
}

// Token is one generated token.
type Token struct {
	Text    string  `json:"text"`
	Logprob float64 `json:"logprob"`
	// Top are the likeliest tokens at this position, the generated one
	// usually among them.
	Top []Alternative `json:"top,omitempty"`
}

// Alternative is a token that could have stood at a position.
type Alternative struct {
	Text    string  `json:"text"`
	Logprob float64 `json:"logprob"`
}
