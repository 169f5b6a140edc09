package selection

import (
	"context"
	"slices"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/memory"
)

// RuleVersion names the rule in a selection.
const RuleVersion = "rule.select.v1"

const (
	// closeMeaning is the z-score of a cosine from which on a candidate is close
	// in meaning: about one item in forty by chance.
	closeMeaning = 2.0
	// fewItems is up to how many searched items z-scores say little, because no
	// item can stand out from so few; being over the mean is enough then, for a
	// personal request.
	fewItems = 20
	// wideGap is the part of the whole spread of scores that one gap must make
	// up to end the list.
	wideGap = 0.5
)

// Rule selects by score. A candidate has evidence when it
//
//   - shares a word, by its stem, with one of the queries (names of the speakers
//     aside, when the query has other words): "words",
//   - is close in meaning (its cosine's z-score over closeMeaning): "meaning",
//   - happened in the time that a query asks for: "time",
//   - or is of the only kind that a query asks for: "kind".
//
// These tests are absolute, unlike scores, which are relative to the user's other
// items. When no candidate has evidence, nothing is selected: the memory knows
// nothing about it. Otherwise the best K by score are, but the list ends at its
// widest gap when nothing below it has evidence, and the gap is more than half of
// the spread.
type Rule struct{}

// Select implements activities.Selector.
func (Rule) Select(_ context.Context, r memory.Retrieved) (memory.Selection, error) {
	out := memory.Selection{Version: RuleVersion, Chosen: []memory.Chosen{}}
	list := slices.Clone(r.Candidates)
	slices.SortStableFunc(list, func(a, b memory.Candidate) int {
		switch {
		case a.Score > b.Score:
			return -1
		case a.Score < b.Score:
			return 1
		}
		return 0
	})
	e := newEvidence(r)
	reasons, last := make([]string, len(list)), -1
	for i, c := range list {
		if reasons[i] = e.of(c); reasons[i] != "" {
			last = i
		}
	}
	if last < 0 {
		return out, nil
	}
	end := min(r.K, len(list))
	if g := gap(list); g > 0 && g > last {
		end = min(end, g)
	}
	for i, c := range list[:end] {
		reason := "score"
		if reasons[i] != "" {
			reason += ", " + reasons[i]
		}
		out.Chosen = append(out.Chosen, memory.Chosen{ID: c.ID, Score: c.Score, Reason: reason})
	}
	return out, nil
}

// gap returns where the list has its widest gap, 0 when that is not wide.
func gap(list []memory.Candidate) int {
	if len(list) < 3 {
		return 0
	}
	at, widest := 0, 0.0
	for i := 1; i < len(list); i++ {
		if d := list[i-1].Score - list[i].Score; d > widest {
			at, widest = i, d
		}
	}
	if widest <= wideGap*(list[0].Score-list[len(list)-1].Score) {
		return 0
	}
	return at
}

// evidence is what the plan asks for.
type evidence struct {
	words   map[string]bool
	windows []memory.Window
	kinds   map[memory.Kind]bool
	// meaning is the z-score that a cosine must reach; dense says that there are
	// vectors at all.
	meaning float64
	dense   bool
}

func newEvidence(r memory.Retrieved) evidence {
	e := evidence{words: make(map[string]bool), kinds: make(map[memory.Kind]bool), meaning: closeMeaning, dense: r.Plan.EmbedModel != ""}
	names := make(map[string]bool)
	for _, c := range r.Candidates {
		for _, w := range lexical.Words(c.Speaker) {
			names[w] = true
		}
	}
	named := make(map[string]bool)
	for _, q := range r.Plan.Queries {
		for _, w := range lexical.Words(q.Text) {
			if names[w] {
				named[w] = true
			} else {
				e.words[w] = true
			}
		}
		if !q.Window.IsZero() {
			e.windows = append(e.windows, q.Window)
		}
		for _, k := range q.Kinds {
			e.kinds[k] = true
		}
	}
	if len(e.words) == 0 {
		e.words = named // "Ida?": her name is all there is
	}
	if r.Searched <= fewItems && r.Plan.Personal >= 0.5 {
		e.meaning = 0.2
	}
	return e
}

func (e evidence) of(c memory.Candidate) string {
	for _, w := range lexical.Words(c.Memory) {
		if e.words[w] {
			return "words"
		}
	}
	if e.dense && c.Dense >= e.meaning {
		return "meaning"
	}
	for _, w := range e.windows {
		if inside(w, c) {
			return "time"
		}
	}
	if e.kinds[c.Kind] && len(e.kinds) == 1 {
		return "kind"
	}
	if c.Tier == memory.TierLTM { // the graph's own search is by meaning already
		return "graph"
	}
	return ""
}

func inside(w memory.Window, c memory.Candidate) bool {
	return !c.EventAt.IsZero() && (w.From.IsZero() || !c.EventAt.Before(w.From)) && (w.To.IsZero() || c.EventAt.Before(w.To))
}
