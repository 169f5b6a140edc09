package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
)

const (
	// maxNearest is how many of the most similar memories a decision sees.
	maxNearest = 8
	// twinCosine is the least similarity that makes two memories candidates
	// for merging where room is needed.
	twinCosine = 0.80
)

// Commit implements activities.TurnStore.
//
// One transaction: it takes the user's lock, looks for the receipt of an
// earlier run, finds each draft's neighbours, lets write.Decide judge, makes
// room where the user is at capacity, and writes memories, evidence, vectors,
// refusals, counters, the turn's state, the receipt, and last the audit.
func (s *Store) Commit(ctx context.Context, d memory.Drafted) (memory.Receipt, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return memory.Receipt{}, err
	}
	d.Drafts, d.Refused = slices.Clone(d.Drafts), slices.Clone(d.Refused)
	kept := d.Drafts[:0]
	for i, w := range d.Drafts {
		w, refusal := fit(w, d.At)
		if refusal == "" && i >= maxDrafts {
			refusal = "too many statements"
		}
		if refusal != "" {
			d.Refused = append(d.Refused, memory.Outcome{Memory: w.Text, Event: memory.EventRefused, Reason: refusal})
			continue
		}
		kept = append(kept, w)
	}
	d.Drafts = kept
	for i := range d.Refused {
		d.Refused[i].Memory = storable(d.Refused[i].Memory)
	}
	var receipt memory.Receipt
	err = s.locked(ctx, "commit turn", scope, func(ctx context.Context, conn sender) (err error) {
		receipt, err = s.commit(ctx, conn, scope, d)
		return err
	})
	return receipt, err
}

// neighbours are what the database knows near one draft.
type neighbours struct {
	topic   []query.LiveByAttributeRow
	nearest []query.NearestRow
}

func (s *Store) commit(ctx context.Context, conn sender, scope memory.Scope, d memory.Drafted) (memory.Receipt, error) {
	t, u := string(scope.Tenant), string(scope.User)
	key := cmp.Or(d.WorkflowID, string(d.ID)) + "/commit"
	m := &mutation{cause: cause{d.Actor, d.ID, d.WorkflowID, d.RunID}, model: d.EmbedModel}

	var earlier []byte
	var same []query.LiveByContentRow
	near := make([]neighbours, len(d.Drafts))
	p := m.begin(ctx, scope)
	p.add(func(q *query.Queries) error {
		row, err := q.Effect(ctx, query.EffectParams{Tenant: t, UserID: u, Key: key})
		earlier = row
		return unlessMissing(err)
	})
	if len(d.Drafts) > 0 {
		p.add(func(q *query.Queries) (err error) {
			same, err = q.LiveByContent(ctx, query.LiveByContentParams{Tenant: t, UserID: u, Hashes: draftHashes(d.Drafts)})
			return err
		})
	}
	for i, w := range d.Drafts {
		if w.Attribute != "" && !w.Verbatim {
			p.add(func(q *query.Queries) (err error) {
				near[i].topic, err = q.LiveByAttribute(ctx, query.LiveByAttributeParams{Tenant: t, UserID: u, Subject: w.Subject, Attribute: w.Attribute})
				return err
			})
		}
		if len(w.Vector) > 0 {
			p.add(func(q *query.Queries) (err error) {
				near[i].nearest, err = q.Nearest(ctx, query.NearestParams{Tenant: t, UserID: u, Model: d.EmbedModel, V: w.Vector, MaxItems: maxNearest})
				return err
			})
		}
	}
	if err := p.send(ctx, conn); err != nil {
		return memory.Receipt{}, err
	}
	if earlier != nil {
		return firstReceipt(ctx, conn, earlier)
	}

	c := &committing{store: s, conn: conn, mutation: m, turn: d, same: same}
	receipt := memory.Receipt{Written: append([]memory.Outcome{}, d.Refused...), RequestDigest: d.RequestDigest}
	for _, r := range d.Refused {
		m.refused = append(m.refused, refused{r.Memory, cmp.Or(r.Reason, "refused"), d.Version})
	}
	for i := range d.Drafts {
		outcome, err := c.decide(ctx, d.Drafts[i], near[i])
		if err != nil {
			return memory.Receipt{}, err
		}
		receipt.Written = append(receipt.Written, outcome)
	}
	for _, h := range m.inserted {
		if d.EmbedModel != "" && len(h.vector) == 0 && isLive(h.now.Status) {
			receipt.Unembedded++
		}
	}

	p = &pipeline{}
	p.add(func(q *query.Queries) error {
		return q.InsertEffect(ctx, query.InsertEffectParams{Tenant: t, UserID: u, Key: key, Receipt: encode(receipt, "{}")})
	})
	p.add(func(q *query.Queries) error {
		return q.CommitTurn(ctx, query.CommitTurnParams{
			Tenant: t, UserID: u, ID: string(d.ID), CommittedAt: &m.at, DraftVersion: d.Version, Degraded: encode(d.Degraded, "[]"),
		})
	})
	if m.changed() {
		m.write(ctx, p)
	}
	p.statement(ctx, "commit")
	return receipt, p.send(ctx, conn)
}

