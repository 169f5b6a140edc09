package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

// aboutPage is how many turns or receipts are rewritten at a time.
const aboutPage = 200

// Forget takes a memory out of use at once and for good, and what was merged
// into it. Its words, vectors and quotes are removed, from the past as well,
// and so are the audit's texts of every event of it (their digests stay) and
// its words in the explanations of turns that proposed, retrieved or refused
// them. What stays is that it was, who forgot it and why, and by design the
// transcript (input and answer) of turns, from which nothing is retrieved
// outside its own conversation and which goes when the user is erased. Forgetting what is forgotten changes nothing.
func (s *Store) Forget(ctx context.Context, id memory.ID, actor, reason string) (memory.Outcome, error) {
	reason = cmp.Or(reason, "asked for")
	scope, err := acting(ctx, id, actor, reason)
	if err != nil {
		return memory.Outcome{}, err
	}
	err = s.locked(ctx, "forget memory", scope, func(ctx context.Context, conn sender) error {
		m := &mutation{cause: cause{actor: actor}}
		var rows []query.WithMergedRow
		p := m.begin(ctx, scope)
		p.add(func(q *query.Queries) (err error) {
			rows, err = q.WithMerged(ctx, query.WithMergedParams{Tenant: string(scope.Tenant), UserID: string(scope.User), ID: string(id)})
			return err
		})
		if err := p.send(ctx, conn); err != nil {
			return err
		}
		if len(rows) == 0 {
			return memory.Errorf(memory.CodeNotFound, "there is no such memory")
		}
		f := &forgetting{conn: conn, tenant: string(scope.Tenant), user: string(scope.User)}
		for _, row := range rows {
			h, err := m.hold(row.Memory)
			if err != nil {
				return err
			}
			f.ids = append(f.ids, row.Memory.ID)
			f.words.add(h.now.Text, h.now.Value)
			m.forget(h, reason)
		}
		if err := f.erase(ctx); err != nil {
			return err
		}
		p = &pipeline{}
		if m.changed() {
			m.write(ctx, p)
		}
		p.add(func(q *query.Queries) error { return q.EraseAuditContent(ctx, f.ids) })
		p.statement(ctx, "commit")
		return p.send(ctx, conn)
	})
	if err != nil {
		return memory.Outcome{}, err
	}
	return memory.Outcome{ID: id, Event: memory.EventForgotten, Reason: reason}, nil
}

// forget takes the words out of a memory that still has them.
func (m *mutation) forget(h *held, reason string) {
	if h.now.Status == memory.StatusForgotten {
		return
	}
	if isLive(h.now.Status) {
		m.live--
	}
	h.forgotten = true
	h.now.Status, h.now.Pinned, h.now.SupersededBy = memory.StatusForgotten, false, ""
	h.now.Text, h.now.Value, h.now.Subject, h.now.Attribute, h.now.Metadata = "", "", "", "", nil
	m.note(memory.EventForgotten, h, nil, reason, "") // without what was before: those are the words
}

// forgetting removes the words of memories from all that was recorded about
// them, within a transaction that holds the user's lock.
type forgetting struct {
	conn         sender
	tenant, user string
	ids          []string
	words        words
	turns, keys  []string // turns that said, proposed or retrieved them; the keys of those turns' receipts
}

func (f *forgetting) erase(ctx context.Context) error {
	var evidence []query.EvidenceAroundRow
	var refusals []query.AllRefusalsRow
	p := &pipeline{}
	p.add(func(q *query.Queries) (err error) {
		evidence, err = q.EvidenceAround(ctx, query.EvidenceAroundParams{Tenant: f.tenant, UserID: f.user, Ids: f.ids})
		return err
	})
	p.add(func(q *query.Queries) (err error) {
		refusals, err = q.AllRefusals(ctx, query.AllRefusalsParams{Tenant: f.tenant, UserID: f.user})
		return err
	})
	if err := p.send(ctx, f.conn); err != nil {
		return err
	}
	for _, e := range evidence {
		f.turns = append(f.turns, e.TurnID)
	}
	for _, r := range refusals { // also where the turn has nothing else to do with it
		if f.words.tells(r.Text) {
			f.turns = append(f.turns, r.TurnID)
		}
	}
	if err := f.explanations(ctx); err != nil {
		return err
	}
	if err := f.receipts(ctx); err != nil {
		return err
	}
	about := map[string]bool{}
	for _, t := range f.turns {
		about[t] = true
	}
	var ns []int64
	for _, r := range refusals {
		if about[r.TurnID] && f.words.touches(r.Text) {
			ns = append(ns, r.N)
		}
	}
	p = &pipeline{}
	p.add(func(q *query.Queries) error {
		return q.ForgetRefusals(ctx, query.ForgetRefusalsParams{Tenant: f.tenant, UserID: f.user, Ns: ns})
	})
	for _, e := range evidence { // a whole utterance may be another memory's quote as well
		if !slices.Contains(f.ids, e.MemoryID) && f.words.tells(e.Quote) {
			p.add(func(q *query.Queries) error {
				return q.ForgetQuote(ctx, query.ForgetQuoteParams{Tenant: f.tenant, UserID: f.user, MemoryID: e.MemoryID, TurnID: e.TurnID})
			})
		}
	}
	return p.send(ctx, f.conn)
}

// patterns are JSON objects that name one memory each, in the given frame.
func (f *forgetting) patterns(before, after string) []string {
	out := make([]string, len(f.ids))
	for i, id := range f.ids {
		out[i] = before + string(encode(map[string]string{"id": id}, "{}")) + after
	}
	return out
}

