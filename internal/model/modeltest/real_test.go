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
