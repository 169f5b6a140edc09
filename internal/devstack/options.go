package devstack

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Part is one of the servers of the stack.
type Part string

// The parts. Postgres, Temporal and OpenAI are what a first run needs; Ollama
// takes minutes to build where none is installed and is started by tests, by
// `up ollama`, or when it is already there.
const (
	Postgres Part = "postgres"
	Temporal Part = "temporal"
	// OpenAI is llama.cpp's own server, two processes: one for chat and one
	// for embeddings.
	OpenAI Part = "openai"
	Ollama Part = "ollama"
	// Worker is LightMem's own; EnsureWorker starts it.
	Worker Part = "worker"
)

// Options says what to ensure and where. The zero value is the shared stack of
// this user with every part that a first run needs.
type Options struct {
	// CacheDir is the folder of what is fetched and built. Empty:
	// $LIGHTMEM_CACHE, else $XDG_CACHE_HOME/lightmem, else ~/.cache/lightmem.
	CacheDir string
	// ChatModel is the small model to serve, a key of Weights. Empty:
	// $LIGHTMEM_MODEL, else ModelDefault.
	ChatModel string
	// Parts to ensure. Empty: Postgres, Temporal, and the model server that
	// is there or quickest to get.
	Parts []Part
	// Progress receives one line for each thing that starts, goes on for
	// long, or ends. Nil: no progress.
	Progress io.Writer
	// StateDir is the folder of one stack's data, logs and process records.
	// Empty: $LIGHTMEM_STATE, else $XDG_STATE_HOME/lightmem, else
	// ~/.local/state/lightmem.
	StateDir string
}

// CacheDir returns the folder of what is fetched and built, made where it is
// missing.
func CacheDir() (string, error) {
	opts, err := Options{}.withDefaults()
	return opts.CacheDir, err
}

// withDefaults fills in what is empty and makes the folders.
func (o Options) withDefaults() (Options, error) {
	home, err := os.UserHomeDir()
	if err != nil && o.CacheDir == "" && os.Getenv("LIGHTMEM_CACHE") == "" {
		return o, fmt.Errorf("find the home folder (or set LIGHTMEM_CACHE and LIGHTMEM_STATE): %w", err)
	}
	o.CacheDir = cmp.Or(o.CacheDir, os.Getenv("LIGHTMEM_CACHE"), below(os.Getenv("XDG_CACHE_HOME"), "lightmem"), filepath.Join(home, ".cache", "lightmem"))
	o.StateDir = cmp.Or(o.StateDir, os.Getenv("LIGHTMEM_STATE"), below(os.Getenv("XDG_STATE_HOME"), "lightmem"), filepath.Join(home, ".local", "state", "lightmem"))
	o.ChatModel = cmp.Or(o.ChatModel, os.Getenv("LIGHTMEM_MODEL"), ModelDefault)
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	for _, dir := range []*string{&o.CacheDir, &o.StateDir} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return o, fmt.Errorf("resolve folder: %w", err)
		}
		if err := os.MkdirAll(*dir, 0o755); err != nil {
			return o, fmt.Errorf("make folder: %w", err)
		}
	}
	return o, nil
}

func below(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}
