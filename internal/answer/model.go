package answer

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// model is the one call that the answerer needs; see prompts.Request.
type model interface {
	Complete(ctx context.Context, r prompts.Request) (prompts.Response, error)
}

// MaxTokensDefault is how long an answer may be.
const MaxTokensDefault = 512

// maxMemoryBytes bounds what is shown of one memory.
const maxMemoryBytes = 2000

// cutNote tells the reader of an answer that reached its bound.
const cutNote = " … (the answer was cut off here: it reached its length limit)"

// ModelOptions says how a model answers.
type ModelOptions struct {
	// MaxTokens bounds the answer. Defaults to MaxTokensDefault.
	MaxTokens int
	// Temperature is 0 by default: the same turn gets the same answer.
	Temperature float64
}

// Model answers with a language model from the user's input, the conversation
// and the selected memories with their dates.
type Model struct {
	model   model
	prompt  *prompts.Set
	options ModelOptions
}

// NewModel returns an answerer that asks the model.
func NewModel(m model, set *prompts.Set, o ModelOptions) *Model {
	o.MaxTokens = cmp.Or(o.MaxTokens, MaxTokensDefault)
	return &Model{model: m, prompt: set, options: o}
}

// shown is a memory in the prompt.
type shown struct {
	Date              time.Time
	Closed, Contested bool
	Text              string
}

// Answer implements activities.Answerer. What does not fit the model's context
// is left out: first the conversation's oldest messages, then the memories that
// were chosen last.
func (a *Model) Answer(ctx context.Context, s memory.Selected, emit func(piece string)) (memory.Answer, error) {
	memories := a.memories(s)
	var resp prompts.Response
	err := prompts.Fit(len(s.Context)+len(memories), tooLong, func(skip int) error {
		older := min(skip, len(s.Context))
		req, err := a.request(s, s.Context[older:], memories[:len(memories)-(skip-older)])
		if err != nil {
			return err
		}
		req.Emit = emit
		resp, err = a.model.Complete(ctx, req)
		return err
	})
	if err != nil {
		return memory.Answer{}, err
	}
	text := strings.TrimSpace(resp.Text)
	if resp.Finish == prompts.FinishLength {
		text += cutNote
		if emit != nil {
			emit(cutNote)
		}
	}
	return memory.Answer{Text: text, Version: prompts.Answer, Usage: memory.Usage(resp.Usage)}, nil
}

func (a *Model) request(s memory.Selected, recent []memory.Message, memories []shown) (prompts.Request, error) {
	req, err := a.prompt.Render(prompts.Answer, map[string]any{
		"Today": s.At.In(s.Location()), "User": s.UserName(), "Memories": memories,
	})
	if err != nil {
		return prompts.Request{}, memory.Wrap(memory.CodeInternal, err, "render answer prompt")
	}
	for _, m := range recent {
		role := prompts.User
		if m.From == memory.FromAssistant {
			role = prompts.Assistant
		}
		req.Messages = append(req.Messages, prompts.Message{Role: role, Text: prompts.Data(m.Text)})
	}
	req.Messages = append(req.Messages, prompts.Message{Role: prompts.User, Text: prompts.Data(s.Text)})
	req.MaxTokens, req.Temperature, req.MayBeCut = a.options.MaxTokens, a.options.Temperature, true
	return req, nil
}

func (a *Model) memories(s memory.Selected) []shown {
	chosen := s.Memories()
	out := make([]shown, len(chosen))
	for i, c := range chosen {
		out[i] = shown{
			Closed:    !c.ValidTo.IsZero() && !c.ValidTo.After(s.At),
			Contested: c.Status == memory.StatusContested,
			Text:      prompts.Cut(c.Memory, maxMemoryBytes),
		}
		if !c.EventAt.IsZero() {
			out[i].Date = c.EventAt.In(s.Location())
		}
	}
	return out
}

func tooLong(err error) bool { return memory.CodeOf(err) == memory.CodeTooLong }
