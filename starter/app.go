package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/memory"
)

// app is the command line with everything it takes from outside. Tests make one
// with stand-ins; the zero value is not usable.
type app struct {
	// program is how the person called it, for commands to try next.
	program        string
	environ        []string
	stdin          io.Reader
	stdout, stderr io.Writer
	// now and key are the clock and the source of fresh idempotency keys.
	now func() time.Time
	key func() string
	// dialTurns and openStore connect; what they return is closed at the end.
	dialTurns func(ctx context.Context, c *config.Config) (turns, error)
	openStore func(ctx context.Context, c *config.Config) (store, error)
	// migrations applies the schema.
	migrations migrations
}

func newApp(environ []string, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{
		program: "lightmem", environ: environ, stdin: stdin, stdout: stdout, stderr: stderr,
		now: time.Now, key: randomKey,
		dialTurns: dialTurns, openStore: openStore, migrations: schemaMigrations{},
	}
}

// randomKey is a fresh idempotency key: 128 random bits.
func randomKey() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails (crypto/rand docs)
	return hex.EncodeToString(b)
}

// session is one call of the command line: its settings and its connections.
type session struct {
	*app
	cfg    *config.Config
	loader *config.Loader
	// given are the flags that were set on the command line.
	given map[string]bool
	json  bool
	page  *page.Page
	// sent is the idempotency key of the turn that was sent, for messages.
	sent    string
	closers []func()
}

// run runs one command and returns the exit code. It is the whole program.
func (a *app) run(ctx context.Context, args []string) int {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	var g grammar
	loader := config.NewLoader(&g.Settings, a.environ)
	helped := false
	parser, err := kong.New(&g, append(loader.Options(),
		kong.Name("lightmem"), kong.Description(description),
		kong.Writers(a.stdout, a.stderr), kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ValueFormatter(func(v *kong.Value) string { return v.Help }),
		kong.PostBuild(func(k *kong.Kong) error { hideSettings(k.Model, loader); return nil }),
	)...)
	if err != nil { // the grammar is wrong: a fault of ours that every test finds
		report(a.stderr, fmt.Errorf("build the parser: %w", err), false, "")
		return exitInternal
	}
	var parsed *kong.Context
	if err = checkUTF8(args); err == nil {
		parsed, err = parser.Parse(args)
	}
	if helped {
		return exitOK
	}
	s := &session{app: a, cfg: &g.Settings, loader: loader, json: g.JSON, given: map[string]bool{}}
	if err != nil {
		s.json = wantsJSON(args)
		err = fieldOf(loader.Explain(err))
	} else if err = loader.Finish(); err == nil {
		for _, p := range parsed.Path {
			if p.Flag != nil && !p.Resolved {
				s.given[p.Flag.Name] = true
			}
		}
		s.page = page.New(a.stdout, a.width(), a.colour())
		if g.Timeout != nil && *g.Timeout <= 0 {
			err = memory.Invalid("timeout", "must be positive")
		}
	}
	if err == nil {
		err = s.command(ctx, parsed, g.Timeout)
	}
	if err != nil {
		report(a.stderr, err, s.json, s.sent)
	}
	return exitCode(ctx, err)
}

// timeoutDefault is --timeout of commands that end by themselves soon.
const timeoutDefault = 5 * time.Minute

// lasting are the commands that take as long as they take.
var lasting = []string{"chat", "eval", "demo", "serve"}

// command runs the parsed command under its time limit.
func (s *session) command(ctx context.Context, parsed *kong.Context, timeout *time.Duration) error {
	name, _, _ := strings.Cut(parsed.Command(), " ")
	limit := timeoutDefault
	if timeout != nil {
		limit = *timeout
	}
	if timeout != nil || !slices.Contains(lasting, name) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	defer s.close()
	parsed.BindTo(ctx, (*context.Context)(nil))
	err := parsed.Run(s)
	if err == nil && s.page != nil {
		err = s.page.Err()
	}
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) && memory.CodeOf(err) == memory.CodeInternal {
		return memory.Wrap(memory.CodeUnavailable, err, "no answer within %s (--timeout)", limit)
	}
	return err
}

func (s *session) close() {
	for _, f := range slices.Backward(s.closers) {
		f()
	}
	s.closers = nil
}

// hideSettings keeps the settings, which every command has, out of its help.
func hideSettings(m *kong.Application, loader *config.Loader) {
	shown := map[string]bool{"config": true, "tenant": true, "user": true}
	names := loader.Flags()
	for _, f := range m.Flags {
		if slices.Contains(names, f.Name) && !shown[f.Name] {
			f.Hidden = true
		}
	}
}

