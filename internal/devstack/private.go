package devstack

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// PrivatePostgres is a Postgres server of the caller's own, which can be killed,
// stopped and started again on the same port and data without hurting others.
// It is not for use by several goroutines.
type PrivatePostgres struct {
	// URL reaches the database "lightmem" as a superuser. It stays the same
	// over restarts.
	URL string

	cluster cluster
	port    int
}

// PrivateTemporal is a Temporal server of the caller's own, like
// PrivatePostgres. It has no UI.
type PrivateTemporal struct {
	// Address is the frontend's host:port. It stays the same over restarts.
	Address string

	server temporalServer
	port   int
}

// StartPrivatePostgres starts a Postgres server for the caller alone. Only the
// cache and the password come from the stack in opts.StateDir; its shared
// server need not run.
func StartPrivatePostgres(ctx context.Context, opts Options) (*PrivatePostgres, error) {
	s, err := open(opts)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(s.opts.StateDir, "locks", string(Postgres)))
	if err != nil {
		return nil, err
	}
	root, err := s.postgresRoot(ctx)
	unlock()
	if err != nil {
		return nil, err
	}
	sweepPrivate(filepath.Join(root, "data"))
	own, err := s.cluster(root, privateName())
	if err != nil {
		return nil, err
	}
	own.small = true
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	started := &PrivatePostgres{URL: own.url(port, postgresDatabase), cluster: own, port: port}
	err = own.create(ctx)
	if err == nil {
		err = started.Start(ctx)
	}
	if err == nil {
		err = prepareDatabases(ctx, own.url(port, "postgres"))
	}
	if err != nil {
		_ = started.Close()
		return nil, &Failure{Step: "start a private Postgres", Log: own.process.log, Err: err}
	}
	return started, nil
}

// Start starts the server after Stop or Kill and returns when it takes
// connections: after a kill, when its recovery is through.
func (p *PrivatePostgres) Start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return p.cluster.start(ctx, p.port)
}

// Stop ends sessions and shuts the server down in good order.
func (p *PrivatePostgres) Stop(ctx context.Context) error {
	_, err := p.cluster.process.stop(ctx, syscall.SIGINT, time.Minute)
	return err
}

// Kill ends the server and its backends by SIGKILL, as the loss of the machine
// would, and returns when they are gone. Files and shared memory are left as
// they are.
func (p *PrivatePostgres) Kill(ctx context.Context) error {
	killThoseIn(p.cluster.data())
	_, err := p.cluster.process.stop(ctx, syscall.SIGKILL, time.Minute)
	return err
}

// Close ends the server and removes its data.
func (p *PrivatePostgres) Close() error {
	killThoseIn(p.cluster.data())
	_ = os.Remove(p.cluster.process.record)
	if err := os.RemoveAll(p.cluster.data()); err != nil {
		return fmt.Errorf("remove the data of a private Postgres: %w", err)
	}
	_ = os.Remove(p.cluster.process.log)
	return nil
}

// StartPrivateTemporal starts a Temporal server for the caller alone.
func StartPrivateTemporal(ctx context.Context, opts Options) (*PrivateTemporal, error) {
	s, err := open(opts)
	if err != nil {
		return nil, err
	}
	binary, err := s.temporalBinary(ctx)
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(s.opts.StateDir, "temporal")
	sweepPrivate(folder)
	name := privateName()
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	own := temporalServer{
		process: newProcess(s.opts.StateDir, "temporal-"+name),
		binary:  binary, database: filepath.Join(folder, name, "temporal.db"), args: []string{"--headless"},
	}
	started := &PrivateTemporal{Address: hostPort(port), server: own, port: port}
	if err := started.Start(ctx); err != nil {
		failure := &Failure{Step: "start a private Temporal", Log: own.process.log, Err: err}
		_ = started.Close(ctx)
		return nil, failure
	}
	return started, nil
}

// Start starts the server after Stop or Kill, on the same port and data.
func (p *PrivateTemporal) Start(ctx context.Context) error { return p.server.start(ctx, p.port) }

// Stop shuts the server down in good order.
func (p *PrivateTemporal) Stop(ctx context.Context) error {
	_, err := p.server.process.stop(ctx, syscall.SIGTERM, 20*time.Second)
	return err
}

// Kill ends the server by SIGKILL and returns when it is gone.
func (p *PrivateTemporal) Kill(ctx context.Context) error {
	_, err := p.server.process.stop(ctx, syscall.SIGKILL, time.Minute)
	return err
}

// Close kills the server and removes its data.
func (p *PrivateTemporal) Close(ctx context.Context) error {
	if err := p.Kill(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Dir(p.server.database)); err != nil {
		return fmt.Errorf("remove the data of a private Temporal: %w", err)
	}
	_ = os.Remove(p.server.process.log)
	return nil
}

// privateName names a private server's folder after the process that owns it,
// so that a later process can tell that the owner is gone.
func privateName() string {
	var random [4]byte
	_, _ = rand.Read(random[:])
	return fmt.Sprintf("private-%d-%s-%s", os.Getpid(), startTicks(os.Getpid()), hex.EncodeToString(random[:]))
}

// sweepPrivate ends the private servers below folder whose owners ended without
// closing them, and removes their data.
func sweepPrivate(folder string) {
	folders, _ := filepath.Glob(filepath.Join(folder, "private-*"))
	for _, dir := range folders {
		words := strings.Split(strings.TrimSuffix(filepath.Base(dir), ".new"), "-")
		if len(words) != 4 {
			continue
		}
		if owner, err := strconv.Atoi(words[1]); err == nil && startTicks(owner) != words[2] {
			killThoseIn(dir)
			_ = os.RemoveAll(dir)
		}
	}
}

// inFolder makes a command run in a folder, made where it is missing.
func inFolder(cmd *exec.Cmd, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make data folder: %w", err)
	}
	cmd.Dir = dir
	return nil
}
