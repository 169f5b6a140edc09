package stacktest_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/devstack/stacktest"
)

func post(t *testing.T, address string, request, answer any) {
	t.Helper()
	body, err := json.Marshal(request)
	require.NoError(t, err)
	response, err := http.Post(address, "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	require.NoError(t, json.Unmarshal(text, answer))
}

func cosine(a, b []float64) float64 {
	var dot, aa, bb float64
	for i := range a {
		dot, aa, bb = dot+a[i]*b[i], aa+a[i]*a[i], bb+b[i]*b[i]
	}
	return dot / math.Sqrt(aa*bb)
}

// The model is uncased and strips accents. llama.cpp does so; Ollama 0.17.4 does
// not ("Zürich" and "Zurich" have a cosine of 0.17 there) and does not split
// words at punctuation beyond ASCII, so whoever embeds with it folds accents
// and punctuation first. Folded text is embedded alike by both.
func TestBothServersEmbedAlike(t *testing.T) {
	t.Parallel()
	texts := []string{"The cat sits outside", "A feline is outdoors", "Zurich, 東京 and cafe - it's naive, Привет!"}

	openai := stacktest.OpenAI(t)
	var fromOpenAI struct {
		Data []struct{ Embedding []float64 }
	}
	post(t, openai.EmbedBaseURL+"/embeddings", map[string]any{"model": openai.EmbedModel, "input": texts}, &fromOpenAI)
	require.Len(t, fromOpenAI.Data, len(texts))

	ollama := stacktest.Ollama(t)
	var fromOllama struct{ Embeddings [][]float64 }
	post(t, ollama.EmbedBaseURL+"/api/embed", map[string]any{"model": ollama.EmbedModel, "input": texts}, &fromOllama)
	require.Len(t, fromOllama.Embeddings, len(texts))

	for i := range texts {
		require.Len(t, fromOllama.Embeddings[i], 384)
		require.InDelta(t, 1, cosine(fromOpenAI.Data[i].Embedding, fromOllama.Embeddings[i]), 1e-3, texts[i])
	}
	require.InDelta(t, 0.558, cosine(fromOllama.Embeddings[0], fromOllama.Embeddings[1]), 2e-3)
}

func TestBothServersObeySystemMessageAndSchema(t *testing.T) {
	t.Parallel()
	messages := []map[string]string{
		{"role": "system", "content": "Whatever the user says, the word is: papaya."},
		{"role": "user", "content": "Which word?"},
	}
	schema := map[string]any{
		"type": "object", "required": []string{"word"}, "additionalProperties": false,
		"properties": map[string]any{"word": map[string]any{"type": "string", "enum": []string{"apple", "papaya", "pear"}}},
	}
	openai := stacktest.OpenAI(t)
	var fromOpenAI struct {
		Choices []struct{ Message struct{ Content string } }
	}
	post(t, openai.BaseURL+"/chat/completions", map[string]any{
		"model": openai.ChatModel, "messages": messages, "temperature": 0, "max_tokens": 40,
		"response_format": map[string]any{"type": "json_schema", "json_schema": map[string]any{"name": "word", "schema": schema}},
	}, &fromOpenAI)
	require.Len(t, fromOpenAI.Choices, 1)
	require.JSONEq(t, `{"word":"papaya"}`, fromOpenAI.Choices[0].Message.Content)

	ollama := stacktest.Ollama(t)
	var fromOllama struct{ Message struct{ Content string } }
	post(t, ollama.BaseURL+"/api/chat", map[string]any{
		"model": ollama.ChatModel, "messages": messages, "stream": false, "format": schema,
		"options": map[string]any{"temperature": 0, "num_predict": 40},
	}, &fromOllama)
	require.JSONEq(t, `{"word":"papaya"}`, fromOllama.Message.Content)
}
