package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/internal/temporalio"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// patience is how long a test waits for what must come; generous, because a
// loaded machine is slow, and never slept through.
const patience = 90 * time.Second

// binaries are the programs under test, built once for the package.
var binaries struct {
	once   sync.Once
	dir    string
	err    error
	output []byte
}

func TestMain(m *testing.M) {
	code := m.Run()
	if binaries.dir != "" {
		os.RemoveAll(binaries.dir)
	}
	os.Exit(code)
}

// binary returns the path of lightmem-worker or lightmem.
func binary(t testing.TB, name string) string {
	t.Helper()
	binaries.once.Do(func() {
		if binaries.dir, binaries.err = os.MkdirTemp("", "lightmem-e2e-"); binaries.err != nil {
			return
		}
		for program, pkg := range map[string]string{"lightmem-worker": "worker", "lightmem": "starter"} {
			build := exec.Command("go", "build", "-o", filepath.Join(binaries.dir, program), "./"+pkg)
			build.Dir = filepath.Join("..", "..")
			if binaries.output, binaries.err = build.CombinedOutput(); binaries.err != nil {
				return
			}
		}
	})
	require.NoError(t, binaries.err, "%s", binaries.output)
	return filepath.Join(binaries.dir, name)
}

// system is one installation: database, Temporal, master key, models; and the
// client side of it.
type system struct {
	t         testing.TB
	databases string
	temporal  string
	env       []string
	client    client.Client
	turns     temporalio.Turns
	store     *postgres.Store
	models    *scripted.Server
}

// parts are what a system is made of where the shared ones do not do.
type parts struct {
	database string
	temporal string
	// models makes the roles use a scripted model server.
	models bool
	// masterKey is the installation's key; a fresh one when nil.
	masterKey []byte
	// settings are more environment for the programs.
	settings []string
}

// newSystem sets an installation up. Nothing of it is shared with another test
// but servers.
func newSystem(t testing.TB, p parts) *system {
	t.Helper()
	ctx := context.Background()
	s := &system{t: t, databases: p.database, temporal: p.temporal}
	if s.databases == "" {
		s.databases = stacktest.PostgresFrom(t, "schema-"+schema.Hash(), schema.Migrate)
	} else {
		require.NoError(t, schema.Migrate(ctx, s.databases))
	}
	if s.temporal == "" {
		s.temporal = stacktest.PrivateTemporal(t).Address
	}
	state := t.TempDir()
	keyFile := filepath.Join(state, "master.key")
	if p.masterKey != nil {
		require.NoError(t, os.WriteFile(keyFile, []byte(hex.EncodeToString(p.masterKey)), 0o600))
	}
	master, err := secret.LoadOrCreate(keyFile)
	require.NoError(t, err)
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + state, "LIGHTMEM_STATE=" + state, "LIGHTMEM_MASTER_KEY_FILE=" + keyFile,
		"LIGHTMEM_DATABASE_URL=" + s.databases, "TEMPORAL_ADDRESS=" + s.temporal, "LIGHTMEM_LOG_LEVEL=debug",
	}
	if p.models {
		s.models = &scripted.Server{}
		server := httptest.NewServer(s.models)
		t.Cleanup(server.Close)
		s.env = append(s.env, "OLLAMA_HOST="+server.URL, "LIGHTMEM_CHAT_MODEL=scripted", "LIGHTMEM_EMBED_MODEL=scripted")
	}
	s.env = append(s.env, p.settings...)

	s.client, err = temporalio.Dial(ctx, temporalio.Options{Address: s.temporal, Master: master})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	s.turns = temporalio.Turns{Client: s.client, Master: master}
	s.store, err = postgres.Open(ctx, postgres.Options{URL: s.databases})
	require.NoError(t, err)
	t.Cleanup(s.store.Close)
	return s
}

// process is a running program.
type process struct {
	cmd    *exec.Cmd
	output *lockedBuffer
	done   chan struct{}
}

// lockedBuffer collects a program's output while the test reads it.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// worker starts a worker of its own process and waits until it serves.
func (s *system) worker(args ...string) *process {
	s.t.Helper()
	p := &process{output: &lockedBuffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(binary(s.t, "lightmem-worker"), args...)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = s.env, p.output, p.output
	require.NoError(s.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // how it ended is for the test to say
		close(p.done)
	}()
	s.t.Cleanup(p.kill)
	require.Eventually(s.t, func() bool {
		select {
		case <-p.done:
			return true
		default:
			return strings.Contains(p.output.String(), "serves")
		}
	}, patience, 20*time.Millisecond)
	require.Contains(s.t, p.output.String(), "serves")
	return p
}

// kill ends the process as the loss of the machine would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

// stop asks the process to end and waits for it.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.done
}

// lightmem runs the command line and returns its output and exit code.
func (s *system) lightmem(stdin string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	cmd := exec.Command(binary(s.t, "lightmem"), args...)
	var out, errs bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.env, strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(s.t, err, &exit)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// scope is a user of the test's own.
func scope(user string) memory.Scope { return memory.Scope{Tenant: "acme", User: memory.UserID(user)} }

// request is a request with a key of its own.
func request(who memory.Scope, mode memory.Mode, text string) memory.Request {
	return memory.Request{
		Scope: who, Conversation: "talk", IdempotencyKey: fmt.Sprintf("%s-%d", mode, time.Now().UnixNano()),
		Mode: mode, Text: text, K: memory.DefaultK,
	}
}

// remember writes a text and returns what became of it.
func (s *system) remember(who memory.Scope, text string, at time.Time) memory.Receipt {
	s.t.Helper()
	r := request(who, memory.ModeRemember, text)
	r.At = at
	return s.run(r)
}

// run runs a turn to its end.
func (s *system) run(r memory.Request) memory.Receipt {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := s.turns.Reply(ctx, r)
	require.NoError(s.t, err)
	receipt, err := s.turns.Receipt(ctx, r)
	require.NoError(s.t, err)
	return receipt
}

// live are a user's present memories.
func (s *system) live(who memory.Scope) []memory.Memory {
	s.t.Helper()
	page, err := s.store.ListMemories(tenant.NewContext(context.Background(), who), postgres.MemoryFilter{Limit: postgres.MaxPage})
	require.NoError(s.t, err)
	return page.Memories
}

// as is a context that works in the scope.
func (s *system) as(who memory.Scope) context.Context {
	return tenant.NewContext(context.Background(), who)
}

// verifyAudit checks the whole chain of a tenant, as an auditor.
func (s *system) verifyAudit(id memory.TenantID) audit.Report {
	s.t.Helper()
	auditor, err := postgres.Open(context.Background(), postgres.Options{URL: s.databases, Role: schema.RoleAuditor})
	require.NoError(s.t, err)
	defer auditor.Close()
	report, err := audit.Verify(context.Background(), auditor, id, audit.Options{})
	require.NoError(s.t, err)
	require.True(s.t, report.OK(), "%+v", report)
	return report
}
