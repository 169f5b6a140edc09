package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// bench is the command line with stand-ins behind it.
type bench struct {
	app    *app
	turns  *fakeTurns
	store  *fakeStore
	stdin  io.Reader
	dialed int
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{turns: &fakeTurns{}, store: &fakeStore{profiles: map[memory.Scope]memory.Profile{}}}
	b.app = newApp([]string{"HOME=" + t.TempDir(), "USER=op", "LIGHTMEM_DATABASE_URL=postgres://h/db"}, nil, nil, nil)
	n := 0
	b.app.key = func() string { n++; return fmt.Sprintf("fresh-%d", n) }
	b.app.dialTurns = func(context.Context, *config.Config) (turns, error) { b.dialed++; return b.turns, nil }
	b.app.openStore = func(context.Context, *config.Config) (store, error) { b.dialed++; return b.store, nil }
	b.app.migrations = fakeMigrations{}
	return b
}

func (b *bench) run(args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	a := *b.app
	a.stdin, a.stdout, a.stderr = b.stdin, &out, &errs
	if a.stdin == nil {
		a.stdin = strings.NewReader("")
	}
	code = a.run(context.Background(), args)
	return out.String(), errs.String(), code
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// fakeTurns answers every turn alike and notes what it was asked.
type fakeTurns struct {
	mu       sync.Mutex
	asked    []memory.Request
	answered []string
	err      error
}

func (f *fakeTurns) WorkflowID(r memory.Request) string { return "turn/t/u/c/" + r.IdempotencyKey }

func (f *fakeTurns) Reply(_ context.Context, r memory.Request) (memory.Reply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r)
	if f.err != nil {
		return memory.Reply{}, f.err
	}
	reply := memory.Reply{
		TurnID: "t_01", WorkflowID: f.WorkflowID(r), RunID: "run-1", Degraded: nil, Candidates: nil, Selected: nil,
	}
	if r.Mode == memory.ModeRemember {
		return reply, nil
	}
	reply.Plan = memory.Plan{Version: "plan rule v1", Personal: 1, Queries: []memory.Query{
		{Text: r.Text, Tier: memory.TierMTM, Origin: "input", Vector: memory.Vector{1, 0}},
		{Text: "Ada's home", Tier: memory.TierMTM, Origin: "model", Window: memory.Window{From: noon}, Soft: true, Kinds: []memory.Kind{memory.KindFact}, Past: true},
	}}
	reply.Candidates = []memory.Candidate{
		{ID: "m_2", Tier: memory.TierMTM, Memory: "Ada lives in Porto.", Score: 2.5, Lexical: 1.25, Dense: 3, Queries: []int{0, 1}, Kind: memory.KindFact, Status: memory.StatusActive, EventAt: noon, ValidFrom: noon},
		{ID: "m_1", Tier: memory.TierMTM, Memory: "Ada lives in Lisbon.", Score: 1.5, Kind: memory.KindFact, Status: memory.StatusSuperseded, EventAt: noon.AddDate(-1, 0, 0), ValidFrom: noon.AddDate(-1, 0, 0), ValidTo: noon},
	}
	reply.Selected = []memory.Chosen{{ID: "m_2", Score: 0.93, Reason: "yes"}}
	reply.Degraded = []memory.Degraded{{Role: memory.RolePlan, Reason: memory.CodeUnavailable, Detail: "ollama: not reached"}}
	if r.Mode == memory.ModeAnswer {
		reply.Answer = "Ada lives in Porto, <since> March."
	}
	return reply, nil
}

func (f *fakeTurns) Receipt(ctx context.Context, r memory.Request) (memory.Receipt, error) {
	if f.err != nil {
		return memory.Receipt{}, f.err
	}
	out := memory.Receipt{Written: []memory.Outcome{
		{ID: "m_3", Memory: "Ada moved to Porto on 2026-05-03.", Event: memory.EventSuperseded, Reason: "newer value", Supersedes: "m_1"},
		{Memory: "Hi there!", Event: memory.EventRefused, Reason: "small talk"},
	}}
	return out, ctx.Err()
}

