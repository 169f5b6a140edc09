package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// retrieval is coarse retrieval over one user's items, both channels fused.
type retrieval struct {
	Items int `json:"items"`
	// Others is how many rows of other users are in the same tables.
	Others int `json:"rows_of_others"`
	// Warm has the user's index in memory and checks it against the database;
	// Three is the same for a plan of three queries; Database is the part of
	// Warm that the database took.
	Warm     spread `json:"warm"`
	Three    spread `json:"warm_three_queries"`
	Database spread `json:"warm_database"`
	// Cold loads the index first.
	Cold spread `json:"cold"`
	// Recall is the share of the ten best of a full sort in float64 that are
	// among the ten candidates.
	Recall float64 `json:"recall"`
}

// Targets of coarse retrieval at a full memory.
const (
	targetRetrieval = 5.0
	targetRecall    = 0.99
)

// measureRetrieval goes through the product's own retriever and store.
func (in *installation) measureRetrieval(ctx context.Context, s size) ([]retrieval, error) {
	var out []retrieval
	for i := range smaller {
		m, err := in.retrievalOf(ctx, in.users[len(in.users)-len(smaller)+i], s)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	m, err := in.retrievalOf(ctx, in.users[len(in.users)/2], s)
	return append(out, m), err
}

func (in *installation) retrievalOf(ctx context.Context, u user, s size) (retrieval, error) {
	ctx = tenant.NewContext(ctx, u.scope())
	m := retrieval{Items: u.items, Others: rows(in.users) - u.items}
	source := &timedSource{Source: in.direct.store}
	options := retrieve.Options{CacheBytes: directCache}
	var warm, three, database, cold []time.Duration
	for range s.loads {
		began := time.Now()
		if _, err := retrieve.New(source, options).Retrieve(ctx, in.asks(u, 1)); err != nil {
			return m, fmt.Errorf("retrieve: %w", err)
		}
		cold = append(cold, time.Since(began))
	}
	retriever := retrieve.New(source, options)
	full := newFullSort(in.corpus, u)
	found, wanted := 0, 0
	for i := range warmTurns + s.queries {
		p := in.asks(u, 1)
		source.spent.Store(0)
		began := time.Now()
		got, err := retriever.Retrieve(ctx, p)
		took, inDatabase := time.Since(began), time.Duration(source.spent.Load())
		if err != nil {
			return m, fmt.Errorf("retrieve: %w", err)
		}
		plan3 := in.asks(u, 3)
		began = time.Now()
		if _, err := retriever.Retrieve(ctx, plan3); err != nil {
			return m, fmt.Errorf("retrieve: %w", err)
		}
		if i < warmTurns {
			continue
		}
		warm, three = append(warm, took), append(three, time.Since(began))
		database = append(database, inDatabase)
		if i < warmTurns+s.judged {
			want := full.best(p.Plan.Queries[0], 2*p.K)
			for _, c := range got.Candidates {
				if want[c.ID] {
					found++
				}
			}
			wanted += len(want)
		}
	}
	m.Warm, m.Three, m.Database, m.Cold = spreadOf(warm), spreadOf(three), spreadOf(database), spreadOf(cold)
	m.Recall = round(float64(found)/float64(max(wanted, 1)), 4)
	return m, nil
}

// asks is a plan of n queries for what the user said, with vectors.
func (in *installation) asks(u user, n int) memory.Planned {
	p := memory.Planned{Turn: memory.Turn{Request: memory.Request{Scope: u.scope(), K: memory.DefaultK}}}
	p.Plan.EmbedModel = embedModel
	texts := make([]string, n)
	for i := range texts {
		texts[i] = in.corpus.question(u.offset, u.items)
	}
	for i, v := range scripted.InstantVectors(texts) {
		origin := "input"
		if i > 0 {
			origin = "model"
		}
		p.Plan.Queries = append(p.Plan.Queries, memory.Query{Text: texts[i], Tier: memory.TierMTM, Origin: origin, Vector: v})
	}
	return p
}

// timedSource adds up the time that a source takes.
type timedSource struct {
	retrieve.Source
	spent atomic.Int64
}

func (t *timedSource) Changes(ctx context.Context, model string, since int64) (retrieve.Delta, error) {
	began := time.Now()
	defer func() { t.spent.Add(int64(time.Since(began))) }()
	return t.Source.Changes(ctx, model, since)
}

func (t *timedSource) Fetch(ctx context.Context, ids []memory.ID) ([]memory.Memory, error) {
	began := time.Now()
	defer func() { t.spent.Add(int64(time.Since(began))) }()
	return t.Source.Fetch(ctx, ids)
}
