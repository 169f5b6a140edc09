package model

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func TestBreaker(t *testing.T) {
	t.Parallel()
	down := memory.Errorf(memory.CodeUnavailable, "down")
	type bundle struct {
		*breaker
		clock *clock
		calls int
	}
	setup := func(t *testing.T) (*bundle, func(err error) error) {
		t.Helper()
		c := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		b := &bundle{breaker: newBreaker("m", BreakerConfig{Now: c.Now}), clock: c}
		return b, func(err error) error {
			return b.do(func() error { b.calls++; return err })
		}
	}

	t.Run("opens after failures in a row and then costs no call", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		for range BreakerFailuresDefault {
			require.ErrorIs(t, call(down), down)
		}
		err := call(nil)
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
		require.Equal(t, BreakerPauseDefault, retryAfter(err))
		require.Equal(t, BreakerFailuresDefault, b.calls)
	})

	t.Run("a success between failures keeps it closed", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		for range 5 {
			_ = call(down)
			_ = call(down)
			require.NoError(t, call(nil))
		}
		require.Equal(t, 15, b.calls)
	})

	t.Run("what the server refuses or answers badly does not count", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		for _, code := range []memory.Code{memory.CodeRefused, memory.CodeInvalidOutput, memory.CodeTooLong} {
			for range 5 {
				_ = call(memory.Errorf(code, "no"))
			}
		}
		require.NoError(t, call(nil))
		require.Equal(t, 16, b.calls)
	})

	t.Run("hindsight#2185: a caller that goes away does not count", func(t *testing.T) {
		t.Parallel()
		_, call := setup(t)
		for range 5 {
			_ = call(memory.Wrap(memory.CodeTransient, context.Canceled, "cancelled"))
		}
		require.NoError(t, call(nil))
	})

	t.Run("after the pause one probe closes it", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		for range 3 {
			_ = call(down)
		}
		b.clock.move(BreakerPauseDefault)
		var inner error
		require.NoError(t, b.do(func() error {
			inner = call(nil) // while the probe runs, others still fail at once
			return nil
		}))
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(inner))
		require.NoError(t, call(nil))
		_ = call(down)
		_ = call(down)
		require.NoError(t, call(nil), "the count starts again")
	})

	t.Run("a failed probe doubles the pause up to the longest", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		for range 3 {
			_ = call(down)
		}
		pause := BreakerPauseDefault
		for range 8 {
			b.clock.move(pause - time.Nanosecond)
			calls := b.calls
			require.Error(t, call(nil))
			require.Equal(t, calls, b.calls, "still open just before %s", pause)
			b.clock.move(time.Nanosecond)
			require.ErrorIs(t, call(down), down)
			pause = min(2*pause, BreakerPauseMaxDefault)
		}
	})

	t.Run("Retry-After lengthens the pause", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		busy := &memory.Error{Code: memory.CodeTransient, RetryAfter: 20 * time.Second}
		for range 3 {
			_ = call(busy)
		}
		b.clock.move(19 * time.Second)
		require.Error(t, call(nil))
		b.clock.move(time.Second)
		require.NoError(t, call(nil))
	})

	t.Run("a probe that is cancelled or panics leaves its place to another", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		for range 3 {
			_ = call(down)
		}
		b.clock.move(BreakerPauseDefault)
		_ = call(context.Canceled)
		require.Panics(t, func() { _ = b.do(func() error { panic("probe") }) })
		b.clock.move(2 * BreakerPauseDefault)
		require.NoError(t, call(nil))
	})

	t.Run("late results of calls from before the opening change nothing", func(t *testing.T) {
		t.Parallel()
		b, call := setup(t)
		release, done := make(chan error), make(chan struct{})
		started := make(chan struct{})
		go func() {
			defer close(done)
			_ = b.do(func() error { close(started); return <-release })
		}()
		<-started
		for range 3 {
			_ = b.breaker.do(func() error { return down })
		}
		release <- nil
		<-done
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(call(nil)))
	})

	t.Run("negative failures switch it off", func(t *testing.T) {
		t.Parallel()
		b := newBreaker("m", BreakerConfig{Failures: -1})
		for range 10 {
			require.ErrorIs(t, b.do(func() error { return down }), down)
		}
	})

	t.Run("concurrent calls", func(t *testing.T) {
		t.Parallel()
		b := newBreaker("m", BreakerConfig{})
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				_ = b.do(func() error {
					if i%2 == 0 {
						return down
					}
					return errors.New("other")
				})
			})
		}
		wg.Wait()
	})
}
