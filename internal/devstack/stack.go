package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Stack is where the parts are. A field is empty when its part was not asked
// for and does not run.
type Stack struct {
	// ChatModel is the name by which the model servers know the small model.
	ChatModel string
	// DatabaseURL reaches the stack's database as its owner, a superuser.
	DatabaseURL string
	// EmbedModel is the name by which the model servers know the embedding
	// model, all-MiniLM-L6-v2.
	EmbedModel string
	// OllamaHost is the address of Ollama: "http://127.0.0.1:11434".
	OllamaHost string
	// OpenAIBaseURL is the OpenAI-compatible address for chat:
	// "http://127.0.0.1:18080/v1".
	OpenAIBaseURL string
	// OpenAIEmbedBaseURL is the OpenAI-compatible address for embeddings,
	// another process.
	OpenAIEmbedBaseURL string
	// StateDir is the folder of data, logs and lightmem.env.
	StateDir string
	// TemporalAddress is the frontend's host:port.
	TemporalAddress string
	// TemporalUI is the address of Temporal's web UI; empty for a server that
	// TEMPORAL_ADDRESS names.
	TemporalUI string
}

// site is the cache and the state folder that one call works on.
type site struct {
	opts   Options
	cache  cache
	report *reporter
}

func open(opts Options) (*site, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	return &site{opts: opts, cache: cache{dir: opts.CacheDir}, report: newReporter(opts.Progress)}, nil
}

// Ensure returns a stack whose parts run, fetching, building and starting what
// is missing. Calls from several processes at once are safe: each part is
// started once. The parts keep running when the caller ends; Down stops them.
func Ensure(ctx context.Context, opts Options) (*Stack, error) {
	s, err := open(opts)
	if err != nil {
		return nil, err
	}
	parts := s.opts.Parts
	if len(parts) == 0 {
		parts = defaultParts()
	}
	stack := &Stack{StateDir: s.opts.StateDir}
	steps := map[Part]func(context.Context) error{
		Postgres: func(ctx context.Context) (err error) {
			stack.DatabaseURL, err = s.ensurePostgres(ctx)
			return err
		},
		Temporal: func(ctx context.Context) (err error) {
			stack.TemporalAddress, stack.TemporalUI, err = s.ensureTemporal(ctx)
			return err
		},
		OpenAI: func(ctx context.Context) error { return s.ensureOpenAI(ctx, stack) },
		Ollama: func(ctx context.Context) error { return s.ensureOllama(ctx, stack) },
	}
	failures := make([]error, len(parts))
	var running sync.WaitGroup
	for i, part := range parts {
		step, ok := steps[part]
		if !ok {
			return nil, fmt.Errorf("unknown part %q: want one of postgres, temporal, openai, ollama", part)
		}
		running.Go(func() {
			// Parts lock each other out by name only: a build of minutes
			// must not keep a test from its database.
			unlock, err := lock(ctx, filepath.Join(s.opts.StateDir, "locks", string(part)))
			if err == nil {
				err = step(ctx)
				unlock()
			}
			failures[i] = err
		})
	}
	running.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, err
	}
	if err := s.writeEnv(ctx, stack); err != nil {
		return nil, err
	}
	return stack, nil
}

// Env is the stack's addresses as KEY=value, in the order of their names.
func (s *Stack) Env() []string {
	pairs := map[string]string{
		"LIGHTMEM_CHAT_MODEL":            s.ChatModel,
		"LIGHTMEM_DATABASE_URL":          s.DatabaseURL,
		"LIGHTMEM_EMBED_MODEL":           s.EmbedModel,
		"LIGHTMEM_OPENAI_BASE_URL":       s.OpenAIBaseURL,
		"LIGHTMEM_OPENAI_EMBED_BASE_URL": s.OpenAIEmbedBaseURL,
		"LIGHTMEM_TEMPORAL_UI":           s.TemporalUI,
		"OLLAMA_HOST":                    s.OllamaHost,
		"TEMPORAL_ADDRESS":               s.TemporalAddress,
	}
	var lines []string
	for key, value := range pairs {
		if value != "" {
			lines = append(lines, key+"="+value)
		}
	}
	slices.Sort(lines)
	return lines
}

// envFile is lightmem.env in the state folder: the addresses of what runs.
func (s *site) envFile() string { return filepath.Join(s.opts.StateDir, "lightmem.env") }

