package write

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// modelFunc is a model that a test makes up.
type modelFunc func(prompts.Request) (prompts.Response, error)

func (f modelFunc) Complete(_ context.Context, r prompts.Request) (prompts.Response, error) {
	return f(r)
}

// stub is a rule that drafts and refuses what it is told.
type stub memory.Drafted

func (s stub) Draft(_ context.Context, a memory.Answered) (memory.Drafted, error) {
	d := memory.Drafted(s)
	if a.Text != answered().Text { // a reworded sentence
		d = memory.Drafted(drafts(a.Text))
	}
	d.Answered, d.Version = a, "rule"
	d.Drafts, d.Refused = append([]memory.Draft(nil), d.Drafts...), append([]memory.Outcome(nil), d.Refused...)
	return d, nil
}

func drafts(texts ...string) stub {
	var s stub
	for _, t := range texts {
		s.Drafts = append(s.Drafts, memory.Draft{Text: t, Rule: "rule", Quote: t, Source: memory.SourceUser})
	}
	return s
}

// rewords is a model that rewords the first note so, and means that by each
// pronoun, with that probability.
func rewords(text, meant string, p float64) modelFunc {
	return func(r prompts.Request) (prompts.Response, error) {
		if r.Prompt == prompts.Who {
			return prompts.Response{Text: meant, Finish: prompts.FinishStop, Tokens: []prompts.Token{{Text: meant, Logprob: math.Log(p)}}}, nil
		}
		b, err := json.Marshal(map[string]any{"notes": []any{map[string]any{"n": 1, "text": text}}})
		return prompts.Response{Text: string(b)}, err
	}
}

func answered() memory.Answered {
	a := memory.Answered{}
	a.Scope = memory.Scope{Tenant: "tenant-id", User: "user-id"}
	a.Profile.Name, a.At = "Marta", time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)
	a.Text = "She loved the 3 songs, but it was not loud."
	a.Answer.Text = "How about trying the opera with Sofia?"
	a.Context = []memory.Message{
		{From: memory.FromUser, Text: "I took Paula to the Bach concert.", Turn: "t_1"},
		{From: memory.FromAssistant, Text: "Did she like it?"},
	}
	return a
}

func draftBy(t *testing.T, m model, b writer, a memory.Answered) (memory.Drafted, error) {
	t.Helper()
	set, err := prompts.Load()
	require.NoError(t, err)
	return NewModel(m, b, set, ModelOptions{}).Draft(t.Context(), a)
}

func TestModelsSentenceReplacesTheRulesOnlyAfterTheHostsChecks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, draft, reworded, meant string
		p                            float64
		refused                      string // "" when it replaces
	}{
		{name: "a name for a pronoun", draft: "She loved the 3 songs.", reworded: "Paula loved the 3 songs.", meant: "Paula", p: 0.9},
		{name: "a thing for a pronoun", draft: "It was not loud.", reworded: "The Bach concert was not loud.", meant: "the Bach concert", p: 0.9},
		{name: "the model is unsure whom it means", draft: "She loved the 3 songs.", reworded: "Paula loved the 3 songs.", meant: "Paula", p: 0.4, refused: "unsure"},
		{name: "asked apart, it means another", draft: "She loved the 3 songs.", reworded: "The Bach loved the 3 songs.", meant: "Paula", p: 0.9, refused: "another"},
		{name: "the speaker for a pronoun, however sure the model is", draft: "She loved the 3 songs.", reworded: "Marta loved the 3 songs.", meant: "Marta", p: 1, refused: "of himself"},
		{name: "a name that nobody said", draft: "She loved the 3 songs.", reworded: "Petra loved the 3 songs.", meant: "Petra", p: 0.9, refused: "nobody said"},
		{name: "mem0#5630: a name that is the beginning of another", draft: "She loved the 3 songs.", reworded: "The 3 songs were loved by Paul.", meant: "Paul", p: 0.9, refused: "nobody said"},
		{name: "the assistant's advice as the user's words", draft: "She loved the 3 songs.", reworded: "Sofia loved the 3 songs.", meant: "Sofia", p: 0.9, refused: "nobody said"},
		{name: "another number", draft: "She loved the 3 songs.", reworded: "Paula loved the 4 songs.", meant: "Paula", p: 0.9, refused: "nobody said"},
		{name: "a word is lost", draft: "She loved the 3 songs.", reworded: "Paula loved songs.", meant: "Paula", p: 0.9, refused: "lost"},
		{name: "a negation is lost", draft: "It was not loud.", reworded: "The Bach concert was loud.", meant: "the Bach concert", p: 0.9, refused: "lost"},
		{name: "a negation is added", draft: "She loved the 3 songs.", reworded: "Paula loved not the 3 songs.", meant: "Paula", p: 0.9, refused: "negation"},
		{name: "another subject", draft: "I took her to the concert.", reworded: "Paula and I took to the concert.", meant: "Paula", p: 0.9, refused: "subject"},
		{name: "more than pronouns", draft: "I took her to the concert.", reworded: "I took her to the Bach concert.", meant: "Paula", p: 0.9, refused: "more than pronouns"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, err := draftBy(t, rewords(tt.reworded, tt.meant, tt.p), drafts(tt.draft), answered())
			require.NoError(t, err)
			require.Len(t, d.Drafts, 1)
			require.Len(t, d.Refused, 1, "both what was replaced and what was refused are on record")
			require.Equal(t, memory.EventRefused, d.Refused[0].Event)
			if tt.refused != "" {
				require.Equal(t, tt.draft, d.Drafts[0].Text, "the speaker's own words stay")
				require.Equal(t, "rule", d.Drafts[0].Rule)
				require.Equal(t, tt.reworded, d.Refused[0].Memory)
				require.Contains(t, d.Refused[0].Reason, tt.refused)
				return
			}
			require.Equal(t, tt.reworded, d.Drafts[0].Text)
			require.Equal(t, "rule+write.v1", d.Drafts[0].Rule)
			require.Equal(t, tt.draft, d.Drafts[0].Quote)
			require.Equal(t, tt.draft, d.Refused[0].Memory)
			require.Equal(t, "write.v1+rule", d.Version)
		})
	}
}

