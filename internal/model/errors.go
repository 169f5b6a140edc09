package model

import (
	"context"
	"errors"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// isCancelled reports whether a call ended because its caller went away.
func isCancelled(err error) bool { return errors.Is(err, context.Canceled) }

// retryAfter is how long the server asked to be left alone.
func retryAfter(err error) time.Duration {
	var e *memory.Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}
