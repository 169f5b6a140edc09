// Bench measures LightMem on the real parts: what orchestration costs over
// calling the same stages directly, how fast and how exact coarse retrieval
// is, and how many turns go through. Models are instant (package scripted), so
// that everything but a model is measured.
//
//	go run ./internal/bench [--quick] [--json] [--write] [--only SECTION,…]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

// The sections of a run.
const (
	sectionOrchestration = "orchestration"
	sectionRetrieval     = "retrieval"
	sectionThroughput    = "throughput"
)

// options are a run's flags and what follows from them.
type options struct {
	json  bool
	write bool
	doc   string
	quick bool
	only  []string
	// worker is the program to measure; empty builds it.
	worker string
	size   size
}

// size is how much is measured.
type size struct {
	// users have a full memory each: fullMemory items.
	users int
	// pairs is how many turns of each kind are timed against the direct calls.
	pairs int
	// queries is how many warm retrievals are timed for each number of items,
	// loads how many cold ones, judged how many are compared with a full sort.
	queries, loads, judged int
	// concurrent are the numbers of users at once, window how long each of
	// them is measured.
	concurrent []int
	window     time.Duration
}

// A whole run takes less than ten minutes on two cores, a quick one less than
// two.
var (
	wholeSize = size{users: 64, pairs: 150, queries: 300, loads: 9, judged: 25, concurrent: []int{1, 8, 64}, window: 12 * time.Second}
	quickSize = size{users: 10, pairs: 25, queries: 60, loads: 3, judged: 5, concurrent: []int{1, 8}, window: 3 * time.Second}
)

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.json, "json", false, "print the results as JSON instead of tables")
	flags.BoolVar(&o.write, "write", false, "write the tables into the document, between its markers")
	flags.StringVar(&o.doc, "doc", "docs/performance.md", "the document that --write changes")
	flags.BoolVar(&o.quick, "quick", false, "measure less of everything: under two minutes, and 100,000 rows instead of 650,000")
	flags.StringVar(&only, "only", "", "sections to measure, of orchestration, retrieval, throughput; comma-separated (default: all)")
	flags.StringVar(&o.worker, "worker", "", "path of the lightmem-worker to measure (default: build it)")
	window := flags.Duration("window", 0, "how long each number of concurrent users is measured (default: 12s, quick 3s)")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.size = wholeSize
	if o.quick {
		o.size = quickSize
	}
	if *window > 0 {
		o.size.window = *window
	}
	o.only = []string{sectionOrchestration, sectionRetrieval, sectionThroughput}
	if only != "" {
		for _, section := range strings.Split(only, ",") {
			if !slices.Contains(o.only, section) {
				return options{}, fmt.Errorf("--only: there is no section %q", section)
			}
		}
		o.only = strings.Split(only, ",")
	}
	return o, nil
}

// run is the program: set up, measure, print.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	began := time.Now()
	say := func(format string, a ...any) {
		fmt.Fprintf(stderr, "bench %5.1f s  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, a...))
	}
	in, err := install(ctx, o, say)
	if err != nil {
		return err
	}
	defer in.close()
	r := &results{Quick: o.quick, Started: began.UTC().Truncate(time.Second)}
	if r.Machine, err = describeMachine(ctx, in); err != nil {
		return err
	}
	if r.Machine.Load > 1 {
		say("WARNING: the load average is %.1f: somebody else uses this machine; absolute figures will be too slow", r.Machine.Load)
	}
	if slices.Contains(o.only, sectionOrchestration) {
		say("orchestration: %d turns of each kind against direct calls", o.size.pairs)
		if r.Orchestration, err = in.measureOrchestration(ctx, o.size.pairs); err != nil {
			return err
		}
	}
	if slices.Contains(o.only, sectionRetrieval) {
		say("retrieval: %d warm and %d cold for each number of items", o.size.queries, o.size.loads)
		if r.Retrieval, err = in.measureRetrieval(ctx, o.size); err != nil {
			return err
		}
	}
	if slices.Contains(o.only, sectionThroughput) {
		if r.Throughput, err = in.measureThroughput(ctx, o.size, say); err != nil {
			return err
		}
	}
	r.LoadAtEnd = loadAverage()
	say("done")
	if o.write {
		if err := writeInto(o.doc, r.markdown()); err != nil {
			return err
		}
		say("wrote %s", o.doc)
	}
	if o.json {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	_, err = io.WriteString(stdout, r.markdown())
	return err
}
