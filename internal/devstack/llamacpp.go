package devstack

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// xllamacpp is the package with llama.cpp's server, and the SHA-256 of its
// wheels for x86-64 and ARM.
const xllamacpp = `xllamacpp==2026.10.11549 \
  --hash=sha256:c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261 \
  --hash=sha256:e2a3e79e775515de4ad197e667f874070446ef9ac9cf2044bc9866bc4c72289e
`

// llamaServer is the program that serves one model with xllamacpp.
//
//go:embed llamaserver.py
var llamaServer []byte

const (
	// chatContext is how many tokens one request to the chat model may take.
	chatContext = 4096
	// embedContext is what all-MiniLM-L6-v2 was made for.
	embedContext = 512
	// parallelRequests is how many requests a model server takes at a time
	// (OLLAMA_NUM_PARALLEL for Ollama). More only share the same cores.
	parallelRequests = 2
)

// passiveWait makes the threads of a model wait without spinning: where other
// programs use the cores too, spinning threads hold up the one that they wait
// for (measured with the 1.5B model beside another busy process on 2 cores:
// 2,000 ms a token spinning, 160 ms not).
var passiveWait = []string{"OMP_WAIT_POLICY=passive", "GOMP_SPINCOUNT=0"}

// llamaRuntime returns a Python and the folder with xllamacpp in it.
func (s *site) llamaRuntime(ctx context.Context) (python, packages string, err error) {
	if python, err = s.pythonEnv(ctx); err != nil {
		return "", "", err
	}
	version, _, _ := strings.Cut(xllamacpp, " ")
	key := strings.ReplaceAll(version, "==", "-") + "-" + filepath.Base(filepath.Dir(filepath.Dir(python)))
	packages, err = s.cache.entry(ctx, key, func(draft string) (err error) {
		step := s.report.step("models", "fetch llama.cpp's server (34 MB)")
		defer step.end(&err)
		wanted := filepath.Join(draft, "requirements.txt")
		if err := os.WriteFile(wanted, []byte(xllamacpp), 0o644); err != nil {
			return fmt.Errorf("write requirements: %w", err)
		}
		return pip(ctx, python, draft, step, "install", "--no-deps", "--require-hashes", "--target", draft, "--requirement", wanted)
	})
	if err == nil {
		err = s.ensureLoadable(ctx, python, packages)
	}
	return python, packages, err
}

// ensureLoadable sees to the shared libraries that xllamacpp is linked with and
// that a bare Debian lacks.
func (s *site) ensureLoadable(ctx context.Context, python, packages string) error {
	load := func() error {
		cmd := exec.Command(python, "-c", "import xllamacpp")
		cmd.Env = append(os.Environ(), "PYTHONPATH="+packages)
		return runQuietly(ctx, cmd)
	}
	err := load()
	if err != nil && os.Geteuid() == 0 {
		step := s.report.step("models", "install the libraries that llama.cpp needs")
		err = installPackages(ctx, "libgomp1", "libstdc++6")
		step.end(&err)
		if err == nil {
			err = load()
		}
	}
	if err != nil {
		return &Failure{
			Step: "load llama.cpp", Err: err,
			Hint: "apt-get install libgomp1 libstdc++6, or name a model server (OLLAMA_HOST, LIGHTMEM_OPENAI_BASE_URL)",
		}
	}
	return nil
}

// llamaModel is one model served by a process of its own.
type llamaModel struct {
	process  process
	alias    string
	file     string
	context  int
	parallel int
	embed    bool
}

