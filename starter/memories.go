package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// memoriesCommand holds the commands that look after memories.
type memoriesCommand struct {
	List   listCommand   `cmd:"" help:"List a user's memories, newest first."`
	Show   showCommand   `cmd:"" help:"Show one memory and every change to it."`
	Search searchCommand `cmd:"" help:"Rank a user's memories for a text; leaves no trace."`
	Forget forgetCommand `cmd:"" help:"Erase a memory's words; that it was, and who erased it, stays on record."`
	Pin    pinCommand    `cmd:"" help:"Keep a memory from being evicted."`
	Unpin  unpinCommand  `cmd:"" help:"Let a memory be evicted again."`
}

// scopedStore connects to the database and puts the scope into the context.
func (s *session) scopedStore(ctx context.Context) (store, context.Context, error) {
	scope, err := s.scope()
	if err != nil {
		return nil, nil, err
	}
	st, err := s.store(ctx)
	return st, tenant.NewContext(ctx, scope), err
}

type listCommand struct {
	All   bool    `help:"Superseded, merged, evicted and forgotten ones, too."`
	AsOf  *moment `placeholder:"RFC3339" help:"What was held to be current then (default: now)."`
	Limit int     `placeholder:"N" default:"0" help:"At most N, the newest (default: all)."`
}

// Help implements kong.HelpProvider.
func (listCommand) Help() string {
	return example(`lightmem memories list --user ada --all`, `lightmem memories list --user ada --as-of 2026-05-03T12:00:00Z`)
}

// Run lists.
func (c *listCommand) Run(ctx context.Context, s *session) error {
	if c.Limit < 0 {
		return memory.Invalid("limit", "must not be negative")
	}
	st, ctx, err := s.scopedStore(ctx)
	if err != nil {
		return err
	}
	l := listing{All: c.All, Limit: c.Limit}
	if c.AsOf != nil {
		l.AsOf = c.AsOf.Time
	}
	list, err := st.List(ctx, l)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(story.MemoriesOf(list))
	}
	s.tellMemories(list)
	return nil
}

func (s *session) tellMemories(list []memory.Memory) {
	p := s.page
	if len(list) == 0 {
		p.Line("no memories")
		return
	}
	rows := [][]string{{p.Dim("id"), p.Dim("kind"), p.Dim("happened"), p.Dim("status"), p.Dim(""), "memory"}}
	for _, m := range list {
		pinned := ""
		if m.Pinned {
			pinned = "pinned"
		}
		rows = append(rows, []string{
			string(m.ID), string(m.Kind), m.EventAt.In(s.zone()).Format(time.DateOnly), s.status(m.Status), pinned,
			story.Statement(m.Text, "", story.Open(m.ValidFrom), story.Open(m.ValidTo), s.zone()),
		})
	}
	p.Table(0, rows)
}

func (s *session) status(status memory.Status) string {
	switch status {
	case memory.StatusActive:
		return s.page.Good(string(status))
	case memory.StatusContested:
		return s.page.Warn(string(status))
	}
	return s.page.Dim(string(status))
}

type showCommand struct {
	ID string `arg:"" name:"id" help:"The memory's id."`
}

// Help implements kong.HelpProvider.
func (showCommand) Help() string { return example(`lightmem memories show --user ada m_01k…`) }

// Run shows.
func (c *showCommand) Run(ctx context.Context, s *session) error {
	st, ctx, id, err := s.one(ctx, c.ID)
	if err != nil {
		return err
	}
	m, err := st.Memory(ctx, id)
	if err != nil {
		return err
	}
	changes, err := st.History(ctx, id, 0)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(struct {
			story.Memory
			History []change `json:"history"`
		}{story.MemoryOf(m), notNil(changes)})
	}
	p := s.page
	p.Line(p.Bold(string(m.ID)) + "  " + s.status(m.Status))
	p.Entry(2, 12, p.Dim("memory"), m.Text)
	for _, f := range [][2]string{
		{"kind", string(m.Kind)},
		{"said by", m.Speaker},
		{"source", string(m.Source)},
		{"about", strings.Trim(m.Subject+" · "+m.Attribute, " ·")},
		{"happened", s.time(m.EventAt)},
		{"true", strings.TrimSpace(s.time(m.ValidFrom) + " – " + s.time(m.ValidTo))},
		{"recorded", s.time(m.RecordedAt)},
		{"closed by", string(m.SupersededBy)},
		{"strength", fmt.Sprintf("said %d times, last %s; selected %d times", m.Strength, s.time(m.LastSeen), m.Accessed)},
	} {
		if f[1] != "" {
			p.Entry(2, 12, p.Dim(f[0]), f[1])
		}
	}
	for _, t := range m.Evidence {
		p.Entry(2, 12, p.Dim("evidence"), string(t))
	}
	for _, c := range changes {
		s.tellChange(c)
	}
	return nil
}

// one connects to the database for a command about one memory.
func (s *session) one(ctx context.Context, id string) (store, context.Context, memory.ID, error) {
	switch {
	case strings.TrimSpace(id) == "":
		return nil, nil, "", memory.Invalid("id", "is empty")
	case len(id) > memory.MaxIDBytes || page.Safe(id) != id || strings.ToValidUTF8(id, "") != id:
		return nil, nil, "", memory.Invalid("id", "is no memory's id")
	}
	st, ctx, err := s.scopedStore(ctx)
	return st, ctx, memory.ID(id), err
}

