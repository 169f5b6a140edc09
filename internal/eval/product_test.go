package eval_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/eval"
	"github.com/lightmem/lightmem/internal/plan"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
)

// The measurement goes through the real store, and its figures are those of a
// memory that finds everything: three utterances are fewer than any cut-off.
func TestLoCoMoRetrievalThroughTheStore(t *testing.T) {
	t.Parallel()
	data, err := eval.ParseLoCoMo(strings.NewReader(ours))
	require.NoError(t, err)
	store := postgrestest.Store(t, postgres.Options{})
	options := eval.Options{
		Tenant: "eval",
		Steps: activities.Turn{
			Store: store, Retriever: retrieve.New(store, retrieve.Options{}), Logger: slog.New(slog.DiscardHandler),
			Rules: activities.Roles{Planner: plan.Rule{}, Writer: write.Rule{}},
		},
	}
	got, err := eval.LoCoMoRetrieval(t.Context(), data, options)
	require.NoError(t, err)
	require.Equal(t, 2, got.Questions)
	require.Equal(t, eval.Recall{5: 1, 10: 1, 20: 1}, got.Recall)

	ctx := postgrestest.In(t.Context(), "eval", "ours-1")
	page, err := store.ListMemories(ctx, postgres.MemoryFilter{})
	require.NoError(t, err)
	require.Len(t, page.Memories, 3, "one memory an utterance, as it was said")

	options.Conversations = []string{"ours-2"}
	_, err = eval.LoCoMoRetrieval(t.Context(), data, options)
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
}
