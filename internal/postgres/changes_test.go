package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/memory"
)

func TestChangesTellWhatIsNewSinceARevision(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	nothing, err := s.Changes(ctx, "test", 0)
	require.NoError(t, err)
	require.Equal(t, retrieve.Delta{Reset: true, Items: []retrieve.Item{}}, nothing)

	berlin := residence("Berlin")
	berlin.Vector = memory.Vector{0.6, 0.8}
	first := tell(ctx, t, s, "k1", day, berlin)
	delta, err := s.Changes(ctx, "test", 0)
	require.NoError(t, err)
	require.True(t, delta.Reset)
	require.EqualValues(t, 1, delta.Revision)
	require.Len(t, delta.Items, 1)
	item := delta.Items[0]
	found, err := s.Fetch(ctx, []memory.ID{first.ID})
	require.NoError(t, err)
	require.Equal(t, []memory.TurnID{memory.TurnIDFor("turn/ann/k1", day)}, found[0].Evidence)
	found[0].Evidence = nil
	require.Equal(t, found[0], item.Memory, "both ways of reading agree")
	require.Equal(t, lexical.Analyze("Ann lives in Berlin."), item.Terms)
	require.InDeltaSlice(t, []float32{0.6, 0.8}, []float32(item.Vector), 1e-3)
	require.EqualValues(t, 1, item.Seq)

	other, err := s.Changes(ctx, "another model", 0)
	require.NoError(t, err)
	require.Nil(t, other.Items[0].Vector)

	same, err := s.Changes(ctx, "test", delta.Revision)
	require.NoError(t, err)
	require.Equal(t, retrieve.Delta{Revision: delta.Revision}, same)

	second := tell(ctx, t, s, "k2", day.AddDate(0, 1, 0), residence("Oslo"))
	delta, err = s.Changes(ctx, "test", delta.Revision)
	require.NoError(t, err)
	require.False(t, delta.Reset)
	require.EqualValues(t, 2, delta.Revision)
	status := map[memory.ID]memory.Status{}
	for _, i := range delta.Items {
		status[i.ID] = i.Status
	}
	require.Equal(t, map[memory.ID]memory.Status{first.ID: memory.StatusSuperseded, second.ID: memory.StatusActive}, status)

	// A use is no change, a vector is one.
	a := answered("ann", "use", "x")
	a.Selection.Chosen = []memory.Chosen{{ID: second.ID}}
	require.NoError(t, s.Record(ctx, a))
	missing, err := s.Unembedded(ctx, "test", 10)
	require.NoError(t, err)
	require.Len(t, missing, 1)
	require.Equal(t, second.ID, missing[0].ID)
	same, err = s.Changes(ctx, "test", delta.Revision)
	require.NoError(t, err)
	require.Empty(t, same.Items)
	require.NoError(t, s.SetVectors(ctx, "test", map[memory.ID]memory.Vector{second.ID: {1, 0}, "m_unknown": {0, 1}}))
	delta, err = s.Changes(ctx, "test", delta.Revision)
	require.NoError(t, err)
	require.Len(t, delta.Items, 1)
	require.Equal(t, memory.Vector{1, 0}, delta.Items[0].Vector)
	require.Equal(t, 1, delta.Items[0].Version, "a vector is no new version of the statement")
	missing, err = s.Unembedded(ctx, "test", 10)
	require.NoError(t, err)
	require.Empty(t, missing)

	future, err := s.Changes(ctx, "test", 1000) // of a database that was restored from an older backup
	require.NoError(t, err)
	require.True(t, future.Reset)
	require.Len(t, future.Items, 2)
}

