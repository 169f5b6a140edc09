package devstack

import (
	"os"
	"os/exec"
)

// defaultParts are Postgres, Temporal, and the model server that is there
// (Ollama named or installed; another server named) or else the one that is
// quickest to get: llama.cpp's takes seconds, an Ollama from source minutes,
// and they answer equally fast.
func defaultParts() []Part {
	parts := []Part{Postgres, Temporal}
	_, notInstalled := exec.LookPath("ollama")
	switch {
	case os.Getenv("LIGHTMEM_OPENAI_BASE_URL") != "":
		return append(parts, OpenAI)
	case os.Getenv("OLLAMA_HOST") != "", notInstalled == nil:
		return append(parts, Ollama)
	default:
		return append(parts, OpenAI)
	}
}
