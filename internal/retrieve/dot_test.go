package retrieve

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDotAgreesWithTheSumInDoublePrecision(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{0, 1, 7, 8, 31, 32, 33, 64, 100, 383, 384, 768, 1024} {
		a, b := make([]float32, n), make([]float32, n+3) // b may be longer
		for i := range a {
			a[i] = float32(r.NormFloat64())
		}
		for i := range b {
			b[i] = float32(r.NormFloat64())
		}
		var want float64
		for i := range a {
			want += float64(a[i]) * float64(b[i])
		}
		require.InDelta(t, want, dot(a, b), 1e-3, "%d floats", n)
		require.InDelta(t, want, dotPlain(a, b[:n]), 1e-3, "%d floats", n)
	}
}

func BenchmarkDot(b *testing.B) {
	const items, dim = 10_000, 384
	vectors, query := make([]float32, items*dim), make([]float32, dim)
	for i := range vectors {
		vectors[i] = float32(i % 7)
	}
	for _, f := range []struct {
		name string
		dot  func(a, b []float32) float32
	}{{"dot", dot}, {"plain", dotPlain}} {
		b.Run(f.name, func(b *testing.B) {
			for b.Loop() {
				for i := range items {
					f.dot(query, vectors[i*dim:(i+1)*dim])
				}
			}
		})
	}
}
