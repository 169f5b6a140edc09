package config

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/lightmem/lightmem/memory"
)

// ErrHelp is returned by Load when the arguments asked for help, which has then
// been written.
var ErrHelp = errors.New("help was asked for")

// Load reads the settings for a program that has no flags but these. args are
// the arguments without the program's name, environ is os.Environ(). Errors are
// *memory.Error with the setting's name in Field, or ErrHelp.
func Load(program, description string, args, environ []string, stdout io.Writer) (*Config, error) {
	cfg := &Config{}
	loader := NewLoader(cfg, environ)
	helped := false
	parser, err := kong.New(cfg, append(loader.Options(),
		kong.Name(program), kong.Description(description), kong.Writers(stdout, io.Discard),
		kong.Exit(func(int) { helped = true }))...)
	if err != nil {
		return nil, fmt.Errorf("build the parser of %s: %w", program, err)
	}
	_, err = parser.Parse(args)
	switch {
	case helped:
		return nil, ErrHelp
	case err != nil:
		return nil, loader.Explain(err)
	}
	return cfg, loader.Finish()
}

// Loader resolves the settings of a Config for a kong parser in whose grammar
// that Config is embedded.
type Loader struct {
	cfg      *Config
	settings []Setting
	byFlag   map[string]int
	environ  map[string]string
	file     map[string]given
	stack    map[string]string
	origins  map[string]string
}

// NewLoader returns a loader for cfg. environ is os.Environ().
func NewLoader(cfg *Config, environ []string) *Loader {
	l := &Loader{cfg: cfg, settings: settings(cfg), environ: environment(environ), origins: map[string]string{}}
	l.byFlag = make(map[string]int, len(l.settings))
	for i, s := range l.settings {
		l.byFlag[s.Flag] = i
	}
	return l
}

// Options make a kong parser take the settings from their places.
func (l *Loader) Options() []kong.Option {
	return []kong.Option{
		kong.WithBeforeResolve(l.open),
		kong.Resolvers(kong.ResolverFunc(l.resolve)),
	}
}

// open reads the file and the stack's addresses, once the flags that say where
// they are have been read.
func (l *Loader) open(ctx *kong.Context) error {
	flag := func(name string) string {
		for _, f := range ctx.Model.Flags {
			if f.Name == name {
				text, _ := ctx.FlagValue(f).(string)
				return text
			}
		}
		return ""
	}
	path := cmp.Or(flag("config"), l.environ["LIGHTMEM_CONFIG"])
	named := path != ""
	if !named {
		path = cmp.Or(below(l.environ["XDG_CONFIG_HOME"], "lightmem", "lightmem.yaml"), below(l.environ["HOME"], ".config", "lightmem", "lightmem.yaml"))
	}
	var err error
	if path != "" {
		if l.file, err = fromFile(path, named, l.settings); err != nil {
			return err
		}
	}
	dir := cmp.Or(flag("state-dir"), l.environ["LIGHTMEM_STATE"], l.file["state_dir"].text, l.stateDir())
	if dir != "" {
		l.stack, err = fromStack(dir)
	}
	return err
}

// stateDir is the default of the state folder, as internal/devstack has it.
func (l *Loader) stateDir() string {
	return cmp.Or(below(l.environ["XDG_STATE_HOME"], "lightmem"), below(l.environ["HOME"], ".local", "state", "lightmem"))
}

// resolve gives kong the value of a setting that no flag set.
func (l *Loader) resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	i, ok := l.byFlag[flag.Name]
	if !ok {
		return nil, nil
	}
	s := l.settings[i]
	g, ok := l.find(s)
	if !ok {
		return nil, nil
	}
	if err := parses(s, g.text); err != nil {
		return nil, memory.Invalid(s.Name, "%s (from %s)", err.Error(), g.origin)
	}
	l.origins[s.Name] = g.origin
	return g.text, nil
}

// originStack is the origin of what the stack's lightmem.env says.
const originStack = "the running stack"

// find returns what environment, file or stack say about a setting.
func (l *Loader) find(s Setting) (given, bool) {
	if text, ok := l.environ[s.Variable]; ok {
		return given{text, "environment variable " + s.Variable}, true
	}
	if g, ok := l.file[s.Name]; ok && s.InFile {
		return g, true
	}
	// The stack says where its parts are; it does not choose for a person.
	if text, ok := l.stack[s.Variable]; ok && (strings.HasPrefix(s.Name, "database.") || strings.HasPrefix(s.Name, "temporal.") || strings.HasPrefix(s.Name, "models.")) {
		return given{text, originStack}, true
	}
	return given{}, false
}