func (f *fakeTurns) GiveAnswer(_ context.Context, workflowID, text string) (memory.TurnID, error) {
	f.answered = append(f.answered, workflowID+" "+text)
	return "t_01", f.err
}

func (f *fakeTurns) Close() {}

func (f *fakeTurns) Ping(context.Context) error { return f.err }

// fakeStore holds two memories and one turn of the user "ada".
type fakeStore struct {
	profiles map[memory.Scope]memory.Profile
	calls    []string
	broken   bool
	degraded []memory.Degraded
}

func (f *fakeStore) note(ctx context.Context, format string, args ...any) error {
	s, err := tenant.FromContext(ctx)
	f.calls = append(f.calls, string(s.Tenant)+"/"+string(s.User)+" "+fmt.Sprintf(format, args...))
	return err
}

func (f *fakeStore) List(ctx context.Context, l listing) ([]memory.Memory, error) {
	if err := f.note(ctx, "list %+v", l); err != nil {
		return nil, err
	}
	scope, _ := tenant.FromContext(ctx)
	if scope.User != "ada" {
		return nil, nil
	}
	list := []memory.Memory{
		{Scope: scope, ID: "m_2", Text: "Ada lives in Porto.", Kind: memory.KindFact, Status: memory.StatusActive, Source: memory.SourceUser, EventAt: noon, ValidFrom: noon, RecordedAt: noon, LastSeen: noon, Strength: 2, Pinned: true, Evidence: []memory.TurnID{"t_01"}, Metadata: map[string]string{"k": "v"}, Version: 1},
		{Scope: scope, ID: "m_1", Text: "Ada lives in Lisbon.", Kind: memory.KindFact, Status: memory.StatusSuperseded, Source: memory.SourceUser, EventAt: noon.AddDate(-1, 0, 0), ValidFrom: noon.AddDate(-1, 0, 0), ValidTo: noon, RecordedAt: noon.AddDate(-1, 0, 0), ExpiredAt: noon, LastSeen: noon, SupersededBy: "m_2", Strength: 1, Version: 2},
	}
	if !l.All {
		list = list[:1]
	}
	return list, nil
}

func (f *fakeStore) Page(ctx context.Context, l listing, _ string) ([]memory.Memory, string, error) {
	list, err := f.List(ctx, l)
	return list, "", err
}

func (f *fakeStore) Search(ctx context.Context, text string, k int, _ time.Time) ([]memory.Candidate, []memory.Degraded, error) {
	return []memory.Candidate{{ID: "m_2", Tier: memory.TierMTM, Memory: "Ada lives in Porto.", Score: 2.5, Status: memory.StatusActive}}, f.degraded, f.note(ctx, "search %q %d", text, k)
}

func (f *fakeStore) Memory(ctx context.Context, id memory.ID) (memory.Memory, error) {
	list, err := f.List(ctx, listing{All: true})
	for _, m := range list {
		if m.ID == id {
			return m, err
		}
	}
	return memory.Memory{}, memory.Errorf(memory.CodeNotFound, "no such memory")
}

func (f *fakeStore) Forget(ctx context.Context, id memory.ID, actor, reason string) (memory.Outcome, error) {
	if _, err := f.Memory(ctx, id); err != nil {
		return memory.Outcome{}, err
	}
	return memory.Outcome{ID: id, Event: memory.EventForgotten, Reason: reason}, f.note(ctx, "forget %s by %s", id, actor)
}

func (f *fakeStore) Pin(ctx context.Context, id memory.ID, pinned bool, actor string) (memory.Outcome, error) {
	event := memory.EventUnpinned
	if pinned {
		event = memory.EventPinned
	}
	return memory.Outcome{ID: id, Event: event, Reason: "asked by the operator"}, f.note(ctx, "pin %s %v by %s", id, pinned, actor)
}

