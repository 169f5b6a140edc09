package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/model/modeltest"
	"github.com/lightmem/lightmem/internal/model/openai"
	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

func open(t *testing.T, address string) modeltest.Adapter {
	t.Helper()
	m, err := openai.New(openai.Config{Address: address + "/v1/", Key: "k", Model: "m"})
	require.NoError(t, err)
	return m
}

func TestFaults(t *testing.T) {
	t.Parallel()
	modeltest.RunFaults(t, open)
}

func TestScriptedConformance(t *testing.T) {
	t.Parallel()
	m := open(t, modeltest.Serve(t, &scripted.Server{}))
	modeltest.Run(t, modeltest.Server{Chat: m, Embed: m})
}

// mem0#4607, #4688, #4689: adapters dropped the constraint silently.
func TestEverythingReachesTheWire(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{}
	m := open(t, modeltest.Serve(t, s))
	r := prompts.Request{
		Prompt: "plan.v1", Schema: json.RawMessage(`{"type":"object","required":["a"]}`), MaxTokens: 77, TopLogprobs: 20, Stop: []string{"\n\n"},
		Messages: []prompts.Message{{Role: prompts.System, Text: "sys"}, {Role: prompts.User, Text: "usr"}},
	}
	_, err := m.Complete(t.Context(), r)
	require.NoError(t, err)
	r.Emit, r.Schema, r.TopLogprobs = func(string) {}, nil, 0
	_, err = m.Complete(t.Context(), r)
	require.NoError(t, err)
	_, _, err = m.Embed(t.Context(), []string{"one", "two"})
	require.NoError(t, err)

	got := s.Received()
	require.Len(t, got, 3)
	require.Equal(t, "/v1/chat/completions", got[0].Path)
	require.Equal(t, "Bearer k", got[0].Header.Get("Authorization"))
	require.JSONEq(t, `{
		"model": "m", "stream": false, "max_tokens": 77, "temperature": 0.001, "seed": 1, "stop": ["\n\n"],
		"logprobs": true, "top_logprobs": 20,
		"response_format": {"type": "json_schema", "json_schema": {"name": "plan_v1", "strict": true, "schema": {"type":"object","required":["a"]}}},
		"messages": [{"role":"system","content":"sys"},{"role":"user","content":"usr"}]
	}`, string(got[0].Body), "a temperature of zero must be sent: left out, it means 1")
	var streamed struct {
		Stream        bool
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	require.NoError(t, json.Unmarshal(got[1].Body, &streamed))
	require.True(t, streamed.Stream)
	require.Equal(t, "/v1/embeddings", got[2].Path)
	require.JSONEq(t, `{"model": "m", "input": ["one","two"], "encoding_format": "float"}`, string(got[2].Body))
}

func TestReasoningModelsAreAskedWhatTheyTake(t *testing.T) {
	t.Parallel()
	s := &scripted.Server{}
	m, err := openai.New(openai.Config{Address: modeltest.Serve(t, s) + "/v1", Model: "gpt-5-mini"})
	require.NoError(t, err)
	_, err = m.Complete(t.Context(), prompts.Request{MaxTokens: 1, TopLogprobs: 20, Messages: []prompts.Message{{Role: prompts.User, Text: "x"}}})
	require.NoError(t, err)
	var body map[string]any
	require.NoError(t, json.Unmarshal(s.Received()[0].Body, &body))
	require.NotContains(t, body, "temperature")
	require.NotContains(t, body, "logprobs")
	require.NotContains(t, body, "max_tokens")
	require.Greater(t, body["max_completion_tokens"], 1.0)
	require.Empty(t, s.Received()[0].Header.Get("Authorization"), "no key, no header")
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for field, c := range map[string]openai.Config{
		"model":          {},
		"address":        {Model: "m", Address: "localhost"},
		"context_length": {Model: "m", ContextLength: -1},
	} {
		_, err := openai.New(c)
		var e *memory.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, memory.CodeInvalid, e.Code)
		require.Equal(t, field, e.Field)
	}
}
