package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/memory"
)

// textArgument is what most turns are about.
type textArgument struct {
	Text string `arg:"" name:"text" help:"The text; - reads it from standard input."`
}

// aboutFlags say which conversation, when, and how.
type aboutFlags struct {
	Conversation   string  `default:"default" placeholder:"ID" help:"Conversation of the turn (default: default)."`
	At             *moment `placeholder:"RFC3339" help:"When it happened; relative dates are resolved from it (default: now)."`
	IdempotencyKey *string `placeholder:"KEY" help:"The same key is the same turn, however often it is sent (default: a fresh one)."`
	Roles          string  `placeholder:"rules" help:"rules: let the deterministic rules serve every role of this turn."`
	TimeZone       string  `placeholder:"NAME" help:"IANA time zone of this turn (default: the user's)."`
}

// recallFlags say what to recall.
type recallFlags struct {
	AsOf *moment `placeholder:"RFC3339" help:"Recall what was known then (default: now)."`
	K    *int    `name:"k" placeholder:"N" help:"Select at most N memories (default: memory.k, 5)."`
}

// request makes a checked request. Nothing is connected before it.
func (s *session) request(mode memory.Mode, text string, about aboutFlags, recall recallFlags) (memory.Request, error) {
	scope, err := s.scope()
	if err != nil {
		return memory.Request{}, err
	}
	r := memory.Request{
		Scope: scope, Mode: mode, Conversation: memory.ConversationID(about.Conversation), Text: text,
		K: s.cfg.Memory.K, TimeZone: about.TimeZone, Actor: s.actor(),
	}
	if r.Conversation == "" {
		return memory.Request{}, memory.Invalid("conversation", "is empty")
	}
	switch about.Roles {
	case "rules":
		r.Rules = true
	case "":
	default:
		return memory.Request{}, memory.Invalid("roles", "%q is not known; rules is", about.Roles)
	}
	if about.At != nil {
		r.At = about.At.Time
	}
	if recall.AsOf != nil {
		r.AsOf = recall.AsOf.Time
	}
	if recall.K != nil {
		r.K = *recall.K
	}
	if mode == memory.ModeRemember {
		r.K = 0
	}
	switch {
	case about.IdempotencyKey == nil:
		r.IdempotencyKey = s.key()
	case *about.IdempotencyKey == "":
		return memory.Request{}, memory.Invalid("idempotency_key", "is empty")
	default:
		r.IdempotencyKey = *about.IdempotencyKey
	}
	return r, nil
}

// drainMax is how much of standard input is read, and thrown away, after it has
// proved too long, so that a pipe's other end does not fail.
const drainMax = 64 << 20

// text returns the argument, or standard input for "-". Broken UTF-8 is refused
// here: what somebody typed or piped is text or a mistake.
func (s *session) text(field, argument string) (string, error) {
	if argument == "-" {
		b, err := io.ReadAll(io.LimitReader(s.stdin, memory.MaxTextBytes+1))
		if err != nil {
			return "", &memory.Error{Code: memory.CodeInvalid, Field: field, Message: "cannot be read from standard input", Cause: err}
		}
		if len(b) > memory.MaxTextBytes {
			n, _ := io.Copy(io.Discard, io.LimitReader(s.stdin, drainMax))
			return "", memory.Invalid(field, "has %d bytes; at most %d are allowed", int64(len(b))+n, memory.MaxTextBytes)
		}
		argument = strings.TrimRight(string(b), "\r\n")
	}
	if len(argument) <= memory.MaxTextBytes && !utf8.ValidString(argument) {
		return "", memory.Invalid(field, "is not UTF-8")
	}
	return argument, nil
}

// send checks the request, runs its turn and, where asked, waits for its write.
func (s *session) send(ctx context.Context, r memory.Request, wait bool) (story.Turn, error) {
	r = r.Clean()
	if err := r.Validate(); err != nil {
		return story.Turn{}, err
	}
	t, err := s.turns(ctx)
	if err != nil {
		return story.Turn{}, err
	}
	s.sent = r.IdempotencyKey
	reply, err := t.Reply(ctx, r)
	if err != nil {
		return story.Turn{}, err
	}
	out := story.OfRequest(r, reply)
	if !wait {
		return out, nil
	}
	return await(ctx, t, r, out)
}

