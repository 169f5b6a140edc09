package model

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/model/modeltest"
	"github.com/lightmem/lightmem/internal/model/ollama"
	"github.com/lightmem/lightmem/internal/model/openai"
	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/memory"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string][3]string{
		"":                               {"", "", ""},
		"rules:":                         {"rules", "", ""},
		"rules":                          {"rules", "", ""},
		"ollama:qwen2.5-coder:1.5b":      {"ollama", "qwen2.5-coder:1.5b", ""},
		" Ollama:llama3.2:1b ":           {"ollama", "llama3.2:1b", ""},
		"ollama:m:1b@http://gpu:11434":   {"ollama", "m:1b", "http://gpu:11434"},
		"openai:org/m@https://host:1/v1": {"openai", "org/m", "https://host:1/v1"},
		"openai:m@2024":                  {"openai", "m@2024", ""},
	} {
		provider, model, address := Split(spec)
		require.Equal(t, want, [3]string{provider, model, address}, spec)
	}
}

func TestOpenRefusesAndNamesTheField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, field string
		config      Config
	}{
		{"an unknown provider", "plan.model", Config{Plan: RoleConfig{Model: "anthropic:claude"}}},
		{"a model without its provider", "answer.model", Config{Answer: RoleConfig{Model: "gpt-4o-mini"}}},
		{"a provider without its model", "select.model", Config{Select: RoleConfig{Model: "ollama:"}}},
		{"rules with a model", "write.model", Config{Write: RoleConfig{Model: "rules:x"}}},
		{"an address that is none", "embed.model", Config{Embed: RoleConfig{Model: "ollama:m@http://"}}},
		{"a negative timeout", "plan.timeout", Config{Plan: RoleConfig{Model: "ollama:m", Timeout: -1}}},
		{"scripted models in production", "plan.model", Config{Plan: RoleConfig{Model: "scripted:instant"}}},
		{"a script that is not there", "plan.model", Config{AllowScripted: true, Plan: RoleConfig{Model: "scripted:/no/such/file"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Open(tt.config, Rules{})
			var e *memory.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, memory.CodeInvalid, e.Code)
			require.Equal(t, tt.field, e.Field)
		})
	}
}

func TestOpenByRules(t *testing.T) {
	t.Parallel()
	r, err := Open(Config{Plan: RoleConfig{Model: "rules:"}}, Rules{})
	require.NoError(t, err)
	require.Nil(t, r.Planner)
	require.Nil(t, r.Selector)
	require.Nil(t, r.Answerer)
	require.Nil(t, r.Writer)
	require.Nil(t, r.Embedder)
	for _, role := range []memory.Role{memory.RolePlan, memory.RoleSelect, memory.RoleAnswer, memory.RoleWrite, memory.RoleEmbed} {
		require.True(t, r.Serving.ByRule(role))
	}
	require.NoError(t, r.Warm(t.Context()))
}

// ruleStub stands for the rules that the models build upon.
type ruleStub struct{}

func (ruleStub) Plan(_ context.Context, t memory.Turn) (memory.Plan, error) {
	return memory.Plan{Version: "rule", Queries: []memory.Query{{Text: t.Text, Tier: memory.TierMTM, Origin: "input"}}}, nil
}

func (ruleStub) Draft(_ context.Context, a memory.Answered) (memory.Drafted, error) {
	return memory.Drafted{Answered: a, Version: "rule", Drafts: []memory.Draft{{Text: a.Text, Quote: a.Text + " It was good.", Rule: "rule", Source: memory.SourceUser}}}, nil
}

// turnOf plays a turn through the roles.
func turnOf(t *testing.T, r *Roles) memory.Drafted {
	t.Helper()
	turn := memory.Turn{Profile: memory.Profile{Name: "Nora"}, Request: memory.Request{
		Text: "When did Ida visit the lighthouse?", K: 2, At: time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC),
	}}
	plan, err := r.Planner.Plan(t.Context(), turn)
	require.NoError(t, err)
	require.Len(t, plan.Queries, 2)
	require.Equal(t, turn.Text, plan.Queries[0].Text)
	retrieved := memory.Retrieved{Planned: memory.Planned{Turn: turn, Plan: plan}, Candidates: []memory.Candidate{
		{ID: "m_1", Memory: "Nora bought bread."},
		{ID: "m_2", Memory: "Ida went to the lighthouse in June."},
	}}
	selection, err := r.Selector.Select(t.Context(), retrieved)
	require.NoError(t, err)
	require.Len(t, selection.Chosen, 1)
	require.Equal(t, memory.ID("m_2"), selection.Chosen[0].ID)
	selected, dropped := memory.Select(retrieved, selection)
	require.Zero(t, dropped)
	var streamed string
	answer, err := r.Answerer.Answer(t.Context(), selected, func(p string) { streamed += p })
	require.NoError(t, err)
	require.Contains(t, answer.Text, "lighthouse in June")
	require.Equal(t, answer.Text, streamed)
	drafted, err := r.Writer.Draft(t.Context(), memory.Answered{Selected: selected, Answer: answer})
	require.NoError(t, err)
	require.Len(t, drafted.Drafts, 1)
	vectors, err := r.Embedder.Embed(t.Context(), []string{"a", "b"})
	require.NoError(t, err)
	require.Len(t, vectors, 2)
	return drafted
}

