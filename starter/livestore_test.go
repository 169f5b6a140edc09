package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/memory"
)

// embeddings is a server of OpenAI's interface that knows one key.
func embeddings(t *testing.T, key string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"index":0,"embedding":[0.6,0.8]}]}`))
	}))
	t.Cleanup(server.Close)
	return server
}

func TestSearchSendsTheRolesKeyToEveryAddress(t *testing.T) {
	t.Parallel()
	server := embeddings(t, "sk-ours")
	for name, change := range map[string]func(*config.Config){
		"the provider's": func(c *config.Config) { c.Models.OpenAIAddress = server.URL },
		"the role's own": func(c *config.Config) { c.Roles.Embed.Address = server.URL },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &config.Config{}
			c.Roles.Embed.Spec = config.Spec{Provider: config.ProviderOpenAI, Model: "small"}
			c.Roles.Embed.Key = "sk-ours"
			change(c)
			embedder, err := openEmbedder(c)
			require.NoError(t, err)
			p := memory.Plan{Queries: []memory.Query{{Text: "Porto"}}}
			degraded, err := embed(t.Context(), embedder, &p)
			require.NoError(t, err)
			require.Empty(t, degraded)
			require.Len(t, p.Queries[0].Vector, 2)
			require.NotEmpty(t, p.EmbedModel)
		})
	}
}

func TestSearchTellsThatWordsAloneRank(t *testing.T) {
	t.Parallel()
	c := &config.Config{}
	c.Roles.Embed.Spec = config.Spec{Provider: config.ProviderOpenAI, Model: "small"}
	c.Roles.Embed.Key, c.Models.OpenAIAddress = "sk-theirs", embeddings(t, "sk-ours").URL
	embedder, err := openEmbedder(c)
	require.NoError(t, err)
	p := memory.Plan{Queries: []memory.Query{{Text: "Porto"}}}
	degraded, err := embed(t.Context(), embedder, &p)
	require.NoError(t, err)
	require.Len(t, degraded, 1)
	require.Equal(t, memory.RoleEmbed, degraded[0].Role)
	require.NotEmpty(t, degraded[0].Reason)
	require.Empty(t, p.EmbedModel)

	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err = embed(ended, embedder, &p)
	require.ErrorIs(t, err, context.Canceled, "who gave up is not served by words")

	b := newBench(t)
	b.store.degraded = degraded
	stdout, stderr, code := b.run("memories", "search", "--user=ada", "Porto")
	require.Equal(t, 0, code, stderr)
	require.Contains(t, stdout, "no vectors, words alone")
	stdout, _, _ = b.run("memories", "search", "--user=ada", "--json", "Porto")
	require.Contains(t, stdout, `"degraded":[{"role":"embed"`)
}
