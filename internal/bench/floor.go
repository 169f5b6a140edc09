package main

import (
	"context"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The floor is what Temporal itself costs on this machine in this run: a
// workflow of the same outline as a turn, whose steps do nothing.
const (
	floorQueue  = "bench-floor"
	floorType   = "Floor"
	floorUpdate = "reply"
)

// startFloor serves the floor's queue in this process until the run ends.
func (in *installation) startFloor() error {
	w := worker.New(in.client, floorQueue, worker.Options{MaxConcurrentWorkflowTaskPollers: 8, MaxConcurrentActivityTaskPollers: 8})
	w.RegisterWorkflowWithOptions(floorWorkflow, workflow.RegisterOptions{Name: floorType})
	w.RegisterActivity(nothing)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the floor's worker: %w", err)
	}
	in.later(w.Stop)
	return nil
}

func nothing(context.Context) error { return nil }

// floorWorkflow takes some remote steps and a local one, then replies.
func floorWorkflow(ctx workflow.Context, remote int) error {
	done := false
	err := workflow.SetUpdateHandler(ctx, floorUpdate, func(ctx workflow.Context) (string, error) {
		return "done", workflow.Await(ctx, func() bool { return done })
	})
	if err != nil {
		return err
	}
	for range remote {
		ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
		if err := workflow.ExecuteActivity(ctx, nothing).Get(ctx, nil); err != nil {
			return err
		}
	}
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Minute})
	if err := workflow.ExecuteLocalActivity(local, nothing).Get(local, nil); err != nil {
		return err
	}
	done = true
	return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
}

// floor times one of them.
func (in *installation) floor(ctx context.Context, remote int) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	start := in.client.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: fmt.Sprintf("floor-%d", in.keys.Add(1)), TaskQueue: floorQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
	}, floorType, remote)
	handle, err := in.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions:          client.UpdateWorkflowOptions{UpdateName: floorUpdate, WaitForStage: client.WorkflowUpdateStageCompleted},
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err != nil {
		return 0, fmt.Errorf("run a turn of no-op steps: %w", err)
	}
	return time.Since(began), nil
}
