package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lightmem/lightmem/deploy/demo"
	"github.com/lightmem/lightmem/internal/page"
)

// demoCommand plays the demo's conversation; `make demo` calls it.
type demoCommand struct {
	Fresh bool `help:"Play it as new people, apart from earlier runs."`
}

// Help implements kong.HelpProvider.
func (demoCommand) Help() string { return example(`lightmem demo`) }

// Run plays.
func (c *demoCommand) Run(ctx context.Context, s *session) error {
	conversation, err := demo.Load()
	if err != nil {
		return err
	}
	t, err := s.turns(ctx)
	if err != nil {
		return err
	}
	st, err := s.store(ctx)
	if err != nil {
		return err
	}
	_, terminal := terminal(s.stderr)
	p := &demo.Player{
		Turns: t, Store: st, Tenant: s.cfg.Tenant, Out: s.page, Progress: s.stderr,
		Terminal: terminal, Key: s.key, Now: s.now,
	}
	if s.json {
		p.Out = page.New(io.Discard, 0, false)
	}
	if c.Fresh {
		p.Suffix = "-" + s.key()[:6]
	}
	sum, err := p.Play(ctx, conversation)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(sum)
	}
	s.page.Line("")
	s.page.Line(s.page.Bold("Try next") + s.page.Dim(fmt.Sprintf("  (the whole run took %.1f s)", sum.Took.Seconds())))
	user := "--user " + string(conversation.People[0].ID) + p.Suffix
	for _, line := range []string{
		s.program + ` ask ` + user + ` --wait "When is my brother's wedding, and what do I have to do there?"`,
		s.program + ` memories list ` + user + ` --all`,
		s.program + ` recall ` + user + ` "Where did I live before?"`,
		s.program + ` trace ` + user + ` ` + string(sum.Told[0].TurnID),
		s.program + ` history ` + user,
	} {
		s.page.Line("  " + line)
	}
	s.page.Line("")
	if s.cfg.Temporal.UI != "" {
		s.page.Line("Temporal UI   " + s.cfg.Temporal.UI)
	}
	s.page.Line("Temporal      " + s.cfg.Temporal.Address)
	s.page.Line("Postgres      " + s.cfg.Database.URL.String())
	return nil
}
