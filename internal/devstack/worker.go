package devstack

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// workerPort is where the stack's worker answers health checks.
const workerPort = 7240

// EnsureWorker runs the given program, a lightmem-worker, against the stack,
// whose database must be migrated, in the background: it outlives the caller,
// and Down stops it first. One that runs from another build or with
// other addresses is replaced. It returns when the worker is ready.
func EnsureWorker(ctx context.Context, opts Options, stack *Stack, program string) error {
	s, err := open(opts)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(s.opts.StateDir, "locks", string(Worker)))
	if err != nil {
		return err
	}
	defer unlock()
	step := s.report.step("worker", "start the worker")
	defer step.end(&err)
	info, err := os.Stat(program)
	if err != nil {
		err = &Failure{Step: "find the worker", Err: err, Hint: "build it first: make build"}
		return err
	}
	version := fmt.Sprint(info.Size(), info.ModTime().UnixNano(), stack.Env())
	p := newProcess(s.opts.StateDir, "worker")
	if record, ok := p.running(); ok && record.Version == version {
		step.say("runs already")
		return nil
	}
	if _, err = p.stop(ctx, syscall.SIGTERM, workerGrace); err != nil {
		return err
	}
	port, err := s.choosePort(ctx, "worker", workerPort, isFree)
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "--worker-health-address", hostPort(port), "--state-dir", s.opts.StateDir)
	cmd.Env = append(os.Environ(), stack.Env()...)
	err = p.start(ctx, cmd, port, version, func(ctx context.Context) error { return ready(ctx, port) })
	if err != nil {
		err = &Failure{Step: "start the worker", Err: err, Log: p.log, Hint: "its log says why; settings come from the environment and the file that `lightmem config show` names"}
	}
	return err
}

// workerGrace is how long a stopping worker may finish running steps.
const workerGrace = 35 * time.Second

// ready asks the worker's health check.
func ready(ctx context.Context, port int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+hostPort(port)+"/health/ready", nil)
	if err != nil {
		return fmt.Errorf("ask the worker: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the worker: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the worker says %s", response.Status)
	}
	return nil
}