func (s *session) time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(s.zone()).Format("2006-01-02 15:04 MST")
}

type searchCommand struct {
	textArgument
	K    *int    `name:"k" placeholder:"N" help:"At most N (default: 2 × memory.k)."`
	AsOf *moment `placeholder:"RFC3339" help:"Among what was known then (default: now)."`
}

// Help implements kong.HelpProvider.
func (searchCommand) Help() string {
	return example(`lightmem memories search --user ada "sister Oslo"`)
}

// Run searches.
func (c *searchCommand) Run(ctx context.Context, s *session) error {
	text, err := s.text("text", c.Text)
	if err != nil {
		return err
	}
	r, err := s.request(memory.ModeRecall, text, aboutFlags{Conversation: "search"}, recallFlags{K: c.K, AsOf: c.AsOf})
	if err != nil {
		return err
	}
	k := 2 * r.K
	if c.K != nil {
		k = *c.K
	}
	if r = r.Clean(); r.Validate() != nil {
		return r.Validate()
	}
	st, ctx, err := s.scopedStore(ctx)
	if err != nil {
		return err
	}
	found, degraded, err := st.Search(ctx, r.Text, k, r.AsOf)
	if err != nil {
		return err
	}
	found = found[:min(k, len(found))]
	if s.json {
		return s.document(struct {
			Results  []story.Candidate `json:"results"`
			Degraded []memory.Degraded `json:"degraded"`
		}{story.CandidatesOf(found), append([]memory.Degraded{}, degraded...)})
	}
	story.TellDegraded(s.page, story.Turn{Degraded: degraded})
	if len(found) == 0 {
		s.page.Line("no memories")
		return nil
	}
	rows := [][]string{{s.page.Dim("score"), s.page.Dim("id"), "memory"}}
	for _, f := range found {
		rows = append(rows, []string{
			fmt.Sprintf("%.2f", f.Score), string(f.ID),
			story.Statement(f.Memory, f.Status, story.Open(f.ValidFrom), story.Open(f.ValidTo), s.zone()),
		})
	}
	s.page.Table(0, rows)
	return nil
}

type forgetCommand struct {
	ID     string `arg:"" name:"id" help:"The memory's id."`
	Reason string `placeholder:"TEXT" default:"asked by the operator" help:"Why; kept in the audit, so without personal text (default: asked by the operator)."`
}

// Help implements kong.HelpProvider.
func (forgetCommand) Help() string {
	return example(`lightmem memories forget --user ada m_01k… --reason "ticket 4711"`) + "\n\n" + `The words go at once and for good: from the memory and what was merged into it, its past, evidence and vectors, from the audit (digests stay), and from the traces and receipts of turns. Two things stay: the transcript of the turns, so what the user and the assistant said (nothing is retrieved from it, but the next turns of the same conversation see it), and Temporal's encrypted record of a turn until its own retention ends.`
}

// Run forgets.
func (c *forgetCommand) Run(ctx context.Context, s *session) error {
	if c.Reason == "" || len(c.Reason) > memory.MaxIDBytes || strings.ToValidUTF8(c.Reason, "") != c.Reason || page.Safe(c.Reason) != c.Reason {
		return memory.Invalid("reason", "must be a short line of text")
	}
	err := s.changeOne(ctx, c.ID, func(ctx context.Context, st store, id memory.ID) (memory.Outcome, error) {
		return st.Forget(ctx, id, s.actor(), c.Reason)
	})
	if err == nil && !s.json {
		s.page.Entry(0, 12, "", "The words are erased from memory, audit and traces. The transcript of the turn in which they were said is kept.")
	}
	return err
}

type pinCommand struct {
	ID string `arg:"" name:"id" help:"The memory's id."`
}

// Help implements kong.HelpProvider.
func (pinCommand) Help() string { return example(`lightmem memories pin --user ada m_01k…`) }

// Run pins.
func (c *pinCommand) Run(ctx context.Context, s *session) error { return s.pin(ctx, c.ID, true) }

type unpinCommand struct {
	ID string `arg:"" name:"id" help:"The memory's id."`
}

// Help implements kong.HelpProvider.
func (unpinCommand) Help() string { return example(`lightmem memories unpin --user ada m_01k…`) }

// Run unpins.
func (c *unpinCommand) Run(ctx context.Context, s *session) error { return s.pin(ctx, c.ID, false) }

func (s *session) pin(ctx context.Context, id string, pinned bool) error {
	return s.changeOne(ctx, id, func(ctx context.Context, st store, id memory.ID) (memory.Outcome, error) {
		return st.Pin(ctx, id, pinned, s.actor())
	})
}

// changeOne changes one memory and prints what became of it.
func (s *session) changeOne(ctx context.Context, id string, f func(context.Context, store, memory.ID) (memory.Outcome, error)) error {
	st, ctx, m, err := s.one(ctx, id)
	if err != nil {
		return err
	}
	o, err := f(ctx, st, m)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(rememberResults{Results: []story.Outcome{story.Outcome(o)}})
	}
	story.TellOutcome(s.page, 0, story.Outcome{ID: o.ID, Memory: string(o.ID), Event: o.Event, Reason: o.Reason})
	return nil
}

type rememberResults struct {
	Results []story.Outcome `json:"results"`
}

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
