package devstack

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// reporter prints what the steps do, whole lines only, so that concurrent
// steps, pipes and CI logs stay readable.
type reporter struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
	every time.Duration // how often a long step says how far it is
}

func newReporter(out io.Writer) *reporter {
	every := 10 * time.Second
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			every = 2 * time.Second
		}
	}
	return &reporter{out: out, began: time.Now(), every: every}
}

func (r *reporter) printf(part, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(r.out, "%5.0fs  %-9s %s\n", time.Since(r.began).Seconds(), part, fmt.Sprintf(format, args...))
}

// step is one thing that takes time.
type step struct {
	reporter *reporter
	part     string
	name     string
	began    time.Time
	stop     chan struct{}
	ended    sync.WaitGroup

	mu    sync.Mutex
	state string
	done  int64
	total int64
}

// step announces a step and, while it lasts, says now and then how far it is.
func (r *reporter) step(part, format string, args ...any) *step {
	s := &step{reporter: r, part: part, name: fmt.Sprintf(format, args...), began: time.Now(), stop: make(chan struct{})}
	r.printf(part, "%s ...", s.name)
	s.ended.Go(func() {
		tick := time.NewTicker(r.every)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-tick.C:
				r.printf(part, "  … %s", s.describe())
			}
		}
	})
	return s
}

// state says in words where a step without a measure is.
func (s *step) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = fmt.Sprintf(format, args...)
}

// expect sets how many bytes a step will move in all.
func (s *step) expect(total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total = total
}

// at sets how many bytes a step has moved so far.
func (s *step) at(done int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = done
}

// Write counts bytes, so that a step can stand behind io.TeeReader.
func (s *step) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done += int64(len(p))
	return len(p), nil
}

func (s *step) describe() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	if s.total > 0 {
		words = append(words, fmt.Sprintf("%d %% of %d MB", min(100, 100*s.done/s.total), s.total/1e6))
	} else if s.done > 0 {
		words = append(words, fmt.Sprintf("%d MB", s.done/1e6))
	}
	if s.state != "" {
		words = append(words, s.state)
	}
	words = append(words, fmt.Sprintf("%.0f s", time.Since(s.began).Seconds()))
	return strings.Join(words, ", ")
}

// end closes the step and reports how it went. It is meant for defer, with the
// caller's named error.
func (s *step) end(err *error) {
	close(s.stop)
	s.ended.Wait()
	took := time.Since(s.began).Seconds()
	if *err != nil {
		// Other parts may go on for minutes: the reason is told at once.
		s.reporter.printf(s.part, "%s: FAILED after %.1f s: %v", s.name, took, *err)
		return
	}
	s.reporter.printf(s.part, "%s: done in %.1f s", s.name, took)
}
