package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/lightmem/lightmem/internal/devstack"
	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/internal/temporalio"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// Settings of the measured worker that are not the defaults.
const (
	// gpuSlots is how many calls of the small models run at once. The default,
	// 2, suits a model server on two cores; instant models take no time, so
	// that only the queue itself shall be a bound.
	gpuSlots = 16
	// cacheSetting holds the search indexes of all 64 users with full memories,
	// about 20 MiB each.
	cacheSetting = "2GiB"
)

// installation is one whole LightMem of the run's own: a database on the
// stack's Postgres, a Temporal server, a worker process, and here the client.
type installation struct {
	corpus   *corpus
	users    []user
	server   string // the stack's own database, to make and drop ours
	database string
	temporal *devstack.PrivateTemporal
	client   client.Client
	turns    temporalio.Turns
	worker   *exec.Cmd
	direct   *direct

	folder  string
	closers []func()
	keys    atomic.Int64
}

// install makes and starts everything. What it leaves on a failure is removed.
func install(ctx context.Context, o options, say func(string, ...any)) (_ *installation, err error) {
	in := &installation{users: population(o.size.users)}
	defer func() {
		if err != nil {
			in.close()
		}
	}()
	if in.folder, err = os.MkdirTemp("", "lightmem-bench-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	in.later(func() { _ = os.RemoveAll(in.folder) })
	program := o.worker
	if program == "" {
		say("build lightmem-worker")
		program = filepath.Join(in.folder, "lightmem-worker")
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/lightmem/lightmem/worker")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build lightmem-worker: %w\n%s", err, out)
		}
	}
	if err := in.openDatabase(ctx, say); err != nil {
		return nil, err
	}
	if in.temporal, err = devstack.StartPrivateTemporal(ctx, devstack.Options{Progress: os.Stderr}); err != nil {
		return nil, err
	}
	in.later(func() { _ = in.temporal.Close(context.WithoutCancel(ctx)) })
	keyFile := filepath.Join(in.folder, "master.key")
	master, err := secret.LoadOrCreate(keyFile)
	if err != nil {
		return nil, err
	}
	if in.client, err = temporalio.Dial(ctx, temporalio.Options{Address: in.temporal.Address, Master: master}); err != nil {
		return nil, err
	}
	in.later(in.client.Close)
	in.turns = temporalio.Turns{Client: in.client, Master: master}
	if in.direct, err = newDirect(ctx, in.database); err != nil {
		return nil, err
	}
	in.later(in.direct.store.Close)
	return in, in.startWorker(program, keyFile)
}

func (in *installation) later(f func()) { in.closers = append(in.closers, f) }

// close ends and removes everything, what came last first.
func (in *installation) close() {
	for i := len(in.closers) - 1; i >= 0; i-- {
		in.closers[i]()
	}
	in.closers = nil
}

// openDatabase makes a migrated database and loads it.
func (in *installation) openDatabase(ctx context.Context, say func(string, ...any)) error {
	stack, err := devstack.Ensure(ctx, devstack.Options{Parts: []devstack.Part{devstack.Postgres}, Progress: os.Stderr})
	if err != nil {
		return err
	}
	in.server = stack.DatabaseURL
	if in.database, err = devstack.NewDatabase(ctx, in.server, "schema-"+schema.Hash(), schema.Migrate); err != nil {
		return err
	}
	in.later(func() { _ = devstack.DropDatabase(context.WithoutCancel(ctx), in.server, in.database) })
	in.corpus = newCorpus(differentStatements)
	say("load %d items of %d users", rows(in.users), len(in.users))
	return load(ctx, in.database, in.corpus, in.users, say)
}

func rows(users []user) int {
	n := 0
	for _, u := range users {
		n += u.items
	}
	return n
}

// startWorker starts the real program in a process of its own, so that it does
// not share a Go runtime with the callers. It serves all queues; every role has
// an instant model, and a request that forces the rules is served by them.
func (in *installation) startWorker(program, keyFile string) error {
	cmd := exec.Command(program)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + in.folder, "LIGHTMEM_STATE=" + in.folder, "LIGHTMEM_MASTER_KEY_FILE=" + keyFile,
		"LIGHTMEM_DATABASE_URL=" + in.database, "TEMPORAL_ADDRESS=" + in.temporal.Address,
		"LIGHTMEM_ALLOW_SCRIPTED=1", "LIGHTMEM_MEMORY_CACHE_BYTES=" + cacheSetting, fmt.Sprintf("LIGHTMEM_WORKER_GPU_SLOTS=%d", gpuSlots),
	}
	for _, role := range []memory.Role{memory.RolePlan, memory.RoleSelect, memory.RoleWrite, memory.RoleAnswer, memory.RoleEmbed} {
		cmd.Env = append(cmd.Env, "LIGHTMEM_ROLES_"+strings.ToUpper(string(role))+"_MODEL=scripted:"+embedModel)
	}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	in.worker = cmd
	in.later(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	// Its first line says that it serves.
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		return errors.New("start the worker: it ended; its output is above")
	}
	go func() { _, _ = io.Copy(io.Discard, stdout) }()
	return nil
}

// request is a turn of a user with a key of its own.
func (in *installation) request(u user, mode memory.Mode, conversation, text string, rules bool) memory.Request {
	return memory.Request{
		Scope: u.scope(), Conversation: memory.ConversationID(conversation), IdempotencyKey: fmt.Sprintf("k%d", in.keys.Add(1)),
		Mode: mode, Text: text, K: memory.DefaultK, Rules: rules,
	}
}

// patience bounds one turn.
const patience = time.Minute

// turn runs a turn to its reply and, where it writes, to its end.
func (in *installation) turn(ctx context.Context, r memory.Request) (reply, whole time.Duration, _ memory.Receipt, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	got, err := in.turns.Reply(ctx, r)
	reply = time.Since(began)
	if err != nil || r.Mode == memory.ModeRecall {
		return reply, reply, memory.Receipt{Reply: got}, err
	}
	receipt, err := in.turns.Receipt(ctx, r)
	return reply, time.Since(began), receipt, err
}
