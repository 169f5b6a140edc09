package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/answer"
	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/internal/model"
	"github.com/lightmem/lightmem/internal/model/ollama"
	"github.com/lightmem/lightmem/internal/model/openai"
	"github.com/lightmem/lightmem/internal/plan"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/internal/selection"
	"github.com/lightmem/lightmem/internal/temporalio"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/workflows"
)

const description = `Runs LightMem's task queues until it is told to stop (SIGTERM, Ctrl-C); running steps are finished first.

Example: lightmem-worker --worker-queues turns,answer`

// run is the program: settings, parts, workers, wait, stop.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	cfg, err := config.Load("lightmem-worker", description, args, environ, stdout)
	if err != nil {
		return err
	}
	logger := newLogger(cfg.Log, stderr)
	master, err := secret.Open(cfg.MasterKeyFile, cfg.StateDir)
	if err != nil {
		return err
	}
	steps, closeSteps, err := newSteps(ctx, cfg, logger, environ)
	if err != nil {
		return err
	}
	defer closeSteps()

	dialCtx, cancel := context.WithTimeout(ctx, temporalio.DialTimeout)
	defer cancel()
	client, err := temporalio.Dial(dialCtx, temporalio.Options{
		Address: cfg.Temporal.Address, Namespace: cfg.Temporal.Namespace, Master: master, Logger: logger,
	})
	if err != nil {
		return err
	}
	defer client.Close()
	options := temporalio.WorkerOptions{
		Queues: cfg.Worker.Queues, TurnSlots: cfg.Worker.TurnSlots, GPUSlots: cfg.Worker.GPUSlots, AnswerSlots: cfg.Worker.AnswerSlots,
		StopTimeout: cfg.Worker.StopTimeout, Deployment: cfg.Worker.Deployment, BuildID: cfg.Worker.BuildID,
	}
	workers, err := temporalio.StartWorkers(client, steps, options)
	if err != nil {
		return err
	}
	defer workers.Stop()
	if options.BuildID != "" {
		if err := temporalio.SetCurrentVersion(ctx, client, options.Deployment, options.BuildID, cfg.Worker.MakeCurrent); err != nil {
			return err
		}
	}
	stopHealth, err := serveHealth(cfg.Worker.HealthAddress, steps, logger)
	if err != nil {
		return err
	}
	defer stopHealth()

	fmt.Fprintf(stdout, "lightmem-worker serves %v; Ctrl-C stops it\n", cfg.Worker.Queues)
	select {
	case err := <-workers.Failed():
		return err
	case <-ctx.Done():
	}
	logger.Info("stopping; running steps are finished first", "at_most", cfg.Worker.StopTimeout)
	return nil
}

// newSteps joins the parts that the process's queues need. A worker for models
// alone opens no database.
func newSteps(ctx context.Context, cfg *config.Config, logger *slog.Logger, environ []string) (*activities.Turn, func(), error) {
	rules := activities.Roles{
		Planner: plan.Rule{}, Selector: selection.Rule{}, Answerer: answer.Rule{}, Writer: write.Rule{},
	}
	roles, err := model.Open(modelConfig(cfg, environ), model.Rules{Planner: rules.Planner, Writer: rules.Writer})
	if err != nil {
		return nil, nil, err
	}
	steps := &activities.Turn{
		Rules: rules, Logger: logger, Serving: roles.Serving,
		Models: activities.Roles{Planner: roles.Planner, Selector: roles.Selector, Answerer: roles.Answerer, Writer: roles.Writer},
	}
	if roles.Embedder != nil {
		steps.Embedder = roles.Embedder
	}
	closeAll := func() {}
	if slices.Contains(cfg.Worker.Queues, workflows.QueueTurns) || slices.Contains(cfg.Worker.Queues, workflows.QueueAnswer) {
		contextTokens := cfg.Memory.ContextTokens
		if contextTokens == 0 {
			contextTokens = -1 // the setting's 0 means none; the package's 0 means its default
		}
		store, err := postgres.Open(ctx, postgres.Options{
			URL: cfg.Database.URL.Reveal(), MaxConns: cfg.Database.Connections,
			Capacity: cfg.Memory.Capacity, ContextTokens: contextTokens,
		})
		if err != nil {
			return nil, nil, err
		}
		closeAll = store.Close
		steps.Store, steps.Streamer = store, store
		cacheBytes := int64(cfg.Memory.CacheBytes)
		if cacheBytes == 0 {
			cacheBytes = -1 // the setting's 0 means none; the package's 0 means its default
		}
		steps.Retriever = retrieve.New(store, retrieve.Options{CacheBytes: cacheBytes})
	}
	warmModels(ctx, roles, logger)
	return steps, closeAll, nil
}

// warmModels lets the servers load their models while the first turns are
// already served by the rules.
func warmModels(ctx context.Context, roles *model.Roles, logger *slog.Logger) {
	go func() {
		if err := roles.Warm(ctx); err != nil && ctx.Err() == nil {
			logger.Warn("a model is not ready; its role is served by the rule until it is", "code", memory.CodeOf(err), "error", err)
		}
	}()
}

// modelConfig translates the settings.
func modelConfig(cfg *config.Config, environ []string) model.Config {
	role := func(r config.Role) model.RoleConfig {
		spec := r.Spec.String()
		if r.Spec.Provider == config.ProviderNone {
			spec = ""
		}
		if r.Address != "" {
			spec += "@" + r.Address
		}
		return model.RoleConfig{Model: spec, Timeout: r.Timeout, ContextLength: r.ContextLength, Key: r.Key.Reveal()}
	}
	c := model.Config{
		AllowScripted: slices.Contains(environ, "LIGHTMEM_ALLOW_SCRIPTED=1"),
		Plan:          role(cfg.Roles.Plan), Select: role(cfg.Roles.Select), Write: role(cfg.Roles.Write),
		Answer: role(cfg.Roles.Answer), Embed: role(cfg.Roles.Embed),
		Ollama:        ollama.Config{Address: cfg.Models.OllamaAddress},
		OpenAI:        openai.Config{Address: cfg.Models.OpenAIAddress},
		SelectOptions: selection.ModelOptions{Listwise: cfg.Selection.Mode == config.SelectionListwise},
	}
	return c
}

func newLogger(c config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelWarn // config.Load let only known levels pass
	}
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// serveHealth serves /health/live, which does no I/O (hindsight#3337: a probe
// that asks the database restarts everything when the database is slow), and
// /health/ready, which asks the store.
func serveHealth(address string, steps *activities.Turn, logger *slog.Logger) (stop func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, memory.Wrap(memory.CodeInvalid, err, "worker.health_address: listen on %s", address)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, r *http.Request) {
		pinger, ok := steps.Store.(interface{ Ping(context.Context) error })
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
		defer cancel()
		if err := pinger.Ping(ctx); err != nil {
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("health checks are no longer served", "error", err)
		}
	}()
	return func() { _ = server.Close() }, nil
}