// explanations takes the words out of plans and candidates.
func (f *forgetting) explanations(ctx context.Context) error {
	turns := f.turns
	for after := ""; ; {
		var rows []query.TurnsAboutRow
		p := &pipeline{}
		p.add(func(q *query.Queries) (err error) {
			rows, err = q.TurnsAbout(ctx, query.TurnsAboutParams{
				Tenant: f.tenant, UserID: f.user, After: after, Ids: turns, Patterns: f.patterns("[", "]"), MaxItems: aboutPage,
			})
			return err
		})
		if err := p.send(ctx, f.conn); err != nil {
			return err
		}
		p = &pipeline{}
		for _, row := range rows {
			plan, candidates, err := f.explanation(row)
			if err != nil {
				return err
			}
			p.add(func(q *query.Queries) error {
				return q.RewriteTurn(ctx, query.RewriteTurnParams{Tenant: f.tenant, UserID: f.user, ID: row.ID, Plan: plan, Candidates: candidates})
			})
			f.turns, f.keys = append(f.turns, row.ID), append(f.keys, row.WorkflowID+"/commit")
			after = row.ID
		}
		if err := f.rewrite(ctx, p); err != nil || len(rows) < aboutPage {
			return err
		}
	}
}

func (f *forgetting) rewrite(ctx context.Context, p *pipeline) error {
	if len(p.steps) == 0 {
		return nil
	}
	return p.send(ctx, f.conn)
}

func (f *forgetting) explanation(row query.TurnsAboutRow) (plan, candidates []byte, err error) {
	var pl memory.Plan
	var found []memory.Candidate
	if err := json.Unmarshal(row.Plan, &pl); err != nil {
		return nil, nil, memory.Wrap(memory.CodeInternal, err, "read a plan")
	}
	if err := json.Unmarshal(row.Candidates, &found); err != nil {
		return nil, nil, memory.Wrap(memory.CodeInternal, err, "read candidates")
	}
	for i := range pl.Queries {
		if f.words.touches(pl.Queries[i].Text) {
			pl.Queries[i].Text = ""
		}
	}
	pl.Entities = slices.DeleteFunc(pl.Entities, f.words.touches)
	for i := range found {
		if slices.Contains(f.ids, string(found[i].ID)) {
			found[i].Memory, found[i].Speaker, found[i].Status = "", "", memory.StatusForgotten
		}
	}
	return encode(pl, "{}"), encode(found, "[]"), nil
}

// receipts takes the words out of what writes reported.
func (f *forgetting) receipts(ctx context.Context) error {
	for after := ""; ; {
		var rows []query.ReceiptsAboutRow
		p := &pipeline{}
		p.add(func(q *query.Queries) (err error) {
			rows, err = q.ReceiptsAbout(ctx, query.ReceiptsAboutParams{
				Tenant: f.tenant, UserID: f.user, After: after, Keys: f.keys, Patterns: f.patterns(`{"written":[`, `]}`), MaxItems: aboutPage,
			})
			return err
		})
		if err := p.send(ctx, f.conn); err != nil {
			return err
		}
		p = &pipeline{}
		for _, row := range rows {
			var receipt memory.Receipt
			if err := json.Unmarshal(row.Receipt, &receipt); err != nil {
				return memory.Wrap(memory.CodeInternal, err, "read a receipt")
			}
			for i, o := range receipt.Written {
				if slices.Contains(f.ids, string(o.ID)) || o.ID == "" && f.words.touches(o.Memory) {
					receipt.Written[i].Memory = ""
				}
			}
			p.add(func(q *query.Queries) error {
				return q.RewriteReceipt(ctx, query.RewriteReceiptParams{Tenant: f.tenant, UserID: f.user, Key: row.Key, Receipt: encode(receipt, "{}")})
			})
			after = row.Key
		}
		if err := f.rewrite(ctx, p); err != nil || len(rows) < aboutPage {
			return err
		}
	}
}

// words are those of statements that are being forgotten.
type words struct {
	phrases    []string // folded
	statements []map[int32]bool
}

// minPhrase is the length in bytes from which a value alone tells a statement.
const minPhrase = 3

func (w *words) add(text, value string) {
	for _, s := range []string{text, value} {
		if s = fold(s); len(s) >= minPhrase {
			w.phrases = append(w.phrases, s)
		}
	}
	terms := map[int32]bool{}
	for _, t := range lexical.Analyze(text + "\n" + value) {
		terms[t] = true
	}
	if len(terms) > 0 {
		w.statements = append(w.statements, terms)
	}
}

func fold(s string) string { return strings.ToLower(strings.TrimRight(strings.TrimSpace(s), ".!")) }

// tells reports whether a text repeats a statement: all of it or its value word
// for word, or at least half of its content words.
func (w *words) tells(text string) bool {
	folded := fold(text)
	for _, p := range w.phrases {
		if strings.Contains(folded, p) {
			return true
		}
	}
	for _, statement := range w.statements {
		if 2*w.shared(statement, text) >= len(statement) {
			return true
		}
	}
	return false
}

// touches reports whether a text has any content word of a statement. Where it
// is known to be about the statement, that is enough.
func (w *words) touches(text string) bool {
	for _, statement := range w.statements {
		if w.shared(statement, text) > 0 {
			return true
		}
	}
	return w.tells(text)
}

func (w *words) shared(statement map[int32]bool, text string) int {
	seen := map[int32]bool{}
	for _, t := range lexical.Analyze(text) {
		if statement[t] {
			seen[t] = true
		}
	}
	return len(seen)
}
