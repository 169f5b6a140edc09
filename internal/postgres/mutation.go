package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

// maxRefusals is how many refusals of a user stay visible; older ones are only
// counted.
const maxRefusals = 1000

// cause is what a change to memory is attributed to in the audit.
type cause struct {
	actor      string
	turn       memory.TurnID
	workflowID string
	runID      string
}

// held is a memory within a mutation: as it was found, or first inserted, and
// as it is now.
type held struct {
	first  memory.Memory
	now    memory.Memory
	seq    int64
	fresh  bool // made by this mutation
	hash   []byte
	vector memory.Vector
	rule   string
	turn   memory.TurnID
	// twin is the nearest live memory when this fresh one was made.
	twin       memory.ID
	twinCosine float64
	forgotten  bool
	revised    bool // something that is no part of a version changed
}

// evidence links a turn to a memory.
type evidence struct {
	id     memory.ID
	source memory.Source
	rule   string
	quote  string
}

// merge says that one memory's evidence goes to another.
type merge struct{ from, into memory.ID }

// record is one audit event before it has its place in the chain.
type record struct {
	event         memory.Event
	id            memory.ID
	reason, rule  string
	before, after string
}

// refused is a statement that was not kept.
type refused struct{ text, reason, rule string }

// mutation collects what one transaction does to a user's memory, while it
// holds the user's lock. Decisions read and change it in memory; write then
// sends everything in one pipeline.
type mutation struct {
	scope    memory.Scope
	cause    cause
	at       time.Time
	revision int64
	seq      int64
	live     int
	refusals int64

	memories  map[memory.ID]*held
	inserted  []*held
	evidences []evidence
	merges    []merge
	refused   []refused
	records   []record
	model     string
}

// begin starts a mutation's pipeline: transaction, scope, the user's row and
// its lock. m is filled when the pipeline is sent.
func (m *mutation) begin(ctx context.Context, scope memory.Scope) *pipeline {
	p := &pipeline{}
	p.statement(ctx, "begin")
	p.enter(ctx, scope)
	t, u := string(scope.Tenant), string(scope.User)
	m.scope, m.memories = scope, map[memory.ID]*held{}
	p.add(func(q *query.Queries) error {
		return q.EnsureUser(ctx, query.EnsureUserParams{Tenant: t, UserID: u})
	})
	p.add(func(q *query.Queries) error {
		row, err := q.LockUser(ctx, query.LockUserParams{Tenant: t, UserID: u})
		if err != nil {
			return err
		}
		m.at, m.revision, m.seq, m.live, m.refusals = row.Now.UTC(), row.Revision+1, row.Seq, int(row.Live), row.Refused
		return nil
	})
	return p
}

// hold takes a row into the mutation; one that is there already stays as it is.
func (m *mutation) hold(row query.Memory) (*held, error) {
	if h, ok := m.memories[memory.ID(row.ID)]; ok {
		return h, nil
	}
	mem, err := toMemory(row)
	if err != nil {
		return nil, err
	}
	h := &held{first: mem, now: mem, seq: row.Seq, hash: row.ContentHash}
	m.memories[mem.ID] = h
	return h, nil
}

func isLive(s memory.Status) bool { return s == memory.StatusActive || s == memory.StatusContested }

// insert makes a memory of a draft. closedBy, where it is not empty, is the
// newer statement by which it was over before we heard of it.
func (m *mutation) insert(d memory.Draft, status memory.Status, closedBy memory.ID, conversation memory.ConversationID, metadata map[string]string) *held {
	m.seq++
	d = spanned(d)
	mem := memory.Memory{
		Scope: m.scope, ID: memory.NewID(m.at), Text: d.Text, Kind: cmp.Or(d.Kind, memory.KindNote), Status: status,
		Speaker: d.Speaker, Conversation: conversation, Subject: d.Subject, Attribute: d.Attribute, Value: d.Value,
		Source: cmp.Or(d.Source, memory.SourceAssistant), EventAt: d.EventAt, ValidFrom: d.ValidFrom, ValidTo: d.ValidTo,
		RecordedAt: m.at, Strength: 1, LastSeen: m.at, Metadata: metadata, Version: 1,
	}
	if closedBy != "" {
		mem.Status, mem.SupersededBy, mem.ExpiredAt = memory.StatusSuperseded, closedBy, m.at
	} else {
		m.live++
	}
	h := &held{
		first: mem, now: mem, seq: m.seq, fresh: true, rule: d.Rule, vector: d.Vector, turn: m.cause.turn,
		hash: draftHash(d),
	}
	m.memories[mem.ID] = h
	m.inserted = append(m.inserted, h)
	m.evidences = append(m.evidences, evidence{mem.ID, mem.Source, d.Rule, d.Quote})
	return h
}

func later(t, than time.Time) time.Time {
	if t.Before(than) {
		return than
	}
	return t
}

