package config

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
)

var update = flag.Bool("update", false, "rewrite docs/configuration.md")

// world is a home folder without settings, and what a case puts into it.
type world struct {
	home    string
	environ []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	home := t.TempDir()
	return &world{home: home, environ: []string{"HOME=" + home}}
}

func (w *world) file(t *testing.T, path, text string) string {
	t.Helper()
	path = filepath.Join(w.home, path)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func (w *world) load(args ...string) (*Config, error) {
	return Load("lightmem-worker", "runs turns", args, w.environ, io.Discard)
}

const (
	usual = ".config/lightmem/lightmem.yaml"
	stack = ".local/state/lightmem/lightmem.env"
)

func TestPlacesInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cfg, err := w.load()
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:7233", cfg.Temporal.Address, "default")

	w.file(t, stack, "TEMPORAL_ADDRESS=stack:1\nLIGHTMEM_K=9\n")
	cfg, err = w.load()
	require.NoError(t, err)
	require.Equal(t, "stack:1", cfg.Temporal.Address)
	require.Equal(t, 5, cfg.Memory.K, "the stack's file gives addresses only")

	w.file(t, usual, "temporal: {address: 'file:2'}\n")
	cfg, err = w.load()
	require.NoError(t, err)
	require.Equal(t, "file:2", cfg.Temporal.Address)

	w.environ = append(w.environ, "TEMPORAL_ADDRESS=env:3")
	cfg, err = w.load()
	require.NoError(t, err)
	require.Equal(t, "env:3", cfg.Temporal.Address)

	cfg, err = w.load("--temporal-address", "flag:4")
	require.NoError(t, err)
	require.Equal(t, "flag:4", cfg.Temporal.Address)
}

func TestEveryKindOfSettingFromAFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.file(t, "x.yaml", `
tenant: "a/b&c:d=é"
database: {url: "postgres://u:p@h/db", connections: 3}
roles:
  plan: {model: "ollama:qwen2.5:1.5b", address: gpu, timeout: 1m30s, context_length: 2048}
  embed: {model: "none:"}
memory: {capacity: 7, k: 2, cache_bytes: 256MiB}
worker:
  queues:
    - turns
    - gpu
log:
`)
	cfg, err := w.load("--config", path)
	require.NoError(t, err)
	require.Equal(t, memory.TenantID("a/b&c:d=é"), cfg.Tenant)
	require.Equal(t, "postgres://u:p@h/db", cfg.Database.URL.Reveal())
	require.Equal(t, cfg.Database.URL, cfg.Database.OwnerURL)
	require.Equal(t, 3, cfg.Database.Connections)
	require.Equal(t, Role{Spec: Spec{"ollama", "qwen2.5:1.5b"}, Address: "http://gpu:11434", Timeout: 90 * time.Second, ContextLength: 2048}, cfg.Roles.Plan)
	require.Equal(t, Spec{Provider: "none"}, cfg.Roles.Embed.Spec)
	require.Equal(t, Memory{Capacity: 7, K: 2, ContextTokens: 1024, CacheBytes: 256 << 20}, cfg.Memory)
	require.Equal(t, []string{"turns", "gpu"}, cfg.Worker.Queues)
	require.Equal(t, "info", cfg.Log.Level)
	require.Equal(t, filepath.Join(w.home, ".local/state/lightmem/master.key"), cfg.MasterKeyFile)
}

