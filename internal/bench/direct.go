package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/answer"
	"github.com/lightmem/lightmem/internal/model"
	"github.com/lightmem/lightmem/internal/plan"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/selection"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
)

// direct is the stages of a turn in this process, joined as the worker joins
// them, called one after the other: what a turn costs without orchestration.
type direct struct {
	store *postgres.Store
	steps *activities.Turn
}

// directCache is what the worker has, too (cacheSetting).
const directCache = 2 << 30

func newDirect(ctx context.Context, database string) (*direct, error) {
	rules := activities.Roles{Planner: plan.Rule{}, Selector: selection.Rule{}, Answerer: answer.Rule{}, Writer: write.Rule{}}
	instant := model.RoleConfig{Model: "scripted:" + embedModel}
	roles, err := model.Open(model.Config{
		AllowScripted: true, Plan: instant, Select: instant, Write: instant, Answer: instant, Embed: instant,
	}, model.Rules{Planner: rules.Planner, Writer: rules.Writer})
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, postgres.Options{URL: database, Name: "lightmem-bench"})
	if err != nil {
		return nil, err
	}
	return &direct{store: store, steps: &activities.Turn{
		Store: store, Retriever: retrieve.New(store, retrieve.Options{CacheBytes: directCache}), Embedder: roles.Embedder,
		Rules: rules, Serving: roles.Serving, Logger: slog.New(slog.DiscardHandler),
		Models: activities.Roles{Planner: roles.Planner, Selector: roles.Selector, Answerer: roles.Answerer, Writer: roles.Writer},
	}}, nil
}

// step is how long one step of a turn took.
type step struct {
	name string
	took time.Duration
}

// recall is a recall turn without a workflow: the same methods in the same
// order, with the same record in the database.
func (d *direct) recall(ctx context.Context, r memory.Request) (whole time.Duration, steps []step, err error) {
	began := time.Now()
	last := began
	did := func(name string) {
		now := time.Now()
		steps = append(steps, step{name, now.Sub(last)})
		last = now
	}
	id := "direct/" + r.IdempotencyKey
	turn := memory.Turn{Request: r, ID: memory.TurnIDFor(id, began), AcceptedAt: began, RequestDigest: r.Digest(), WorkflowID: id, RunID: "direct"}
	turn.At = began
	opened, err := d.steps.Open(ctx, activities.Opening{Turn: turn})
	if err != nil {
		return 0, nil, err
	}
	did("Open")
	planBy, selectBy := d.steps.Plan, d.steps.Select
	if opened.Turn.Serving.ByRule(memory.RolePlan) {
		planBy, selectBy = d.steps.PlanByRule, d.steps.SelectByRule
	}
	planned, err := planBy(ctx, opened.Turn)
	if err != nil {
		return 0, nil, err
	}
	did("Plan")
	retrieved, err := d.steps.Retrieve(ctx, planned)
	if err != nil {
		return 0, nil, err
	}
	did("Retrieve")
	selected, err := selectBy(ctx, retrieved)
	if err != nil {
		return 0, nil, err
	}
	did("Select")
	if err := d.steps.Record(ctx, memory.Answered{Selected: selected}); err != nil {
		return 0, nil, err
	}
	did("Record")
	return time.Since(began), steps, nil
}
