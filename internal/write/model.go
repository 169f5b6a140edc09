package write

import (
	"context"
	"encoding/json"
	"math"
	"slices"
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

// ConfidenceDefault is how sure a model must be of whom a pronoun means: the
// probability of its whole reply. A 1.5B model gave right names .57 to .99.
const ConfidenceDefault = 0.5

// maxNotes bounds how many sentences of a turn may be reworded; the rest stays
// as it is.
const maxNotes = 8

// reasonReplaced is the reason of what a rewording took the place of.
const reasonReplaced = "replaced by its rewording"

// ModelOptions says how far a model's words are trusted.
type ModelOptions struct {
	// Confidence is the least probability, 0..1, of the model's reply to whom a
	// pronoun means. Defaults to ConfidenceDefault; a value above 1 trusts no
	// rewording, so that the rule's words always stay.
	Confidence float64
}

// Model writes with a small language model (SLM-3) on the basis of the rule's
// drafts, which keep the speaker's own words. It does one thing that the rule
// cannot: say whom and what pronouns mean. The model rewords the user's
// sentences that hold a pronoun, those of drafts and those that the rule refused
// because they do not stand alone ("It was closed" → "The lighthouse was
// closed"). The rule drafts the reworded sentence in place of the first one, so
// that names, dates, kinds and conflicts are the rule's as ever, only when the
// host has found that
//
//   - every word, name and number in it was said by the user or in the context,
//   - nothing of the sentence is lost but pronouns, nothing negated or affirmed,
//   - it keeps the subject, unless that was a pronoun, and no pronoun of the
//     third person became the speaker,
//   - and the model, asked apart for each pronoun that is gone whom it means,
//     names with confidence what the sentence now says.
//
// Otherwise everything stays as it was. What was replaced and what was refused
// are both among the result's Refused, for audit. A turn without pronouns costs
// no call.
//
// Why whom and not whether: asked yes or no "does the conversation say this
// note?", Qwen2.5-Coder-1.5B told nine right sentences from nine with the wrong
// subject no better than chance (area under the curve .47 to .51, three
// wordings of the question); asked whom a pronoun means, its first choice named
// the right person for each of the five persons in the same sentences. It is
// never asked what to leave out: it ranks small talk last but mixes the rest.
type Model struct {
	model      model
	base       writer
	prompt     *prompts.Set
	confidence float64
}

// NewModel returns a writer that lets the model reword base's drafts.
func NewModel(m model, base writer, set *prompts.Set, o ModelOptions) *Model {
	if o.Confidence == 0 {
		o.Confidence = ConfidenceDefault
	}
	return &Model{model: m, base: base, prompt: set, confidence: o.Confidence}
}

// note is a sentence of the user's to be reworded, in his own words: that of
// some drafts, or one that the rule refused.
type note struct {
	text    string
	refused int // its place among the refused, -1 for that of drafts
}

// Draft implements activities.Writer.
func (w *Model) Draft(ctx context.Context, a memory.Answered) (memory.Drafted, error) {
	out, err := w.base.Draft(ctx, a)
	if err != nil {
		return memory.Drafted{}, err
	}
	notes := unclear(out)
	if len(notes) == 0 {
		return out, nil
	}
	skip, reworded, err := w.reword(ctx, out, notes)
	if err != nil {
		return memory.Drafted{}, err
	}
	said := newSources(a)
	for k, n := range notes {
		text := reworded[k]
		if text == "" || plain(text) == plain(n.text) {
			continue
		}
		reason := said.check(text, n.text)
		if reason == "" {
			if reason, err = w.confirm(ctx, out, skip, n.text, text); err != nil {
				return memory.Drafted{}, err
			}
		}
		if reason == "" {
			if reason, err = w.replace(ctx, &out, a, n, text); err != nil {
				return memory.Drafted{}, err
			}
		}
		if reason != "" {
			out.Refused = append(out.Refused, memory.Outcome{Memory: text, Event: memory.EventRefused, Reason: "rewording: " + reason})
		}
	}
	out.Version = prompts.Write + "+" + out.Version
	return out, nil
}

// unclear lists the sentences that a pronoun keeps from standing alone. A
// draft's sentence is its quote: the draft itself names its speaker ("Marta:
// She moved"), which a small model takes for the one who is meant.
func unclear(d memory.Drafted) []note {
	var out []note
	seen := make(map[string]bool)
	for _, draft := range d.Drafts {
		if !draft.Verbatim && draft.Source == memory.SourceUser && len(pronouns(draft.Quote)) > 0 && !seen[draft.Quote] {
			seen[draft.Quote] = true
			out = append(out, note{refused: -1, text: draft.Quote})
		}
	}
	for i, r := range d.Refused {
		if (r.Reason == reasonFragment || r.Reason == reasonImpersonal) && len(pronouns(r.Memory)) > 0 {
			out = append(out, note{refused: i, text: r.Memory})
		}
	}
	return out[:min(len(out), maxNotes)]
}

// replace lets the rule draft the reworded sentence and puts that in the note's
// place. It returns why it did not, "" when it did.
func (w *Model) replace(ctx context.Context, out *memory.Drafted, a memory.Answered, n note, text string) (string, error) {
	a.Text, a.Answer.Text = text, ""
	again, err := w.base.Draft(ctx, a)
	if err != nil {
		return "", err
	}
	if len(again.Drafts) == 0 {
		return "no more of a statement than before", nil
	}
	for i := range again.Drafts {
		d := &again.Drafts[i]
		d.Rule, d.Quote = d.Rule+"+"+prompts.Write, n.text
	}
	if n.refused >= 0 {
		out.Refused[n.refused].Reason = reasonReplaced
		out.Drafts = append(out.Drafts, again.Drafts...)
		return "", nil
	}
	at := slices.IndexFunc(out.Drafts, func(d memory.Draft) bool { return d.Quote == n.text })
	kept := make([]memory.Draft, 0, len(out.Drafts)+len(again.Drafts))
	for i, d := range out.Drafts {
		if i == at {
			kept = append(kept, again.Drafts...)
		}
		if d.Quote == n.text && d.Source == memory.SourceUser {
			out.Refused = append(out.Refused, memory.Outcome{Memory: d.Text, Event: memory.EventRefused, Reason: reasonReplaced})
			continue
		}
		kept = append(kept, d)
	}
	out.Drafts = kept
	return "", nil
}

// reword asks for the notes in the model's words; "" for those that it left
// out. skip is how many of the oldest messages of the conversation did not fit.
func (w *Model) reword(ctx context.Context, d memory.Drafted, notes []note) (skip int, out []string, _ error) {
	texts := make([]string, len(notes))
	size := 0
	for k, n := range notes {
		texts[k] = n.text
		size += len(n.text)
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
	out = make([]string, len(texts))
	for _, n := range reply.Notes {
		if n.N >= 1 && n.N <= len(out) && out[n.N-1] == "" { // graphiti#939: numbers out of range
			out[n.N-1] = strings.TrimSpace(prompts.Line(n.Text))
		}
	}
	return skip, out, nil
}

// confirm asks of each pronoun that the rewording replaced whom it means, and
// returns why the rewording is not confirmed, "" when it is.
func (w *Model) confirm(ctx context.Context, d memory.Drafted, skip int, before, after string) (string, error) {
	left := pronouns(after)
	asked := false
	for _, word := range pronouns(before) {
		if i := slices.IndexFunc(left, func(l string) bool { return strings.EqualFold(l, word) }); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		asked = true
		meant, confidence, err := w.who(ctx, d, skip, before, word)
		if err != nil {
			return "", err
		}
		if confidence < w.confidence {
			return "unsure whom it means", nil
		}
		now := make(map[string]bool)
		for _, said := range split(after) {
			now[strings.ToLower(said)] = true
		}
		named := false
		for _, m := range split(meant) {
			lm := strings.ToLower(m)
			if function[lm] {
				continue
			}
			if named = now[lm] || overlaps(lm, strings.ToLower(after)); !named {
				break
			}
		}
		if !named {
			return "it means another", nil
		}
	}
	if !asked {
		return "it changes more than pronouns", nil
	}
	return "", nil
}

// whoTokens bounds the reply to whom a word means.
const whoTokens = 12

// who asks whom or what a word of the note means. confidence is the
// probability of the reply; 0 when the server tells no log-probabilities, for
// then there is no measure of how sure the model is.
func (w *Model) who(ctx context.Context, d memory.Drafted, skip int, text, word string) (meant string, confidence float64, _ error) {
	req, err := w.prompt.Render(prompts.Who, map[string]any{
		"Context": spoken(d.Turn, skip), "User": d.UserName(), "Input": d.Text, "Note": text, "Word": word,
	})
	if err != nil {
		return "", 0, memory.Wrap(memory.CodeInternal, err, "render who prompt")
	}
	req.MaxTokens, req.TopLogprobs, req.MayBeCut, req.Stop = whoTokens, 2, true, []string{"\n"}
	resp, err := w.model.Complete(ctx, req)
	if err != nil {
		return "", 0, err
	}
	if len(resp.Tokens) == 0 || resp.Finish == prompts.FinishLength {
		return resp.Text, 0, nil
	}
	sum := 0.0
	for _, t := range resp.Tokens {
		if strings.ContainsFunc(t.Text, isWordRune) { // how it ends is no matter
			sum += t.Logprob
		}
	}
	return resp.Text, math.Exp(sum), nil
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
