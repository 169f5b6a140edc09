package plan

import (
	"context"
	"encoding/json"
	"errors"
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

// says is a model that always replies so.
func says(text string) modelFunc {
	return func(prompts.Request) (prompts.Response, error) { return prompts.Response{Text: text}, nil }
}

// base is the rule's plan.
type base struct{ plan memory.Plan }

func (b base) Plan(_ context.Context, t memory.Turn) (memory.Plan, error) {
	p := b.plan
	if p.Queries == nil {
		p.Queries = []memory.Query{{Text: t.Text, Tier: memory.TierMTM, Origin: "input"}}
	}
	p.Version = "rule.v1"
	return p, nil
}

var turn = memory.Turn{
	Request: memory.Request{
		Scope: memory.Scope{Tenant: "tenant-id", User: "user-id"}, Conversation: "conversation-id",
		Text: "What did she want to see on Greenland?", At: time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC),
	},
	ID:      "t_turnid",
	Profile: memory.Profile{Name: "Nora"},
	Context: []memory.Message{
		{From: memory.FromUser, Text: "My sister Ida is visiting.", Turn: "t_earlier"},
		{From: memory.FromAssistant, Text: "How nice!"},
	},
}

func planBy(t *testing.T, m model, b base, in memory.Turn) memory.Plan {
	t.Helper()
	set, err := prompts.Load()
	require.NoError(t, err)
	p, err := NewModel(m, b, set).Plan(t.Context(), in)
	require.NoError(t, err)
	return p
}

func texts(qs []memory.Query) []string {
	out := []string{}
	for _, q := range qs {
		out = append(out, q.Origin+"/"+string(q.Tier)+"/"+q.Text)
	}
	return out
}

func TestModelAddsToTheRulesPlan(t *testing.T) {
	t.Parallel()
	window := memory.Window{From: turn.At.AddDate(0, -1, 0), To: turn.At}
	b := base{memory.Plan{Personal: 0.2, Entities: []string{"Greenland"}, Queries: []memory.Query{
		{Text: turn.Text, Tier: memory.TierMTM, Origin: "input", Window: window, Soft: true},
	}}}
	p := planBy(t, says(`{"personal":6,"entities":["Ida","greenland","Bob"],"queries":[
		{"text":"Ida wanted to see icebergs","tier":"mtm","kinds":["plan"],"past":true},
		{"text":"Greenland has icebergs","tier":"ltm","kinds":["fact"],"past":true}]}`), b, turn)

	require.Equal(t, []string{"input/mtm/" + turn.Text, "model/mtm/Ida wanted to see icebergs", "model/ltm/Greenland has icebergs"}, texts(p.Queries),
		"the user's own words stay first")
	require.Equal(t, window, p.Queries[1].Window, "the window is the rule's, resolved by code")
	require.True(t, p.Queries[1].Soft)
	require.True(t, p.Queries[1].Past)
	require.Equal(t, []memory.Kind{memory.KindPlan}, p.Queries[1].Kinds)
	require.True(t, p.Queries[2].Window.IsZero(), "general knowledge has no window, kind or past")
	require.Empty(t, p.Queries[2].Kinds)
	require.False(t, p.Queries[2].Past)
	require.InDelta(t, 0.6, p.Personal, 1e-9)
	require.Equal(t, []string{"Greenland", "Ida"}, p.Entities, "the model's inventions are dropped")
	require.Equal(t, "plan.v1+rule.v1", p.Version)
}

func TestModelsQueriesAreBoundedAndNew(t *testing.T) {
	t.Parallel()
	p := planBy(t, says(`{"personal":0,"entities":[],"queries":[
		{"text":"what did she want to see on greenland","tier":"mtm","kinds":[],"past":false},
		{"text":" ?! ","tier":"mtm","kinds":[],"past":false},
		{"text":"a","tier":"mtm","kinds":[],"past":false},{"text":"A.","tier":"mtm","kinds":[],"past":false},
		{"text":"`+strings.Repeat("long ", 200)+`","tier":"mtm","kinds":[],"past":false},
		{"text":"b\nc","tier":"mtm","kinds":[],"past":false},{"text":"d","tier":"mtm","kinds":[],"past":false}]}`), base{}, turn)
	require.Len(t, p.Queries, 4, "input and three")
	require.Equal(t, "a", p.Queries[1].Text)
	require.LessOrEqual(t, len(p.Queries[2].Text), maxQueryBytes)
	require.Equal(t, "b c", p.Queries[3].Text)
}