// firstReceipt ends the transaction of a commit that happened before.
func firstReceipt(ctx context.Context, conn sender, encoded []byte) (memory.Receipt, error) {
	var receipt memory.Receipt
	if err := json.Unmarshal(encoded, &receipt); err != nil {
		return receipt, memory.Wrap(memory.CodeInternal, err, "read a receipt")
	}
	p := &pipeline{}
	p.statement(ctx, "commit")
	return receipt, p.send(ctx, conn)
}

func draftHashes(drafts []memory.Draft) [][]byte {
	hashes := make([][]byte, len(drafts))
	for i, w := range drafts {
		hashes[i] = draftHash(w)
	}
	return hashes
}

// committing is one commit under way.
type committing struct {
	*mutation
	store *Store
	conn  sender
	turn  memory.Drafted
	same  []query.LiveByContentRow
	room  *room // candidates for making room, once they were needed
}

// decide judges one draft among its neighbours, those that earlier drafts of
// the same turn made or changed included, and applies the verdict.
func (c *committing) decide(ctx context.Context, d memory.Draft, found neighbours) (memory.Outcome, error) {
	hash := draftHash(d)
	near, err := c.near(d, hash, found)
	if err != nil {
		return memory.Outcome{}, err
	}
	v := write.Decide(c.turn.Answered, d, near)
	out := memory.Outcome{Memory: d.Text, Event: v.Event, Reason: v.Reason}
	target := c.memories[v.Target]
	// The index is the last word on identical statements, so we do not even ask
	// it: what is there already is reinforced, whatever the verdict.
	if v.Event != memory.EventRefused && v.Event != memory.EventReinforced {
		if twin := c.liveWith(draftHash(v.Draft)); twin != nil {
			v.Event, out.Event, out.Reason, target = memory.EventReinforced, memory.EventReinforced, "same words", twin
		}
	}
	if v.Event == memory.EventReinforced && (target == nil || !isLive(target.now.Status)) {
		v.Event, out.Event, out.Reason = memory.EventAdded, memory.EventAdded, "new"
	}

	switch v.Event {
	case memory.EventRefused:
		c.refused = append(c.refused, refused{d.Text, cmp.Or(v.Reason, "refused"), d.Rule})
		return out, nil
	case memory.EventReinforced:
		c.reinforce(target, d, out.Reason)
		out.ID, out.Memory = target.now.ID, target.now.Text
		return out, nil
	}
	return c.keep(ctx, v, near, out)
}

