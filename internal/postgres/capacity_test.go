package postgres_test

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/memory"
)

// axis is a unit vector that is like no other.
func axis(i int) memory.Vector {
	v := make(memory.Vector, 64)
	v[i] = 1
	return v
}

var hobbies = []string{"chess", "sailing", "pottery", "archery", "baking", "climbing", "drawing", "fencing", "gardening", "hiking", "juggling", "knitting", "origami"}

func hobby(i int) memory.Draft {
	return memory.Draft{Text: "Ann enjoys " + hobbies[i] + ".", Kind: memory.KindPreference, Vector: axis(i)}
}

// fill makes n memories and returns their ids.
func fill(ctx context.Context, t *testing.T, s *postgres.Store, n int) []memory.ID {
	t.Helper()
	ids := make([]memory.ID, n)
	for i := range n {
		out := tell(ctx, t, s, fmt.Sprint("fill", i), day, hobby(i))
		require.Equal(t, memory.EventAdded, out.Event)
		ids[i] = out.ID
	}
	return ids
}

func liveCount(ctx context.Context, t *testing.T, s *postgres.Store) int {
	t.Helper()
	page, err := s.ListMemories(ctx, postgres.MemoryFilter{Limit: postgres.MaxPage})
	require.NoError(t, err)
	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Len(t, page.Memories, counts.Live, "the counter is right")
	return counts.Live
}

// mem0#5850: the number of memories is bounded, and what goes is explained.
func TestFullMemoryEvictsWhatIsWorthLeast(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{Capacity: 5})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	ids := fill(ctx, t, s, 5)
	// The first is used, the second said again, the third pinned: the fourth
	// is now worth least.
	a := answered("ann", "use", "what do I enjoy?")
	a.Mode = memory.ModeRecall
	a.Candidates = []memory.Candidate{{ID: ids[0]}}
	a.Selection.Chosen = []memory.Chosen{{ID: ids[0]}}
	require.NoError(t, s.Record(ctx, a))
	require.NoError(t, s.Record(ctx, a))
	require.Equal(t, memory.EventReinforced, tell(ctx, t, s, "again", day, hobby(1)).Event)
	_, err := s.Pin(ctx, ids[2], "operator")
	require.NoError(t, err)
	used, err := s.ShowMemory(ctx, ids[0])
	require.NoError(t, err)
	require.Equal(t, 1, used.Accessed, "counted once")
	require.False(t, used.AccessedAt.IsZero())

	added := tell(ctx, t, s, "new", day, hobby(5))
	require.Equal(t, memory.EventAdded, added.Event)
	require.Equal(t, 5, liveCount(ctx, t, s))
	gone, err := s.ShowMemory(ctx, ids[3])
	require.NoError(t, err)
	require.Equal(t, memory.StatusEvicted, gone.Status)
	history, err := s.History(ctx, postgres.HistoryFilter{Memory: ids[3]})
	require.NoError(t, err)
	require.Equal(t, memory.EventEvicted, history[1].Event)
	require.Contains(t, history[1].Reason, "capacity 5 reached, lowest utility")
	require.Equal(t, memory.TurnIDFor("turn/ann/new", day), history[1].Turn)

	delta, err := s.Changes(ctx, "test", 0)
	require.NoError(t, err)
	for _, item := range delta.Items {
		require.NotEqual(t, ids[3], item.ID)
	}
}

func TestMemoryFullOfPinnedThingsRefusesMore(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{Capacity: 2})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	for _, id := range fill(ctx, t, s, 2) {
		_, err := s.Pin(ctx, id, "operator")
		require.NoError(t, err)
		_, err = s.Pin(ctx, id, "operator")
		require.NoError(t, err, "pinning again changes nothing")
	}
	out := tell(ctx, t, s, "new", day, hobby(2))
	require.Equal(t, memory.EventRefused, out.Event)
	require.Contains(t, out.Reason, "pinned")
	require.Empty(t, out.ID)
	require.Equal(t, 2, liveCount(ctx, t, s))
	refusals, err := s.Refusals(ctx, 0)
	require.NoError(t, err)
	require.Len(t, refusals, 1)

	// What closes something needs no room.
	require.Equal(t, memory.EventReinforced, tell(ctx, t, s, "again", day, hobby(1)).Event)
	history, err := s.History(ctx, postgres.HistoryFilter{})
	require.NoError(t, err)
	require.Len(t, history, 5) // two added, two pinned, one reinforced
}