func TestOpenServesAWholeTurn(t *testing.T) {
	t.Parallel()
	all := func(spec string) Config {
		r := RoleConfig{Model: spec}
		return Config{AllowScripted: true, Plan: r, Select: r, Answer: r, Write: r, Embed: r}
	}
	t.Run("in the process", func(t *testing.T) {
		t.Parallel()
		r, err := Open(all("scripted:instant"), Rules{Planner: ruleStub{}, Writer: ruleStub{}})
		require.NoError(t, err)
		require.NoError(t, r.Warm(t.Context()))
		turnOf(t, r)
		require.Equal(t, "scripted:instant", r.Serving[memory.RolePlan])
	})
	t.Run("over Ollama's API", func(t *testing.T) {
		t.Parallel()
		s := &scripted.Server{}
		c := all("ollama:m")
		c.Ollama = ollama.Config{Address: modeltest.Serve(t, s)}
		met := &meter{}
		c.Meter = met
		r, err := Open(c, Rules{Planner: ruleStub{}, Writer: ruleStub{}})
		require.NoError(t, err)
		require.NoError(t, r.Warm(t.Context()))
		require.Len(t, s.Received(), 2, "one model is warmed once for all roles, and the embedder")
		turnOf(t, r)
		require.Equal(t, "ollama:m", r.Serving[memory.RoleEmbed])
		roles := map[memory.Role]bool{}
		for _, call := range met.calls {
			roles[call.Role] = true
			require.Equal(t, "m", call.Model)
		}
		require.Len(t, roles, 5)
	})
	t.Run("over OpenAI's API", func(t *testing.T) {
		t.Parallel()
		c := all("openai:m@" + modeltest.Serve(t, &scripted.Server{}) + "/v1")
		r, err := Open(c, Rules{Planner: ruleStub{}, Writer: ruleStub{}})
		require.NoError(t, err)
		turnOf(t, r)
	})
	t.Run("from a table", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "script.json")
		rows, err := json.Marshal([]scripted.Row{{When: "bread", Reply: scripted.Reply{Fault: scripted.Busy}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, rows, 0o600))
		r, err := Open(all("scripted:"+path), Rules{Planner: ruleStub{}, Writer: ruleStub{}})
		require.NoError(t, err)
		_, err = r.Embedder.Embed(t.Context(), []string{"bread"})
		require.Equal(t, memory.CodeTransient, memory.CodeOf(err))
		_, err = r.Embedder.Embed(t.Context(), []string{"milk"})
		require.NoError(t, err)
	})
}

func TestOneDeadServerIsLeftAloneByAllItsRoles(t *testing.T) {
	t.Parallel()
	r := RoleConfig{Model: "scripted:down"}
	roles, err := Open(Config{AllowScripted: true, Plan: r, Answer: r}, Rules{Planner: ruleStub{}})
	require.NoError(t, err)
	turn := memory.Turn{Request: memory.Request{Text: "hello", K: 1}}
	for range BreakerFailuresDefault {
		_, err = roles.Planner.Plan(t.Context(), turn)
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
	}
	_, err = roles.Answerer.Answer(t.Context(), memory.Selected{Retrieved: memory.Retrieved{Planned: memory.Planned{Turn: turn}}}, nil)
	require.ErrorContains(t, err, "left alone")
}

func TestTheKeyGoesToItsAddressOnly(t *testing.T) {
	t.Parallel()
	mine, other := &scripted.Server{}, &scripted.Server{}
	own, stranger := modeltest.Serve(t, mine)+"/v1", modeltest.Serve(t, other)+"/v1"
	r, err := Open(Config{
		OpenAI: openai.Config{Address: own, Key: "secret"},
		Plan:   RoleConfig{Model: "openai:m"},
		Embed:  RoleConfig{Model: "openai:m@" + stranger},
	}, Rules{Planner: ruleStub{}})
	require.NoError(t, err)
	_, err = r.Planner.Plan(t.Context(), memory.Turn{Request: memory.Request{Text: "hello"}})
	require.NoError(t, err)
	_, err = r.Embedder.Embed(t.Context(), []string{"x"})
	require.NoError(t, err)
	require.Equal(t, "Bearer secret", mine.Received()[0].Header.Get("Authorization"))
	require.Empty(t, other.Received()[0].Header.Get("Authorization"))
}