// keep stores a draft that is neither refused nor known already.
func (c *committing) keep(ctx context.Context, v write.Verdict, near []write.Neighbour, out memory.Outcome) (memory.Outcome, error) {
	var affected []*held
	for _, id := range append([]memory.ID{v.Target}, v.Also...) {
		if h := c.memories[id]; h != nil && isLive(h.now.Status) {
			affected = append(affected, h)
		}
	}
	closedBy := memory.ID("")
	if v.Event == memory.EventAdded && len(affected) > 0 {
		closedBy = affected[0].now.ID // it was over before we heard of it
	}
	if closedBy == "" {
		frees := 0
		if v.Event == memory.EventSuperseded {
			frees = len(affected)
		}
		ok, err := c.makeRoom(ctx, frees, affected)
		if err != nil {
			return out, err
		}
		if !ok {
			out.Event, out.Reason = memory.EventRefused, "memory is full, and what is in it is pinned or new"
			c.refused = append(c.refused, refused{v.Draft.Text, out.Reason, v.Draft.Rule})
			return out, nil
		}
	}
	status := memory.StatusActive
	if v.Event == memory.EventContested {
		status = memory.StatusContested
	}
	h := c.insert(v.Draft, status, closedBy, c.turn.Conversation, c.turn.Metadata)
	for _, n := range near {
		if n.Cosine > h.twinCosine && n.Cosine >= twinCosine && isLive(c.memories[n.Memory.ID].now.Status) {
			h.twin, h.twinCosine = n.Memory.ID, n.Cosine
		}
	}
	out.ID = h.now.ID
	for _, old := range affected {
		before := old.now
		switch v.Event {
		case memory.EventSuperseded:
			c.close(old, memory.StatusSuperseded, h.now.ID)
			if old.now.ValidTo.IsZero() || old.now.ValidTo.After(h.now.ValidFrom) {
				old.now.ValidTo = later(h.now.ValidFrom, old.now.ValidFrom)
			}
			c.note(memory.EventSuperseded, old, &before, v.Reason, v.Draft.Rule)
			out.Supersedes = cmp.Or(out.Supersedes, old.now.ID)
		case memory.EventContested:
			if old.now.Status != memory.StatusContested {
				old.now.Status = memory.StatusContested
				c.note(memory.EventContested, old, &before, v.Reason, v.Draft.Rule)
			}
		}
	}
	event := memory.EventAdded
	if v.Event == memory.EventContested {
		event = memory.EventContested
	}
	c.note(event, h, nil, v.Reason, v.Draft.Rule)
	return out, nil
}

// reinforce counts that a statement was made again. A stronger source than the
// first one's takes its place.
func (c *committing) reinforce(h *held, d memory.Draft, reason string) {
	before := h.now
	h.now.Strength++
	h.now.LastSeen = c.at
	if d.Source.Strength() > h.now.Source.Strength() {
		h.now.Source = d.Source
	}
	c.evidences = append(c.evidences, evidence{h.now.ID, cmp.Or(d.Source, memory.SourceAssistant), d.Rule, d.Quote})
	c.note(memory.EventReinforced, h, &before, reason, d.Rule)
}

// near gathers the live neighbours of a draft in their present state.
func (c *committing) near(d memory.Draft, hash []byte, found neighbours) ([]write.Neighbour, error) {
	cosines := map[memory.ID]float64{}
	var order []memory.ID
	add := func(row query.Memory, cosine float64) error {
		h, err := c.hold(row)
		if err != nil {
			return err
		}
		id := h.now.ID
		if known, ok := cosines[id]; !ok {
			order = append(order, id)
			cosines[id] = cosine
		} else {
			cosines[id] = max(known, cosine)
		}
		return nil
	}
	for _, r := range found.nearest {
		if err := add(r.Memory, r.Cosine); err != nil {
			return nil, err
		}
	}
	for _, r := range c.same {
		if bytes.Equal(r.Memory.ContentHash, hash) {
			if err := add(r.Memory, -1); err != nil {
				return nil, err
			}
		}
	}
	for _, r := range found.topic {
		if err := add(r.Memory, -1); err != nil {
			return nil, err
		}
	}
	for _, h := range c.inserted {
		order = append(order, h.now.ID)
		cosines[h.now.ID] = cosine(d.Vector, h.vector)
	}
	out := make([]write.Neighbour, 0, len(order))
	for _, id := range order {
		h := c.memories[id]
		if isLive(h.now.Status) {
			out = append(out, write.Neighbour{Memory: h.now, Cosine: cosines[id], SameText: bytes.Equal(h.hash, hash)})
		}
	}
	return out, nil
}

// liveWith returns the live memory that holds exactly this statement.
func (c *committing) liveWith(hash []byte) *held {
	for _, h := range c.memories {
		if isLive(h.now.Status) && bytes.Equal(h.hash, hash) {
			return h
		}
	}
	return nil
}

// cosine of two unit vectors, -1 when one is missing or they are of different
// lengths.
func cosine(a, b memory.Vector) float64 {
	if len(a) == 0 || len(a) != len(b) {
		return -1
	}
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