// The paper's own failure case (spec section 2).
func TestARequestForARecollectionDoesNotAskLTM(t *testing.T) {
	t.Parallel()
	tips := `{"personal":%d,"entities":[],"queries":[{"text":"how to plan a timeline","tier":"ltm","kinds":[],"past":false},{"text":"Nora decided on a timeline","tier":"mtm","kinds":[],"past":false}]}`
	for _, tt := range []struct {
		text, personal string
		ltm            bool
	}{
		{"Remind me what I decided about the timeline", "0", false},
		{"What did I say about the timeline?", "0", false},
		{"Do you remember our timeline?", "0", false},
		{"Tell me about my timeline", "9", false},
		{"How do people plan a timeline?", "1", true},
	} {
		t.Run(tt.text, func(t *testing.T) {
			t.Parallel()
			in := turn
			in.Text = tt.text
			p := planBy(t, says(strings.Replace(tips, "%d", tt.personal, 1)), base{}, in)
			require.Equal(t, tt.ltm, strings.Contains(strings.Join(texts(p.Queries), " "), "ltm"), "%v", texts(p.Queries))
		})
	}
}

func TestPlanPromptHoldsNoIDs(t *testing.T) { // hindsight#1948
	t.Parallel()
	planBy(t, modelFunc(func(r prompts.Request) (prompts.Response, error) {
		all, err := json.Marshal(r.Messages)
		require.NoError(t, err)
		for _, id := range []string{"tenant-id", "user-id", "conversation-id", "t_turnid", "t_earlier"} {
			require.NotContains(t, string(all), id)
		}
		require.Contains(t, string(all), "Nora: My sister Ida is visiting.")
		require.Contains(t, string(all), "Assistant: How nice!", "mem0#5643: each with its speaker")
		require.Contains(t, string(all), "Sunday, 3 May 2026")
		require.NotEmpty(t, r.Schema)
		return prompts.Response{Text: `{"personal":0,"entities":[],"queries":[]}`}, nil
	}), base{}, turn)
}

func TestPlanShortensTheConversationToFit(t *testing.T) {
	t.Parallel()
	in := turn
	in.Context = nil
	for i := range 8 {
		in.Context = append(in.Context, memory.Message{From: memory.FromUser, Text: strings.Repeat("x", 100) + string(rune('a'+i))})
	}
	fits := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		last := r.Messages[len(r.Messages)-1].Text
		if len(last) > 600 {
			return prompts.Response{}, memory.Errorf(memory.CodeTooLong, "too long")
		}
		require.Contains(t, last, "xh", "the latest message stays")
		require.NotContains(t, last, "xa", "the oldest goes first")
		return prompts.Response{Text: `{"personal":0,"entities":[],"queries":[]}`}, nil
	})
	planBy(t, fits, base{}, in)
}

func TestPlanFailsWithTheModelsCode(t *testing.T) {
	t.Parallel()
	set, err := prompts.Load()
	require.NoError(t, err)
	for _, code := range []memory.Code{memory.CodeUnavailable, memory.CodeTransient, memory.CodeRefused, memory.CodeInvalidOutput, memory.CodeTooLong} {
		down := modelFunc(func(prompts.Request) (prompts.Response, error) { return prompts.Response{}, memory.Errorf(code, "no") })
		p, err := NewModel(down, base{}, set).Plan(t.Context(), turn)
		require.Equal(t, code, memory.CodeOf(err))
		require.Empty(t, p.Queries)
	}
	_, err = NewModel(says("not JSON"), base{}, set).Plan(t.Context(), turn)
	require.Equal(t, memory.CodeInvalidOutput, memory.CodeOf(err))
	_, err = NewModel(says("{}"), failing{}, set).Plan(t.Context(), turn)
	require.ErrorIs(t, err, errRule)
}

var errRule = errors.New("rule")

type failing struct{}

func (failing) Plan(context.Context, memory.Turn) (memory.Plan, error) {
	return memory.Plan{}, errRule
}

func TestNamed(t *testing.T) { // mem0#5630
	t.Parallel()
	in := memory.Turn{Request: memory.Request{Text: "Anna met 山田さん in New York."}}
	for e, want := range map[string]bool{"Anna": true, "Ann": false, "new york": true, "York.": true, "山田": true, "": false, "?": false, "Boston": false} {
		require.Equal(t, want, named(e, in), "%q", e)
	}
}