// writeEnv keeps the addresses of the stack, with those of parts that run but
// were not asked for this time.
func (s *site) writeEnv(ctx context.Context, stack *Stack) error {
	unlock, err := lock(ctx, filepath.Join(s.opts.StateDir, "locks", "env"))
	if err != nil {
		return err
	}
	defer unlock()
	kept := map[string]string{}
	if old, err := os.ReadFile(s.envFile()); err == nil {
		for line := range strings.Lines(string(old)) {
			if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
				kept[key] = value
			}
		}
	}
	for _, line := range stack.Env() {
		key, value, _ := strings.Cut(line, "=")
		kept[key] = value
	}
	lines := make([]string, 0, len(kept))
	for key, value := range kept {
		lines = append(lines, key+"="+value+"\n")
	}
	slices.Sort(lines)
	// The database's password is in it.
	return writeFile(s.envFile(), []byte(strings.Join(lines, "")), 0o600)
}

// Env returns the addresses of the stack as Ensure last wrote them.
func Env(opts Options) ([]byte, error) {
	s, err := open(opts)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(s.envFile())
	if err != nil {
		return nil, &Failure{Step: "read the stack's addresses", Err: err, Hint: "start the stack first: go run ./deploy/stack up"}
	}
	return text, nil
}

// server is a process of the stack and how it is told to end.
type server struct {
	part    Part
	process process
	signal  syscall.Signal
	grace   time.Duration
}

// servers are all processes that the stack may have started, the ones that use
// others first.
func (s *site) servers() []server {
	names := []struct {
		part   Part
		name   string
		signal syscall.Signal
		grace  time.Duration
	}{
		{Worker, "worker", syscall.SIGTERM, workerGrace},
		{Ollama, "ollama", syscall.SIGTERM, 10 * time.Second},
		{OpenAI, "openai-chat", syscall.SIGTERM, 5 * time.Second},
		{OpenAI, "openai-embed", syscall.SIGTERM, 5 * time.Second},
		{Temporal, "temporal", syscall.SIGTERM, 10 * time.Second},
		// SIGINT is Postgres's fast shutdown: sessions are ended, the data
		// is written.
		{Postgres, "postgres", syscall.SIGINT, time.Minute},
	}
	list := make([]server, len(names))
	for i, n := range names {
		list[i] = server{part: n.part, process: newProcess(s.opts.StateDir, n.name), signal: n.signal, grace: n.grace}
	}
	return list
}

// Down stops what Ensure started in this state folder, and nothing else, and
// returns when it has ended. Data stays.
func Down(ctx context.Context, opts Options) error {
	s, err := open(opts)
	if err != nil {
		return err
	}
	var failures []error
	for _, server := range s.servers() {
		if len(s.opts.Parts) > 0 && !slices.Contains(s.opts.Parts, server.part) {
			continue
		}
		unlock, err := lock(ctx, filepath.Join(s.opts.StateDir, "locks", string(server.part)))
		if err != nil {
			return err
		}
		stopped, err := server.process.stop(ctx, server.signal, server.grace)
		unlock()
		if err != nil {
			failures = append(failures, err)
		} else if stopped {
			s.report.printf(string(server.part), "stopped %s", server.process.name)
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if len(s.opts.Parts) == 0 {
		if err := os.Remove(s.envFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove addresses: %w", err)
		}
	}
	return nil
}

// Running is one process of the stack, for people.
type Running struct {
	Name    string    `json:"name"`
	Part    Part      `json:"part"`
	Running bool      `json:"running"`
	PID     int       `json:"pid,omitempty"`
	Address string    `json:"address,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Log     string    `json:"log"`
}

// Status lists the processes of the stack in this state folder.
func Status(opts Options) ([]Running, error) {
	s, err := open(opts)
	if err != nil {
		return nil, err
	}
	var list []Running
	for _, server := range s.servers() {
		record, ok := server.process.running()
		entry := Running{Name: server.process.name, Part: server.part, Running: ok, Log: server.process.log}
		if ok {
			entry.PID, entry.Address, entry.Since = record.PID, hostPort(record.Port), record.Started
		}
		list = append(list, entry)
	}
	slices.SortFunc(list, func(a, b Running) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}
