package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// results are one run's figures.
type results struct {
	Started       time.Time       `json:"started"`
	Quick         bool            `json:"quick"`
	Machine       machine         `json:"machine"`
	LoadAtEnd     float64         `json:"load_average_at_end"`
	Orchestration []orchestration `json:"orchestration,omitempty"`
	Retrieval     []retrieval     `json:"retrieval,omitempty"`
	Throughput    []throughput    `json:"throughput,omitempty"`
}

// markdown is the results as tables that read well as text, too.
func (r *results) markdown() string {
	var b strings.Builder
	m := r.Machine
	fmt.Fprintf(&b, "Measured %s by `make bench`", r.Started.Format("2006-01-02 15:04 MST"))
	if r.Quick {
		b.WriteString(" (`--quick`)")
	}
	fmt.Fprintf(&b, " on %d cores of %s, %.1f GB of memory, Linux %s; %s, PostgreSQL %s (%s), Temporal %s with SQLite. ",
		m.Cores, m.CPU, m.MemoryGB, m.Kernel, m.Go, m.Postgres, m.PostgresSettings, m.Temporal)
	fmt.Fprintf(&b, "%d items of %d users, %d MB in Postgres. Load average at the start %.2f.\n", m.Rows, m.Users, m.DatabaseMB, m.Load)
	if m.Load > 1 {
		b.WriteString("\n**Somebody else used the machine during this run (load over 1 at the start): the absolute figures are too slow.**\n")
	}
	r.orchestrationTables(&b)
	r.retrievalTable(&b)
	r.throughputTable(&b)
	return b.String()
}

func (r *results) orchestrationTables(b *strings.Builder) {
	if len(r.Orchestration) == 0 {
		return
	}
	b.WriteString("\n### What orchestration costs\n\nA recall turn with instant models against the same stages called directly in one process, in turn (A B A B), 10,000 items. The no-op turn has as many remote steps and one local one, which do nothing: what Temporal itself takes on this machine in this run.\n\n")
	rows := [][]string{{"plan and select by", "turn P50/P95 ms", "direct P50/P95 ms", "over direct, P50", "no-op turn P50/P95 ms", "history", "target"}}
	for _, o := range r.Orchestration {
		rows = append(rows, []string{o.Served, pair(o.Turn), pair(o.Direct), fmt.Sprintf("%.1f ms", o.Over), pair(o.Floor), fmt.Sprintf("%d events, %.0f kB", o.Events, o.HistoryKB), reached(o.Over <= o.Target, "≤ %.0f ms", o.Target)})
	}
	table(b, rows)
	b.WriteString("\nWhere a turn's time goes, from the times of the events in its history (means, which add up):\n")
	for _, o := range r.Orchestration {
		fmt.Fprintf(b, "\n%s:\n\n", o.Served)
		rows := [][]string{{"part of the turn", "mean ms", "P50 ms", "direct call, P50 ms"}}
		sum := 0.0
		for _, s := range o.Segments {
			sum += s.Mean
			rows = append(rows, []string{s.Name, fmt.Sprintf("%.2f", s.Mean), fmt.Sprintf("%.2f", s.P50), directStep(o.Steps, s.Name)})
		}
		rows = append(rows, []string{"whole", fmt.Sprintf("%.2f", sum), fmt.Sprintf("%.2f", o.Turn.P50), fmt.Sprintf("%.2f", o.Direct.P50)})
		table(b, rows)
	}
}

// directStep is the direct call that corresponds to a part of a turn.
func directStep(steps []segment, name string) string {
	for _, s := range steps {
		if strings.HasPrefix(name, "local "+s.Name) || strings.HasPrefix(name, "gpu "+s.Name+" runs") {
			return fmt.Sprintf("%.2f", s.P50)
		}
	}
	return ""
}

func (r *results) retrievalTable(b *strings.Builder) {
	if len(r.Retrieval) == 0 {
		return
	}
	b.WriteString("\n### Coarse retrieval\n\nWords and vectors (384 dimensions) fused, K = 5 (ten candidates). Warm: the user's index is in the worker's memory and is checked against the database; cold: it is loaded first. Recall is against a full sort in float64 over unrounded vectors.\n\n")
	rows := [][]string{{"items", "rows of others", "warm P50/P95 ms", "of it database", "three queries", "cold P50/P95 ms", "recall@10", "target"}}
	for _, m := range r.Retrieval {
		target := ""
		if m.Items == fullMemory {
			target = reached(m.Warm.P50 <= targetRetrieval && m.Recall >= targetRecall, "≤ %.0f ms P50, recall ≥ .99", targetRetrieval)
		}
		rows = append(rows, []string{
			fmt.Sprint(m.Items), fmt.Sprint(m.Others), pair(m.Warm), pair(m.Database), pair(m.Three), pair(m.Cold), fmt.Sprintf("%.4f", m.Recall), target,
		})
	}
	table(b, rows)
}

