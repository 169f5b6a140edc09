package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/retrieve/retrievetest"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// The full sort is a second, plain statement of the ranking. When a weight or
// a term of package retrieve changes, this test fails: change fullsort.go.
func TestTheFullSortRanksAsRetrievalDoes(t *testing.T) {
	t.Parallel()
	c, u := newCorpus(1_200), user{id: "u", offset: 17, items: 1_000}
	source := &retrievetest.Source{}
	for i := range u.items {
		s := c.of(u.offset, i)
		source.Put(u.scope(), retrieve.Item{Vector: s.vector, Seq: int64(i + 1), Memory: memory.Memory{
			ID: memory.ID(fmt.Sprintf("m_%026d", i)), Text: s.text, Speaker: s.speaker, Kind: s.kind, Status: memory.StatusActive,
			Conversation: memory.ConversationID(fmt.Sprint(i / perConversation)),
		}})
	}
	full := newFullSort(c, u)
	retriever := retrieve.New(source, retrieve.Options{})
	for range 20 {
		text := c.question(u.offset, u.items)
		q := memory.Query{Text: text, Tier: memory.TierMTM, Origin: "input", Vector: scripted.InstantVectors([]string{text})[0]}
		p := memory.Planned{Turn: memory.Turn{Request: memory.Request{K: 5}}, Plan: memory.Plan{Queries: []memory.Query{q}, EmbedModel: embedModel}}
		got, err := retriever.Retrieve(tenant.NewContext(t.Context(), u.scope()), p)
		require.NoError(t, err)
		scores := full.scores(q)
		for _, candidate := range got.Candidates {
			var at int
			_, err := fmt.Sscanf(string(candidate.ID), "m_%d", &at)
			require.NoError(t, err)
			require.InDelta(t, scores[at], candidate.Score, 1e-3, text)
		}
		want := full.best(q, 10)
		for _, candidate := range got.Candidates {
			require.Contains(t, want, candidate.ID)
		}
	}
}
