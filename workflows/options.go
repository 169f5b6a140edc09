package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lightmem/lightmem/memory"
)

// Every timeout, retry and queue of the turn, each with its reason. A model's
// own timeout is part of its role's configuration and is shorter than the
// StartToClose here, which only bounds a worker that hangs.
const (
	// localStep bounds one try of a database step: it takes milliseconds, and a
	// local activity must stay under the workflow task's 10 s.
	localStep = 5 * time.Second
	// localTotal bounds all tries of a step on the answer path: a database that
	// restarts is back in seconds, and a caller does not wait longer.
	localTotal = 45 * time.Second
	// gpuQueueWait is how long a turn waits for a free GPU slot before the rule
	// takes over: a full queue slows nobody's turn to a halt.
	gpuQueueWait = 5 * time.Second
	// draftQueueWait is how long a draft waits for a slot before the rule writes.
	draftQueueWait = 45 * time.Second
	// gpuStep bounds a small model's call; ten pointwise judgements on two CPU
	// cores took 9 s.
	gpuStep = 2 * time.Minute
	// answerStep bounds the answer model's call, streaming included.
	answerStep = 5 * time.Minute
	// modelHeartbeat is how soon a dead worker is noticed during a model call;
	// the activity beats three times as often.
	modelHeartbeat = 6 * time.Second
	// writeTotal bounds the tries of a commit: what a user said must outlive a
	// day's outage of the database.
	writeTotal = 24 * time.Hour
	// callerAnswerWait is how long a ModeCaller turn waits for its answer.
	callerAnswerWait = time.Hour
	// embedTotal bounds the filling in of missing vectors: longer than a
	// weekend without a model server. The next write starts it again.
	embedTotal = 72 * time.Hour
	// embedBatch is how many memories one call embeds.
	embedBatch = 64
	// embedBatchesPerRun bounds a run's history; then it continues as new.
	embedBatchesPerRun = 30
)

// Priorities on the gpu queue, 1 first: a person waits for a turn, nobody for
// a backfill. Fairness is by tenant.
const (
	priorityTurn     = 1
	priorityDraft    = 2
	priorityBackfill = 5
)

// permanent are the failure types that no repetition mends (memory.Code).
func permanent() []string {
	return []string{
		string(memory.CodeInvalid), string(memory.CodeNotFound), string(memory.CodeConflict),
		string(memory.CodeForbidden), string(memory.CodeInvalidOutput), string(memory.CodeTooLong),
		string(memory.CodeRefused),
	}
}

// withLocal is for short database steps on the answer path, run by the worker
// that holds the workflow: a remote hop costs 12–19 ms, this one below 1 ms.
func withLocal(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    localStep,
		ScheduleToCloseTimeout: localTotal,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 50 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 2 * time.Second,
			NonRetryableErrorTypes: permanent(),
		},
	})
}

// withGPU is for the small models on a turn's answer path: one repetition,
// then the rule takes over.
func withGPU(ctx workflow.Context, tenant string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              QueueGPU,
		ScheduleToStartTimeout: gpuQueueWait,
		StartToCloseTimeout:    gpuStep,
		HeartbeatTimeout:       modelHeartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, MaximumAttempts: 2,
			NonRetryableErrorTypes: append(permanent(), string(memory.CodeUnavailable)),
		},
		Priority: temporal.Priority{PriorityKey: priorityTurn, FairnessKey: tenant},
	})
}

// withDraft is for SLM-3 after the reply. Nobody waits, so it queues longer and
// tries more often than withGPU, behind the turns on their answer path; the
// rule writes when the model is gone, not when it is busy.
func withDraft(ctx workflow.Context, tenant string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              QueueGPU,
		ScheduleToStartTimeout: draftQueueWait,
		StartToCloseTimeout:    gpuStep,
		HeartbeatTimeout:       modelHeartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second, MaximumAttempts: 4,
			NonRetryableErrorTypes: append(permanent(), string(memory.CodeUnavailable)),
		},
		Priority: temporal.Priority{PriorityKey: priorityDraft, FairnessKey: tenant},
	})
}

// withAnswer is for the answer model. An unreachable one is not tried again
// here: the rule answers at once by quoting the memories.
func withAnswer(ctx workflow.Context, tenant string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              QueueAnswer,
		ScheduleToStartTimeout: gpuQueueWait,
		StartToCloseTimeout:    answerStep,
		HeartbeatTimeout:       modelHeartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 300 * time.Millisecond, MaximumAttempts: 2,
			NonRetryableErrorTypes: append(permanent(), string(memory.CodeUnavailable)),
		},
		Priority: temporal.Priority{PriorityKey: priorityTurn, FairnessKey: tenant},
	})
}

// withWrite is for the commit after the reply. It is a normal activity on the
// turn's own queue, not a local one: a workflow task that waits for a local
// activity holds back the reply that it carries, while scheduling a normal one
// sends the reply at once, and the server hands the activity back in the same
// response (eager execution), which saves the hop.
func withWrite(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              QueueTurns,
		StartToCloseTimeout:    30 * time.Second,
		ScheduleToCloseTimeout: writeTotal,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Minute,
			NonRetryableErrorTypes: permanent(),
		},
	})
}

// withBackfill is for embedding what was written while the model was down:
// patient, and last in the queue.
func withBackfill(ctx workflow.Context, tenant string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:              QueueGPU,
		StartToCloseTimeout:    gpuStep,
		ScheduleToCloseTimeout: embedTotal,
		HeartbeatTimeout:       modelHeartbeat,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 30 * time.Second,
			NonRetryableErrorTypes: []string{string(memory.CodeInvalid), string(memory.CodeForbidden)},
		},
		Priority: temporal.Priority{PriorityKey: priorityBackfill, FairnessKey: tenant},
	})
}
