package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

type chatCommand struct {
	Conversation string `default:"default" placeholder:"ID" help:"Conversation to go on with (default: default)."`
	Roles        string `placeholder:"rules" help:"rules: let the deterministic rules serve every role."`
	TimeZone     string `placeholder:"NAME" help:"IANA time zone (default: the user's)."`
	K            *int   `name:"k" placeholder:"N" help:"Select at most N memories (default: memory.k, 5)."`
}

// Help implements kong.HelpProvider.
func (chatCommand) Help() string {
	return example(`lightmem chat --user ada`) + `

Each line is a turn. /memories lists what is remembered, /trace tells the last turn's story, /quit or the end of input ends it. With --json the turns are read from standard input and printed as one document at its end.`
}

// chat is one conversation at the terminal.
type chat struct {
	*session
	command *chatCommand
	turns   turns
	store   store // nil when there is no database here: then nothing streams
	last    memory.TurnID
	told    []story.Asked
}

// Run talks until the input ends.
func (c *chatCommand) Run(ctx context.Context, s *session) error {
	// What is wrong with the flags is said before anything is connected.
	probe, err := c.request(s, "x")
	if err != nil {
		return err
	}
	if err := probe.Validate(); err != nil {
		return err
	}
	t := &chat{session: s, command: c, told: []story.Asked{}}
	if t.turns, err = s.turns(ctx); err != nil {
		return err
	}
	if s.cfg.Database.URL != "" {
		if t.store, err = s.store(ctx); err != nil {
			return err
		}
	}
	_, typed := terminal(s.stdin)
	if typed && !s.json {
		s.page.Line(s.page.Dim("Talk; /memories, /trace and /quit are commands."))
	}
	in := bufio.NewReaderSize(s.stdin, 64<<10)
	for ctx.Err() == nil {
		if typed && !s.json {
			s.page.Printf("%s ", s.page.Bold(">"))
		}
		line, err := readLine(ctx, in)
		if err == nil && strings.TrimSpace(line) != "" {
			err = t.line(ctx, line)
		}
		switch {
		case errors.Is(err, io.EOF):
			return t.end()
		case err != nil && memory.CodeOf(err) == memory.CodeInvalid && typed:
			report(s.stderr, err, s.json, "") // the person may try again
		case err != nil:
			return err
		}
	}
	return context.Cause(ctx)
}

func (t *chat) end() error {
	if t.json {
		return t.document(struct {
			Turns []story.Asked `json:"turns"`
		}{t.told})
	}
	return nil
}

func (c *chatCommand) request(s *session, text string) (memory.Request, error) {
	return s.request(memory.ModeAnswer, text,
		aboutFlags{Conversation: c.Conversation, Roles: c.Roles, TimeZone: c.TimeZone}, recallFlags{K: c.K})
}

// readLine reads one line of at most memory.MaxTextBytes, and stops waiting
// when ctx ends. A longer line is read to its end and refused.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type result struct {
		line string
		err  error
	}
	got := make(chan result, 1) // a read of a terminal cannot be broken off
	go func() {
		line, err := boundedLine(in)
		got <- result{line, err}
	}()
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case r := <-got:
		return r.line, r.err
	}
}

func boundedLine(in *bufio.Reader) (string, error) {
	var b []byte
	total := 0
	for {
		part, err := in.ReadSlice('\n')
		total += len(part)
		if len(b) <= memory.MaxTextBytes {
			b = append(b, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || total == 0):
			return "", err
		case total > memory.MaxTextBytes+1:
			return "", memory.Invalid("text", "has %d bytes; at most %d are allowed", total, memory.MaxTextBytes)
		case !utf8.Valid(b):
			return "", memory.Invalid("text", "is not UTF-8")
		}
		return strings.TrimRight(string(b), "\r\n"), nil
	}
}

// line takes one line: a command, or a turn.
func (t *chat) line(ctx context.Context, line string) error {
	switch strings.TrimSpace(line) {
	case "/quit", "/exit":
		return io.EOF
	case "/memories":
		return (&listCommand{Limit: 20}).Run(ctx, t.session)
	case "/trace":
		if t.last == "" {
			return memory.Invalid("turn", "there was none yet")
		}
		return (&traceCommand{Turn: string(t.last)}).Run(ctx, t.session)
	}
	r, err := t.command.request(t.session, line)
	if err != nil {
		return err
	}
	if r = r.Clean(); r.Validate() != nil {
		return r.Validate()
	}
	t.sent = r.IdempotencyKey
	streamed, reply, err := t.answer(ctx, r)
	if err != nil {
		return err
	}
	t.last = reply.TurnID
	out := story.OfRequest(r, reply)
	if !t.json {
		if strings.TrimSpace(streamed) != strings.TrimSpace(reply.Answer) { // nothing streamed, or not all of it
			t.page.Entry(0, 0, "", reply.Answer)
		} else {
			t.page.Line("")
		}
	}
	if out, err = await(ctx, t.turns, r, out); err != nil {
		return err
	}
	if t.json {
		t.told = append(t.told, out.Asked(true))
		return nil
	}
	for _, m := range out.Selected {
		t.page.Entry(2, 12, t.page.Dim("recalled"), m.Memory)
	}
	for _, o := range out.Written {
		if o.Event != memory.EventRefused {
			story.TellOutcome(t.page, 2, o)
		}
	}
	story.TellDegraded(t.page, out)
	return nil
}

// answer runs the turn and prints the answer's pieces as they come. It returns
// what it printed.
func (t *chat) answer(ctx context.Context, r memory.Request) (string, memory.Reply, error) {
	if t.store == nil || t.json {
		reply, err := t.turns.Reply(ctx, r)
		return "", reply, err
	}
	following, stop := context.WithCancel(tenant.NewContext(ctx, r.Scope))
	defer stop()
	pieces := make(chan piece)
	go func() {
		defer close(pieces)
		// Streaming is a convenience: when it fails, the reply has the answer.
		_ = t.store.Follow(following, t.turns.WorkflowID(r), func(attempt int, text string) {
			select {
			case pieces <- piece{attempt, text}:
			case <-following.Done():
			}
		})
	}()
	type result struct {
		reply memory.Reply
		err   error
	}
	done := make(chan result, 1)
	go func() {
		reply, err := t.turns.Reply(ctx, r)
		done <- result{reply, err}
	}()
	settle := t.thinking()
	var shown strings.Builder
	attempt := 0
	for {
		select {
		case p, ok := <-pieces:
			if !ok {
				pieces = nil // done comes
				continue
			}
			settle()
			if attempt != 0 && p.attempt != attempt {
				t.page.Line(t.page.Dim(" [interrupted; again:]"))
				shown.Reset()
			}
			attempt = p.attempt
			shown.WriteString(p.text)
			t.page.Printf("%s", page.Safe(p.text))
		case d := <-done:
			settle()
			if shown.Len() == 0 || d.err != nil {
				return "", d.reply, d.err
			}
			// The last pieces may still be under way: the reply has them.
			if rest, ok := strings.CutPrefix(d.reply.Answer, shown.String()); ok {
				t.page.Printf("%s", page.Safe(rest))
				return d.reply.Answer, d.reply, nil
			}
			t.page.Line("")
			return shown.String(), d.reply, nil
		}
	}
}

// thinking shows at a terminal that something goes on; the returned function
// takes it away, once.
func (t *chat) thinking() (settle func()) {
	if !t.colour() {
		return func() {}
	}
	t.page.Printf("%s", t.page.Dim("…"))
	return sync.OnceFunc(func() { t.page.Printf("\r\x1b[K") })
}

type piece struct {
	attempt int
	text    string
}
