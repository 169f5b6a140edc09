package postgres_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// rechain is what a forger with all rights does: make the hashes fit again,
// from one event to the end.
const rechain = `
	UPDATE audit_event SET hash = sha256(prev_hash || convert_to(body, 'UTF8')) WHERE tenant = 'acme' AND seq = 3;
	UPDATE audit_event e SET prev_hash = p.hash, hash = sha256(p.hash || convert_to(e.body, 'UTF8')) FROM audit_event p WHERE e.tenant = 'acme' AND e.seq = 4 AND p.tenant = 'acme' AND p.seq = 3;
	UPDATE audit_event e SET prev_hash = p.hash, hash = sha256(p.hash || convert_to(e.body, 'UTF8')) FROM audit_event p WHERE e.tenant = 'acme' AND e.seq = 5 AND p.tenant = 'acme' AND p.seq = 4;
	UPDATE audit_event e SET prev_hash = p.hash, hash = sha256(p.hash || convert_to(e.body, 'UTF8')) FROM audit_event p WHERE e.tenant = 'acme' AND e.seq = 6 AND p.tenant = 'acme' AND p.seq = 5;
	UPDATE audit_head h SET hash = e.hash FROM audit_event e WHERE h.tenant = 'acme' AND e.tenant = 'acme' AND e.seq = h.seq;`