// wantsJSON looks for --json in arguments that could not be parsed.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// checkUTF8 refuses arguments that are not UTF-8: kong would replace the broken
// bytes, and two users whose ids differ in them would be one.
func checkUTF8(args []string) error {
	for i, arg := range args {
		if utf8.ValidString(arg) {
			continue
		}
		field := "text"
		if name, _, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "--") {
			field = name[2:]
		} else if i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") && !slices.Contains(switches, args[i-1]) {
			field = args[i-1][2:]
		} else if slices.Contains(args[:i], "trace") || slices.Contains(args[max(i-1, 0):i], "answer") {
			field = "turn"
		} else if slices.Contains(args[:i], "memories") && !slices.Contains(args[:i], "search") {
			field = "id"
		}
		if field == "user" {
			field = "user_id"
		}
		return memory.Invalid(strings.ReplaceAll(strings.ToValidUTF8(field, ""), "-", "_"), "is not UTF-8")
	}
	return nil
}

// switches are the flags without a value.
var switches = []string{"--", "--json", "--wait", "--verbatim", "--all", "--yes", "--help"}

var argument = regexp.MustCompile(`<([a-z-]+)>`)

// fieldOf names the argument that is missing or wrong, where kong's message
// tells it.
func fieldOf(err error) error {
	var e *memory.Error
	if errors.As(err, &e) && e.Field == "" {
		if m := argument.FindStringSubmatch(e.Message); m != nil && !strings.Contains(e.Message, "<command>") {
			e.Field = strings.ReplaceAll(m[1], "-", "_")
		} else if rest, ok := strings.CutPrefix(e.Message, "missing flags: --"); ok {
			name, _, _ := strings.Cut(rest, "=")
			e.Field, e.Message = strings.ReplaceAll(name, "-", "_"), "is required: --"+rest
		}
	}
	if e != nil && !strings.Contains(e.Field, ".") {
		e.Field = strings.ReplaceAll(e.Field, "-", "_")
	}
	return err
}

// env returns an environment variable, "" when it is not set.
func (a *app) env(name string) string {
	for _, line := range slices.Backward(a.environ) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

// terminal is the file descriptor behind w when it is a terminal.
func terminal(w any) (int, bool) {
	f, ok := w.(*os.File)
	if !ok {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}

// colour: only to a terminal, and not where somebody set NO_COLOR
// (https://no-color.org) or the terminal has none.
func (a *app) colour() bool {
	_, ok := terminal(a.stdout)
	return ok && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
}

// width is the terminal's, or what COLUMNS says; 0 when neither is known.
func (a *app) width() int {
	if n, err := strconv.Atoi(a.env("COLUMNS")); err == nil && n > 0 {
		return min(n, 500)
	}
	if fd, ok := terminal(a.stdout); ok {
		if w, _, err := term.GetSize(fd); err == nil {
			return w
		}
	}
	return 0
}

// zone is in which times are shown to people: TZ, else UTC. JSON is in UTC.
func (a *app) zone() *time.Location {
	if l, err := time.LoadLocation(cmp.Or(a.env("TZ"), "UTC")); err == nil {
		return l
	}
	return time.UTC
}

// actor is who makes the calls, for the audit.
func (a *app) actor() string {
	name := strings.ToValidUTF8(cmp.Or(a.env("USER"), a.env("LOGNAME")), "")
	if name == "" || len(name) > 64 {
		return "cli"
	}
	return "cli:" + name
}

// document writes the one JSON document of a command.
func (s *session) document(v any) error {
	e := json.NewEncoder(s.stdout)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return memory.Wrap(memory.CodeInternal, err, "write the result")
	}
	return nil
}

// scope is whose memory the command speaks of, checked.
func (s *session) scope() (memory.Scope, error) {
	scope := memory.Scope{Tenant: s.cfg.Tenant, User: s.cfg.User}
	if scope.User == "" && !s.given["user"] {
		return memory.Scope{}, memory.Invalid("user_id", "is required: --user ID, or LIGHTMEM_USER")
	}
	// A request's own rules are the rules for ids.
	err := memory.Request{Scope: scope, Mode: memory.ModeRemember, Text: "x"}.Validate()
	return scope, err
}

// turns connects to Temporal, once.
func (s *session) turns(ctx context.Context) (turns, error) {
	t, err := s.dialTurns(ctx, s.cfg)
	if err == nil {
		s.closers = append(s.closers, t.Close)
	}
	return t, err
}

// store connects to the database, once.
func (s *session) store(ctx context.Context) (store, error) {
	if s.cfg.Database.URL == "" {
		return nil, memory.Invalid("database.url", "is not set: `make up` starts a database, or set LIGHTMEM_DATABASE_URL to yours")
	}
	st, err := s.openStore(ctx, s.cfg)
	if err == nil {
		s.closers = append(s.closers, st.Close)
	}
	return st, err
}
