package retrieve_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/retrieve/retrievetest"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

var _ activities.Retriever = (*retrieve.Retriever)(nil)

func TestRetrieveByWords(t *testing.T) {
	t.Parallel()
	var source retrievetest.Source
	alice := memory.Scope{Tenant: "t", User: "alice"}
	for id, text := range map[memory.ID]string{"a": "I adopted two cats", "b": "The train was late", "c": "My sister paints"} {
		source.Put(alice, retrieve.Item{Memory: memory.Memory{ID: id, Text: text, Status: memory.StatusActive}})
	}
	r := retrieve.New(&source, retrieve.Options{})
	got, err := r.Retrieve(tenant.NewContext(t.Context(), alice), memory.Planned{
		Plan: memory.Plan{Queries: []memory.Query{{Text: "cats?", Origin: "input"}}},
	})
	require.NoError(t, err)
	require.Len(t, got.Candidates, 3)
	require.Equal(t, memory.ID("a"), got.Candidates[0].ID)
}
