package selection_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/selection"
	"github.com/lightmem/lightmem/memory"
)

func TestRule(t *testing.T) {
	t.Parallel()
	may := time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)
	c := func(id memory.ID, text string, score, dense float64) memory.Candidate {
		return memory.Candidate{ID: id, Tier: memory.TierMTM, Memory: text, Score: score, Dense: dense, Speaker: "Anna", EventAt: may, Kind: memory.KindFact}
	}
	for _, tc := range []struct {
		name       string
		query      memory.Query
		embed      string
		personal   float64
		searched   int
		candidates []memory.Candidate
		k          int
		want       []memory.ID
		reason     string
	}{
		{name: "no candidates", query: memory.Query{Text: "Where does Anna live?"}, k: 5, want: nil},
		{
			name: "nothing near: none", query: memory.Query{Text: "What is the capital of France?"}, searched: 300,
			candidates: []memory.Candidate{c("a", "Anna: I like tea", 2, .3), c("b", "Anna: I like rice", 1, .2)}, embed: "m", k: 5,
		},
		{
			name: "the speaker's name alone is not near", query: memory.Query{Text: "Which rocket did Anna launch?"}, searched: 300,
			candidates: []memory.Candidate{c("a", "Anna: I like tea", 2, .3)}, k: 5,
		},
		{
			name: "a shared stem is near", query: memory.Query{Text: "What do I like to drink?"},
			candidates: []memory.Candidate{c("a", "Anna likes tea", 2, 0)}, k: 5, want: []memory.ID{"a"}, reason: "score, words",
		},
		{
			name: "meaning is near", query: memory.Query{Text: "Where do I reside?"}, embed: "m", searched: 500,
			candidates: []memory.Candidate{c("a", "Anna moved to Oslo", 6, 3.1), c("b", "Anna has a cat", 5, .5)}, k: 1, want: []memory.ID{"a"}, reason: "score, meaning",
		},
		{
			name: "among few items a personal request needs less", query: memory.Query{Text: "Where do I reside?"}, embed: "m", searched: 2, personal: .9,
			candidates: []memory.Candidate{c("a", "Anna moved to Oslo", 1, 1), c("b", "Anna has a cat", -1, -1)}, k: 1, want: []memory.ID{"a"}, reason: "score, meaning",
		},
		{
			name: "what happened in the window is near", query: memory.Query{Text: "What happened?", Window: memory.Window{From: may.AddDate(0, 0, -1), To: may.AddDate(0, 0, 1)}},
			candidates: []memory.Candidate{c("a", "Anna moved to Oslo", 2, 0)}, k: 5, want: []memory.ID{"a"}, reason: "score, time",
		},
		{name: "at most K", query: memory.Query{Text: "tea"}, candidates: []memory.Candidate{c("a", "tea", 3, 0), c("b", "tea tea", 2, 0), c("c", "tea!", 1, 0)}, k: 2, want: []memory.ID{"a", "b"}},
		{
			name: "the list ends at a wide gap below which nothing has evidence", query: memory.Query{Text: "tea"},
			candidates: []memory.Candidate{c("a", "tea", 9, 0), c("b", "green tea", 8, 0), c("c", "rice", 1, 0), c("d", "milk", .5, 0)}, k: 5, want: []memory.ID{"a", "b"},
		},
		{
			name: "words below a gap are kept", query: memory.Query{Text: "tea"},
			candidates: []memory.Candidate{c("a", "tea", 9, 0), c("b", "rice", 1, 0), c("c", "black tea", .5, 0)}, k: 5, want: []memory.ID{"a", "b", "c"},
		},
		{
			name: "without a gap the score decides", query: memory.Query{Text: "tea"},
			candidates: []memory.Candidate{c("b", "rice", 4, 0), c("a", "tea", 5, 0), c("c", "milk", 3, 0)}, k: 5, want: []memory.ID{"a", "b", "c"},
		},
		{name: "mem0#7164: Chinese", query: memory.Query{Text: "我住在哪里？"}, candidates: []memory.Candidate{c("a", "Anna：我住在北京", 4, 0)}, k: 5, want: []memory.ID{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var r memory.Retrieved
			r.K, r.Candidates, r.Searched = tc.k, tc.candidates, tc.searched
			r.Plan = memory.Plan{Queries: []memory.Query{tc.query}, EmbedModel: tc.embed, Personal: tc.personal}
			got, err := selection.Rule{}.Select(context.Background(), r)
			require.NoError(t, err)
			require.NotNil(t, got.Chosen)
			require.NotEmpty(t, got.Version)
			var ids []memory.ID
			for _, c := range got.Chosen {
				ids = append(ids, c.ID)
			}
			require.Equal(t, tc.want, ids)
			if tc.reason != "" {
				require.Equal(t, tc.reason, got.Chosen[0].Reason)
			}
			_, dropped := memory.Select(r, got)
			require.Zero(t, dropped)
		})
	}
}
