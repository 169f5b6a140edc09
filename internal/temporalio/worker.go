package temporalio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/workflows"
)

// WorkerOptions say which queues a process serves and how much at once.
type WorkerOptions struct {
	// Queues are the task queues to serve: workflows.QueueTurns, QueueGPU,
	// QueueAnswer. At least one.
	Queues []string
	// TurnSlots is how many turns' database steps run at once (default 64).
	TurnSlots int
	// GPUSlots is how many requests the model server takes at once (default 2;
	// Ollama: OLLAMA_NUM_PARALLEL). More would only queue inside the server,
	// where no priority and no fairness hold.
	GPUSlots int
	// AnswerSlots is how many answers are awaited at once (default 64).
	AnswerSlots int
	// StopTimeout is how long a stopping worker lets its activities finish
	// (default 30 s).
	StopTimeout time.Duration
	// Deployment and BuildID switch worker versioning on: turns are pinned to
	// the build that began them. Empty means unversioned workers.
	Deployment, BuildID string
	// FailOnPanic fails a workflow that is not deterministic at once instead of
	// waiting for a fixed worker; for tests.
	FailOnPanic bool
}

// Workers serves task queues until Stop.
type Workers struct {
	workers []worker.Worker
	failed  chan error
}

// StartWorkers starts a worker for each queue.
func StartWorkers(c client.Client, a *activities.Turn, o WorkerOptions) (*Workers, error) {
	if len(o.Queues) == 0 {
		return nil, memory.Invalid("worker.queues", "names no task queue")
	}
	if (o.Deployment == "") != (o.BuildID == "") {
		return nil, memory.Invalid("worker.build_id", "needs a deployment name, and the other way round")
	}
	ws := &Workers{failed: make(chan error, len(o.Queues))}
	for _, queue := range o.Queues {
		w, err := newWorker(c, a, queue, o, ws.failed)
		if err == nil {
			err = w.Start()
		}
		if err != nil {
			ws.Stop()
			return nil, fmt.Errorf("start worker for queue %s: %w", queue, err)
		}
		ws.workers = append(ws.workers, w)
	}
	return ws, nil
}

// Stop takes no more tasks, lets running ones finish within StopTimeout, and
// returns.
func (w *Workers) Stop() {
	var stopping sync.WaitGroup
	for _, x := range w.workers {
		stopping.Go(x.Stop)
	}
	stopping.Wait()
}

// Failed receives the error of a worker that gave up for good: its namespace is
// gone, or it is no longer let in. The process should end then.
func (w *Workers) Failed() <-chan error { return w.failed }

// pollers is how many polls of a queue wait for tasks at once, slots permitting.
// The SDK's default is 2, of which one asks for new turns and one for those
// that this worker holds: a task that comes while the one is on its way back
// finds nobody and goes through the server's database. With 8 a full turn
// took a sixth less processor time.
const pollers = 8

func newWorker(c client.Client, a *activities.Turn, queue string, o WorkerOptions, failed chan<- error) (worker.Worker, error) {
	options := worker.Options{
		MaxConcurrentActivityTaskPollers: pollers,
		MaxConcurrentWorkflowTaskPollers: pollers,
		WorkerStopTimeout:                cmp.Or(o.StopTimeout, 30*time.Second),
		DisableRegistrationAliasing:      true,
		OnFatalError: func(err error) {
			select {
			case failed <- memory.Wrap(memory.CodeUnavailable, err, "worker for queue %s gave up", queue):
			default: // another one said so already
			}
		},
	}
	if o.FailOnPanic {
		options.WorkflowPanicPolicy = worker.FailWorkflow
	}
	if o.BuildID != "" {
		options.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning:             true,
			Version:                   worker.WorkerDeploymentVersion{DeploymentName: o.Deployment, BuildID: o.BuildID},
			DefaultVersioningBehavior: workflow.VersioningBehaviorPinned,
		}
	}
	slots := func(workflows, activities, local int) error {
		tuner, err := worker.NewFixedSizeTuner(worker.FixedSizeTunerOptions{
			NumWorkflowSlots: workflows, NumActivitySlots: activities, NumLocalActivitySlots: local, NumNexusSlots: 1,
		})
		options.Tuner = tuner
		return err
	}
	var err error
	switch queue {
	case workflows.QueueTurns:
		n := cmp.Or(o.TurnSlots, 64)
		err = slots(max(2*n, 4), n, n)
		// Every turn's write may come back in the response that scheduled it.
		options.MaxConcurrentEagerActivityExecutionSize = n
	case workflows.QueueGPU:
		options.DisableWorkflowWorker = true
		err = slots(2, cmp.Or(o.GPUSlots, 2), 2)
	case workflows.QueueAnswer:
		options.DisableWorkflowWorker = true
		err = slots(2, cmp.Or(o.AnswerSlots, 64), 2)
	default:
		return nil, memory.Invalid("worker.queues", "knows no task queue %q; there are %s, %s and %s",
			queue, workflows.QueueTurns, workflows.QueueGPU, workflows.QueueAnswer)
	}
	if err != nil {
		return nil, fmt.Errorf("size worker: %w", err)
	}
	w := worker.New(c, queue, options)
	if queue == workflows.QueueTurns {
		RegisterWorkflows(w)
	}
	w.RegisterActivity(a)
	return w, nil
}

// versionWait bounds the wait for the server to know a new build.
const versionWait = 30 * time.Second

// RegisterWorkflows registers every workflow; replay tests use it, too.
func RegisterWorkflows(r interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
},
) {
	r.RegisterWorkflowWithOptions(workflows.Turn, workflow.RegisterOptions{Name: workflows.TypeTurn})
	r.RegisterWorkflowWithOptions(workflows.Embed, workflow.RegisterOptions{Name: workflows.TypeEmbed})
}

// SetCurrentVersion routes new turns to the build, once its workers poll. A
// versioned worker gets no tasks before. Unless replace is set it leaves another
// build that is current already: a worker of an old build that starts again in
// the middle of a rollout must not turn it back.
func SetCurrentVersion(ctx context.Context, c client.Client, deployment, buildID string, replace bool) error {
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	handle := c.WorkerDeploymentClient().GetHandle(deployment)
	if described, err := handle.Describe(ctx, client.WorkerDeploymentDescribeOptions{}); err == nil && !replace {
		if current := described.Info.RoutingConfig.CurrentVersion; current != nil && current.BuildID != "" {
			return nil
		}
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := handle.SetCurrentVersion(ctx, client.WorkerDeploymentSetCurrentVersionOptions{BuildID: buildID, IgnoreMissingTaskQueues: true})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return memory.Wrap(memory.CodeUnavailable, errors.Join(ctx.Err(), err), "make build current")
		case <-tick.C: // the server does not know the version until its first poll
		}
	}
}
