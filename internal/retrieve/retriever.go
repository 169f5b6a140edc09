package retrieve

import (
	"cmp"
	"context"
	"sync"

	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// DefaultCacheBytes is the default of Options.CacheBytes: about fifty users
// with ten thousand items each, or many thousands of small ones.
const DefaultCacheBytes = 1 << 30

// Options configure a Retriever. The zero value is ready to use.
type Options struct {
	// CacheBytes bounds the memory of all users' indexes together.
	// DefaultCacheBytes when zero; negative keeps none between calls.
	CacheBytes int64
	// Graph finds long-term knowledge. Nil means that there is none yet: then
	// the budget of queries for it goes to the other queries.
	Graph Graph
}

// Graph finds candidates in long-term memory.
type Graph interface {
	// Search returns at most limit candidates of the tenant of ctx for one
	// query with Tier TierLTM, best first.
	Search(ctx context.Context, q memory.Query, limit int) ([]memory.Candidate, error)
}

// Retriever is coarse retrieval over a Source. It implements
// activities.Retriever and is safe for concurrent use.
type Retriever struct {
	source Source
	graph  Graph
	cache  *cache
	// work keeps the ranking's working space: what it needs for one user
	// serves the next.
	work sync.Pool
}

// New returns a Retriever over a source.
func New(source Source, o Options) *Retriever {
	return &Retriever{source: source, graph: o.Graph, cache: newCache(max(cmp.Or(o.CacheBytes, DefaultCacheBytes), 0))}
}

// Retrieve returns the plan's candidates for the scope of ctx, best first, at
// most 2K. Errors are those of the source, and CodeForbidden without a scope.
func (r *Retriever) Retrieve(ctx context.Context, p memory.Planned) (memory.Retrieved, error) {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return memory.Retrieved{}, err
	}
	out := memory.Retrieved{Planned: p, Candidates: []memory.Candidate{}}
	k := p.K
	if k <= 0 {
		k = memory.DefaultK
	}
	budget := 2 * min(k, memory.MaxK)
	mtm, ltm := split(p.Plan.Queries)
	if r.graph != nil && len(ltm) > 0 {
		share := (budget + len(p.Plan.Queries) - 1) / len(p.Plan.Queries)
		long, err := r.searchGraph(ctx, p.Plan.Queries, ltm, share, budget)
		if err != nil {
			return memory.Retrieved{}, err
		}
		// What the graph leaves unused goes to the user's own memory.
		out.Candidates = long
		budget -= len(long)
	}
	x, err := r.index(ctx, scope, p)
	if err != nil {
		return memory.Retrieved{}, err
	}
	found, searched, err := r.search(ctx, scope, x, p, mtm, budget)
	if err != nil {
		return memory.Retrieved{}, err
	}
	out.Candidates, out.Searched = append(found, out.Candidates...), searched
	return out, nil
}

// index returns the user's index at the present state, or at the time that the
// turn asks for.
func (r *Retriever) index(ctx context.Context, scope memory.Scope, p memory.Planned) (*index, error) {
	if !p.AsOf.IsZero() {
		items, err := r.source.AsOf(ctx, p.Plan.EmbedModel, p.AsOf)
		if err != nil {
			return nil, memory.Wrap(memory.CodeOf(err), err, "load memory as of a time")
		}
		x := newIndex()
		x.apply(Delta{Reset: true, Items: items})
		return x, nil
	}
	e := r.cache.get(scope, p.Plan.EmbedModel)
	if err := r.cache.refresh(ctx, r.source, e); err != nil {
		return nil, err
	}
	return e.index, nil
}

// maxRounds bounds how often a ranking is repeated because rows changed
// between the check of the index and the reading of the rows.
const maxRounds = 4

