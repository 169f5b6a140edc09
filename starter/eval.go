package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/internal/eval"
	"github.com/lightmem/lightmem/internal/plan"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
)

type evalCommand struct {
	Locomo locomoCommand `cmd:"" help:"Evidence recall on LoCoMo conversations, through the product's own write and retrieval."`
}

type locomoCommand struct {
	Mode          string   `placeholder:"retrieval" default:"retrieval" help:"retrieval: no language model, only whether the evidence is found (default)."`
	Data          string   `placeholder:"FILE" required:"" help:"The data set, a JSON file as its authors publish it."`
	Conversations []string `placeholder:"ID,…" help:"Only these conversations (default: all)."`
}

// Help implements kong.HelpProvider.
func (locomoCommand) Help() string {
	return example(`lightmem eval locomo --mode retrieval --data locomo.json --json`) + `

What it writes goes into a tenant of its own, eval-…, and stays there. --timeout is off unless it is given.`
}

// Run measures.
func (c *locomoCommand) Run(ctx context.Context, s *session) error {
	if c.Mode != "retrieval" {
		return memory.Invalid("mode", "%q is not known; retrieval is", c.Mode)
	}
	conversations, err := readLoCoMo(c.Data)
	if err != nil {
		return err
	}
	// The store of the other commands is narrower; this needs a turn's steps.
	if s.cfg.Database.URL == "" {
		_, err := s.store(ctx)
		return err
	}
	steps, closeSteps, err := evalSteps(ctx, s.cfg)
	if err != nil {
		return err
	}
	defer closeSteps()
	report, err := eval.LoCoMoRetrieval(ctx, conversations, eval.Options{
		Steps: steps, Tenant: memory.TenantID("eval-" + s.key()[:12]), Conversations: c.Conversations,
		Progress: func(done, of int) {
			if !s.json { // then standard error is for an error alone
				fmt.Fprintf(s.stderr, "measured %d of %d conversations\n", done, of)
			}
		},
	})
	if err != nil {
		return err
	}
	if s.json {
		return s.document(report)
	}
	cutoffs := eval.DefaultCutoffs()
	row := func(name string, r eval.Recall) {
		s.page.Printf("%-12s", name)
		for _, k := range cutoffs {
			s.page.Printf("  %.3f", r[k])
		}
		s.page.Line("")
	}
	s.page.Line(fmt.Sprintf("%d questions; recall of the evidence at %d, %d and %d", report.Questions, cutoffs[0], cutoffs[1], cutoffs[2]))
	row("all", report.Recall)
	categories := make([]int, 0, len(report.ByCategory))
	for category := range report.ByCategory {
		categories = append(categories, category)
	}
	slices.Sort(categories)
	for _, category := range categories {
		row("category "+strconv.Itoa(category), report.ByCategory[category])
	}
	return nil
}

func readLoCoMo(path string) ([]eval.Conversation, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		message := "cannot be read"
		if errors.Is(err, fs.ErrNotExist) {
			message = "does not exist"
		}
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "data", Message: message, Cause: err}
	}
	defer f.Close()
	list, err := eval.ParseLoCoMo(io.Reader(f))
	if err != nil {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "data", Message: "is no LoCoMo file", Cause: err}
	}
	return list, nil
}

// evalSteps joins the steps of a turn as a worker does, by the rules.
func evalSteps(ctx context.Context, c *config.Config) (activities.Turn, func(), error) {
	st, err := postgres.Open(ctx, postgres.Options{
		URL: c.Database.URL.Reveal(), MaxConns: c.Database.Connections, Name: "lightmem-eval", Capacity: c.Memory.Capacity,
	})
	if err != nil {
		return activities.Turn{}, nil, err
	}
	steps := activities.Turn{
		Store: st, Retriever: retrieve.New(st, retrieve.Options{}), Logger: slog.New(slog.DiscardHandler),
		Rules: activities.Roles{Planner: plan.Rule{}, Writer: write.Rule{}},
	}
	embedder, err := openEmbedder(c)
	if err != nil {
		st.Close()
		return activities.Turn{}, nil, err
	}
	if embedder != nil {
		steps.Embedder = embedder
	}
	return steps, st.Close, nil
}
