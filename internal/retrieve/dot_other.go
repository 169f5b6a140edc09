//go:build !amd64

package retrieve

// dot returns the inner product of two vectors of one length.
func dot(a, b []float32) float32 { return dotPlain(a, b) }
