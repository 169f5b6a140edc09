package model

import (
	"cmp"
	"sync"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// Defaults of BreakerConfig.
const (
	BreakerFailuresDefault = 3
	BreakerPauseDefault    = 5 * time.Second
	BreakerPauseMaxDefault = time.Minute
)

// BreakerConfig says when a model server is left alone.
type BreakerConfig struct {
	// Failures is how many calls must fail one after another. Defaults to
	// BreakerFailuresDefault; negative switches the breaker off.
	Failures int
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
	// Pause is how long the server is left alone the first time; each time that
	// the probe fails, the pause doubles. Defaults to BreakerPauseDefault.
	Pause time.Duration
	// PauseMax bounds the pause. Defaults to BreakerPauseMaxDefault.
	PauseMax time.Duration
}

// breaker keeps a dead model server from costing each turn a timeout. It is
// closed while calls succeed. After so many failures in a row it opens: calls
// fail at once with CodeUnavailable, and the caller's rule takes over. When the
// pause is over, one call, the probe, is let through (half-open) while others
// still fail: its success closes the breaker, its failure opens it for twice
// as long. A server that names a time to wait (Retry-After) is left alone for
// that time, up to the longest pause.
//
// Only failures of the server count (unavailable, transient). What it refuses,
// or answers badly, it answers.
type breaker struct {
	config BreakerConfig
	name   string

	mu       sync.Mutex
	failures int           // in a row
	pause    time.Duration // the current or next pause
	until    time.Time     // when the pause ends; zero: closed
	probing  bool
}

func newBreaker(name string, c BreakerConfig) *breaker {
	c.Failures = cmp.Or(c.Failures, BreakerFailuresDefault)
	c.Pause = cmp.Or(c.Pause, BreakerPauseDefault)
	c.PauseMax = max(c.Pause, cmp.Or(c.PauseMax, BreakerPauseMaxDefault))
	if c.Now == nil {
		c.Now = time.Now
	}
	return &breaker{config: c, name: name, pause: c.Pause}
}

// do runs call unless the breaker is open.
func (b *breaker) do(call func() error) error {
	probe, err := b.enter()
	if err != nil {
		return err
	}
	finished := false
	defer func() {
		if !finished { // the call panicked: free the probe's place
			b.leave(probe, memory.Errorf(memory.CodeInternal, "the call panicked"))
		}
	}()
	err = call()
	finished = true
	b.leave(probe, err)
	return err
}

func (b *breaker) enter() (probe bool, err error) {
	if b.config.Failures < 0 {
		return false, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until.IsZero() {
		return false, nil
	}
	if left := b.until.Sub(b.config.Now()); left > 0 || b.probing {
		return false, &memory.Error{
			Code: memory.CodeUnavailable, RetryAfter: max(0, left),
			Message: b.name + " is left alone for a while after repeated failures",
		}
	}
	b.probing = true
	return true, nil
}

func (b *breaker) leave(probe bool, err error) {
	if b.config.Failures < 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if probe {
		b.probing = false
	}
	switch code := memory.CodeOf(err); {
	case isCancelled(err):
		// The caller went away: it says nothing about the server
		// (hindsight#2185). A cancelled probe leaves the place to another.
	case code == memory.CodeUnavailable || code == memory.CodeTransient:
		if !b.until.IsZero() && !probe {
			return // a late failure of a call from before the opening
		}
		b.failures++
		if probe || b.failures >= b.config.Failures {
			b.until = b.config.Now().Add(min(max(b.pause, retryAfter(err)), b.config.PauseMax))
			b.pause = min(2*b.pause, b.config.PauseMax)
		}
	default:
		if !b.until.IsZero() && !probe {
			return // a late success proves less than the failures after it
		}
		b.failures, b.pause, b.until = 0, b.config.Pause, time.Time{}
	}
}
