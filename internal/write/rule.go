package write

import (
	"context"

	"github.com/lightmem/lightmem/internal/speech"
	"github.com/lightmem/lightmem/memory"
)

// RuleVersion names the rule in a draft.
const RuleVersion = "rule.write.v1"

// Rule writes without a model.
type Rule struct{}

// Draft implements activities.Writer.
func (Rule) Draft(_ context.Context, a memory.Answered) (memory.Drafted, error) {
	out := memory.Drafted{Answered: a, Version: RuleVersion}
	draft := memory.Draft{Kind: memory.KindNote, Speaker: a.Speaker, Source: memory.SourceUser, EventAt: a.At, ValidFrom: a.At, Rule: RuleVersion}
	if a.Verbatim {
		draft.Text, draft.Quote, draft.Verbatim = a.Text, a.Text, true
		out.Drafts = []memory.Draft{draft}
		return out, nil
	}
	for _, s := range speech.Sentences(a.Text) {
		if speech.IsQuestion(s.Text, speech.Language(a.Text)) {
			out.Refused = append(out.Refused, memory.Outcome{Memory: s.Text, Event: memory.EventRefused, Reason: "question"})
			continue
		}
		d := draft
		d.Text, d.Quote = a.UserName()+": "+s.Text, s.Text
		out.Drafts = append(out.Drafts, d)
	}
	return out, nil
}
