package write

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// model is the one call that the writer needs; see prompts.Request.
type model interface {
	Complete(ctx context.Context, r prompts.Request) (prompts.Response, error)
}

// writer composes the drafts that the model may reword.
type writer interface {
	Draft(ctx context.Context, a memory.Answered) (memory.Drafted, error)
}

// ThresholdDefault is the score from which on a reworded sentence counts as
// said by the user: yes twenty times as likely as no. A 1.5B model gave a right
// subject 3.9 and 2.8, a wrong one −0.3 and 2.6 (architecture.md, Models).
const ThresholdDefault = 3.0

// maxNotes bounds how many drafts one call may reword; the rest stays as it is.
const maxNotes = 8

// ModelOptions says how far a model's words are trusted.
type ModelOptions struct {
	// Threshold is the least log-probability of yes minus that of no for "does
	// the user say this?". Defaults to ThresholdDefault; larger or tuned models
	// may earn a lower one. Negative values are allowed, zero is the default.
	Threshold float64
}

// Model writes with a small language model (SLM-3) on the basis of the rule's
// drafts, which keep the speaker's own words. The model rewords them so that
// they stand on their own ("it was closed" → "the lighthouse was closed"). Its
// sentence replaces the rule's only when the host has found that
//
//   - every word, name and number in it is in the turn, its context or the draft,
//   - nothing that the draft says is lost, and nothing is negated or affirmed,
//   - it speaks of the same subject,
//   - and the model, asked yes or no, is sure that the user says it.
//
// Otherwise the draft stays as it was. Both, what was replaced and what was
// refused, are among the result's Refused, for audit. The model is never asked
// what to leave out: a 1.5B model ranks small talk last but mixes the rest.
type Model struct {
	model     model
	base      writer
	prompt    *prompts.Set
	threshold float64
}

// NewModel returns a writer that lets the model reword base's drafts.
func NewModel(m model, base writer, set *prompts.Set, o ModelOptions) *Model {
	if o.Threshold == 0 {
		o.Threshold = ThresholdDefault
	}
	return &Model{model: m, base: base, prompt: set, threshold: o.Threshold}
}

// Draft implements activities.Writer.
func (w *Model) Draft(ctx context.Context, a memory.Answered) (memory.Drafted, error) {
	out, err := w.base.Draft(ctx, a)
	if err != nil {
		return memory.Drafted{}, err
	}
	var which []int
	for i, d := range out.Drafts {
		if !d.Verbatim && len(which) < maxNotes {
			which = append(which, i)
		}
	}
	if len(which) == 0 {
		return out, nil
	}
	skip, notes, err := w.reword(ctx, out, which)
	if err != nil {
		return memory.Drafted{}, err
	}
	said := newSources(a)
	for k, text := range notes {
		d := &out.Drafts[which[k]]
		if text == "" || plain(text) == plain(d.Text) {
			continue
		}
		reason := said.check(text, *d)
		if reason == "" {
			score, err := w.judge(ctx, out, skip, text)
			if err != nil {
				return memory.Drafted{}, err
			}
			if score < w.threshold {
				reason = "judged not to be said"
			}
		}
		if reason != "" {
			out.Refused = append(out.Refused, memory.Outcome{Memory: text, Event: memory.EventRefused, Reason: "rewording: " + reason})
			continue
		}
		out.Refused = append(out.Refused, memory.Outcome{Memory: d.Text, Event: memory.EventRefused, Reason: "replaced by its rewording"})
		d.Text, d.Rule = text, d.Rule+"+"+prompts.Write
	}
	out.Version = prompts.Write + "+" + out.Version
	return out, nil
}

// reword asks for the drafts at the given places in the model's words; "" for
// those that the model left out. skip is how many of the oldest messages of the
// conversation did not fit.
func (w *Model) reword(ctx context.Context, d memory.Drafted, which []int) (skip int, notes []string, _ error) {
	texts := make([]string, len(which))
	size := 0
	for k, i := range which {
		texts[k] = d.Drafts[i].Text
		size += len(texts[k])
	}
	var reply struct {
		Notes []struct {
			N    int    `json:"n"`
			Text string `json:"text"`
		} `json:"notes"`
	}
	err := prompts.Fit(len(d.Context), tooLong, func(n int) error {
		skip = n
		req, err := w.prompt.Render(prompts.Write, map[string]any{
			"Context": spoken(d.Turn, n), "User": d.UserName(), "Input": d.Text, "Notes": texts,
		})
		if err != nil {
			return memory.Wrap(memory.CodeInternal, err, "render write prompt")
		}
		req.MaxTokens = 64 + 24*len(texts) + size/2 // the notes again, and their frame
		resp, err := w.model.Complete(ctx, req)
		if err != nil {
			return err
		}
		return memory.Wrap(memory.CodeInvalidOutput, json.Unmarshal([]byte(resp.Text), &reply), "read the model's notes")
	})
	if err != nil {
		return 0, nil, err
	}
	notes = make([]string, len(texts))
	for _, n := range reply.Notes {
		if n.N >= 1 && n.N <= len(notes) && notes[n.N-1] == "" { // graphiti#939: numbers out of range
			notes[n.N-1] = strings.TrimSpace(prompts.Line(n.Text))
		}
	}
	return skip, notes, nil
}

// judge asks whether the user says the note. Without log-probabilities there is
// no measure of how sure the model is, and a bare yes is not enough.
func (w *Model) judge(ctx context.Context, d memory.Drafted, skip int, note string) (float64, error) {
	req, err := w.prompt.Render(prompts.Judge, map[string]any{
		"Context": spoken(d.Turn, skip), "User": d.UserName(), "Input": d.Text, "Note": note,
	})
	if err != nil {
		return 0, memory.Wrap(memory.CodeInternal, err, "render judge prompt")
	}
	req.MaxTokens, req.TopLogprobs, req.MayBeCut = 1, 20, true
	resp, err := w.model.Complete(ctx, req)
	if err != nil {
		return 0, err
	}
	score, weighed, ok := prompts.YesNo(resp)
	if !ok {
		return 0, memory.Errorf(memory.CodeInvalidOutput, "the model answered neither yes nor no")
	}
	if !weighed {
		return min(score, w.threshold-1), nil
	}
	return score, nil
}

func tooLong(err error) bool { return memory.CodeOf(err) == memory.CodeTooLong }

// spoken is the conversation without its skip oldest messages.
func spoken(t memory.Turn, skip int) []prompts.Spoken {
	out := make([]prompts.Spoken, 0, len(t.Context))
	for _, m := range t.Context[skip:] {
		speaker := m.Speaker
		switch {
		case m.From == memory.FromAssistant:
			speaker = "Assistant"
		case speaker == "":
			speaker = t.UserName()
		}
		out = append(out, prompts.Spoken{Speaker: speaker, Text: m.Text})
	}
	return out
}