// TestVerifyFindsTampering lets a superuser, whom no right and no policy stops,
// do what the chain is there to show.
func TestVerifyFindsTampering(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	inhabit(t, postgrestest.Store(t, postgres.Options{URL: url}))
	auditor := postgrestest.Store(t, postgres.Options{URL: url, Role: schema.RoleAuditor})
	owner := connect(t, url, "")

	clean, err := audit.Verify(t.Context(), auditor, "acme", audit.Options{PageSize: 2})
	require.NoError(t, err)
	require.True(t, clean.OK(), clean.Faults)
	require.EqualValues(t, 6, clean.Events) // two users: added, superseded, added
	require.EqualValues(t, 6, clean.Head.Seq)
	require.Zero(t, clean.Erased)

	none, err := audit.Verify(t.Context(), auditor, "nobody", audit.Options{})
	require.NoError(t, err)
	require.True(t, none.OK())
	require.Zero(t, none.Events)

	type want struct {
		kind audit.Kind
		seq  int64
		to   int64
	}
	for _, test := range []struct {
		name    string
		tamper  string
		faults  []want
		anchors []audit.Anchor
	}{
		{
			name:   "a column changed",
			tamper: "UPDATE audit_event SET reason = 'because' WHERE tenant = 'acme' AND seq = 3",
			faults: []want{{audit.Changed, 3, 3}},
		}, {
			name:   "the actor changed in column and body",
			tamper: `UPDATE audit_event SET actor = 'x', body = replace(body, '"actor": "key-1"', '"actor": "x"') WHERE tenant = 'acme' AND seq = 3`,
			faults: []want{{audit.Changed, 3, 3}},
		}, {
			name: "an event rewritten with its hash",
			tamper: `UPDATE audit_event SET actor = 'x', body = replace(body, '"actor": "key-1"', '"actor": "x"') WHERE tenant = 'acme' AND seq = 3;
				UPDATE audit_event SET hash = sha256(prev_hash || convert_to(body, 'UTF8')) WHERE tenant = 'acme' AND seq = 3`,
			faults: []want{{audit.Changed, 3, 3}},
		}, {
			name:   "the last event rewritten with its hash",
			tamper: `UPDATE audit_event SET body = replace(body, 'key-1', 'key-2'), actor = 'key-2', hash = sha256(prev_hash || convert_to(replace(body, 'key-1', 'key-2'), 'UTF8')) WHERE tenant = 'acme' AND seq = 6`,
			faults: []want{{audit.Changed, 6, 6}},
		}, {
			name:   "an event moved to another user",
			tamper: "UPDATE audit_event SET user_id = 'bob' WHERE tenant = 'acme' AND seq = 1",
			faults: []want{{audit.Changed, 1, 1}},
		}, {
			name:   "an event removed",
			tamper: "DELETE FROM audit_event WHERE tenant = 'acme' AND seq = 3",
			faults: []want{{audit.Removed, 3, 3}, {audit.MemoryChanged, 0, 0}},
		}, {
			name:   "the first events removed",
			tamper: "DELETE FROM audit_event WHERE tenant = 'acme' AND seq < 3",
			faults: []want{{audit.Removed, 1, 2}},
		}, {
			name:   "the last events removed",
			tamper: "DELETE FROM audit_event WHERE tenant = 'acme' AND seq > 4",
			faults: []want{{audit.Removed, 5, 6}, {audit.MemoryChanged, 4, 4}, {audit.MemoryChanged, 0, 0}},
		}, {
			name:   "all events removed",
			tamper: "DELETE FROM audit_event WHERE tenant = 'acme'",
			faults: []want{{audit.Removed, 1, 6}},
		}, {
			name:   "the head removed",
			tamper: "DELETE FROM audit_head WHERE tenant = 'acme'",
			faults: []want{{audit.Removed, 7, 7}},
		}, {
			name: "the last events removed and the head set back",
			tamper: `DELETE FROM audit_event WHERE tenant = 'acme' AND seq > 4;
				UPDATE audit_head h SET seq = 4, hash = e.hash FROM audit_event e WHERE h.tenant = 'acme' AND e.tenant = 'acme' AND e.seq = 4`,
			faults:  []want{{audit.Removed, 5, 6}, {audit.MemoryChanged, 4, 4}, {audit.MemoryChanged, 0, 0}},
			anchors: []audit.Anchor{clean.Head},
		}, {
			name: "two events in each other's place",
			tamper: `UPDATE audit_event SET seq = -1 WHERE tenant = 'acme' AND seq = 3;
				UPDATE audit_event SET seq = 3 WHERE tenant = 'acme' AND seq = 4;
				UPDATE audit_event SET seq = 4 WHERE tenant = 'acme' AND seq = -1`,
			faults: []want{{audit.Moved, 3, 3}, {audit.Moved, 4, 4}},
		}, {
			name: "an event inserted at the end",
			tamper: `INSERT INTO audit_event SELECT tenant, user_id, 7, at, event, memory_id, actor, reason, turn_id, workflow_id, run_id, rule, content, before_digest, after_digest,
				replace(body, '"seq": 6', '"seq": 7'), hash, sha256(hash || convert_to(replace(body, '"seq": 6', '"seq": 7'), 'UTF8')) FROM audit_event WHERE tenant = 'acme' AND seq = 6`,
			faults: []want{{audit.Inserted, 7, 7}},
		}, {
			name:   "an event inserted before the first",
			tamper: `INSERT INTO audit_event SELECT tenant, user_id, 0, at, event, memory_id, actor, reason, turn_id, workflow_id, run_id, rule, content, before_digest, after_digest, body, prev_hash, hash FROM audit_event WHERE tenant = 'acme' AND seq = 1`,
			faults: []want{{audit.Inserted, 0, 0}},
		}, {
			name:   "the text of an event changed",
			tamper: "UPDATE audit_content SET after = replace(after, 'Berlin', 'Bergen') WHERE tenant = 'acme' AND id = (SELECT content FROM audit_event WHERE tenant = 'acme' AND seq = 1)",
			faults: []want{{audit.ContentChanged, 1, 1}},
		}, {
			name:   "the texts of an event removed",
			tamper: "DELETE FROM audit_content WHERE tenant = 'acme' AND id = (SELECT content FROM audit_event WHERE tenant = 'acme' AND seq = 1)",
			faults: []want{{audit.ContentRemoved, 1, 1}},
		}, {
			name:   "the words of a memory changed",
			tamper: "UPDATE memory SET text = 'Lives in Bergen.' WHERE tenant = 'acme' AND user_id = 'ann' AND status = 'active'",
			faults: []want{{audit.MemoryChanged, 3, 3}},
		}, {
			name:   "a memory brought back",
			tamper: "UPDATE memory SET status = 'active', superseded_by = NULL, expired_at = NULL, valid_to = NULL WHERE tenant = 'acme' AND user_id = 'ann' AND status = 'superseded'",
			faults: []want{{audit.MemoryChanged, 2, 2}},
		}, {
			name:   "the end of a memory's truth moved",
			tamper: "UPDATE memory SET valid_to = valid_to + interval '1 microsecond' WHERE tenant = 'acme' AND user_id = 'bob' AND status = 'superseded'",
			faults: []want{{audit.MemoryChanged, 5, 5}},
		}, {
			name: "a memory that no event tells of",
			tamper: `INSERT INTO memory (tenant, user_id, id, seq, revision, kind, status, source, event_at, valid_from, recorded_at, changed_at, last_seen, text, content_hash, analyzer, terms)
				VALUES ('acme', 'ann', 'm_forged', 99, 99, 'fact', 'active', 'user', now(), now(), now(), now(), now(), 'Owes me money.', '', 1, '')`,
			faults: []want{{audit.MemoryChanged, 0, 0}},
		}, {
			name:   "a memory removed",
			tamper: "DELETE FROM memory WHERE tenant = 'acme' AND user_id = 'ann' AND status = 'active'",
			faults: []want{{audit.MemoryRemoved, 3, 3}},
		}, {
			name:   "a memory made to look forgotten",
			tamper: "UPDATE memory SET status = 'forgotten', expired_at = now(), text = '', value = '', subject = '', attribute = '', terms = '', content_hash = '' WHERE tenant = 'acme' AND user_id = 'ann' AND status = 'active'",
			faults: []want{{audit.MemoryChanged, 3, 3}},
		}, {
			name:    "everything from an event on rewritten, against an anchor",
			tamper:  `UPDATE audit_event SET actor = 'x', body = replace(body, '"actor": "key-1"', '"actor": "x"') WHERE tenant = 'acme' AND seq = 3;` + rechain,
			faults:  []want{{audit.Rewritten, 6, 6}},
			anchors: []audit.Anchor{clean.Head},
		},
	} {
		t.Run(test.name, func(t *testing.T) { //nolint:paralleltest // they take turns at one database
			ctx := t.Context()
			within(t, owner, memory.Scope{}, func(tx pgx.Tx) {
				_, err := tx.Exec(ctx, "SET LOCAL session_replication_role = replica; ALTER TABLE audit_event DROP CONSTRAINT audit_event_seq_check; SAVEPOINT s")
				require.NoError(t, err)
				_, err = tx.Exec(ctx, test.tamper)
				require.NoError(t, err)
				report, err := audit.Verify(ctx, postgres.AuditIn(tx), "acme", audit.Options{PageSize: 2, Anchors: test.anchors})
				require.NoError(t, err)
				require.False(t, report.OK())
				for _, w := range test.faults {
					found := false
					for _, f := range report.Faults {
						require.NotContains(t, f.Detail, "Berlin")
						found = found || f.Kind == w.kind && f.Seq == w.seq && f.To == w.to
					}
					require.True(t, found, "want %v among %v", w, report.Faults)
				}
				for _, f := range report.Faults { // and nobody else is blamed
					blamed := false
					for _, w := range test.faults {
						blamed = blamed || f.Seq >= w.seq-1 && f.Seq <= w.to+1
					}
					require.True(t, blamed, "%v", f)
				}
			})
		})
	}
}