func TestRefusesByName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, yaml, environ string
		args                []string
		field, message      string
	}{
		{name: "unknown key", yaml: "databse: {url: x}", field: "databse", message: "is no setting"},
		{name: "unknown key in a section", yaml: "memory: {capacty: 1}", field: "memory.capacty", message: "memory has cache_bytes, capacity, context_tokens, k"},
		{name: "key in the wrong section", yaml: "capacity: 1", field: "capacity", message: "did you mean memory.capacity?"},
		{name: "twice", yaml: "tenant: a\ntenant: b", field: "tenant", message: "set twice"},
		{name: "a section that is a value", yaml: "database: postgres://x", field: "database", message: "needs keys"},
		{name: "a value that is a section", yaml: "tenant: {a: b}", field: "tenant", message: "plain value"},
		{name: "an alias", yaml: "tenant: &x a\nuser: *x", field: "user", message: "plain value"},
		{name: "no YAML", yaml: "a: [", field: "config", message: "is no YAML"},
		{name: "two documents", yaml: "tenant: a\n---\ntenant: b", field: "config", message: "more than one"},
		{name: "a list at the top", yaml: "- a", field: "config", message: "needs keys"},
		{name: "not a number", yaml: "memory: {capacity: lots}", field: "memory.capacity", message: `"lots" is no whole number`},
		{name: "from a file says the line", yaml: "\nmemory:\n  capacity: 0", field: "memory.capacity", message: "lightmem.yaml:3)"},
		{name: "too large", environ: "LIGHTMEM_K=51", field: "memory.k", message: "51 is not between 1 and 50 (from environment variable LIGHTMEM_K)"},
		{name: "negative", args: []string{"--default-k=-1"}, field: "memory.k", message: "-1 is not between 1 and 50"},
		{name: "not a duration", environ: "LIGHTMEM_ROLES_PLAN_TIMEOUT=15", field: "roles.plan.timeout", message: "no duration"},
		{name: "not a duration by flag", args: []string{"--plan-timeout=15"}, field: "roles.plan.timeout", message: "duration"},
		{name: "timeout out of range", args: []string{"--plan-timeout=1h"}, field: "roles.plan.timeout", message: "between 100ms and 10m"},
		{name: "no size", args: []string{"--cache-bytes=-1"}, field: "memory.cache_bytes", message: "no size"},
		{name: "size overflows", environ: "LIGHTMEM_MEMORY_CACHE_BYTES=9999999999TiB", field: "memory.cache_bytes", message: "no size"},
		{name: "no provider", args: []string{"--plan-model=qwen"}, field: "roles.plan.model", message: "no colon"},
		{name: "unknown provider", environ: "LIGHTMEM_ROLES_PLAN_MODEL=claude:x", field: "roles.plan.model", message: `no provider "claude"`},
		{name: "no model", environ: "LIGHTMEM_ROLES_PLAN_MODEL=ollama:", field: "roles.plan.model", message: "needs a model"},
		{name: "a rule for embedding", environ: "LIGHTMEM_EMBED_MODEL=x", args: []string{"--embed-model=rules:"}, field: "roles.embed.model", message: "no rule for embedding"},
		{name: "no planner", args: []string{"--plan-model=none:"}, field: "roles.plan.model", message: "only embed"},
		{name: "scripted in production", args: []string{"--write-model=scripted:x"}, field: "roles.write.model", message: "LIGHTMEM_ALLOW_SCRIPTED"},
		{name: "bad address", args: []string{"--plan-model=ollama:x", "--plan-address=ftp://x"}, field: "roles.plan.address", message: "no server's address"},
		{name: "unknown queue", args: []string{"--worker-queues=turns,cpu"}, field: "worker.queues", message: `"cpu" is none of turns, gpu, answer`},
		{name: "queue twice", args: []string{"--worker-queues=gpu,gpu"}, field: "worker.queues", message: "twice"},
		{name: "unknown selection", environ: "LIGHTMEM_SELECTION_MODE=setwise", field: "selection.mode", message: "none of"},
		{name: "not a database", environ: "LIGHTMEM_DATABASE_URL=mysql://u:hunter2@h", field: "database.url", message: "no Postgres address"},
		{name: "short token", environ: "LIGHTMEM_API_TOKEN=abc", field: "api.token", message: "fewer than 16"},
		{name: "half of versioning", args: []string{"--worker-build-id=1"}, field: "worker.build_id", message: "worker.deployment"},
		{name: "a file that is not there", args: []string{"--config=/nonexistent/x.yaml"}, field: "config", message: "cannot read"},
		{name: "unknown flag", args: []string{"--tennant=x"}, message: "unknown flag --tennant"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if c.yaml != "" {
				w.file(t, usual, c.yaml)
			}
			if c.environ != "" {
				w.environ = append(w.environ, c.environ)
			}
			_, err := w.load(c.args...)
			require.Error(t, err)
			require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
			var e *memory.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, c.field, e.Field)
			require.Contains(t, e.Message, c.message)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestWhoServesEachRole(t *testing.T) {
	t.Parallel()
	const embed, openai = "http://127.0.0.1:18081/v1", "http://127.0.0.1:18080/v1"
	for _, c := range []struct {
		name    string
		environ []string
		want    map[memory.Role]string
	}{
		{"rules where nothing is set", nil, map[memory.Role]string{
			"plan": "rules: ", "select": "rules: ", "write": "rules: ", "answer": "rules: ", "embed": "none: ",
		}},
		{"Ollama before OpenAI", []string{"OLLAMA_HOST=0.0.0.0", "LIGHTMEM_OPENAI_BASE_URL=" + openai, "LIGHTMEM_CHAT_MODEL=q"}, map[memory.Role]string{
			"plan": "ollama:q http://127.0.0.1:11434", "answer": "ollama:q http://127.0.0.1:11434", "embed": "ollama:all-minilm http://127.0.0.1:11434",
		}},
		{"a server for chat and one for vectors", []string{"LIGHTMEM_OPENAI_BASE_URL=" + openai, "LIGHTMEM_OPENAI_EMBED_BASE_URL=" + embed, "LIGHTMEM_CHAT_MODEL=q"}, map[memory.Role]string{
			"select": "openai:q " + openai, "embed": "openai:all-minilm " + embed,
		}},
		{"a key alone answers", []string{"OPENAI_API_KEY=sk-1"}, map[memory.Role]string{
			"plan": "rules: ", "answer": "openai:gpt-4o-mini https://api.openai.com/v1", "embed": "none: ",
		}},
		{"a role of its own", []string{"OLLAMA_HOST=h:1", "LIGHTMEM_CHAT_MODEL=q", "LIGHTMEM_ROLES_WRITE_MODEL=rules:", "LIGHTMEM_ROLES_ANSWER_MODEL=openai:big", "LIGHTMEM_ROLES_ANSWER_ADDRESS=https://x/v1/"}, map[memory.Role]string{
			"plan": "ollama:q http://h:1", "write": "rules: ", "answer": "openai:big https://x/v1",
		}},
		{"scripted in a test", []string{"LIGHTMEM_ALLOW_SCRIPTED=1", "LIGHTMEM_ROLES_PLAN_MODEL=scripted:instant"}, map[memory.Role]string{"plan": "scripted:instant "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.environ = append(w.environ, c.environ...)
			cfg, err := w.load()
			require.NoError(t, err)
			for role, want := range c.want {
				r := cfg.Roles.Of(role)
				require.Equal(t, want, r.Spec.String()+" "+r.Address, role)
			}
		})
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.environ = append(w.environ, "OPENAI_API_KEY=sk-hunter2", "LIGHTMEM_API_TOKEN=hunter2hunter2hunter2",
		"LIGHTMEM_DATABASE_URL=postgres://u:hunter2@h:5/db?sslmode=disable&sslpassword=hunter2", "LIGHTMEM_DATABASE_OWNER_URL=host=h password='hunter2 x' user=u")
	cfg := &Config{}
	l := NewLoader(cfg, w.environ)
	parsed, err := w.load()
	require.NoError(t, err)
	*cfg = *parsed
	shown := fmt.Sprintf("%v %+v %#v %v", cfg, cfg, cfg, l.Show(nil))
	require.NotContains(t, shown, "hunter2")
	require.Contains(t, shown, "postgres://u:********@h:5/db?sslmode=disable&********")
	require.Equal(t, "sk-hunter2", cfg.Roles.Of(memory.RoleAnswer).Key.Reveal())
	require.NotContains(t, DSN("postgres://u:hunter2@[h").String(), "hunter2")
}

func TestAKeyGoesOnlyWhereItBelongs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.file(t, stack, "LIGHTMEM_OPENAI_BASE_URL=http://127.0.0.1:1/v1\nLIGHTMEM_CHAT_MODEL=q\n")
	w.environ = append(w.environ, "OPENAI_API_KEY=sk-1")
	cfg, err := w.load("--write-model=openai:x", "--write-address=https://other/v1", "--plan-model=openai:x", "--plan-address=https://own/v1", "--plan-key=mine")
	require.NoError(t, err)
	require.Empty(t, cfg.Roles.Answer.Key, "the stack's own server")
	require.Empty(t, cfg.Roles.Write.Key, "another server")
	require.Equal(t, Secret("mine"), cfg.Roles.Plan.Key)
	cfg, err = w.load("--models-openai-address=https://named/v1")
	require.NoError(t, err)
	require.Equal(t, Secret("sk-1"), cfg.Roles.Answer.Key)
}

func TestShowSaysWhereFrom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := w.file(t, usual, "user: u\n")
	w.file(t, stack, "TEMPORAL_ADDRESS=h:1\n")
	w.environ = append(w.environ, "LIGHTMEM_K=7")
	var cfg Config
	l := NewLoader(&cfg, w.environ)
	parser, err := kong.New(&cfg, l.Options()...)
	require.NoError(t, err)
	_, err = parser.Parse([]string{"--tenant=x"})
	require.NoError(t, err)
	require.NoError(t, l.Finish())
	shown := l.Show(map[string]bool{"tenant": true})
	for _, want := range []Shown{
		{"tenant", "x", "flag --tenant"},
		{"memory.k", "7", "environment variable LIGHTMEM_K"},
		{"user", "u", path + ":1"},
		{"temporal.address", "h:1", "the running stack"},
		{"log.level", "info", "default"},
		{"roles.plan.model", "rules:", "derived"},
	} {
		require.Contains(t, shown, want)
	}
}