// await adds what the turn wrote.
func await(ctx context.Context, t turns, r memory.Request, out story.Turn) (story.Turn, error) {
	receipt, err := t.Receipt(ctx, r)
	if err != nil {
		return out, err
	}
	return out.After(receipt), nil
}

type recallCommand struct {
	textArgument
	aboutFlags
	recallFlags
	Wait bool `help:"Wait until the turn is over (a recall writes nothing)."`
}

// Help implements kong.HelpProvider.
func (recallCommand) Help() string {
	return example(`lightmem recall --user ada --k 3 "Where does Ada live?"`)
}

// Run recalls.
func (c *recallCommand) Run(ctx context.Context, s *session) error {
	text, err := s.text("text", c.Text)
	if err != nil {
		return err
	}
	r, err := s.request(memory.ModeRecall, text, c.aboutFlags, c.recallFlags)
	if err != nil {
		return err
	}
	t, err := s.send(ctx, r, c.Wait)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(t.Recall())
	}
	t.RunID = ""
	story.TellPlan(s.page, t, s.zone())
	story.TellCandidates(s.page, t, s.zone())
	story.TellDegraded(s.page, t)
	s.page.Line(s.page.Dim("  turn        " + string(t.TurnID)))
	return nil
}

type askCommand struct {
	textArgument
	aboutFlags
	recallFlags
	Wait bool `help:"Wait until memory is written, and show what was."`
}

// Help implements kong.HelpProvider.
func (askCommand) Help() string {
	return example(`lightmem ask --user ada --wait "I moved to Porto in March. What else do you know?"`)
}

// Run asks.
func (c *askCommand) Run(ctx context.Context, s *session) error {
	text, err := s.text("text", c.Text)
	if err != nil {
		return err
	}
	r, err := s.request(memory.ModeAnswer, text, c.aboutFlags, c.recallFlags)
	if err != nil {
		return err
	}
	t, err := s.send(ctx, r, c.Wait && s.json)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(t.Asked(c.Wait))
	}
	s.tellAnswer(t)
	if !c.Wait {
		return nil
	}
	client, err := s.turns(ctx)
	if err != nil {
		return err
	}
	if t, err = await(ctx, client, r.Clean(), t); err != nil {
		return err
	}
	story.TellWritten(s.page, t)
	return nil
}

// tellAnswer prints an answer and, less prominent, what it was given.
func (s *session) tellAnswer(t story.Turn) {
	s.page.Entry(0, 0, "", t.Answer)
	for _, m := range t.Selected {
		s.page.Entry(2, 12, s.page.Dim("recalled"), m.Memory)
	}
	story.TellDegraded(s.page, t)
	s.page.Line(s.page.Dim("  turn        " + string(t.TurnID)))
}

type rememberCommand struct {
	textArgument
	aboutFlags
	Verbatim bool     `help:"Keep the text as it is, as one memory."`
	Speaker  string   `placeholder:"NAME" help:"Who says it, when it is not the user."`
	Metadata []string `placeholder:"KEY=VALUE" sep:"none" help:"Stored with what is remembered; may come several times."`
	Wait     bool     `hidden:"" help:"Remember always waits."`
}

// Help implements kong.HelpProvider.
func (rememberCommand) Help() string {
	return example(`lightmem remember --user ada --at 2026-05-04T09:00:00Z "My sister moved to Oslo yesterday."`)
}

// Run remembers.
func (c *rememberCommand) Run(ctx context.Context, s *session) error {
	text, err := s.text("text", c.Text)
	if err != nil {
		return err
	}
	r, err := s.request(memory.ModeRemember, text, c.aboutFlags, recallFlags{})
	if err != nil {
		return err
	}
	r.Verbatim, r.Speaker = c.Verbatim, c.Speaker
	if r.Metadata, err = pairs(c.Metadata); err != nil {
		return err
	}
	t, err := s.send(ctx, r, true)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(t.Remembered())
	}
	if len(t.Written) == 0 {
		s.page.Line("nothing to remember")
	}
	for _, o := range t.Written {
		story.TellOutcome(s.page, 0, o)
	}
	story.TellDegraded(s.page, t)
	return nil
}