func (f *fakeStore) Trace(ctx context.Context, id memory.TurnID) (story.Turn, error) {
	if id != "t_01" {
		return story.Turn{}, memory.Errorf(memory.CodeNotFound, "no such turn")
	}
	r := memory.Request{Text: "Where does Ada live?", Mode: memory.ModeAnswer, Conversation: "default", IdempotencyKey: "k", Scope: memory.Scope{User: "ada"}, At: noon}
	reply, err := (&fakeTurns{}).Reply(ctx, r)
	out := story.OfRequest(r, reply)
	receipt, _ := (&fakeTurns{}).Receipt(ctx, r)
	out.Written, out.State, out.Actor = story.OutcomesOf(receipt.Written), "committed", "cli:op"
	out.AcceptedAt, out.IdempotencyKey = noon.Add(time.Second), "k"
	out.Serving = memory.Serving{memory.RolePlan: "ollama:qwen2.5:1.5b"}
	out.Versions = story.Versions{Plan: "plan rule v1", Select: "select.v1", Answer: "answer.v1", Write: "write rule v1"}
	return out, err
}

func (f *fakeStore) History(ctx context.Context, id memory.ID, limit int) ([]change, error) {
	before := story.MemoryOf(memory.Memory{Scope: memory.Scope{User: "ada"}, ID: "m_1", Text: "Ada lives in Lisbon.", Status: memory.StatusActive, Strength: 1, RecordedAt: noon})
	after := before
	end := noon
	after.Status, after.ValidTo = memory.StatusSuperseded, &end
	return []change{
		{Seq: 1, At: noon.AddDate(-1, 0, 0), UserID: "ada", Event: memory.EventAdded, MemoryID: "m_1", After: &before, Reason: "new", Rule: "write rule v1", Actor: "cli:op", TurnID: "t_00", WorkflowID: "turn/a", RunID: "r"},
		{Seq: 7, At: noon, UserID: "ada", Event: memory.EventSuperseded, MemoryID: "m_1", Before: &before, After: &after, Reason: "newer value", Actor: "cli:op", TurnID: "t_01", WorkflowID: "turn/b", RunID: "r"},
	}, f.note(ctx, "history %q %d", id, limit)
}

func (f *fakeStore) Profile(ctx context.Context) (memory.Profile, error) {
	s, err := tenant.FromContext(ctx)
	return f.profiles[s], err
}

func (f *fakeStore) SetProfile(ctx context.Context, p memory.Profile) error {
	s, err := tenant.FromContext(ctx)
	f.profiles[s] = p
	return err
}

func (f *fakeStore) Follow(ctx context.Context, _ string, emit func(attempt int, piece string)) error {
	emit(1, "Ada lives ")
	<-ctx.Done()
	return nil
}

func (f *fakeStore) VerifyAudit(_ context.Context, t memory.TenantID, anchors []audit.Anchor) (audit.Report, error) {
	r := audit.Report{Tenant: t, Events: 8, Head: audit.Anchor{Seq: 8, Hash: [32]byte{0xab, 0xcd}}}
	if f.broken || len(anchors) > 0 {
		r.Faults = []audit.Fault{{Kind: audit.Changed, Seq: 3, To: 3, Detail: "the hash is not that of the body"}}
		r.Count = 1
	}
	return r, nil
}

func (f *fakeStore) Close() {}

func (f *fakeStore) Ping(context.Context) error { return nil }

type fakeMigrations struct{}

