package selection

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// model is the one call that the selector needs; see prompts.Request.
type model interface {
	Complete(ctx context.Context, r prompts.Request) (prompts.Response, error)
}

// Defaults of ModelOptions. On ten questions of our own with 39 memories,
// Qwen2.5-Coder-1.5B gave those that help −0.4 to 2.0 and three in four of the
// others less than −0.5 (area under the curve .92): the default misses little
// and leaves the order to the scores.
const (
	ThresholdDefault = -0.5
	ParallelDefault  = 4
)

const (
	// maxMemoryBytes bounds what is shown of one candidate.
	maxMemoryBytes = 1200
	// topLogprobs is how many alternatives of the one token are asked for; yes
	// and no are nearly always among the first five.
	topLogprobs = 20
)

// ModelOptions says how candidates are judged.
type ModelOptions struct {
	// Listwise asks once for the numbers of the useful candidates instead of
	// asking yes or no about each. It needs a tuned or a larger model: a plain
	// 1.5B model finds less with it than the score alone (retrieval.md: .264
	// against .489), but .662 from .559 when asked about one at a time.
	Listwise bool
	// Parallel is how many candidates are judged at once. Defaults to
	// ParallelDefault, the number of requests that Ollama takes at once.
	Parallel int
	// Threshold is the least log-probability of yes minus that of no that a
	// candidate needs. Nil means ThresholdDefault; 0 asks that yes be likelier
	// than no.
	Threshold *float64
}

// Model selects with a small language model (SLM-2). It sees the request and
// the candidates' texts and dates, numbered; ids never reach the model. It can
// only choose among the candidates, at most K, or none of them.
//
// Pointwise, the default, asks of each candidate whether it holds the answer
// and scores it by the log-probability of yes minus that of no (Chosen.Reason
// "yes"). A server that tells no log-probabilities leaves the word alone: then
// the candidates with a yes keep the order of retrieval (Reason "yes, without
// log-probability"). When one candidate cannot be judged, the selection fails:
// a candidate that is left out for want of a reply would look like one that
// does not help.
type Model struct {
	model     model
	prompt    *prompts.Set
	options   ModelOptions
	threshold float64
}

// NewModel returns a selector that asks the model.
func NewModel(m model, set *prompts.Set, o ModelOptions) *Model {
	o.Parallel = max(1, cmp.Or(o.Parallel, ParallelDefault))
	threshold := ThresholdDefault
	if o.Threshold != nil {
		threshold = *o.Threshold
	}
	return &Model{model: m, prompt: set, options: o, threshold: threshold}
}

// Select implements activities.Selector.
func (s *Model) Select(ctx context.Context, r memory.Retrieved) (memory.Selection, error) {
	if s.options.Listwise {
		return s.listwise(ctx, r)
	}
	return s.pointwise(ctx, r)
}

// verdict is what the model says of one candidate.
type verdict struct {
	score   float64
	weighed bool
}

func (s *Model) pointwise(ctx context.Context, r memory.Retrieved) (memory.Selection, error) {
	verdicts := make([]verdict, len(r.Candidates))
	errs := make([]error, len(r.Candidates))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, s.options.Parallel)
	var wg sync.WaitGroup
	for i, c := range r.Candidates {
		slots <- struct{}{}
		if ctx.Err() != nil { // one failed, or the caller went away: ask no more
			<-slots
			errs[i] = ctx.Err()
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			verdicts[i], errs[i] = s.judge(ctx, r, c)
			if errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	if err := first(errs); err != nil {
		return memory.Selection{}, err
	}
	order := make([]int, 0, len(verdicts))
	for i, v := range verdicts {
		if v.weighed && v.score >= s.threshold || !v.weighed && v.score > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(verdicts[b].score, verdicts[a].score) })
	out := memory.Selection{Version: prompts.Select, Chosen: []memory.Chosen{}}
	for _, i := range order[:min(len(order), r.K)] {
		reason := "yes"
		if !verdicts[i].weighed {
			reason = "yes, without log-probability"
		}
		out.Chosen = append(out.Chosen, memory.Chosen{ID: r.Candidates[i].ID, Score: verdicts[i].score, Reason: reason})
	}
	return out, nil
}