func pairs(list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(list))
	for _, pair := range list {
		key, value, ok := strings.Cut(pair, "=")
		if _, twice := out[key]; !ok || twice {
			return nil, memory.Invalid("metadata", "needs KEY=VALUE, and each key once")
		}
		out[key] = value
	}
	return out, nil
}

type turnCommand struct {
	textArgument
	aboutFlags
	recallFlags
	AssistantText string `name:"assistant-text" placeholder:"TEXT" help:"The caller's own answer. Without one the turn waits for lightmem answer, an hour at most."`
	Wait          bool   `help:"Wait until memory is written, and show what was."`
}

// Help implements kong.HelpProvider.
func (turnCommand) Help() string {
	return example(
		`lightmem turn --user ada --wait --assistant-text "Enjoy Porto!" "I moved to Porto."`,
		`lightmem turn --user ada "What should I cook tonight?"   # then: lightmem answer …`,
	)
}

// Run runs a turn that the caller answers.
func (c *turnCommand) Run(ctx context.Context, s *session) error {
	text, err := s.text("text", c.Text)
	if err != nil {
		return err
	}
	answer, err := s.text("assistant_text", c.AssistantText)
	if err != nil {
		return err
	}
	r, err := s.request(memory.ModeCaller, text, c.aboutFlags, c.recallFlags)
	if err != nil {
		return err
	}
	if r.AssistantText = answer; answer == "" && c.Wait {
		return memory.Invalid("assistant_text", "is required with --wait: there is nothing to wait for before the answer")
	}
	t, err := s.send(ctx, r, c.Wait)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(t.Asked(c.Wait))
	}
	for _, m := range t.Selected {
		s.page.Entry(0, 12, s.page.Dim("recalled"), m.Memory)
	}
	if c.Wait {
		story.TellWritten(s.page, t)
	}
	story.TellDegraded(s.page, t)
	s.page.Line(s.page.Dim("  turn        " + string(t.TurnID)))
	if answer == "" {
		s.page.Line("The turn waits for your answer:\n  lightmem answer " + t.WorkflowID + " TEXT")
	}
	return nil
}

type answerCommand struct {
	Turn string `arg:"" name:"turn" help:"The turn's workflow id, or its id (then with --user)."`
	textArgument
}

// Help implements kong.HelpProvider.
func (answerCommand) Help() string {
	return example(`lightmem answer --user ada t_01k… "How about the lentil soup that you liked?"`)
}

// Run hands in an answer.
func (c *answerCommand) Run(ctx context.Context, s *session) error {
	text, err := s.text("text", c.Text)
	if err != nil {
		return err
	}
	// The same rules as for an answer that comes with its turn.
	probe := memory.Request{Scope: memory.Scope{Tenant: "x", User: "x"}, Mode: memory.ModeCaller, Text: "x", AssistantText: text, K: 1}.Clean()
	if strings.TrimSpace(text) == "" {
		return memory.Invalid("text", "is empty")
	}
	if err := probe.Validate(); err != nil {
		var e *memory.Error
		if errors.As(err, &e) {
			return memory.Invalid("text", "%s", e.Message)
		}
		return err
	}
	workflow := c.Turn
	switch {
	case strings.HasPrefix(c.Turn, "turn/"):
	case strings.HasPrefix(c.Turn, "t_"):
		st, ctx, err := s.scopedStore(ctx)
		if err != nil {
			return err
		}
		t, err := st.Trace(ctx, memory.TurnID(c.Turn))
		if err != nil {
			return err
		}
		workflow = t.WorkflowID
	default:
		return memory.Invalid("turn", "is neither a workflow id (turn/…) nor a turn id (t_…)")
	}
	t, err := s.turns(ctx)
	if err != nil {
		return err
	}
	id, err := t.GiveAnswer(ctx, workflow, probe.AssistantText)
	if err != nil {
		return err
	}
	if s.json {
		return s.document(struct {
			TurnID     memory.TurnID `json:"turn_id"`
			WorkflowID string        `json:"workflow_id"`
		}{id, workflow})
	}
	s.page.Line("accepted; what it leads to: lightmem trace " + string(id))
	return nil
}