func (fakeMigrations) Up(context.Context, string) error               { return nil }
func (fakeMigrations) Down(context.Context, string, int64) error      { return nil }
func (fakeMigrations) Version(context.Context, string) (int64, error) { return 6, nil }
func (fakeMigrations) Latest() int64                                  { return 6 }

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// commands are all commands, and calls of them whose output is golden.
var commands = map[string][]string{
	"chat":            {"chat", "--user=ada"},
	"ask":             {"ask", "--user=ada", "Where does Ada live?"},
	"ask-wait":        {"ask", "--user=ada", "--wait", "Where does Ada live?"},
	"recall":          {"recall", "--user=ada", "--k=3", "Where does Ada live?"},
	"remember":        {"remember", "--user=ada", "--at=2026-05-04T12:00:00Z", "I moved to Porto yesterday. Hi there!"},
	"turn":            {"turn", "--user=ada", "--wait", "--assistant-text=Enjoy!", "I moved to Porto."},
	"turn-open":       {"turn", "--user=ada", "What shall I cook?"},
	"answer":          {"answer", "turn/t/u/c/k", "Soup."},
	"answer-by-id":    {"answer", "--user=ada", "t_01", "Soup."},
	"memories-list":   {"memories", "list", "--user=ada", "--all"},
	"memories-none":   {"memories", "list", "--user=bob"},
	"memories-show":   {"memories", "show", "--user=ada", "m_1"},
	"memories-search": {"memories", "search", "--user=ada", "Porto"},
	"memories-forget": {"memories", "forget", "--user=ada", "m_1", "--reason=ticket 4711"},
	"memories-pin":    {"memories", "pin", "--user=ada", "m_1"},
	"memories-unpin":  {"memories", "unpin", "--user=ada", "m_1"},
	"trace":           {"trace", "--user=ada", "t_01"},
	"history":         {"history", "--user=ada"},
	"user-set":        {"user", "set", "--user=ada", "--name=Ada", "--time-zone=Europe/Lisbon"},
	"user-show":       {"user", "show", "--user=ada"},
	"audit-verify":    {"audit", "verify"},
	"migrate-up":      {"migrate", "up"},
	"migrate-down":    {"migrate", "down", "--to=5", "--yes"},
	"migrate-status":  {"migrate", "status"},
}

// helped are the commands whose output is not golden.
var helped = [][]string{{"config", "show"}, {"version"}, {"eval", "locomo"}, {"serve"}, {"demo"}}

func TestOutput(t *testing.T) {
	t.Parallel()
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if name == "chat" {
				b.stdin = strings.NewReader("Where does Ada live?\n\n/trace\n/quit\nnever read\n")
			}
			stdout, stderr, code := b.run(args...)
			require.Equal(t, 0, code, stderr)
			require.Empty(t, stderr)
			golden(t, "output/"+name+".txt", stdout)

			if name == "chat" {
				b.stdin = strings.NewReader("Where does Ada live?\nWhy?")
			}
			stdout, stderr, code = b.run(append(slices.Clone(args), "--json")...)
			require.Equal(t, 0, code, stderr)
			require.Empty(t, stderr)
			golden(t, "output/"+name+".json", indented(t, stdout))
		})
	}
}

// indented checks that text is exactly one JSON document on one line.
func indented(t *testing.T, text string) string {
	t.Helper()
	require.Equal(t, 1, strings.Count(text, "\n"))
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, []byte(text), "", "  "))
	return b.String()
}

func TestHelpOfEveryCommandHasAnExample(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	all := slices.Concat(slices.Collect(maps.Values(commands)), helped)
	for _, args := range all {
		path := args[:1]
		if len(args) > 1 && slices.Contains([]string{"memories", "user", "audit", "migrate", "config", "eval"}, args[0]) {
			path = args[:2]
		}
		file := strings.Join(path, "-")
		if seen[file] {
			continue
		}
		seen[file] = true
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, code := newBench(t).run(append(slices.Clone(path), "--help")...)
			require.Equal(t, 0, code, stderr)
			require.Contains(t, stdout, "Example:")
			require.Contains(t, stdout, "lightmem "+strings.Join(path, " "))
			golden(t, "help/"+file+".txt", stdout)
		})
	}
	t.Run("lightmem", func(t *testing.T) {
		t.Parallel()
		stdout, _, code := newBench(t).run("--help")
		require.Equal(t, 0, code)
		golden(t, "help/lightmem.txt", stdout)
		without, _, code := newBench(t).run()
		require.Equal(t, 0, code)
		require.Equal(t, stdout, without)
	})
}
