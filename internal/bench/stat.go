package main

import (
	"math"
	"slices"
	"time"
)

// spread is how a measured time is distributed, in milliseconds.
type spread struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50_ms"`
	P95 float64 `json:"p95_ms"`
}

func spreadOf(took []time.Duration) spread {
	return spread{N: len(took), P50: ms(percentile(took, 0.5)), P95: ms(percentile(took, 0.95))}
}

// percentile is the smallest value that at least the share p of all does not
// exceed; 0 for none.
func percentile(took []time.Duration, p float64) time.Duration {
	if len(took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(took))
	at := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// ms rounds to a hundredth of a millisecond.
func ms(d time.Duration) float64 { return round(float64(d)/float64(time.Millisecond), 2) }

func round(f float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(f*scale) / scale
}
