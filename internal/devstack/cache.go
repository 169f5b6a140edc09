package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// cache is the folder of what is fetched and built. An entry is a folder that
// is renamed into place when it is whole, so that whatever has its final name
// can be used: a process killed in the middle leaves only a draft, which the
// next one removes.
type cache struct {
	dir string
}

// entry returns the folder of key, made by fill where it is missing. fill gets
// an empty draft folder. Of several processes one fills, the others wait.
func (c cache) entry(ctx context.Context, key string, fill func(draft string) error) (string, error) {
	final := c.path(key)
	if isDir(final) {
		return final, nil
	}
	unlock, err := lock(ctx, filepath.Join(c.dir, "locks", key))
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(final) {
		return final, nil
	}
	draft := filepath.Join(c.dir, "drafts", key)
	if err := os.RemoveAll(draft); err != nil {
		return "", fmt.Errorf("remove unfinished %s: %w", key, err)
	}
	if err := os.MkdirAll(draft, 0o755); err != nil {
		return "", fmt.Errorf("make draft of %s: %w", key, err)
	}
	if err := fill(draft); err != nil {
		// The draft is kept no longer than a look at it may help: the next
		// attempt starts from nothing.
		return "", err
	}
	if err := os.Rename(draft, final); err != nil {
		return "", fmt.Errorf("keep %s: %w", key, err)
	}
	return final, nil
}

// path is where the entry of key is, once it is there.
func (c cache) path(key string) string { return filepath.Join(c.dir, key) }

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writeFile writes a file by rename, so that a reader sees the old or the new
// content and never a part.
func writeFile(path string, content []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, writeErr := draft.Write(content)
	err = errors.Join(writeErr, draft.Chmod(mode), draft.Close())
	if err == nil {
		err = os.Rename(draft.Name(), path)
	}
	if err != nil {
		_ = os.Remove(draft.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