// first is the error that caused the others: one that is not a cancellation.
func first(errs []error) error {
	var cancelled error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			cancelled = err
		}
	}
	return cancelled
}

// judge asks about one candidate. Its prompt is the same as the others' up to
// the memory, so that servers compute the common front once.
func (s *Model) judge(ctx context.Context, r memory.Retrieved, c memory.Candidate) (verdict, error) {
	req, err := s.prompt.Render(prompts.Select, map[string]any{
		"Today":      r.At.In(r.Location()),
		"User":       r.UserName(),
		"Input":      r.Text,
		"MemoryDate": date(r, c),
		"Memory":     prompts.Cut(c.Memory, maxMemoryBytes),
	})
	if err != nil {
		return verdict{}, memory.Wrap(memory.CodeInternal, err, "render selection prompt")
	}
	req.MaxTokens, req.TopLogprobs, req.MayBeCut = 1, topLogprobs, true
	resp, err := s.model.Complete(ctx, req)
	if err != nil {
		return verdict{}, err
	}
	score, weighed, ok := prompts.YesNo(resp)
	if !ok {
		return verdict{}, memory.Errorf(memory.CodeInvalidOutput, "the model answered neither yes nor no")
	}
	return verdict{score: score, weighed: weighed}, nil
}

// listed is a candidate in the listwise prompt.
type listed struct {
	Date time.Time
	Text string
}

func (s *Model) listwise(ctx context.Context, r memory.Retrieved) (memory.Selection, error) {
	out := memory.Selection{Version: prompts.SelectList, Chosen: []memory.Chosen{}}
	if len(r.Candidates) == 0 {
		return out, nil
	}
	var reply struct {
		Useful []int `json:"useful"`
	}
	shown := 0
	// What does not fit is left out from the end: the lowest scores.
	err := prompts.Fit(len(r.Candidates)-1, tooLong, func(skip int) error {
		shown = len(r.Candidates) - skip
		items := make([]listed, shown)
		for i, c := range r.Candidates[:shown] {
			items[i] = listed{Date: date(r, c), Text: prompts.Cut(c.Memory, maxMemoryBytes)}
		}
		req, err := s.prompt.Render(prompts.SelectList, map[string]any{
			"Today": r.At.In(r.Location()), "User": r.UserName(), "Input": r.Text, "Memories": items, "Most": r.K,
		})
		if err != nil {
			return memory.Wrap(memory.CodeInternal, err, "render selection prompt")
		}
		req.Schema, req.MaxTokens = numbersSchema(shown, r.K), 16+6*r.K
		resp, err := s.model.Complete(ctx, req)
		if err != nil {
			return err
		}
		return memory.Wrap(memory.CodeInvalidOutput, json.Unmarshal([]byte(resp.Text), &reply), "read the model's selection")
	})
	if err != nil {
		return memory.Selection{}, err
	}
	seen := make(map[int]bool, len(reply.Useful))
	for _, n := range reply.Useful {
		if n < 1 || n > shown || seen[n] || len(out.Chosen) == r.K { // graphiti#939: numbers out of range
			continue
		}
		seen[n] = true
		out.Chosen = append(out.Chosen, memory.Chosen{ID: r.Candidates[n-1].ID, Score: 1 / float64(len(seen)), Reason: "listed"})
	}
	return out, nil
}

// numbersSchema asks for at most k of the numbers 1..n (mem0#4674: real ids
// are invented; numbers outside the enum cannot be said).
func numbersSchema(n, k int) json.RawMessage {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	b, err := json.Marshal(map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"useful"},
		"properties": map[string]any{"useful": map[string]any{
			"type": "array", "maxItems": min(n, k), "items": map[string]any{"type": "integer", "enum": numbers},
		}},
	})
	if err != nil { // numbers and texts: cannot happen
		return nil
	}
	return b
}

// date is when the candidate's event was, in the user's time zone; zero when
// unknown.
func date(r memory.Retrieved, c memory.Candidate) time.Time {
	if c.EventAt.IsZero() {
		return time.Time{}
	}
	return c.EventAt.In(r.Location())
}

func tooLong(err error) bool { return memory.CodeOf(err) == memory.CodeTooLong }