func (r *results) throughputTable(b *strings.Builder) {
	if len(r.Throughput) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### Throughput\n\nEach user has 10,000 items and sends the next turn when the last one is over; client, worker, Temporal and Postgres share the machine. A full turn retrieves, answers and writes, and is over when its receipt is there. Over the gpu queue, a recall makes two remote calls (plan, select), a full turn four (plan, select, write; answer on its own queue). %d gpu slots.\n\n", gpuSlots)
	rows := [][]string{{"turn", "plan and select by", "users", "a second", "reply P50/P95 ms", "whole P50/P95 ms", "CPU ms a turn: worker + Temporal + Postgres + client", "cores of others", "saturated first", "target"}}
	for _, t := range r.Throughput {
		target := ""
		if t.Target > 0 {
			target = reached(t.Rate >= t.Target, "≥ %.0f/s", t.Target) + "; " + reached(t.Reply.P95 < targetP95, "P95 < %.0f ms", targetP95)
		}
		whole := ""
		if t.Whole != t.Reply {
			whole = pair(t.Whole)
		}
		rate := fmt.Sprintf("%.1f", t.Rate)
		if t.Failed+t.Degraded > 0 {
			rate += fmt.Sprintf(" (%d failed, %d degraded)", t.Failed, t.Degraded)
		}
		rows = append(rows, []string{
			t.Turn, t.Served, fmt.Sprint(t.Users), rate, pair(t.Reply), whole,
			fmt.Sprintf("%.1f + %.1f + %.1f + %.1f = %.1f", t.PerTurn.Worker, t.PerTurn.Temporal, t.PerTurn.Postgres, t.PerTurn.Client, t.PerTurn.sum()),
			fmt.Sprintf("%.2f", t.CPU.Others), t.Saturated, target,
		})
	}
	table(b, rows)
	b.WriteString("\nOthers, measured elsewhere on 2 cores with instant models and 8 callers (not in this run):\n\n")
	table(b, [][]string{
		{"system", "operation", "a second", "P95 ms"},
		{"mem0 2.2.1 on pgvector", "search", "21", "597"},
		{"mem0 2.2.1 on pgvector", "add", "9.1", "1,361"},
		{"Hindsight 1.1.0", "recall", "13", "968"},
	})
}

// pair is "P50/P95".
func pair(s spread) string {
	if s.P50 >= 20 {
		return fmt.Sprintf("%.0f/%.0f", s.P50, s.P95)
	}
	return fmt.Sprintf("%.1f/%.1f", s.P50, s.P95)
}

// reached is a target and whether it was met.
func reached(ok bool, format string, target float64) string {
	text := fmt.Sprintf(format, target)
	if ok {
		return text + ": yes"
	}
	return text + ": **no**"
}

// table writes a Markdown table whose columns are aligned.
func table(b *strings.Builder, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	line := func(row []string, fill string) {
		for i, cell := range row {
			fmt.Fprintf(b, "| %s%s ", cell, strings.Repeat(fill, width[i]-len([]rune(cell))))
		}
		b.WriteString("|\n")
	}
	line(rows[0], " ")
	line(make([]string, len(width)), "-")
	for _, row := range rows[1:] {
		line(row, " ")
	}
}

// Markers between which --write puts the tables.
const (
	markBegin = "<!-- bench: begin -->"
	markEnd   = "<!-- bench: end -->"
)

// writeInto replaces what stands between the markers of a document.
func writeInto(path, text string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	replaced, err := between(string(document), text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(replaced), 0o644); err != nil { //nolint:gosec // a document is for everybody
		return fmt.Errorf("write the document: %w", err)
	}
	return nil
}

func between(document, text string) (string, error) {
	head, rest, ok := strings.Cut(document, markBegin)
	_, tail, closed := strings.Cut(rest, markEnd)
	if !ok || !closed {
		return "", fmt.Errorf("has not both markers, %s and %s", markBegin, markEnd)
	}
	return head + markBegin + "\n\n" + strings.TrimSpace(text) + "\n\n" + markEnd + tail, nil
}
