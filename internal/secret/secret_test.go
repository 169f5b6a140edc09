package secret_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/secret"
	"github.com/lightmem/lightmem/memory"
)

func TestPseudonymsTellPartsApart(t *testing.T) {
	t.Parallel()
	m, err := secret.New(make([]byte, secret.MasterBytes))
	require.NoError(t, err)
	// mem0#6892: keys made by joining collide when ids hold the separator.
	require.NotEqual(t, m.Pseudonym("u", "a", "b/c"), m.Pseudonym("u", "a/b", "c"))
	require.NotEqual(t, m.Pseudonym("u", "a", "b"), m.Pseudonym("c", "a", "b"))
	require.NotEqual(t, m.User(memory.Scope{Tenant: "a", User: "x"}), m.User(memory.Scope{Tenant: "b", User: "x"}))
	require.Equal(t, m.Tenant("acme"), m.Tenant("acme"))
	require.NotContains(t, m.Tenant("acme"), "acme")
}

func TestLoadOrCreateMakesOneKeyForAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "master.key")
	names := make([]string, 16)
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() {
			m, err := secret.LoadOrCreate(path)
			if err == nil {
				names[i] = m.Tenant("acme")
			}
		})
	}
	wg.Wait()
	require.NotEmpty(t, names[0])
	for _, n := range names {
		require.Equal(t, names[0], n)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"a key that others may read": {"00", 0o644},
		"a short key":                {"00ff", 0o600},
		"no hexadecimal digits":      {"hello", 0o600},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "k")
			require.NoError(t, os.WriteFile(path, []byte(file.text), file.mode))
			_, err := secret.Load(path)
			require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
		})
	}
	_, err := secret.Load(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "make up")
}

func TestOpenMakesNoKeyWhereSomebodyNamedAFile(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	_, err := secret.Open(filepath.Join(state, "master.key"), state)
	require.NoError(t, err)
	named := filepath.Join(t.TempDir(), "mistyped.key")
	_, err = secret.Open(named, state)
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
	require.NoFileExists(t, named)
}
