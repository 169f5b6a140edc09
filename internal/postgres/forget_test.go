package postgres_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/memory"
)

// holding lists the columns, of all tables of ours, that hold the word in any
// letter case, as text, in JSON or in bytes.
func holding(t *testing.T, url, word string) []string {
	t.Helper()
	owner := connect(t, url, "")
	rows, err := owner.Query(t.Context(), `
		SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = 'lightmem'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
		ORDER BY 1, 2`)
	require.NoError(t, err)
	type column struct{ table, name string }
	var columns []column
	for rows.Next() {
		var c column
		require.NoError(t, rows.Scan(&c.table, &c.name))
		columns = append(columns, c)
	}
	require.NoError(t, rows.Err())
	require.Greater(t, len(columns), 100)
	var out []string
	for _, c := range columns {
		var n int
		err = owner.QueryRow(t.Context(), `SELECT count(*) FROM "`+c.table+`" r WHERE to_jsonb(r."`+c.name+`")::text ILIKE '%' || $1 || '%'
			OR to_jsonb(r."`+c.name+`")::text ILIKE '%' || encode(convert_to($1, 'UTF8'), 'hex') || '%'`, word).Scan(&n)
		require.NoError(t, err, c)
		if n > 0 {
			out = append(out, c.table+"."+c.name)
		}
	}
	return out
}

func TestForgottenWordsAreInTheTranscriptOnly(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := postgrestest.Store(t, postgres.Options{URL: url})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	const word = "zq7xwv" // said nowhere else
	turns := []memory.TurnID{}
	record := func(key, text string, candidates []memory.Candidate, queries ...string) memory.Answered {
		a := answered("ann", key, text)
		for _, q := range queries {
			a.Plan.Queries = append(a.Plan.Queries, memory.Query{Text: q, Tier: memory.TierMTM, Origin: "model"})
		}
		if queries != nil {
			a.Plan.Entities = []string{"Zq7xwv", "Ann", "Berlin"}
		}
		a.Candidates = candidates
		for _, c := range candidates {
			a.Selection.Chosen = append(a.Selection.Chosen, memory.Chosen{ID: c.ID, Reason: "yes"})
		}
		require.NoError(t, s.Record(ctx, a))
		turns = append(turns, a.ID)
		return a
	}
	secret := memory.Draft{Text: "Ann's password is ZQ7XWV.", Subject: "Ann", Attribute: "password", Value: "zq7xwv", Quote: "my password is zq7xwv", Vector: memory.Vector{1, 0}}
	other := memory.Draft{Text: "Ann has a bank account.", Quote: "I have a bank account and my password is zq7xwv", Vector: memory.Vector{0, 1}}

	a := record("k1", "I have a bank account and my password is zq7xwv", nil, "password zq7xwv")
	d := drafted(a, secret, other)
	d.Refused = []memory.Outcome{{Memory: "zq7xwv it is.", Event: memory.EventRefused, Reason: "small talk"}, {Memory: "Hi there!", Event: memory.EventRefused, Reason: "small talk"}}
	receipt, err := s.Commit(ctx, d)
	require.NoError(t, err)
	id, sibling := receipt.Written[2].ID, receipt.Written[3].ID
	found := []memory.Candidate{{ID: id, Memory: secret.Text, Speaker: "zq7xwv"}, {ID: sibling, Memory: other.Text}}

	a = record("k2", "Which password?", found, "Ann's password")
	d = drafted(a, secret) // said again
	d.Refused = []memory.Outcome{{Memory: "The password is zq7xwv.", Event: memory.EventRefused, Reason: "echo"}}
	receipt, err = s.Commit(ctx, d)
	require.NoError(t, err)
	require.Equal(t, memory.EventReinforced, receipt.Written[1].Event)
	a = record("k3", "Is it zq7xwv?", nil) // did not find it, and what was refused tells it
	d = drafted(a)
	d.Refused = []memory.Outcome{{Memory: "Is it zq7xwv?", Event: memory.EventRefused, Reason: "question"}}
	_, err = s.Commit(ctx, d)
	require.NoError(t, err)
	_, err = s.Pin(ctx, id, "operator")
	require.NoError(t, err)
	require.Greater(t, len(holding(t, url, word)), 8, "the search finds")

	out, err := s.Forget(ctx, id, "operator", "ticket 1")
	require.NoError(t, err)
	require.Equal(t, memory.Outcome{ID: id, Event: memory.EventForgotten, Reason: "ticket 1"}, out)
	late := record("k4", "Which password, again?", found) // it was retrieved before, and is recorded now
	require.Subset(t, []string{"turn.answer", "turn.input"}, holding(t, url, word))

	history, err := s.History(ctx, postgres.HistoryFilter{})
	require.NoError(t, err)
	require.Len(t, history, 5, "added twice, reinforced, pinned, forgotten")
	shown, err := s.ShowMemory(ctx, id)
	require.NoError(t, err)
	require.Len(t, shown.Evidence, 2, "where it came from stays")
	refusals, err := s.Refusals(ctx, 0)
	require.NoError(t, err)
	stories := []postgres.Story{}
	for _, id := range turns {
		story, err := s.Trace(ctx, id)
		require.NoError(t, err)
		story.Turn.Input, story.Turn.Answer, story.Receipt.Answer = "", "", ""
		stories = append(stories, story)
	}
	b, err := json.Marshal([]any{history, shown, refusals, stories})
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(b)), word)

	// What has nothing to do with it stays.
	require.Equal(t, "Hi there!", refusals[2].Memory)
	require.Equal(t, other.Text, stories[1].Receipt.Candidates[1].Memory)
	require.Equal(t, memory.StatusForgotten, stories[1].Receipt.Candidates[0].Status)
	require.Len(t, stories[1].Receipt.Selected, 2)
	require.Equal(t, "Hi there!", stories[0].Receipt.Written[1].Memory)
	require.Equal(t, other.Text, stories[0].Receipt.Written[3].Memory)
	require.Equal(t, []string{"Berlin"}, stories[0].Receipt.Plan.Entities)
	require.Equal(t, late.ID, stories[3].Turn.ID)
	sib, err := s.ShowMemory(ctx, sibling)
	require.NoError(t, err)
	require.Equal(t, other.Text, sib.Text)
}

func TestForgettingTakesWhatWasMergedInto(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := postgrestest.Store(t, postgres.Options{URL: url, Capacity: 2})
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	less := tell(ctx, t, s, "k1", day, memory.Draft{Text: "Ann likes zq7xwv.", Vector: memory.Vector{1, 0}})
	more := tell(ctx, t, s, "k2", day, memory.Draft{Text: "Ann likes zq7xwv very much.", Vector: memory.Vector{0.9, 0.436}})
	tell(ctx, t, s, "k3", day, memory.Draft{Text: "The weather was fine.", Vector: memory.Vector{0, 1}})
	merged, err := s.ShowMemory(ctx, less.ID)
	require.NoError(t, err)
	require.Equal(t, memory.StatusMerged, merged.Status)
	require.Equal(t, more.ID, merged.SupersededBy)

	_, err = s.Forget(ctx, more.ID, "operator", "")
	require.NoError(t, err)
	merged, err = s.ShowMemory(ctx, less.ID)
	require.NoError(t, err)
	require.Equal(t, memory.StatusForgotten, merged.Status)
	require.Subset(t, []string{"turn.answer", "turn.input"}, holding(t, url, "zq7xwv"))
	counts, err := s.Counts(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, counts.Live)
}
