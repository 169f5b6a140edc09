package main

import (
	"context"
	"time"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/internal/model"
	"github.com/lightmem/lightmem/internal/model/ollama"
	"github.com/lightmem/lightmem/internal/model/openai"
	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/schema"
)

// liveStore fits package postgres to what the commands need.
type liveStore struct {
	*postgres.Store
	cfg *config.Config
}

// openStore connects to the database. One command needs few connections.
func openStore(ctx context.Context, c *config.Config) (store, error) {
	s, err := postgres.Open(ctx, postgres.Options{URL: c.Database.URL.Reveal(), MaxConns: min(4, c.Database.Connections), Name: "lightmem-cli"})
	if err != nil {
		return nil, reached(err)
	}
	return &liveStore{Store: s, cfg: c}, nil
}

// List implements store, page by page.
func (s *liveStore) List(ctx context.Context, l listing) ([]memory.Memory, error) {
	list := []memory.Memory{}
	filter := postgres.MemoryFilter{All: l.All, AsOf: l.AsOf, Limit: postgres.MaxPage}
	for {
		if l.Limit > 0 {
			filter.Limit = min(postgres.MaxPage, l.Limit-len(list))
		}
		page, err := s.ListMemories(ctx, filter)
		if err != nil {
			return nil, err
		}
		list = append(list, page.Memories...)
		if filter.Cursor = page.Next; page.Next == "" || l.Limit > 0 && len(list) >= l.Limit {
			return list, nil
		}
	}
}

// Page implements store.
func (s *liveStore) Page(ctx context.Context, l listing, cursor string) (list []memory.Memory, next string, err error) {
	page, err := s.ListMemories(ctx, postgres.MemoryFilter{All: l.All, AsOf: l.AsOf, Limit: l.Limit, Cursor: cursor})
	return page.Memories, page.Next, err
}

// Search implements store: the ranking of a turn's retrieval for the words
// alone, without the turn.
func (s *liveStore) Search(ctx context.Context, text string, k int, asOf time.Time) (found []memory.Candidate, degraded []memory.Degraded, err error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return nil, nil, err
	}
	p := memory.Planned{
		Turn: memory.Turn{Request: memory.Request{Scope: scope, Mode: memory.ModeRecall, Text: text, K: (k + 1) / 2, AsOf: asOf}},
		Plan: memory.Plan{Queries: []memory.Query{{Text: text, Tier: memory.TierMTM, Origin: "input"}}, Version: "search"},
	}
	embedder, err := openEmbedder(s.cfg)
	if err != nil {
		return nil, nil, err
	}
	if embedder != nil {
		if degraded, err = embed(ctx, embedder, &p.Plan); err != nil {
			return nil, nil, err
		}
	}
	out, err := retrieve.New(s.Store, retrieve.Options{}).Retrieve(ctx, p)
	return out.Candidates, degraded, err
}

// embed gives the plan's only query its vector. Without one words alone rank,
// as in a turn, and the caller is told why.
func embed(ctx context.Context, embedder model.TextEmbedder, p *memory.Plan) ([]memory.Degraded, error) {
	v, err := embedder.Embed(ctx, []string{p.Queries[0].Text})
	if err == nil && len(v) != 1 {
		err = memory.Errorf(memory.CodeInvalidOutput, "the embedder gave %d vectors for one text", len(v))
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return []memory.Degraded{{Role: memory.RoleEmbed, Reason: memory.CodeOf(err)}}, nil
	}
	p.Queries[0].Vector, p.EmbedModel = v[0], embedder.EmbedModel()
	return nil, nil
}

// openEmbedder returns the configured embedder, nil when there is none.
func openEmbedder(c *config.Config) (model.TextEmbedder, error) {
	r := c.Roles.Embed
	if r.Spec.IsZero() || r.Spec.Provider == config.ProviderNone {
		return nil, nil
	}
	spec := r.Spec.String()
	if r.Address != "" {
		spec += "@" + r.Address
	}
	roles, err := model.Open(model.Config{
		AllowScripted: true, // the settings have checked it
		Embed:         model.RoleConfig{Model: spec, Timeout: r.Timeout, ContextLength: r.ContextLength, Key: r.Key.Reveal()},
		Ollama:        ollama.Config{Address: c.Models.OllamaAddress},
		OpenAI:        openai.Config{Address: c.Models.OpenAIAddress},
	}, model.Rules{})
	if err != nil {
		return nil, err
	}
	return roles.Embedder, nil
}