// close ends a live memory.
func (m *mutation) close(h *held, status memory.Status, by memory.ID) {
	if !isLive(h.now.Status) {
		return
	}
	m.live--
	h.now.Status, h.now.SupersededBy, h.now.ExpiredAt, h.now.Pinned = status, by, m.at, false
}

// note adds an audit event about a memory whose state before is given.
func (m *mutation) note(event memory.Event, h *held, before *memory.Memory, reason, rule string) {
	r := record{event: event, id: h.now.ID, reason: reason, rule: rule}
	if before != nil {
		r.before = string(encode(*before, ""))
	}
	if !h.forgotten {
		r.after = string(encode(h.now, ""))
	}
	m.records = append(m.records, r)
}

// changed reports whether the mutation leaves anything to write.
func (m *mutation) changed() bool {
	if len(m.inserted)+len(m.refused)+len(m.records)+len(m.evidences) > 0 {
		return true
	}
	for _, h := range m.memories {
		if h.revised {
			return true
		}
	}
	return false
}

// write appends everything to p: first what is new, then what changed (in the
// order of ids, as everybody locks), the counters, and at the very end the
// audit, whose chain the whole tenant shares. The caller adds "commit".
func (m *mutation) write(ctx context.Context, p *pipeline) {
	t, u := string(m.scope.Tenant), string(m.scope.User)
	// What was live and is closed gives its words free for a new row with the
	// same ones ("Berlin", "no, Oslo", "Berlin after all" in one turn).
	closed := map[string][]*held{}
	for _, h := range m.memories {
		if isLive(h.first.Status) && !isLive(h.now.Status) && len(h.hash) > 0 {
			closed[string(h.hash)] = append(closed[string(h.hash)], h)
		}
	}
	early := map[*held]bool{}
	for _, h := range m.inserted {
		for _, old := range closed[string(h.hash)] {
			if old.seq < h.seq && !early[old] {
				early[old] = true
				m.writeChange(ctx, p, old)
			}
		}
		m.writeNew(ctx, p, h)
	}
	for _, e := range m.evidences {
		p.add(func(q *query.Queries) error {
			_, err := q.InsertEvidence(ctx, query.InsertEvidenceParams{
				Tenant: t, UserID: u, MemoryID: string(e.id), TurnID: string(m.cause.turn), At: m.at,
				Source: string(e.source), Rule: e.rule, Quote: e.quote,
			})
			return err
		})
	}
	for _, g := range m.merges {
		p.add(func(q *query.Queries) error {
			return q.CopyEvidence(ctx, query.CopyEvidenceParams{Tenant: t, UserID: u, FromID: string(g.from), IntoID: string(g.into)})
		})
	}
	for _, h := range m.ordered() {
		if !early[h] {
			m.writeChange(ctx, p, h)
		}
	}
	for _, r := range m.refused {
		m.refusals++
		n := m.refusals // the pipeline calls later, when the counter has gone on
		p.add(func(q *query.Queries) error {
			return q.InsertRefusal(ctx, query.InsertRefusalParams{
				Tenant: t, UserID: u, N: n, At: m.at, TurnID: string(m.cause.turn),
				Reason: r.reason, Rule: r.rule, Text: r.text,
			})
		})
	}
	if len(m.refused) > 0 && m.refusals > maxRefusals {
		p.add(func(q *query.Queries) error {
			return q.TrimRefusals(ctx, query.TrimRefusalsParams{Tenant: t, UserID: u, N: m.refusals - maxRefusals})
		})
	}
	p.add(func(q *query.Queries) error {
		return q.ChangeUser(ctx, query.ChangeUserParams{
			Tenant: t, UserID: u, Revision: m.revision, Seq: m.seq, Live: int32(m.live), Refused: m.refusals, ChangedAt: m.at,
		})
	})
	m.writeAudit(ctx, p)
}

// ordered returns the memories in the order of their ids.
func (m *mutation) ordered() []*held {
	out := make([]*held, 0, len(m.memories))
	for _, h := range m.memories {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b *held) int { return cmp.Compare(a.now.ID, b.now.ID) })
	return out
}

