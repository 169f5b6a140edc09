package devstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// ollamaVersion is the release that is built where none is installed.
const ollamaVersion = "0.17.4"

// stopSignal asks a model server to end.
const stopSignal = syscall.SIGTERM

// ollamaHeaders are the Debian packages with the C++ headers that Ollama's
// sources expect from a full checkout of theirs.
var ollamaHeaders = []string{"nlohmann-json3-dev", "libstb-dev", "libminiaudio-dev"}

// ollamaBinary returns an installed ollama, or one built from source into the
// cache for this machine's processor.
func (s *site) ollamaBinary(ctx context.Context) (string, error) {
	if installed, err := exec.LookPath("ollama"); err == nil {
		return installed, nil
	}
	return s.builtOllama(ctx)
}

func (s *site) builtOllama(ctx context.Context) (string, error) {
	dir, err := s.cache.entry(ctx, ollamaKey(), func(draft string) (err error) {
		if err := s.ensureCompiler(ctx); err != nil {
			return err
		}
		step := s.report.step("ollama", "build Ollama %s from source (4 to 7 minutes on 2 cores)", ollamaVersion)
		defer step.end(&err)
		include, err := fetchHeaders(ctx, filepath.Join(draft, "headers"), step)
		if err != nil {
			return err
		}
		// For this processor and with OpenMP: about twice as fast as a
		// portable build, and its threads can wait without spinning. No
		// debug information: it is half of the compiler's work.
		flags := "-O2 -march=native -fopenmp -DGGML_USE_OPENMP"
		cmd := exec.Command("go", "install", "-v", "-ldflags=-s -w", "github.com/ollama/ollama@v"+ollamaVersion)
		cmd.Dir = draft
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1", "CGO_CPPFLAGS=-I"+include, "CGO_CFLAGS="+flags, "CGO_CXXFLAGS="+flags,
			"CGO_LDFLAGS=-fopenmp", "GOBIN="+filepath.Join(draft, "bin"), "GOWORK=off", "GOFLAGS=-buildvcs=false")
		if err := runBuild(ctx, cmd, step); err != nil {
			return err
		}
		return os.RemoveAll(filepath.Join(draft, "headers"))
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "bin", "ollama"), nil
}

// ollamaKey is the build's name in the cache; a cache that moves to another
// kind of processor holds one for each.
func ollamaKey() string {
	sum := sha256.New()
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "flags") || strings.HasPrefix(line, "Features") {
				_, _ = io.WriteString(sum, line)
				break
			}
		}
	}
	return fmt.Sprintf("ollama-%s-%s-%s", ollamaVersion, runtime.GOARCH, hex.EncodeToString(sum.Sum(nil))[:12])
}

// ensureCompiler sees to a C++ compiler, which cgo needs.
func (s *site) ensureCompiler(ctx context.Context) (err error) {
	if _, err := exec.LookPath("g++"); err == nil {
		return nil
	}
	step := s.report.step("ollama", "install the C++ compiler")
	defer step.end(&err)
	if os.Geteuid() != 0 {
		err = errors.New("g++ is not installed")
	} else {
		err = installPackages(ctx, "g++", "libc6-dev")
	}
	if err != nil {
		err = &Failure{Step: "find a C++ compiler", Err: err, Hint: "apt-get install g++, or install Ollama, or set OLLAMA_HOST"}
	}
	return err
}

// fetchHeaders unpacks the header packages into dir and returns the include
// path.
func fetchHeaders(ctx context.Context, dir string, step *step) (string, error) {
	packages, err := newAPT(ctx, filepath.Join(dir, "apt"), step)
	if err != nil {
		return "", err
	}
	if err := packages.fetchOnly(ctx, ollamaHeaders...); err != nil {
		return "", fmt.Errorf("fetch %s: %w", strings.Join(ollamaHeaders, " "), err)
	}
	archives, err := packages.archives()
	if err != nil {
		return "", err
	}
	if err := unpack(ctx, dir, archives); err != nil {
		return "", err
	}
	include := filepath.Join(dir, "usr", "include")
	// Debian ships this one header a folder higher than Ollama includes it.
	if err := os.MkdirAll(filepath.Join(include, "miniaudio"), 0o755); err != nil {
		return "", fmt.Errorf("arrange headers: %w", err)
	}
	if err := os.Symlink("../miniaudio.h", filepath.Join(include, "miniaudio", "miniaudio.h")); err != nil && !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("arrange headers: %w", err)
	}
	return include, nil
}

