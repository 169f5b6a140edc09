package e2e

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/readme"
)

// What README.md shows is what its commands print; -update writes what they
// print into it.
func TestReadme(t *testing.T) {
	t.Parallel()
	const path = "../../README.md"
	document, err := os.ReadFile(path)
	require.NoError(t, err)
	s := newSystem(t, parts{})
	s.worker()
	fresh, err := readme.Play(string(document), func(words []string) string {
		stdout, stderr, code := s.lightmem("", words[1:]...)
		require.Zero(t, code, "%q: %s", words, stderr)
		return stdout
	})
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(fresh), 0o644))
		return
	}
	require.NoError(t, err)
}
