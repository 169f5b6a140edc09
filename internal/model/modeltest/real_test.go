package modeltest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/internal/model"
	"github.com/lightmem/lightmem/internal/model/modeltest"
	"github.com/lightmem/lightmem/internal/model/ollama"
	"github.com/lightmem/lightmem/internal/model/openai"
	"github.com/lightmem/lightmem/internal/plan"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
)

// The real servers share two cores: the suites run one after the other.

func TestOllama(t *testing.T) {
	server := stacktest.Ollama(t)
	open := func(name string) modeltest.Adapter {
		m, err := ollama.New(ollama.Config{Address: server.BaseURL, Model: name})
		require.NoError(t, err)
		return m
	}
	modeltest.Run(t, modeltest.Server{Chat: open(server.ChatModel), Embed: open(server.EmbedModel), Missing: open("no-such-model"), CountsPrompt: true})
}

func TestOpenAICompatible(t *testing.T) {
	server := stacktest.OpenAI(t)
	open := func(name, address string) modeltest.Adapter {
		m, err := openai.New(openai.Config{Address: address, Model: name, ContextLength: 4096})
		require.NoError(t, err)
		return m
	}
	modeltest.Run(t, modeltest.Server{
		Chat: open(server.ChatModel, server.BaseURL), Embed: open(server.EmbedModel, server.EmbedBaseURL), CountsPrompt: true,
	})
}

// One model has one vector space, whoever serves it: texts as people write
// them, with capitals, accents and typography.
func TestBothServersEmbedAlike(t *testing.T) {
	texts := []string{
		"Zürich is lovely – isn’t it?", "Ich wohne in Köln.", "Plain English words.", "東京、Привет! “Über” €5…", "「日本」。",
		"¿Qué? ¡Sí! • a·b § 7", "x+y=z, 5% of $9 ~ a|b", "party 🎉🎉 tonight", "مرحبا שלום", "naïve café don't", "\tlines\nand\r\nspaces  ",
	}
	var vectors [2][]memory.Vector
	a, b := stacktest.Ollama(t), stacktest.OpenAI(t)
	for i, spec := range []string{"ollama:" + a.EmbedModel + "@" + a.EmbedBaseURL, "openai:" + b.EmbedModel + "@" + b.EmbedBaseURL} {
		r, err := model.Open(model.Config{Embed: model.RoleConfig{Model: spec, Timeout: time.Minute}}, model.Rules{})
		require.NoError(t, err)
		vectors[i], err = r.Embedder.Embed(t.Context(), texts)
		require.NoError(t, err)
		require.Equal(t, "all-minilm", r.Embedder.EmbedModel())
	}
	for i, text := range texts {
		var dot float64
		for k := range vectors[0][i] {
			dot += float64(vectors[0][i][k]) * float64(vectors[1][i][k])
		}
		require.Less(t, math.Abs(1-dot), 5e-3, text)
	}
}

// A turn's roles with a real model of 1.5 billion parameters, on a turn of our
// own: not how good it is (docs/performance.md), but that prompts, schemas and
// checks work with what such a model really says.
func TestRolesWithASmallModel(t *testing.T) {
	server := stacktest.OpenAI(t)
	role := model.RoleConfig{Model: "openai:" + server.ChatModel + "@" + server.BaseURL, Timeout: 5 * time.Minute, ContextLength: 4096}
	r, err := model.Open(model.Config{Plan: role, Select: role, Answer: role, Write: role}, model.Rules{Planner: plan.Rule{}, Writer: write.Rule{}})
	require.NoError(t, err)

	s := memory.Selected{}
	s.Profile.Name, s.At, s.K = "Marta", time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC), 1
	s.Text = "Remind me what I decided about the timeline of the launch."
	s.Plan, err = r.Planner.Plan(t.Context(), s.Turn)
	require.NoError(t, err)
	require.Equal(t, s.Text, s.Plan.Queries[0].Text)
	require.Greater(t, len(s.Plan.Queries), 1, "the model adds to the user's words")
	for _, q := range s.Plan.Queries {
		require.Equal(t, memory.TierMTM, q.Tier, "a recollection does not ask for general knowledge")
	}

	s.Candidates = []memory.Candidate{
		{ID: "m_1", Memory: "Marta said: my dog Rufus was at the vet.", EventAt: s.At.AddDate(0, 0, -3)},
		{ID: "m_2", Memory: "Marta decided to move the launch to September.", EventAt: s.At.AddDate(0, 0, -9)},
	}
	s.Selection, err = r.Selector.Select(t.Context(), s.Retrieved)
	require.NoError(t, err)
	require.Len(t, s.Selection.Chosen, 1)
	require.Equal(t, memory.ID("m_2"), s.Selection.Chosen[0].ID)
	require.Equal(t, "yes", s.Selection.Chosen[0].Reason, "by log-probability")

	pieces := 0
	answer, err := r.Answerer.Answer(t.Context(), s, func(string) { pieces++ })
	require.NoError(t, err)
	require.Contains(t, answer.Text, "September")
	require.Positive(t, pieces)

	a := memory.Answered{Selected: s}
	a.Context = []memory.Message{{From: memory.FromUser, Text: "Paula sold her house in Ghent."}, {From: memory.FromAssistant, Text: "Where does she live now?"}}
	a.Text = "She moved to Porto last week."
	d, err := r.Writer.Draft(t.Context(), a)
	require.NoError(t, err)
	require.Len(t, d.Drafts, 1)
	require.Contains(t, d.Drafts[0].Text, "Paula moved to Porto", "%+v", d.Refused)
	require.Contains(t, d.Drafts[0].Rule, "write.v1")
}