func TestFullMemoryMergesBeforeItEvicts(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{Capacity: 4})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	ids := fill(ctx, t, s, 2)
	close := func(x float32) memory.Vector {
		v := axis(40)
		v[41] = x
		v.Normalize()
		return v
	}
	// Close, but not so close that the second was taken for the first.
	short := tell(ctx, t, s, "short", day, memory.Draft{Text: "Ann trains for a marathon.", Vector: close(0)})
	long := tell(ctx, t, s, "long", day, memory.Draft{Text: "Ann trains for a marathon with friends every morning.", Vector: close(0.6)})
	require.Equal(t, memory.EventAdded, long.Event)
	require.NotEqual(t, short.ID, long.ID)

	require.Equal(t, memory.EventAdded, tell(ctx, t, s, "new", day, hobby(2)).Event)
	require.Equal(t, 4, liveCount(ctx, t, s))
	merged, err := s.ShowMemory(ctx, short.ID)
	require.NoError(t, err)
	require.Equal(t, memory.StatusMerged, merged.Status)
	require.Equal(t, long.ID, merged.SupersededBy)
	kept, err := s.ShowMemory(ctx, long.ID)
	require.NoError(t, err)
	require.Equal(t, memory.StatusActive, kept.Status)
	require.Equal(t, 2, kept.Strength)
	require.Len(t, kept.Evidence, 2, "every evidence link is kept")
	for _, id := range ids {
		m, err := s.ShowMemory(ctx, id)
		require.NoError(t, err)
		require.Equal(t, memory.StatusActive, m.Status)
	}
	history, err := s.History(ctx, postgres.HistoryFilter{Memory: short.ID})
	require.NoError(t, err)
	require.Equal(t, memory.EventMerged, history[1].Event)
}

// graphiti#630: a difference in numbers, names or negation is no redundancy.
func TestFullMemoryMergesNothingThatDiffers(t *testing.T) {
	t.Parallel()
	for name, pair := range map[string][2]string{
		"numbers":  {"Ann has worked at Google for 5 years.", "Ann has worked at Google for 6 years."},
		"negation": {"Ann likes sushi.", "Ann does not like sushi."},
		"words":    {"Ann trains for a marathon with Bob.", "Ann trains for a triathlon with Bob every day."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := postgrestest.Store(t, postgres.Options{Capacity: 2})
			ctx := postgrestest.In(t.Context(), "acme", "ann")
			near := axis(1)
			near[2] = 0.6
			near.Normalize()
			first := tell(ctx, t, s, "a", day, memory.Draft{Text: pair[0], Vector: axis(1)})
			second := tell(ctx, t, s, "b", day, memory.Draft{Text: pair[1], Vector: near})
			require.Equal(t, memory.EventAdded, second.Event)
			tell(ctx, t, s, "c", day, hobby(5))
			m, err := s.ShowMemory(ctx, first.ID)
			require.NoError(t, err)
			require.Equal(t, memory.StatusEvicted, m.Status)
			require.Equal(t, 2, liveCount(ctx, t, s))
		})
	}
}