// Qwen2.5-Coder-1.5B made "Marta moved to Porto" of the rule's draft, and said
// of it, too, that "She" means Marta.
func TestTheModelSeesTheSentenceAndNotTheDraft(t *testing.T) {
	t.Parallel()
	a := answered()
	a.Text = "She moved to Porto last week. I am glad."
	m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		last := r.Messages[len(r.Messages)-1].Text
		require.NotContains(t, last, "Marta: She moved to Porto last week (", "%s", r.Prompt)
		return rewords("Paula moved to Porto last week.", "Paula", 0.9)(r)
	})
	before, err := Rule{}.Draft(t.Context(), a)
	require.NoError(t, err)
	d, err := draftBy(t, m, Rule{}, a)
	require.NoError(t, err)
	require.Len(t, d.Drafts, len(before.Drafts))
	require.Contains(t, d.Drafts[0].Text, "Paula moved to Porto")
	require.Equal(t, before.Drafts[0].EventAt, d.Drafts[0].EventAt, "the date is the rule's")
	require.Equal(t, "She moved to Porto last week.", d.Drafts[0].Quote)
	require.Equal(t, before.Drafts[1:], d.Drafts[1:], "the others stay, in their places")
}

func TestARefusedSentenceGoesThroughTheRuleAgain(t *testing.T) {
	t.Parallel()
	a := answered()
	a.Text = "It was too loud."
	a.Context = []memory.Message{{From: memory.FromUser, Text: "My Bosch dishwasher broke."}}
	before, err := Rule{}.Draft(t.Context(), a)
	require.NoError(t, err)
	require.Empty(t, before.Drafts)
	d, err := draftBy(t, rewords("My Bosch dishwasher was too loud.", "the Bosch dishwasher", 0.9), Rule{}, a)
	require.NoError(t, err)
	require.Len(t, d.Drafts, 1)
	require.Contains(t, d.Drafts[0].Text, "dishwasher was too loud")
	require.Equal(t, RuleVersion+"+write.v1", d.Drafts[0].Rule)
	require.Equal(t, "It was too loud.", d.Drafts[0].Quote, "the evidence is what the user said")
	require.Equal(t, reasonReplaced, d.Refused[0].Reason)
}

func TestTurnsWithoutPronounsCostNoCall(t *testing.T) {
	t.Parallel()
	never := modelFunc(func(prompts.Request) (prompts.Response, error) {
		t.Error("called")
		return prompts.Response{}, nil
	})
	verbatim := drafts("She loved it.")
	verbatim.Drafts[0].Verbatim = true
	assistant := drafts("The assistant booked it.")
	assistant.Drafts[0].Source = memory.SourceAssistant
	for _, b := range []stub{drafts("Marta is allergic to penicillin."), {}, verbatim, assistant} {
		d, err := draftBy(t, never, b, answered())
		require.NoError(t, err)
		require.Equal(t, "rule", d.Version)
		require.Equal(t, b.Drafts, d.Drafts)
	}
}