// search ranks, reads the rows of the best again, and refills the places of
// those that are gone or no longer meet the constraints.
func (r *Retriever) search(ctx context.Context, scope memory.Scope, x *index, p memory.Planned, places []int, budget int) (found []memory.Candidate, searched int, err error) {
	queries := make([]memory.Query, len(places))
	for i, at := range places {
		queries[i] = p.Plan.Queries[at]
	}
	w, _ := r.work.Get().(*workspace)
	if w == nil {
		w = &workspace{}
	}
	defer r.work.Put(w)
	excluded := map[memory.ID]bool{}
	for range maxRounds {
		var hits []hit
		hits, searched = x.rank(queries, budget, excluded, w)
		if len(hits) == 0 {
			return []memory.Candidate{}, searched, nil
		}
		ids := make([]memory.ID, len(hits))
		for i, h := range hits {
			ids[i] = h.id
		}
		rows, err := r.source.Fetch(ctx, ids)
		if err != nil {
			return nil, 0, memory.Wrap(memory.CodeOf(err), err, "read candidates")
		}
		byID := make(map[memory.ID]*memory.Memory, len(rows))
		for i := range rows {
			byID[rows[i].ID] = &rows[i]
		}
		found = make([]memory.Candidate, 0, len(hits))
		for _, h := range hits {
			m := byID[h.id]
			if m == nil || m.Scope != scope || !stands(m, h, queries, !p.AsOf.IsZero()) {
				excluded[h.id] = true
				continue
			}
			found = append(found, h.candidate(m, places))
		}
		if len(found) == len(hits) {
			break
		}
	}
	return found, searched, nil
}

// stands reports whether a row, read again, still meets the constraints of a
// query that found it. For the past only what was forgotten since is withheld.
func stands(m *memory.Memory, h hit, queries []memory.Query, past bool) bool {
	if past {
		return m.Status != memory.StatusForgotten
	}
	k := slot{}
	k.describe(m)
	for _, i := range h.queries {
		if (constraints{queries[i]}).admits(&k) {
			return true
		}
	}
	return false
}

// candidate joins a hit with its row. Status and validity are the index's,
// which for a question about the past differ from the row's.
func (h hit) candidate(m *memory.Memory, places []int) memory.Candidate {
	c := memory.Candidate{
		ID: m.ID, Tier: memory.TierMTM, Memory: m.Text,
		Score: h.score, Lexical: h.lexical, Dense: h.dense,
		Kind: m.Kind, Status: h.status, Speaker: m.Speaker, Conversation: m.Conversation,
		EventAt: m.EventAt, ValidFrom: m.ValidFrom, ValidTo: h.validTo, Evidence: m.Evidence,
	}
	for _, i := range h.queries {
		c.Queries = append(c.Queries, places[i])
	}
	return c
}

// split returns the places of the queries for mid-term and long-term memory.
func split(queries []memory.Query) (mtm, ltm []int) {
	for i, q := range queries {
		if q.Tier == memory.TierLTM {
			ltm = append(ltm, i)
		} else {
			mtm = append(mtm, i)
		}
	}
	return mtm, ltm
}

// searchGraph asks the graph, each query within its own share and all together
// within the budget: a graph fused by rank pushes better hits out
// (docs/evaluation.md).
func (r *Retriever) searchGraph(ctx context.Context, queries []memory.Query, places []int, share, budget int) ([]memory.Candidate, error) {
	var out []memory.Candidate
	known := map[memory.ID]int{}
	for _, at := range places {
		found, err := r.graph.Search(ctx, queries[at], share)
		if err != nil {
			return nil, memory.Wrap(memory.CodeOf(err), err, "search the graph")
		}
		for _, c := range found[:min(len(found), share)] {
			if i, ok := known[c.ID]; ok {
				out[i].Queries = append(out[i].Queries, at)
				continue
			}
			if len(out) == budget {
				break
			}
			known[c.ID] = len(out)
			c.Tier, c.Queries = memory.TierLTM, []int{at}
			out = append(out, c)
		}
	}
	return out, nil
}
