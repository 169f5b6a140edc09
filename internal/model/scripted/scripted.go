// Package scripted stands in for a model in tests and benchmarks: its replies
// come from a Go function or a table, and so does each way in which a model
// server can fail. The same script serves in the process (Model) and over HTTP
// in the words of Ollama and of OpenAI (Server), so that the real adapters can
// be driven through each failure.
//
// It is no model: production configuration refuses it.
package scripted

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// Fault is a way to fail.
type Fault string

// The faults. In the process each is the error, or the reply, that the adapters
// make of what the Server does.
const (
	// Down: the connection is closed without a reply.
	Down Fault = "down"
	// Slow: no reply until the caller gives up.
	Slow Fault = "slow"
	// Nonsense: bytes that are not the protocol's.
	Nonsense Fault = "nonsense"
	// BrokenOff: the reply ends in the middle, before the server said that it is done.
	BrokenOff Fault = "broken-off"
	// Truncated: the reply's text is cut at half its length, with finish reason "length".
	Truncated Fault = "truncated"
	// Refusing: the content policy declines.
	Refusing Fault = "refusing"
	// WrongSchema: JSON, but not what the schema asks for.
	WrongSchema Fault = "wrong-schema"
	// Prose: words instead of JSON, neither yes nor no.
	Prose Fault = "prose"
	// Empty: a well-formed reply without a text.
	Empty Fault = "empty"
	// TooFew: one vector less than texts.
	TooFew Fault = "too-few"
	// WrongDimension: the last vector is shorter than the others.
	WrongDimension Fault = "wrong-dimension"
	// Busy: HTTP 429 with Retry-After.
	Busy Fault = "busy"
	// Failing: HTTP 500.
	Failing Fault = "failing"
	// Missing: the server does not have the model.
	Missing Fault = "missing"
	// Unauthorized: HTTP 401.
	Unauthorized Fault = "unauthorized"
	// TooLong: HTTP 400 that says that the prompt exceeds the context.
	TooLong Fault = "too-long"
	// Forgetful: the reply is good, but the server read a fraction of the prompt.
	Forgetful Fault = "forgetful"
)

// Faults lists all faults.
func Faults() []Fault {
	return []Fault{
		Down, Slow, Nonsense, BrokenOff, Truncated, Refusing, WrongSchema, Prose, Empty, TooFew,
		WrongDimension, Busy, Failing, Missing, Unauthorized, TooLong, Forgetful,
	}
}

// BusyWait is what a Busy server asks to be left alone for.
const BusyWait = 7 * time.Second

// Call is what a script is asked.
type Call struct {
	Model string
	// Request is a chat; Prompt is empty when it came over HTTP.
	Request prompts.Request
	// Texts are to be embedded; empty for a chat.
	Texts []string
}

// Last is the last message's text, "" for embeddings.
func (c Call) Last() string {
	if n := len(c.Request.Messages); n > 0 {
		return c.Request.Messages[n-1].Text
	}
	return ""
}

// Reply is what a script answers.
type Reply struct {
	Text string `json:"text"`
	// Yes, when set, is the probability of "yes" in a yes-or-no reply; the
	// reply then carries log-probabilities, if they were asked for.
	Yes *float64 `json:"yes,omitempty"`
	// Finish is FinishStop when empty.
	Finish prompts.Finish `json:"finish,omitempty"`
	// Vectors answer Texts; InstantVectors of them when nil.
	Vectors [][]float32 `json:"vectors,omitempty"`
	Fault   Fault       `json:"fault,omitempty"`
}

// Script answers calls. It is called concurrently.
type Script func(Call) Reply

// Always answers every call alike.
func Always(r Reply) Script { return func(Call) Reply { return r } }

// Row is one line of a table: the reply to calls whose last message, or one of
// whose texts, contains When.
type Row struct {
	When string `json:"when"`
	Reply
}

// Table answers with the first row that matches, else with Instant.
func Table(rows []Row) Script {
	return func(c Call) Reply {
		for _, row := range rows {
			if strings.Contains(c.Last(), row.When) {
				return row.Reply
			}
			for _, t := range c.Texts {
				if strings.Contains(t, row.When) {
					return row.Reply
				}
			}
		}
		return Instant(c)
	}
}

// Parse returns the script that a configuration names: "instant", a fault, or
// the path of a JSON file with a list of rows.
func Parse(name string) (Script, error) {
	if name == "instant" {
		return Instant, nil
	}
	for _, f := range Faults() {
		if name == string(f) {
			return Always(Reply{Fault: f}), nil
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "model", Message: "a scripted model is instant, a fault, or a readable file", Cause: err}
	}
	var rows []Row
	if err := json.Unmarshal(data, &rows); err != nil {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "model", Message: "the script is no JSON list of rows", Cause: err}
	}
	return Table(rows), nil
}

// Model is a scripted model within the process. It is both a language and an
// embedding model, and safe for concurrent use.
type Model struct {
	name   string
	script Script
	// Context is the context length in tokens; 1<<20 when zero.
	Context int
}

// New returns a model that follows the script.
func New(name string, s Script) *Model { return &Model{name: name, script: s} }

// Name is the model's name.
func (m *Model) Name() string { return m.name }