func TestARepetitionChangesNothing(t *testing.T) {
	t.Parallel()
	d, err := draftBy(t, rewords("she loved the 3 songs", "", 1), drafts("She loved the 3 songs."), answered())
	require.NoError(t, err)
	require.Equal(t, "She loved the 3 songs.", d.Drafts[0].Text)
	require.Empty(t, d.Refused)
}

func TestWithoutLogProbabilitiesNothingIsReplaced(t *testing.T) {
	t.Parallel()
	m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		if r.Prompt == prompts.Who {
			return prompts.Response{Text: "Paula", Finish: prompts.FinishStop}, nil
		}
		return prompts.Response{Text: `{"notes":[{"n":1,"text":"Paula loved the 3 songs."},{"n":7,"text":"x"},{"n":1,"text":"y"}]}`}, nil
	})
	d, err := draftBy(t, m, drafts("She loved the 3 songs."), answered())
	require.NoError(t, err)
	require.Equal(t, "She loved the 3 songs.", d.Drafts[0].Text)
	require.Len(t, d.Refused, 1)
}

func TestAFailedCallIsNeverNothingToRemember(t *testing.T) { // mem0#5878
	t.Parallel()
	for _, failing := range []string{prompts.Write, prompts.Who} {
		good := rewords("Paula loved the 3 songs.", "Paula", 0.9)
		m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
			if r.Prompt == failing {
				return prompts.Response{}, memory.Errorf(memory.CodeUnavailable, "down")
			}
			return good(r)
		})
		d, err := draftBy(t, m, drafts("She loved the 3 songs."), answered())
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
		require.Empty(t, d.Drafts)
	}
	_, err := draftBy(t, nil, failingRule{}, answered())
	require.ErrorIs(t, err, errRule)
}

var errRule = errors.New("rule")

type failingRule struct{}

func (failingRule) Draft(context.Context, memory.Answered) (memory.Drafted, error) {
	return memory.Drafted{}, errRule
}

func TestWritePromptsHoldTheTurnAndNoIDs(t *testing.T) {
	t.Parallel()
	good := rewords("Paula loved the 3 songs.", "Paula", 0.9)
	m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		last := r.Messages[len(r.Messages)-1].Text
		for _, id := range []string{"tenant-id", "user-id", "t_1"} { // hindsight#1948
			require.NotContains(t, last, id)
		}
		require.Contains(t, last, "Assistant: Did she like it?", "mem0#5643: each with its speaker")
		require.NotContains(t, last, "opera", "the assistant's answer is no evidence")
		return good(r)
	})
	_, err := draftBy(t, m, drafts("She loved the 3 songs."), answered())
	require.NoError(t, err)
}

func TestWriteShortensTheConversationToFit(t *testing.T) {
	t.Parallel()
	a := answered()
	for range 6 {
		a.Context = append([]memory.Message{{From: memory.FromUser, Text: strings.Repeat("old ", 100)}}, a.Context...)
	}
	good := rewords("Paula loved the 3 songs.", "Paula", 0.9)
	m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		if len(r.Messages[len(r.Messages)-1].Text) > 900 {
			return prompts.Response{}, memory.Errorf(memory.CodeTooLong, "too long")
		}
		return good(r)
	})
	d, err := draftBy(t, m, drafts("She loved the 3 songs."), a)
	require.NoError(t, err)
	require.Equal(t, "Paula loved the 3 songs.", d.Drafts[0].Text)
}

func TestCheckInScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	a := memory.Answered{}
	a.Text, a.Profile.Name = "她喜欢巴赫音乐会。", "Marta"
	a.Context = []memory.Message{{Text: "我带宝拉去了音乐会"}}
	s := newSources(a)
	require.Empty(t, s.check("她喜欢巴赫音乐会", "她喜欢巴赫音乐会。"))
	require.NotEmpty(t, s.check("她讨厌歌剧院", "她喜欢巴赫音乐会。"))
}

func FuzzCheck(f *testing.F) {
	f.Add("Paula loved it.", "She loved it.", "I took Paula")
	f.Add("", "'", "'s")
	f.Fuzz(func(t *testing.T, note, draft, said string) {
		a := memory.Answered{}
		a.Text = said
		reason := newSources(a).check(note, draft)
		if reason != "" || strings.ContainsFunc(note, unspaced) {
			return
		}
		for _, w := range split(note) {
			if strings.ContainsAny(w, "0123456789") {
				require.Contains(t, strings.ToLower(said+" "+draft), strings.ToLower(w), "a number that nobody said")
			}
		}
	})
}