// parses says what is wrong with a setting's text. kong parses it again; its
// message would not name the place that the text came from.
func parses(s Setting, text string) error {
	fresh := reflect.New(s.field.Type())
	if u, ok := fresh.Interface().(interface{ UnmarshalText([]byte) error }); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch s.field.Interface().(type) {
	case int:
		if _, err := strconv.Atoi(text); err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
	case time.Duration:
		if _, err := time.ParseDuration(text); err != nil {
			return fmt.Errorf("%q is no duration; it looks like 15s or 2m", text)
		}
	}
	return nil
}

// Explain turns a parser's error into a *memory.Error that names the setting,
// or the flag of the command, at fault.
func (l *Loader) Explain(err error) error {
	var known *memory.Error
	if err == nil || errors.As(err, &known) {
		if known != nil {
			return known
		}
		return err
	}
	message := err.Error()
	name := ""
	if rest, ok := strings.CutPrefix(message, "--"); ok {
		end := strings.IndexAny(rest, "=: ")
		if end > 0 {
			name = rest[:end]
			if i, ok := l.byFlag[name]; ok {
				name = l.settings[i].Name
			}
			if _, after, ok := strings.Cut(rest, ": "); ok {
				message = after
			}
		}
	}
	return &memory.Error{Code: memory.CodeInvalid, Field: name, Message: message, Cause: err}
}

// Finish checks the values and fills in what follows from others. Call it after
// the parser has parsed.
func (l *Loader) Finish() error {
	for _, s := range l.settings {
		if err := s.check(); err != nil {
			return memory.Invalid(s.Name, "%s%s", err.Error(), l.from(s))
		}
	}
	c := l.cfg
	if c.StateDir == "" {
		c.StateDir = l.stateDir()
	}
	if c.StateDir == "" && c.MasterKeyFile == "" {
		return memory.Invalid("state_dir", "is not set, and there is no HOME to put it in")
	}
	if c.MasterKeyFile == "" {
		c.MasterKeyFile = filepath.Join(c.StateDir, "master.key")
	}
	if c.Database.OwnerURL == "" {
		c.Database.OwnerURL = c.Database.URL
	}
	for _, d := range []struct {
		name string
		dsn  DSN
	}{{"database.url", c.Database.URL}, {"database.owner_url", c.Database.OwnerURL}} {
		if err := d.dsn.check(); err != nil {
			return memory.Invalid(d.name, "%s", err.Error())
		}
	}
	if (c.Worker.Deployment == "") != (c.Worker.BuildID == "") {
		return memory.Invalid("worker.build_id", "needs worker.deployment, and the other way round")
	}
	if t := c.API.Token; t != "" && len(t) < minToken {
		return memory.Invalid("api.token", "has fewer than %d characters", minToken)
	}
	return l.finishRoles()
}

// minToken is the least length of an API token.
const minToken = 16

// from says where a setting came from, for a message.
func (l *Loader) from(s Setting) string {
	if o := l.origins[s.Name]; o != "" {
		return " (from " + o + ")"
	}
	return " (--" + s.Flag + ")"
}

// Shown is a setting as `lightmem config show` prints it.
type Shown struct {
	// Name is the setting's name in the file.
	Name string `json:"name"`
	// Value is its value, secrets masked.
	Value string `json:"value"`
	// Origin says where the value came from: "flag --x", "environment variable
	// X", "file:line", "the running stack", "default", or "derived" for what
	// follows from other settings.
	Origin string `json:"origin"`
}

// Show lists the settings after Finish. flags are those that were set on the
// command line.
func (l *Loader) Show(flags map[string]bool) []Shown {
	list := make([]Shown, len(l.settings))
	for i, s := range l.settings {
		origin := l.origins[s.Name]
		switch {
		case flags[s.Flag]:
			origin = "flag --" + s.Flag
		case origin != "":
		case s.Default != "" || s.field.IsZero():
			origin = "default"
		default:
			origin = "derived"
		}
		list[i] = Shown{Name: s.Name, Value: s.text(), Origin: origin}
	}
	return list
}

// Flags are the names of the settings' flags.
func (l *Loader) Flags() []string {
	names := make([]string, len(l.settings))
	for i, s := range l.settings {
		names[i] = s.Flag
	}
	return names
}