func TestCapacityHoldsAtEveryCommit(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := postgrestest.Store(t, postgres.Options{URL: url, Capacity: 7})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	owner := connect(t, url, "")
	_, err := owner.Exec(t.Context(), `CREATE FUNCTION check_live() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF (SELECT count(*) FROM lightmem.memory WHERE user_id = 'ann' AND status IN ('active', 'contested')) > 7 THEN RAISE EXCEPTION 'over capacity'; END IF; RETURN NULL; END $$;
		CREATE CONSTRAINT TRIGGER check_live AFTER INSERT OR UPDATE ON lightmem.memory DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_live()`)
	require.NoError(t, err)
	var group errgroup.Group
	for w := range 6 {
		group.Go(func() error {
			for i := range 5 {
				text := fmt.Sprintf("Fact number %d of writer %d.", i, w)
				a := answered("ann", fmt.Sprint("w", w, "-", i), text)
				// Two statements a turn, and use of old ones in between.
				_, err := s.Commit(ctx, drafted(a, memory.Draft{Text: text, Vector: axis(w*5 + i)}, memory.Draft{Text: "Also " + text, Kind: memory.KindNote}))
				if err != nil {
					return err
				}
				page, err := s.ListMemories(ctx, postgres.MemoryFilter{})
				if err != nil {
					return err
				}
				for _, m := range page.Memories {
					a.Selection.Chosen = append(a.Selection.Chosen, memory.Chosen{ID: m.ID})
				}
				if err := s.Record(ctx, a); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, 7, liveCount(ctx, t, s))

	smaller := postgrestest.Store(t, postgres.Options{URL: url, Capacity: 3})
	tell(ctx, t, smaller, "shrink", day, hobby(0))
	require.Equal(t, 3, liveCount(ctx, t, smaller))
}

func TestDraftsBeyondTheCapacityOfAWholeMemoryAreRefused(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{Capacity: 1})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	receipt, err := s.Commit(ctx, drafted(answered("ann", "k", "x"), hobby(0), hobby(1)))
	require.NoError(t, err)
	require.Equal(t, memory.EventAdded, receipt.Written[0].Event)
	require.Equal(t, memory.EventRefused, receipt.Written[1].Event)
	require.Equal(t, 1, liveCount(ctx, t, s))
}

func TestWorthIsTheSameInGoAndInTheDatabase(t *testing.T) {
	t.Parallel()
	conn := connect(t, postgrestest.URL(t), "")
	for i, m := range []memory.Memory{
		{Kind: memory.KindFact, Strength: 1, RecordedAt: day},
		{Kind: memory.KindPreference, Strength: 20, Accessed: 3, RecordedAt: day, LastSeen: day.AddDate(0, 2, 0), AccessedAt: day.AddDate(0, 1, 0)},
		{Kind: memory.KindNote, Strength: 2, Accessed: 100, RecordedAt: day, LastSeen: day, AccessedAt: day.AddDate(3, 1, 0), ValidTo: day},
		{Kind: memory.KindEvent, Strength: 1, RecordedAt: day.AddDate(-5, 0, 0), LastSeen: day.AddDate(-6, 0, 0)},
	} {
		touched := m.LastSeen
		if m.AccessedAt.After(touched) {
			touched = m.AccessedAt
		}
		var validTo *time.Time
		if !m.ValidTo.IsZero() {
			validTo = &m.ValidTo
		}
		var worth float64
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT lightmem.worth($1, $2, $3, $4, $5, $6)",
			string(m.Kind), m.Strength, m.Accessed, validTo, m.RecordedAt, touched).Scan(&worth))
		require.InDelta(t, postgres.Worth(m), worth, 1e-9, i)
	}
}

func TestWorthFollowsTheFormula(t *testing.T) {
	t.Parallel()
	base := memory.Memory{Kind: memory.KindEvent, Strength: 1, RecordedAt: day, LastSeen: day}
	change := func(f func(*memory.Memory)) float64 {
		m := base
		f(&m)
		return postgres.Worth(m) - postgres.Worth(base)
	}
	for name, test := range map[string]struct {
		factor float64
		change func(*memory.Memory)
	}{
		"facts count half as much again":      {1.5, func(m *memory.Memory) { m.Kind = memory.KindFact }},
		"notes count less":                    {0.8, func(m *memory.Memory) { m.Kind = memory.KindNote }},
		"said e times":                        {1 + math.Log(3), func(m *memory.Memory) { m.Strength = 3 }},
		"used":                                {1 + math.Log(5), func(m *memory.Memory) { m.Accessed = 4 }},
		"over":                                {0.5, func(m *memory.Memory) { m.ValidTo = day }},
		"used 90 days later doubles":          {2, func(m *memory.Memory) { m.AccessedAt = day.AddDate(0, 0, 90) }},
		"said again 180 days later":           {4, func(m *memory.Memory) { m.LastSeen = day.AddDate(0, 0, 180) }},
		"recorded 720 days later, never used": {512, func(m *memory.Memory) { m.RecordedAt = day.AddDate(0, 0, 720) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, math.Log2(test.factor), change(test.change), 1e-9)
		})
	}
}