// Address is where it is served: nowhere.
func (m *Model) Address() string { return "scripted" }

// ContextLength implements model.Provider.
func (m *Model) ContextLength(context.Context) (int, error) {
	if m.Context > 0 {
		return m.Context, nil
	}
	return 1 << 20, nil
}

// Complete implements model.Provider.
func (m *Model) Complete(ctx context.Context, r prompts.Request) (prompts.Response, error) {
	call := Call{Model: m.name, Request: r}
	reply := m.script(call)
	if err := m.fail(ctx, reply.Fault); err != nil {
		return prompts.Response{}, err
	}
	resp := respond(call, reply)
	if r.Emit != nil {
		for _, piece := range pieces(resp.Text) {
			r.Emit(piece)
		}
	}
	return resp, nil
}

// Embed implements model.EmbeddingProvider.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, prompts.Usage, error) {
	reply := m.script(Call{Model: m.name, Texts: texts})
	if err := m.fail(ctx, reply.Fault); err != nil {
		return nil, prompts.Usage{}, err
	}
	return vectors(texts, reply), prompts.Usage{Calls: 1, InputTokens: len(texts)}, nil
}

// fail returns the error of the faults that are no replies.
func (m *Model) fail(ctx context.Context, f Fault) error {
	switch f {
	case Down:
		return memory.Errorf(memory.CodeUnavailable, "%s cannot be reached", m.name)
	case Slow:
		<-ctx.Done()
		if context.Cause(ctx) == context.Canceled {
			return memory.Wrap(memory.CodeTransient, ctx.Err(), "the call of %s was cancelled", m.name)
		}
		return memory.Wrap(memory.CodeUnavailable, ctx.Err(), "%s did not answer in time", m.name)
	case Nonsense:
		return memory.Errorf(memory.CodeInvalidOutput, "%s sent something that is no reply", m.name)
	case BrokenOff:
		return memory.Errorf(memory.CodeTransient, "the reply of %s broke off", m.name)
	case Busy:
		return &memory.Error{Code: memory.CodeTransient, RetryAfter: BusyWait, Message: m.name + " is busy"}
	case Failing:
		return memory.Errorf(memory.CodeTransient, "%s failed", m.name)
	case Missing:
		return memory.Errorf(memory.CodeRefused, "there is no model %q", m.name)
	case Unauthorized:
		return memory.Errorf(memory.CodeRefused, "%s refuses the credentials", m.name)
	case TooLong:
		return memory.Errorf(memory.CodeTooLong, "the prompt does not fit the context of %s", m.name)
	}
	return nil
}

// respond is the reply as a response, for faults that are replies too.
func respond(c Call, r Reply) prompts.Response {
	input := 0
	for _, m := range c.Request.Messages {
		input += len(m.Text) / 4
	}
	out := prompts.Response{Text: r.Text, Finish: r.Finish, Usage: prompts.Usage{Calls: 1, InputTokens: input + 1, OutputTokens: len(r.Text)/4 + 1}}
	if out.Finish == "" {
		out.Finish = prompts.FinishStop
	}
	switch r.Fault {
	case Truncated:
		if out.Text == "" {
			out.Text = Instant(c).Text
		}
		out.Text, out.Finish = out.Text[:len(out.Text)/2], prompts.FinishLength
	case Refusing:
		out.Text, out.Finish = "", prompts.FinishRefused
	case WrongSchema:
		out.Text = `{"type":"object","properties":{"answer":{"type":"string"}}}` // graphiti#868: the schema instead of data
	case Prose:
		out.Text = "Well, that depends on how you look at it."
	case Empty:
		out.Text = ""
	case Forgetful:
		if out.Text == "" {
			out.Text = Instant(c).Text
		}
		out.Usage.InputTokens = 1
	}
	if r.Yes != nil {
		p := min(max(*r.Yes, 1e-9), 1-1e-9)
		yes, no := prompts.Alternative{Text: "yes", Logprob: math.Log(p)}, prompts.Alternative{Text: "no", Logprob: math.Log(1 - p)}
		if p < 0.5 {
			yes, no = no, yes
		}
		out.Text = yes.Text
		if c.Request.TopLogprobs > 0 {
			out.Tokens = []prompts.Token{{Text: yes.Text, Logprob: yes.Logprob, Top: []prompts.Alternative{yes, no}}}
		}
	}
	return out
}

// vectors are the reply to texts.
func vectors(texts []string, r Reply) [][]float32 {
	out := r.Vectors
	if out == nil {
		out = InstantVectors(texts)
	}
	switch {
	case r.Fault == TooFew && len(out) > 0:
		out = out[:len(out)-1]
	case r.Fault == WrongDimension && len(out) > 0:
		out = slices.Clone(out)
		last := len(out) - 1
		out[last] = out[last][:len(out[last])/2]
	case r.Fault == Empty:
		out = [][]float32{}
	}
	return out
}

// pieces cuts a text as a stream does.
func pieces(text string) []string {
	var out []string
	for text != "" {
		i := strings.IndexByte(text[1:], ' ') + 1
		if i == 0 {
			i = len(text)
		}
		out, text = append(out, text[:i]), text[i:]
	}
	return out
}