// ensureOllama fills in the address of an Ollama server that has both models.
func (s *site) ensureOllama(ctx context.Context, stack *Stack) error {
	host, err := s.ollamaHost(ctx)
	if err == nil {
		err = s.ensureModels(ctx, host)
	}
	if err != nil {
		return err
	}
	stack.OllamaHost, stack.ChatModel, stack.EmbedModel = host, s.opts.ChatModel, EmbedModel
	return nil
}

// ensureModels gives an Ollama server the models that it lacks.
func (s *site) ensureModels(ctx context.Context, host string) error {
	present, err := ollamaModels(ctx, host)
	if err != nil {
		return fmt.Errorf("list Ollama's models: %w", err)
	}
	chat, known := s.opts.ChatModel, weights[s.opts.ChatModel].sha256 != ""
	if !present[chat] && !known {
		return &Failure{
			Step: "find the model " + chat + " on " + host, Err: errors.New("the server does not have it"),
			Hint: "ollama pull " + chat + ", or set LIGHTMEM_MODEL to one of " + strings.Join(modelNames(), ", "),
		}
	}
	if !present[chat] {
		file, err := s.chatWeights(ctx, chat)
		if err != nil {
			return err
		}
		err = s.createModel(ctx, host, chat, file, map[string]any{
			"template":   chatML,
			"parameters": map[string]any{"stop": []string{"<|im_end|>", "<|im_start|>"}, "num_ctx": chatContext},
		})
		if err != nil {
			return err
		}
	}
	if present[EmbedModel] {
		return nil
	}
	file, err := s.embedWeights(ctx)
	if err != nil {
		return err
	}
	return s.createModel(ctx, host, EmbedModel, file, map[string]any{})
}

// OllamaFiles are what an Ollama in a container is made of where no registry
// can be reached.
type OllamaFiles struct {
	// Binary is an ollama built for this machine; it needs libgomp.
	Binary string
	// ChatModel and EmbedModel are the names of the models in Models.
	ChatModel, EmbedModel string
	// Models is a folder for OLLAMA_MODELS with both models. The stack's own
	// server uses it: copy it, and leave it as it is.
	Models string
}

// MakeOllamaFiles builds Ollama and prepares its models, whatever OLLAMA_HOST
// says. The stack's own server runs afterwards.
func MakeOllamaFiles(ctx context.Context, opts Options) (*OllamaFiles, error) {
	s, err := open(opts)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, filepath.Join(s.opts.StateDir, "locks", string(Ollama)))
	if err != nil {
		return nil, err
	}
	defer unlock()
	binary, err := s.builtOllama(ctx)
	if err != nil {
		return nil, err
	}
	host, err := s.ownOllama(ctx, binary)
	if err == nil {
		err = s.ensureModels(ctx, host)
	}
	if err != nil {
		return nil, err
	}
	return &OllamaFiles{Binary: binary, ChatModel: s.opts.ChatModel, EmbedModel: EmbedModel, Models: s.cache.path("ollama-models")}, nil
}

// ollamaHost returns the address of a server that answers: the one that
// OLLAMA_HOST names, one that runs at Ollama's usual place, or our own.
func (s *site) ollamaHost(ctx context.Context) (string, error) {
	if external := os.Getenv("OLLAMA_HOST"); external != "" {
		host := ollamaURL(external)
		if err := get(ctx, host+"/api/version", ""); err != nil {
			return "", &Failure{
				Step: "use the Ollama that OLLAMA_HOST names", Err: err,
				Hint: "start that server (ollama serve), or unset OLLAMA_HOST to get one of our own",
			}
		}
		return host, nil
	}
	if record, ok := newProcess(s.opts.StateDir, "ollama").running(); ok {
		return "http://" + hostPort(record.Port), nil
	}
	usual := "http://" + hostPort(ollamaPort)
	if _, err := exec.LookPath("ollama"); err == nil && get(ctx, usual+"/api/version", "") == nil {
		return usual, nil
	}
	binary, err := s.ollamaBinary(ctx)
	if err != nil {
		return "", err
	}
	return s.ownOllama(ctx, binary)
}

