package ollama_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/model/modeltest"
	"github.com/lightmem/lightmem/internal/model/ollama"
	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

func open(t *testing.T, address string) modeltest.Adapter {
	t.Helper()
	m, err := ollama.New(ollama.Config{Address: address, Model: "m:latest"})
	require.NoError(t, err)
	return m
}

func TestFaults(t *testing.T) {
	t.Parallel()
	modeltest.RunFaults(t, open)
}

func TestScriptedConformance(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{}
	m := open(t, modeltest.Serve(t, s))
	modeltest.Run(t, modeltest.Server{Chat: m, Embed: m})
}

// mem0#4607, #4688, #4689: adapters dropped the constraint silently.
func TestEverythingReachesTheWire(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{Context: 2048}
	m, err := ollama.New(ollama.Config{Address: modeltest.Serve(t, s), Model: "m", ContextLength: 4096, KeepAlive: time.Minute})
	require.NoError(t, err)
	_, err = m.Complete(t.Context(), prompts.Request{
		Schema: json.RawMessage(`{"type":"object"}`), MaxTokens: 77, Temperature: 0.5, TopLogprobs: 20, Stop: []string{"\n\n"},
		Messages: []prompts.Message{{Role: prompts.System, Text: "sys"}, {Role: prompts.User, Text: "usr"}, {Role: prompts.Assistant, Text: "ast"}},
	})
	require.NoError(t, err)
	_, _, err = m.Embed(t.Context(), []string{"one", "two"})
	require.NoError(t, err)

	got := s.Received()
	require.Len(t, got, 2)
	require.Equal(t, "/api/chat", got[0].Path)
	require.JSONEq(t, `{
		"model": "m", "stream": false, "think": false, "truncate": false, "shift": false, "keep_alive": "1m0s",
		"format": {"type": "object"}, "logprobs": true, "top_logprobs": 20,
		"options": {"num_ctx": 2048, "num_predict": 77, "temperature": 0.5, "seed": 1, "stop": ["\n\n"]},
		"messages": [{"role":"system","content":"sys"},{"role":"user","content":"usr"},{"role":"assistant","content":"ast"}]
	}`, string(got[0].Body))
	require.Equal(t, "/api/embed", got[1].Path)
	require.JSONEq(t, `{"model": "m", "input": ["one","two"], "truncate": true, "keep_alive": "1m0s", "options": null}`, string(got[1].Body))
}

func TestContextLengthIsTheSmallerOfConfiguredAndTrained(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ trained, configured, want int }{{2048, 4096, 2048}, {131072, 4096, 4096}, {131072, 0, ollama.ContextLengthDefault}} {
		m, err := ollama.New(ollama.Config{Address: modeltest.Serve(t, &scripted.Server{Context: tt.trained}), Model: "m", ContextLength: tt.configured})
		require.NoError(t, err)
		n, err := m.ContextLength(t.Context())
		require.NoError(t, err)
		require.Equal(t, tt.want, n)
	}
}

func TestSystemMessageIsCarriedByTheUserWhenTheTemplateDropsIt(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{NoSystem: true}
	m := open(t, modeltest.Serve(t, s))
	_, err := m.Complete(t.Context(), prompts.Request{MaxTokens: 1, Messages: []prompts.Message{
		{Role: prompts.System, Text: "sys"}, {Role: prompts.User, Text: "usr"}, {Role: prompts.User, Text: "more"},
	}})
	require.NoError(t, err)
	var body struct {
		Messages []struct{ Role, Content string }
	}
	require.NoError(t, json.Unmarshal(s.Received()[0].Body, &body))
	require.Len(t, body.Messages, 2)
	require.Equal(t, "sys\n\nusr", body.Messages[0].Content)
	require.Equal(t, "more", body.Messages[1].Content)
}

func TestMissingModelSaysWhatToRun(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{}
	s.Follow(scripted.Always(scripted.Reply{Fault: scripted.Missing}))
	m, err := ollama.New(ollama.Config{Address: modeltest.Serve(t, s), Model: "qwen2.5:1.5b"})
	require.NoError(t, err)
	_, err = m.Complete(t.Context(), prompts.Request{MaxTokens: 1})
	require.ErrorContains(t, err, "ollama pull qwen2.5:1.5b")
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]ollama.Config{
		"model":          {},
		"address":        {Model: "m", Address: "localhost:11434"},
		"context_length": {Model: "m", ContextLength: -1},
	} {
		_, err := ollama.New(c)
		var e *memory.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, memory.CodeInvalid, e.Code)
		require.Equal(t, field, e.Field)
	}
	m, err := ollama.New(ollama.Config{Model: "all-minilm:latest", Address: "http://user:secret@host"})
	require.NoError(t, err)
	require.Equal(t, "all-minilm", m.Name(), "the tag latest is no other model")
	require.NotContains(t, m.Address(), "secret")
}