func TestForgettingLeavesTheChainWholeAndOtherErasureDoesNot(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s := postgrestest.Store(t, postgres.Options{URL: url})
	inhabit(t, s)
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	page, err := s.ListMemories(ctx, postgres.MemoryFilter{All: true})
	require.NoError(t, err)
	require.Len(t, page.Memories, 2)
	berlin := page.Memories[1]
	require.Equal(t, memory.StatusSuperseded, berlin.Status)
	for range 2 { // the second time there is nothing to do
		_, err = s.Forget(ctx, berlin.ID, "operator", "asked for")
		require.NoError(t, err)
	}

	auditor := postgrestest.Store(t, postgres.Options{URL: url, Role: schema.RoleAuditor})
	report, err := audit.Verify(t.Context(), auditor, "acme", audit.Options{PageSize: 1})
	require.NoError(t, err)
	require.True(t, report.OK(), report.Faults)
	require.EqualValues(t, 7, report.Events)
	require.EqualValues(t, 4, report.Memories)
	require.EqualValues(t, 2, report.Erased, "its digests stay")

	owner := connect(t, url, "")
	_, err = owner.Exec(t.Context(), "DELETE FROM audit_content WHERE tenant = 'acme' AND user_id = 'ann'")
	require.NoError(t, err)
	report, err = audit.Verify(t.Context(), auditor, "acme", audit.Options{})
	require.NoError(t, err)
	require.Equal(t, 1, report.Count, report.Faults)
	require.Equal(t, audit.ContentRemoved, report.Faults[0].Kind)
	require.EqualValues(t, 3, report.Faults[0].Seq)
}

func TestEventsAreNotChangedByMistake(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	inhabit(t, postgrestest.Store(t, postgres.Options{URL: url}))
	owner := connect(t, url, "")
	for _, statement := range []string{"UPDATE audit_event SET reason = ''", "DELETE FROM audit_event", "TRUNCATE audit_event"} {
		_, err := owner.Exec(t.Context(), statement)
		require.ErrorContains(t, err, "never changed", statement)
	}
}

