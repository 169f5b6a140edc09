package devstack

import (
	"os"
	"os/exec"
)

// defaultParts are Postgres, Temporal, and the model server that is there
// (Ollama named, installed or built before; another server named) or else the
// one that is quickest to get.
func (s *site) defaultParts() []Part {
	parts := []Part{Postgres, Temporal}
	_, notInstalled := exec.LookPath("ollama")
	switch {
	case os.Getenv("LIGHTMEM_OPENAI_BASE_URL") != "":
		return append(parts, OpenAI)
	case os.Getenv("OLLAMA_HOST") != "", notInstalled == nil, isDir(s.cache.path(ollamaKey())):
		return append(parts, Ollama)
	default:
		return append(parts, OpenAI)
	}
}