func TestHelpIsWritten(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	_, err := Load("lightmem-worker", "Runs turns.", []string{"--help"}, nil, &out)
	require.ErrorIs(t, err, ErrHelp)
	require.Contains(t, out.String(), "--database-url")
}

func TestTagsAreSound(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range settings(&Config{}) {
		for _, name := range []string{"name " + s.Name, "flag " + s.Flag, "variable " + s.Variable} {
			require.False(t, seen[name], name)
			seen[name] = true
		}
		require.NotEmpty(t, s.Help, s.Name)
		if s.Default != "" {
			require.NoError(t, parses(s, s.Default), s.Name)
		}
		if s.Range != "" {
			low, high, ok := strings.Cut(s.Range, "..")
			require.True(t, ok, s.Name)
			require.NoError(t, parses(s, low), s.Name)
			require.NoError(t, parses(s, high), s.Name)
			require.Less(t, s.number(low), s.number(high), s.Name)
			require.NotEqual(t, reflect.String, s.field.Kind(), s.Name)
		}
	}
}

func TestBytesRoundTrip(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Bytes{"0": 0, "1": 1, "12B": 12, "3 KiB": 3072, "1kB": 1000, "5GiB": 5 << 30} {
		var b, again Bytes
		require.NoError(t, b.UnmarshalText([]byte(text)), text)
		require.Equal(t, want, b, text)
		require.NoError(t, again.UnmarshalText([]byte(b.String())), text)
		require.Equal(t, b, again, text)
	}
}

func TestDocumentIsUpToDate(t *testing.T) {
	t.Parallel()
	const path = "../../docs/configuration.md"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(Markdown()), 0o644))
	}
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, Markdown(), string(got), "run: go test ./internal/config -update")
}

func FuzzFile(f *testing.F) {
	f.Add("database: {url: x}\nworker:\n  queues: [turns]\n")
	f.Add("a: &a [*a]")
	f.Add("? {a: b}\n: c")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := parseFile("x.yaml", []byte(text), settings(&Config{}))
		if err != nil {
			require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
		} else {
			_ = values
		}
	})
}