// ownOllama returns the address of the stack's own server.
func (s *site) ownOllama(ctx context.Context, binary string) (string, error) {
	own := newProcess(s.opts.StateDir, "ollama")
	if record, ok := own.running(); ok {
		return "http://" + hostPort(record.Port), nil
	}
	port, err := s.choosePort(ctx, "ollama", ollamaPort, isFree)
	if err != nil {
		return "", err
	}
	step := s.report.step("ollama", "start Ollama")
	defer step.end(&err)
	if err = s.startOllama(ctx, own, binary, port); err != nil {
		err = &Failure{
			Step: "start Ollama", Log: own.log, Err: err,
			Hint: "see the log; or set OLLAMA_HOST to an Ollama server",
		}
		return "", err
	}
	return "http://" + hostPort(port), nil
}

func (s *site) startOllama(ctx context.Context, own process, binary string, port int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	home := filepath.Join(s.opts.StateDir, "ollama")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return fmt.Errorf("make Ollama's folder: %w", err)
	}
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(append(os.Environ(), passiveWait...),
		"HOME="+home, // its keys and history; the user's own stay untouched
		"OLLAMA_HOST="+hostPort(port),
		"OLLAMA_MODELS="+s.cache.path("ollama-models"),
		"OLLAMA_KEEP_ALIVE=24h", // loading takes seconds
		"OLLAMA_MAX_LOADED_MODELS=3",
		fmt.Sprintf("OLLAMA_NUM_PARALLEL=%d", parallelRequests),
		fmt.Sprintf("OLLAMA_CONTEXT_LENGTH=%d", chatContext),
	)
	return own.start(ctx, cmd, port, ollamaVersion, func(ctx context.Context) error {
		return get(ctx, "http://"+hostPort(port)+"/api/version", "")
	})
}

// ollamaURL completes what OLLAMA_HOST may leave out.
func ollamaURL(host string) string {
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	host = strings.TrimSuffix(host, "/")
	if _, rest, _ := strings.Cut(host, "://"); !strings.Contains(rest, ":") && strings.HasPrefix(host, "http://") {
		host += ":11434"
	}
	return host
}

// ollamaModels returns the models of a server by the names that they are
// called by: "all-minilm" for "all-minilm:latest".
func ollamaModels(ctx context.Context, host string) (map[string]bool, error) {
	var answer struct {
		Models []struct{ Name string }
	}
	if err := ollamaCall(ctx, http.MethodGet, host+"/api/tags", nil, &answer); err != nil {
		return nil, err
	}
	present := map[string]bool{}
	for _, model := range answer.Models {
		present[model.Name] = true
		present[strings.TrimSuffix(model.Name, ":latest")] = true
	}
	return present, nil
}

// createModel gives a server a model from a GGUF file: the file as a blob, then
// the model that refers to it.
func (s *site) createModel(ctx context.Context, host, name, file string, settings map[string]any) (err error) {
	step := s.report.step("ollama", "give Ollama the model %s", name)
	defer step.end(&err)
	content, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open model file: %w", err)
	}
	defer content.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, content); err != nil {
		return fmt.Errorf("read model file: %w", err)
	}
	digest := "sha256:" + hex.EncodeToString(sum.Sum(nil))
	blob := host + "/api/blobs/" + digest
	if ollamaCall(ctx, http.MethodHead, blob, nil, nil) != nil {
		info, err := content.Stat()
		if err != nil {
			return fmt.Errorf("read model file: %w", err)
		}
		step.expect(info.Size())
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return fmt.Errorf("read model file: %w", err)
		}
		if err := ollamaCall(ctx, http.MethodPost, blob, io.TeeReader(content, step), nil); err != nil {
			return fmt.Errorf("upload %s to Ollama: %w", name, err)
		}
	}
	request := map[string]any{"model": name, "files": map[string]string{"model.gguf": digest}, "stream": false}
	for key, value := range settings {
		request[key] = value
	}
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("create %s in Ollama: %w", name, err)
	}
	if err := ollamaCall(ctx, http.MethodPost, host+"/api/create", bytes.NewReader(body), nil); err != nil {
		return fmt.Errorf("create %s in Ollama: %w", name, err)
	}
	return nil
}

func ollamaCall(ctx context.Context, method, address string, body io.Reader, answer any) error {
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return fmt.Errorf("ask Ollama: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask Ollama: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return fmt.Errorf("ask Ollama: %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	if answer == nil {
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	if err := json.NewDecoder(response.Body).Decode(answer); err != nil {
		return fmt.Errorf("read Ollama's answer: %w", err)
	}
	return nil
}
