package main

import (
	"context"
	"fmt"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// orchestration is what a recall turn costs over the same stages called
// directly, for one way of serving the roles.
type orchestration struct {
	// Served is "rules" or "gpu queue".
	Served string `json:"served"`
	Turn   spread `json:"turn"`
	Direct spread `json:"direct"`
	// Floor is a turn with as many remote steps, and one local one, that do
	// nothing: what Temporal itself takes.
	Floor spread `json:"floor"`
	// Over is P50 of the turn less P50 of the direct calls.
	Over   float64 `json:"over_direct_p50_ms"`
	Target float64 `json:"target_ms"`
	// Events and HistoryKB are the length and the size of the last turn's history.
	Events    int     `json:"history_events"`
	HistoryKB float64 `json:"history_kb"`
	// Segments are where a turn's time goes, in the order of a turn.
	Segments []segment `json:"segments"`
	// Steps are the direct calls.
	Steps []segment `json:"direct_steps"`
}

// segment is one part of a turn's time.
type segment struct {
	Name string  `json:"name"`
	Mean float64 `json:"mean_ms"`
	P50  float64 `json:"p50_ms"`
}

// Names of the two ways in which plan and select are served.
const (
	servedByRules = "rules"
	servedByGPU   = "gpu queue"
)

// measureOrchestration times turns and direct calls in turn, A B A B, so that
// whatever else the machine does hits both alike.
func (in *installation) measureOrchestration(ctx context.Context, pairs int) ([]orchestration, error) {
	who := in.users[0]
	ways := []*way{
		{served: servedByRules, rules: true, target: 20},
		{served: servedByGPU, target: 45, remote: 2},
	}
	if err := in.startFloor(); err != nil {
		return nil, err
	}
	for i := range warmTurns + pairs {
		text := in.corpus.question(who.offset, who.items)
		for _, w := range ways {
			if err := in.pair(ctx, w, who, text, i >= warmTurns); err != nil {
				return nil, err
			}
		}
	}
	var out []orchestration
	for _, w := range ways {
		o := orchestration{
			Served: w.served, Target: w.target, Turn: spreadOf(w.turns), Direct: spreadOf(w.directs), Floor: spreadOf(w.floors),
			Segments: segments(w.parts), Steps: segments(w.steps), Events: w.events, HistoryKB: round(float64(w.bytes)/1000, 1),
		}
		o.Over = round(o.Turn.P50-o.Direct.P50, 2)
		out = append(out, o)
	}
	return out, nil
}

// warmTurns are run before the first is timed: indexes are loaded, statements
// prepared, connections made.
const warmTurns = 5

// way collects what is measured of one way of serving.
type way struct {
	served string
	rules  bool
	target float64
	// remote is how many steps leave the worker.
	remote int

	turns, directs, floors []time.Duration
	parts, steps           [][]step
	events, bytes          int
}

// pair times one direct call and one turn with the same text, and a turn of
// no-op steps.
func (in *installation) pair(ctx context.Context, w *way, who user, text string, timed bool) error {
	took, steps, err := in.direct.recall(ctx, in.request(who, memory.ModeRecall, "direct", text, w.rules))
	if err != nil {
		return fmt.Errorf("call the stages directly: %w", err)
	}
	r := in.request(who, memory.ModeRecall, "turns", text, w.rules)
	began := time.Now()
	reply, _, receipt, err := in.turn(ctx, r)
	ended := began.Add(reply)
	if err != nil {
		return fmt.Errorf("run a turn: %w", err)
	}
	if len(receipt.Degraded) > 0 {
		return fmt.Errorf("a turn was degraded: %+v", receipt.Degraded)
	}
	floor, err := in.floor(ctx, w.remote)
	if err != nil || !timed {
		return err
	}
	w.floors = append(w.floors, floor)
	w.directs, w.steps = append(w.directs, took), append(w.steps, steps)
	w.turns = append(w.turns, reply)
	parts, events, bytes, err := in.whereTimeWent(ctx, r, began, ended)
	w.events, w.bytes = events, bytes
	w.parts = append(w.parts, parts)
	return err
}

// segments sums up what single turns spent, by name, in order of appearance.
func segments(turns [][]step) []segment {
	var names []string
	took := map[string][]time.Duration{}
	for _, t := range turns {
		sums := map[string]time.Duration{}
		for _, s := range t {
			if _, ok := took[s.name]; !ok {
				names, took[s.name] = append(names, s.name), nil
			}
			sums[s.name] += s.took
		}
		for name, sum := range sums {
			took[name] = append(took[name], sum)
		}
	}
	out := make([]segment, 0, len(names))
	for _, name := range names {
		var sum time.Duration
		for _, d := range took[name] {
			sum += d
		}
		out = append(out, segment{Name: name, Mean: ms(sum / time.Duration(len(turns))), P50: ms(percentile(took[name], 0.5))})
	}
	return out
}