func TestReaderThatFollowsTheChangesHoldsWhatIsThere(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{Capacity: 20})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	var writers errgroup.Group
	for w := range 4 {
		writers.Go(func() error {
			for i := range 10 {
				a := answered("ann", fmt.Sprint(w, "-", i), "x")
				d := residence(fmt.Sprint("City", (w+i)%5))
				d.EventAt = day.AddDate(0, i, w)
				if _, err := s.Commit(ctx, drafted(a, d, memory.Draft{Text: fmt.Sprintf("Fact %d of %d.", i, w)})); err != nil {
					return err
				}
			}
			return nil
		})
	}
	done := make(chan error, 1)
	go func() { done <- writers.Wait() }()
	held, revision := map[memory.ID]memory.Memory{}, int64(0)
	follow := func() {
		delta, err := s.Changes(ctx, "test", revision)
		require.NoError(t, err)
		require.GreaterOrEqual(t, delta.Revision, revision)
		if delta.Reset {
			clear(held)
		}
		for _, i := range delta.Items {
			held[i.ID] = i.Memory
		}
		revision = delta.Revision
	}
	for running := true; running; {
		select {
		case err := <-done:
			require.NoError(t, err)
			running = false
		default:
		}
		follow()
	}
	whole, err := s.Changes(ctx, "test", 0)
	require.NoError(t, err)
	require.Equal(t, whole.Revision, revision)
	live := 0
	for _, i := range whole.Items {
		require.Equal(t, i.Memory, held[i.ID])
	}
	for _, m := range held {
		if m.Status == memory.StatusActive {
			live++
		}
	}
	require.Equal(t, 20, live)
}

func TestForgottenWordsAreGoneAtOnceAndFromThePast(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	secret := memory.Draft{Text: "Ann's password is hunter2.", Vector: memory.Vector{1, 0}, Quote: "it is hunter2", Value: "hunter2", Subject: "Ann", Attribute: "password"}
	out := tell(ctx, t, s, "k1", day, secret)
	before, err := s.Changes(ctx, "test", 0)
	require.NoError(t, err)
	known := time.Now()

	got, err := s.Forget(ctx, out.ID, "operator", "asked by mail")
	require.NoError(t, err)
	require.Equal(t, memory.EventForgotten, got.Event)
	_, err = s.Forget(ctx, out.ID, "operator", "twice")
	require.NoError(t, err)

	delta, err := s.Changes(ctx, "test", before.Revision)
	require.NoError(t, err)
	require.Len(t, delta.Items, 1)
	require.Equal(t, memory.StatusForgotten, delta.Items[0].Status)
	require.Empty(t, delta.Items[0].Text)
	require.Empty(t, delta.Items[0].Terms)
	require.Nil(t, delta.Items[0].Vector)
	past, err := s.AsOf(ctx, "test", known)
	require.NoError(t, err)
	require.Empty(t, past)
	page, err := s.ListMemories(ctx, postgres.MemoryFilter{AsOf: known, All: true})
	require.NoError(t, err)
	require.Empty(t, page.Memories)
	shown, err := s.ShowMemory(ctx, out.ID)
	require.NoError(t, err)
	require.Empty(t, shown.Evidence[0].Quote)
	_, err = s.Pin(ctx, out.ID, "operator")
	require.Equal(t, memory.CodeConflict, memory.CodeOf(err))

	history, err := s.History(ctx, postgres.HistoryFilter{Memory: out.ID})
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.Equal(t, "asked by mail", history[1].Reason)
	require.Equal(t, "operator", history[1].Actor)
	require.Nil(t, history[1].After)
	require.Nil(t, history[0].After, "the audit does not keep the words")

	again := tell(ctx, t, s, "k2", day, secret)
	require.Equal(t, memory.EventAdded, again.Event, "what is said again is new")
	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, counts.Live)
}

func TestPagesOfMemoriesMeetWithoutOverlap(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	ids := fill(ctx, t, s, 7)
	var seen []memory.ID
	for _, asOf := range []time.Time{{}, time.Now().Add(time.Hour)} {
		seen = nil
		f := postgres.MemoryFilter{Limit: 3, AsOf: asOf}
		for pages := 1; ; pages++ {
			page, err := s.ListMemories(ctx, f)
			require.NoError(t, err)
			for _, m := range page.Memories {
				seen = append(seen, m.ID)
				require.Len(t, m.Evidence, 1)
			}
			if f.Cursor = page.Next; f.Cursor == "" {
				require.Equal(t, 3, pages)
				break
			}
		}
		require.ElementsMatch(t, ids, seen)
		require.Equal(t, ids[6], seen[0], "newest first")
	}
	_, err := s.ListMemories(ctx, postgres.MemoryFilter{Cursor: "-!"})
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
}