// Memory implements store.
func (s *liveStore) Memory(ctx context.Context, id memory.ID) (memory.Memory, error) {
	shown, err := s.ShowMemory(ctx, id)
	return shown.Memory, err
}

// Pin implements store.
func (s *liveStore) Pin(ctx context.Context, id memory.ID, pinned bool, actor string) (memory.Outcome, error) {
	if pinned {
		return s.Store.Pin(ctx, id, actor)
	}
	return s.Unpin(ctx, id, actor)
}

// Trace implements store.
func (s *liveStore) Trace(ctx context.Context, id memory.TurnID) (story.Turn, error) {
	full, err := s.Store.Trace(ctx, id)
	if err != nil {
		return story.Turn{}, err
	}
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return story.Turn{}, err
	}
	t := story.OfReply(full.Receipt.Reply)
	line := full.Turn
	t.TurnID, t.WorkflowID, t.RunID = line.ID, line.WorkflowID, line.RunID
	t.UserID, t.Conversation, t.Mode, t.Actor = scope.User, line.Conversation, line.Mode, full.Actor
	t.At, t.AcceptedAt, t.Speaker, t.Input, t.Answer = line.At, line.AcceptedAt, line.Speaker, line.Input, line.Answer
	t.Serving, t.K, t.AsOf, t.Searched = full.Serving, full.K, story.Open(full.AsOf), full.Searched
	t.Versions = story.Versions{
		Plan: full.Receipt.Plan.Version, Select: full.Selection.Version, Answer: full.AnswerVersion, Write: full.DraftVersion,
	}
	if t.State = "recorded"; line.Committed {
		t.State = "committed"
		t.Written = story.OutcomesOf(full.Receipt.Written)
	}
	if line.Degraded != nil {
		t.Degraded = line.Degraded
	}
	t.Unembedded = full.Receipt.Unembedded
	return t, nil
}

// History implements store, page by page.
func (s *liveStore) History(ctx context.Context, id memory.ID, limit int) ([]change, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return nil, err
	}
	list := []change{}
	filter := postgres.HistoryFilter{Memory: id, Limit: postgres.MaxPage}
	for {
		page, err := s.Store.History(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			list = append(list, change{
				Seq: c.Seq, At: c.At, UserID: scope.User, Event: c.Event, MemoryID: c.ID,
				Before: stateOf(c.Before), After: stateOf(c.After), Reason: c.Reason, Rule: c.Rule, Actor: c.Actor,
				TurnID: c.Turn, WorkflowID: c.WorkflowID, RunID: c.RunID,
			})
		}
		if limit > 0 && len(list) > limit { // the newest are wanted, the oldest come first
			list = list[len(list)-limit:]
		}
		if len(page) < postgres.MaxPage {
			return list, nil
		}
		filter.After = page[len(page)-1].Seq
	}
}

func stateOf(m *memory.Memory) *story.Memory {
	if m == nil {
		return nil
	}
	shape := story.MemoryOf(*m)
	return &shape
}

// Profile implements store.
func (s *liveStore) Profile(ctx context.Context) (memory.Profile, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return memory.Profile{}, err
	}
	profile, _, _, err := s.Open(ctx, memory.Request{Scope: scope})
	return profile, err
}

// VerifyAudit implements store. The application's role may not read a whole
// tenant's audit; the auditor's may, and nothing else.
func (s *liveStore) VerifyAudit(ctx context.Context, id memory.TenantID, anchors []audit.Anchor) (audit.Report, error) {
	auditor, err := postgres.Open(ctx, postgres.Options{URL: s.cfg.Database.URL.Reveal(), MaxConns: 1, Name: "lightmem-audit", Role: schema.RoleAuditor})
	if err != nil {
		return audit.Report{}, err
	}
	defer auditor.Close()
	return audit.Verify(ctx, auditor, id, audit.Options{Anchors: anchors})
}