// ensureOpenAI fills in the addresses of an OpenAI-compatible server for chat
// and one for embeddings.
func (s *site) ensureOpenAI(ctx context.Context, stack *Stack) error {
	if external := os.Getenv("LIGHTMEM_OPENAI_BASE_URL"); external != "" {
		if err := get(ctx, strings.TrimSuffix(external, "/")+"/models", os.Getenv("OPENAI_API_KEY")); err != nil {
			return &Failure{
				Step: "use the server that LIGHTMEM_OPENAI_BASE_URL names", Err: err,
				Hint: "start that server, or unset LIGHTMEM_OPENAI_BASE_URL to get one of our own",
			}
		}
		stack.OpenAIBaseURL, stack.OpenAIEmbedBaseURL = external, firstSet("LIGHTMEM_OPENAI_EMBED_BASE_URL", external)
		stack.ChatModel, stack.EmbedModel = firstSet("LIGHTMEM_CHAT_MODEL", s.opts.ChatModel), firstSet("LIGHTMEM_EMBED_MODEL", EmbedModel)
		return nil
	}
	chat, err := s.ensureLlama(ctx, llamaModel{
		process: newProcess(s.opts.StateDir, "openai-chat"), alias: s.opts.ChatModel,
		context: chatContext, parallel: parallelRequests,
	}, chatPort, func() (string, error) { return s.chatWeights(ctx, s.opts.ChatModel) })
	if err != nil {
		return err
	}
	embed, err := s.ensureLlama(ctx, llamaModel{
		process: newProcess(s.opts.StateDir, "openai-embed"), alias: EmbedModel,
		context: embedContext, parallel: 4, embed: true,
	}, embeddingPort, func() (string, error) { return s.embedWeights(ctx) })
	if err != nil {
		return err
	}
	stack.OpenAIBaseURL, stack.OpenAIEmbedBaseURL = chat, embed
	stack.ChatModel, stack.EmbedModel = s.opts.ChatModel, EmbedModel
	return nil
}

func firstSet(variable, otherwise string) string {
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}

// ensureLlama returns the base address of a model's server.
func (s *site) ensureLlama(ctx context.Context, model llamaModel, preferredPort int, weights func() (string, error)) (string, error) {
	if record, ok := model.process.running(); ok {
		if record.Version == model.alias {
			return "http://" + hostPort(record.Port) + "/v1", nil
		}
		// Another model was asked for before.
		if _, err := model.process.stop(ctx, stopSignal, 5*time.Second); err != nil {
			return "", err
		}
	}
	file, err := weights()
	if err != nil {
		return "", err
	}
	model.file = file
	python, packages, err := s.llamaRuntime(ctx)
	if err != nil {
		return "", err
	}
	port, err := s.choosePort(ctx, model.process.name, preferredPort, isFree)
	if err != nil {
		return "", err
	}
	program := filepath.Join(s.opts.StateDir, "run", "llamaserver.py")
	if err := writeFile(program, llamaServer, 0o644); err != nil {
		return "", err
	}
	step := s.report.step("models", "start llama.cpp with %s", model.alias)
	defer step.end(&err)
	if err = model.start(ctx, python, packages, program, port); err != nil {
		err = &Failure{
			Step: "start llama.cpp with " + model.alias, Log: model.process.log, Err: err,
			Hint: "see the log; or set LIGHTMEM_OPENAI_BASE_URL or OLLAMA_HOST to a model server",
		}
		return "", err
	}
	return "http://" + hostPort(port) + "/v1", nil
}

func (m llamaModel) start(ctx context.Context, python, packages, program string, port int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	args := []string{
		program, "--model", m.file, "--alias", m.alias, "--port", strconv.Itoa(port),
		"--context", strconv.Itoa(m.context), "--parallel", strconv.Itoa(m.parallel),
	}
	if m.embed {
		args = append(args, "--embedding")
	}
	cmd := exec.Command(python, args...)
	cmd.Env = append(append(os.Environ(), "PYTHONPATH="+packages), passiveWait...)
	return m.process.start(ctx, cmd, port, m.alias, func(ctx context.Context) error {
		return get(ctx, "http://"+hostPort(port)+"/health", "")
	})
}

// get reports whether an address answers with 200.
func get(ctx context.Context, address, key string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", address, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s: %s", address, response.Status)
	}
	return nil
}