func (m *mutation) writeNew(ctx context.Context, p *pipeline, h *held) {
	f := h.first
	row := query.InsertMemoryParams{
		Tenant: string(m.scope.Tenant), UserID: string(m.scope.User), ID: string(f.ID), Seq: h.seq, Revision: m.revision,
		Kind: string(f.Kind), Status: string(f.Status), Source: string(f.Source), Pinned: f.Pinned,
		EventAt: f.EventAt, ValidFrom: f.ValidFrom, ValidTo: toNull(f.ValidTo), RecordedAt: f.RecordedAt,
		ExpiredAt: toNull(f.ExpiredAt), SupersededBy: toNullID(f.SupersededBy),
		Conversation: string(f.Conversation), TurnID: string(h.turn), Speaker: f.Speaker,
		Subject: f.Subject, Attribute: f.Attribute, Value: f.Value, Rule: h.rule, Text: f.Text, Metadata: encode(f.Metadata, "{}"),
		ContentHash: h.hash, Analyzer: int16(lexical.Version), Terms: packTerms(lexical.Analyze(f.Text)),
	}
	if h.twin != "" {
		cosine := float32(h.twinCosine)
		row.Twin, row.TwinCosine = toNullID(h.twin), &cosine
	}
	p.add(func(q *query.Queries) error { return q.InsertMemory(ctx, row) })
	p.add(func(q *query.Queries) error {
		return q.InsertUse(ctx, query.InsertUseParams{Tenant: row.Tenant, UserID: row.UserID, MemoryID: row.ID})
	})
	if len(h.vector) > 0 {
		p.add(func(q *query.Queries) error {
			_, err := q.SetVector(ctx, query.SetVectorParams{Tenant: row.Tenant, UserID: row.UserID, MemoryID: row.ID, Model: m.model, V: h.vector})
			return err
		})
	}
}

// writeChange writes the difference between a memory as it was found and as it
// is now, if there is one.
func (m *mutation) writeChange(ctx context.Context, p *pipeline, h *held) {
	t, u, id := string(m.scope.Tenant), string(m.scope.User), string(h.now.ID)
	f, n := h.first, h.now
	if h.forgotten {
		p.add(func(q *query.Queries) error {
			return q.ForgetMemory(ctx, query.ForgetMemoryParams{Tenant: t, UserID: u, ID: id, Revision: m.revision, ChangedAt: m.at})
		})
		p.add(func(q *query.Queries) error {
			return q.ForgetQuotes(ctx, query.ForgetQuotesParams{Tenant: t, UserID: u, MemoryID: id})
		})
		p.add(func(q *query.Queries) error {
			return q.DeleteVectors(ctx, query.DeleteVectorsParams{Tenant: t, UserID: u, MemoryID: id})
		})
	} else {
		if f.Status == n.Status && f.Strength == n.Strength && f.Pinned == n.Pinned && f.Source == n.Source &&
			f.ValidTo.Equal(n.ValidTo) && f.LastSeen.Equal(n.LastSeen) {
			return
		}
		p.add(func(q *query.Queries) error {
			return q.ChangeMemory(ctx, query.ChangeMemoryParams{
				Tenant: t, UserID: u, ID: id, Revision: m.revision, ChangedAt: m.at,
				Status: string(n.Status), Source: string(n.Source), Strength: int32(n.Strength), Pinned: n.Pinned, LastSeen: n.LastSeen,
				ValidTo: toNull(n.ValidTo), ExpiredAt: toNull(n.ExpiredAt), SupersededBy: toNullID(n.SupersededBy),
			})
		})
		if isLive(f.Status) && !isLive(n.Status) {
			p.add(func(q *query.Queries) error {
				return q.CloseVectors(ctx, query.CloseVectorsParams{Tenant: t, UserID: u, MemoryID: id})
			})
		}
	}
	p.add(func(q *query.Queries) error {
		return q.ChangeUse(ctx, query.ChangeUseParams{Tenant: t, UserID: u, MemoryID: id})
	})
}

// writeAudit writes the events and, apart from them, the texts before and
// after, each bound to its event by a salted digest.
func (m *mutation) writeAudit(ctx context.Context, p *pipeline) {
	t, u := string(m.scope.Tenant), string(m.scope.User)
	events := make([]query.InsertAuditEventParams, len(m.records))
	for i, r := range m.records {
		var random [32]byte
		_, _ = rand.Read(random[:]) // never fails (crypto/rand docs)
		id, salt := hex.EncodeToString(random[:16]), random[16:]
		p.add(func(q *query.Queries) error {
			return q.InsertAuditContent(ctx, query.InsertAuditContentParams{
				Tenant: t, UserID: u, ID: id, Salt: salt, Before: r.before, After: r.after,
			})
		})
		events[i] = query.InsertAuditEventParams{
			Tenant: t, UserID: u, Event: string(r.event), MemoryID: string(r.id), Actor: m.cause.actor, Reason: r.reason, Rule: r.rule,
			TurnID: string(m.cause.turn), WorkflowID: m.cause.workflowID, RunID: m.cause.runID,
			Content: id, BeforeDigest: digest(salt, r.before), AfterDigest: digest(salt, r.after),
		}
	}
	for _, e := range events {
		p.add(func(q *query.Queries) error { return q.InsertAuditEvent(ctx, e) })
	}
}

// digest binds a text to its event without telling it; no text, no digest.
func digest(salt []byte, text string) []byte {
	if text == "" {
		return []byte{}
	}
	h := sha256.New()
	h.Write(salt)
	h.Write([]byte(text))
	return h.Sum(nil)
}