func TestDigestsDoNotTellEqualTexts(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	inhabit(t, postgrestest.Store(t, postgres.Options{URL: url}))
	var events, digests int
	require.NoError(t, connect(t, url, "").QueryRow(t.Context(), "SELECT count(*), count(DISTINCT after_digest) FROM audit_event").Scan(&events, &digests))
	require.Equal(t, events, digests)
}

func TestAuditorReadsTheAuditOfOneTenantAndNothingElse(t *testing.T) {
	t.Parallel()
	ctx, url := t.Context(), postgrestest.URL(t)
	inhabit(t, postgrestest.Store(t, postgres.Options{URL: url}))
	auditor := connect(t, url, schema.RoleAuditor)
	within(t, auditor, memory.Scope{Tenant: "acme"}, func(tx pgx.Tx) {
		var own, foreign int
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FILTER (WHERE tenant = 'acme'), count(*) FILTER (WHERE tenant <> 'acme') FROM audit_event").Scan(&own, &foreign))
		require.Equal(t, 6, own)
		require.Zero(t, foreign)
	})
	within(t, auditor, memory.Scope{Tenant: "acme"}, func(tx pgx.Tx) {
		var own, foreign int // what the audit has as well
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FILTER (WHERE tenant = 'acme'), count(*) FILTER (WHERE tenant <> 'acme') FROM memory WHERE text <> ''").Scan(&own, &foreign))
		require.Equal(t, 4, own)
		require.Zero(t, foreign)
	})
	within(t, auditor, memory.Scope{}, func(tx pgx.Tx) {
		var n int
		require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FROM memory WHERE text <> ''").Scan(&n))
		require.Zero(t, n, "without a tenant there is nothing")
	})
	for _, statement := range []string{"SELECT * FROM memory", "SELECT terms FROM memory", "SELECT * FROM memory_vector", "SELECT * FROM turn", "DELETE FROM audit_content", "INSERT INTO audit_event DEFAULT VALUES", "UPDATE audit_content SET after = ''"} {
		within(t, auditor, memory.Scope{Tenant: "acme", User: "ann"}, func(tx pgx.Tx) {
			_, err := tx.Exec(ctx, statement)
			require.True(t, denied(err), "%s: %v", statement, err)
		})
	}
}

func TestHistoryTellsCauseBeforeAndAfter(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	inhabit(t, s)
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	changes, err := s.History(ctx, postgres.HistoryFilter{})
	require.NoError(t, err)
	require.Len(t, changes, 3)
	added, closed, second := changes[0], changes[1], changes[2]
	require.Equal(t, memory.EventAdded, added.Event)
	require.Nil(t, added.Before)
	require.Equal(t, "Lives in Berlin.", added.After.Text)
	require.Equal(t, "key-1", added.Actor)
	require.Equal(t, "turn/ann/k0", added.WorkflowID)
	require.Equal(t, "run-1", added.RunID)
	require.Equal(t, "write.rule.1", added.Rule)
	require.Equal(t, memory.EventSuperseded, closed.Event)
	require.Equal(t, added.ID, closed.ID)
	require.Equal(t, memory.StatusActive, closed.Before.Status)
	require.Equal(t, memory.StatusSuperseded, closed.After.Status)
	require.Equal(t, second.ID, closed.After.SupersededBy)
	require.Equal(t, memory.TurnIDFor("turn/ann/k1", day), second.Turn)

	page, err := s.History(ctx, postgres.HistoryFilter{After: added.Seq, Limit: 1})
	require.NoError(t, err)
	require.Equal(t, []postgres.Change{closed}, page)
	of, err := s.History(ctx, postgres.HistoryFilter{Memory: second.ID})
	require.NoError(t, err)
	require.Equal(t, []postgres.Change{second}, of)

	story, err := s.Trace(ctx, second.Turn)
	require.NoError(t, err)
	require.Equal(t, []postgres.Change{closed, second}, story.Changes)
	require.Len(t, story.Refused, 1)
	require.Equal(t, "Hi!", story.Refused[0].Memory)
	require.True(t, story.Turn.Committed)
	require.Equal(t, []memory.Chosen{{ID: added.ID, Reason: "score"}}, story.Receipt.Selected)
	encoded, err := json.Marshal(story)
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(encoded)), "vector")
}
