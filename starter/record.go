package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/memory"
)

type traceCommand struct {
	Turn string `arg:"" name:"turn" help:"The turn's id."`
}

// Help implements kong.HelpProvider.
func (traceCommand) Help() string { return example(`lightmem trace --user ada t_01k…`) }

// Run tells a turn's story.
func (c *traceCommand) Run(ctx context.Context, s *session) error {
	st, ctx, id, err := s.one(ctx, c.Turn)
	if err != nil {
		return renamed(err, "id", "turn")
	}
	t, err := st.Trace(ctx, memory.TurnID(id))
	if err != nil {
		return err
	}
	if s.json {
		return s.document(t)
	}
	story.Tell(s.page, t, s.zone())
	if ui := s.cfg.Temporal.UI; ui != "" {
		s.page.Line(s.page.Dim("  steps       " + ui + "/namespaces/" + s.cfg.Temporal.Namespace + "/workflows/" + strings.ReplaceAll(t.WorkflowID, "/", "%2F") + "/" + t.RunID))
	}
	return nil
}

// renamed gives an error's field another name.
func renamed(err error, from, to string) error {
	if e, ok := err.(*memory.Error); ok && e.Field == from { //nolint:errorlint // made by the caller's callee, not wrapped
		e.Field = to
	}
	return err
}

type historyCommand struct {
	Memory string `placeholder:"ID" help:"Of one memory only."`
	Limit  int    `placeholder:"N" default:"0" help:"The newest N (default: all)."`
}

// Help implements kong.HelpProvider.
func (historyCommand) Help() string { return example(`lightmem history --user ada`) }

// Run lists changes, oldest first.
func (c *historyCommand) Run(ctx context.Context, s *session) error {
	if c.Limit < 0 {
		return memory.Invalid("limit", "must not be negative")
	}
	st, ctx, err := s.scopedStore(ctx)
	if err != nil {
		return err
	}
	list, err := st.History(ctx, memory.ID(c.Memory), c.Limit)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(struct {
			Results []change `json:"results"`
		}{notNil(list)})
	}
	if len(list) == 0 {
		s.page.Line("no changes")
	}
	for _, c := range list {
		s.tellChange(c)
	}
	return nil
}

// tellChange prints one change and its cause.
func (s *session) tellChange(c change) {
	p := s.page
	story.TellOutcome(p, 0, story.Outcome{ID: c.MemoryID, Memory: changed(c), Event: c.Event, Reason: c.Reason})
	cause := []string{s.time(c.At), string(c.MemoryID), string(c.TurnID), c.Rule}
	if c.Actor != "" {
		cause = append(cause, "by "+page.Safe(c.Actor))
	}
	var parts []string
	for _, part := range cause {
		if part != "" {
			parts = append(parts, part)
		}
	}
	p.Line(p.Dim("            " + strings.Join(parts, " · ")))
}

// changed says what a change did: the words, and what else is different.
func changed(c change) string {
	switch {
	case c.Before == nil && c.After == nil:
		return string(c.MemoryID)
	case c.Before == nil:
		return c.After.Memory
	case c.After == nil || c.After.Memory == "":
		return c.Before.Memory
	}
	b, a := c.Before, c.After
	var diffs []string
	diff := func(name, before, after string) {
		if before != after {
			diffs = append(diffs, name+" "+before+" → "+after)
		}
	}
	day := func(t *time.Time) string {
		if t == nil {
			return "open"
		}
		return t.UTC().Format(time.DateOnly)
	}
	diff("status", string(b.Status), string(a.Status))
	diff("valid to", day(b.ValidTo), day(a.ValidTo))
	diff("strength", strconv.Itoa(b.Strength), strconv.Itoa(a.Strength))
	diff("pinned", strconv.FormatBool(b.Pinned), strconv.FormatBool(a.Pinned))
	text := a.Memory
	if b.Memory != a.Memory {
		text = b.Memory + " → " + a.Memory
	}
	if len(diffs) > 0 {
		text += " [" + strings.Join(diffs, ", ") + "]"
	}
	return text
}

type userCommand struct {
	Set  userSetCommand  `cmd:"" help:"Say how the user is called and in which time zone he lives."`
	Show userShowCommand `cmd:"" help:"Show it."`
}

type userSetCommand struct {
	Name     *string `placeholder:"NAME" help:"How the user is called; written memories say it instead of I."`
	TimeZone *string `placeholder:"NAME" help:"IANA time zone in which relative dates are meant."`
}

// Help implements kong.HelpProvider.
func (userSetCommand) Help() string {
	return example(`lightmem user set --user ada --name Ada --time-zone Europe/Lisbon`)
}

// Run sets the profile.
func (c *userSetCommand) Run(ctx context.Context, s *session) error {
	if c.Name == nil && c.TimeZone == nil {
		return memory.Invalid("name", "nothing to set: --name or --time-zone")
	}
	scope, err := s.scope()
	if err != nil {
		return err
	}
	probe := memory.Request{Scope: scope, Mode: memory.ModeRemember, Text: "x"}
	if c.Name != nil {
		probe.Speaker = *c.Name
	}
	if c.TimeZone != nil {
		probe.TimeZone = *c.TimeZone
	}
	if err := probe.Validate(); err != nil {
		return renamed(err, "speaker", "name")
	}
	st, ctx, err := s.scopedStore(ctx)
	if err != nil {
		return err
	}
	profile, err := st.Profile(ctx)
	if err != nil && memory.CodeOf(err) != memory.CodeNotFound {
		return err
	}
	if c.Name != nil {
		profile.Name = *c.Name
	}
	if c.TimeZone != nil {
		profile.TimeZone = *c.TimeZone
	}
	if err := st.SetProfile(ctx, profile); err != nil {
		return err
	}
	return s.tellProfile(profile)
}

type userShowCommand struct{}

// Help implements kong.HelpProvider.
func (userShowCommand) Help() string { return example(`lightmem user show --user ada`) }

// Run shows the profile.
func (c *userShowCommand) Run(ctx context.Context, s *session) error {
	st, ctx, err := s.scopedStore(ctx)
	if err != nil {
		return err
	}
	profile, err := st.Profile(ctx)
	if err != nil {
		return err
	}
	return s.tellProfile(profile)
}

func (s *session) tellProfile(profile memory.Profile) error {
	if s.json {
		return s.document(struct {
			UserID   memory.UserID `json:"user_id"`
			Name     string        `json:"name"`
			TimeZone string        `json:"time_zone"`
		}{s.cfg.User, profile.Name, profile.TimeZone})
	}
	for _, f := range [][2]string{{"user", string(s.cfg.User)}, {"name", profile.Name}, {"time zone", profile.TimeZone}} {
		if f[1] == "" {
			f[1] = "not set"
		}
		s.page.Entry(0, 11, s.page.Dim(f[0]), f[1])
	}
	return nil
}
