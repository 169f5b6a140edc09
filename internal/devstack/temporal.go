package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// temporalServerVersion is part of the database's file name: a newer server
// does not migrate the SQLite file of an older one.
const temporalServerVersion = "1.32.1"

// temporalUIOffset is how far the port of the UI is above the frontend's.
const temporalUIOffset = 1000

// temporalBuildFlags leave out what a development server has no use for: by
// tags that its dependencies define, the clients of Kubernetes and of Google's
// xDS, a quarter of all source text and of the time to compile it.
var temporalBuildFlags = []string{"-trimpath", "-tags=release,disable_grpc_modules", "-ldflags=-s -w"}

// searchAttributes are what LightMem's workflows are found by. They are never
// encrypted: pseudonyms and counts only.
var searchAttributes = []string{
	"MemBatch=Keyword", "MemConversation=Keyword", "MemItems=Int", "MemOutcome=Keyword",
	"MemPhase=Keyword", "MemRejected=Int", "MemTenant=Keyword", "MemUser=Keyword",
}

// temporalServer is one Temporal server with its SQLite file.
type temporalServer struct {
	process  process
	binary   string
	database string
	args     []string // beyond the ports and the database
}

// temporalBinary returns the dev server: an installed `temporal`, or the one
// built from deploy/devserver into the cache, by the hash of its sources.
func (s *site) temporalBinary(ctx context.Context) (string, error) {
	if installed, err := exec.LookPath("temporal"); err == nil {
		return installed, nil
	}
	sources, err := repositoryFolder("deploy", "devserver")
	if err != nil {
		return "", err
	}
	sum, err := hashSources(sources)
	if err != nil {
		return "", err
	}
	key := fmt.Sprintf("temporal-%s-%s-%s", temporalServerVersion, runtime.GOARCH, sum[:16])
	dir, err := s.cache.entry(ctx, key, func(draft string) (err error) {
		step := s.report.step("temporal", "build the Temporal server from source (3 to 4 minutes on 2 cores)")
		defer step.end(&err)
		return goBuild(ctx, step, sources, append(slices.Clone(temporalBuildFlags), "-o", filepath.Join(draft, "temporal"), ".")...)
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "temporal"), nil
}

// goBuild runs `go build` in a folder.
func goBuild(ctx context.Context, step *step, dir string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-v"}, args...)...)
	cmd.Dir = dir
	// The repository's own workspace is not for this module.
	// Without cgo it needs no C compiler and runs in a container of any base.
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0")
	return runBuild(ctx, cmd, step)
}

// runBuild runs a Go command with -v and reports the packages as they are
// compiled.
func runBuild(ctx context.Context, cmd *exec.Cmd, step *step) error {
	output := &buildOutput{step: step}
	cmd.Stdout, cmd.Stderr = output, output
	if err := runGroup(ctx, cmd); err != nil {
		return &Failure{
			Step: "compile", Err: fmt.Errorf("%w:\n%s", err, strings.Join(output.tail(), "\n")),
			Hint: "check that Go's module proxy is reachable (go env GOPROXY) and run it again: what was compiled is kept",
		}
	}
	return nil
}

// buildOutput counts the packages that `go build -v` names, one a line, and
// keeps the last lines for a failure.
type buildOutput struct {
	step     *step
	packages int
	partial  string
	lines    []string
}

func (b *buildOutput) Write(p []byte) (int, error) {
	lines := strings.Split(b.partial+string(p), "\n")
	b.partial = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		b.lines = append(b.lines, line)
		if len(b.lines) > 30 {
			b.lines = b.lines[1:]
		}
		if strings.HasPrefix(line, "go: downloading") {
			b.step.say("downloading modules")
		} else if !strings.ContainsAny(line, " :") {
			b.packages++
			b.step.say("%d packages compiled", b.packages)
		}
	}
	return len(p), nil
}

func (b *buildOutput) tail() []string { return append(b.lines, b.partial) }

// hashSources is the hash of the Go files, go.mod and go.sum of a folder, and
// of the compiler's version.
func hashSources(dir string) (string, error) {
	sum := sha256.New()
	_, _ = io.WriteString(sum, runtime.Version()+strings.Join(temporalBuildFlags, " "))
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("find sources in %s: %w", dir, errors.Join(err, os.ErrNotExist))
	}
	for _, path := range files {
		name := filepath.Base(path)
		isSource := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if !isSource && name != "go.mod" && name != "go.sum" {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("hash sources: %w", err)
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(content))
		_, _ = sum.Write(content)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// repositoryFolder finds a folder of this repository from the working folder
// upwards: tests run in their package's folder, programs anywhere inside.
func repositoryFolder(parts ...string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module github.com/lightmem/lightmem\n") {
			return filepath.Join(append([]string{dir}, parts...)...), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", &Failure{
				Step: "find the repository", Err: os.ErrNotExist,
				Hint: "run it inside a checkout of LightMem",
			}
		}
		dir = parent
	}
}

// dynamicConfig returns the flags for the values of deploy/dynamicconfig.yaml,
// in the form that the Temporal CLI takes too. The file is kept so simple that
// its two line shapes can be read without a YAML parser.
func dynamicConfig() ([]string, error) {
	path, err := repositoryFolder("deploy", "dynamicconfig.yaml")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read dynamic configuration: %w", err)
	}
	var flags []string
	key := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n ")
		switch {
		case line == "" || strings.HasPrefix(strings.TrimSpace(line), "#"):
		case !strings.HasPrefix(line, " ") && strings.HasSuffix(line, ":"):
			key = strings.TrimSuffix(line, ":")
		case strings.HasPrefix(line, "  - value: ") && key != "":
			flags = append(flags, "--dynamic-config-value", key+"="+strings.TrimPrefix(line, "  - value: "))
			key = ""
		default:
			return nil, fmt.Errorf("read dynamic configuration: %s has a line that is neither a key nor its value: %q", path, line)
		}
	}
	return flags, nil
}

// ensureTemporal returns the addresses of the Temporal frontend and of its UI
// ("" when it is another's server).
func (s *site) ensureTemporal(ctx context.Context) (address, ui string, err error) {
	if external := os.Getenv("TEMPORAL_ADDRESS"); external != "" {
		if err := dialTCP(ctx, external); err != nil {
			return "", "", &Failure{
				Step: "use the Temporal server that TEMPORAL_ADDRESS names", Err: err,
				Hint: "start that server, or unset TEMPORAL_ADDRESS to get one of our own",
			}
		}
		return external, "", nil
	}
	shared := temporalServer{process: newProcess(s.opts.StateDir, "temporal")}
	if record, ok := shared.process.running(); ok {
		return hostPort(record.Port), "http://" + hostPort(record.Port+temporalUIOffset), nil
	}
	if shared.binary, err = s.temporalBinary(ctx); err != nil {
		return "", "", err
	}
	shared.database = filepath.Join(s.opts.StateDir, "temporal", "temporal-"+temporalServerVersion+".db")
	// The UI is 1000 above the frontend, as with the Temporal CLI.
	port, err := s.choosePort(ctx, "temporal", temporalPort, func(port int) bool {
		return port+temporalUIOffset < 1<<16 && isFree(port) && isFree(port+temporalUIOffset)
	})
	if err != nil {
		return "", "", err
	}
	uiPort := port + temporalUIOffset
	shared.args = []string{"--ui-port", strconv.Itoa(uiPort)}
	if codec := os.Getenv("LIGHTMEM_CODEC_ENDPOINT"); codec != "" {
		shared.args = append(shared.args, "--ui-codec-endpoint", codec)
	}
	step := s.report.step("temporal", "start the Temporal server and its UI")
	defer step.end(&err)
	if err := shared.start(ctx, port); err != nil {
		return "", "", &Failure{
			Step: "start Temporal", Log: shared.process.log, Err: err,
			Hint: "see the log; `down` and `up` again, or set TEMPORAL_ADDRESS to a Temporal server",
		}
	}
	return hostPort(port), "http://" + hostPort(uiPort), nil
}

// start starts the server and returns when it serves the default namespace.
func (t temporalServer) start(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	args := []string{
		"server", "start-dev", "--ip", localhost, "--port", strconv.Itoa(port), "--namespace", "default",
		"--db-filename", t.database, "--log-level", "error", "--log-format", "json",
		"--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=1",
	}
	for _, attribute := range searchAttributes {
		args = append(args, "--search-attribute", attribute)
	}
	config, err := dynamicConfig()
	if err != nil {
		return err
	}
	args = slices.Concat(args, config, t.args)
	cmd := exec.Command(t.binary, args...)
	// Its folder tells whose process it is, should the record be lost.
	if err := inFolder(cmd, filepath.Dir(t.database)); err != nil {
		return err
	}
	return t.process.start(ctx, cmd, port, filepath.Base(filepath.Dir(t.binary)), func(ctx context.Context) error {
		return temporalReady(ctx, hostPort(port))
	})
}

// dialTCP reports whether something accepts connections.
func dialTCP(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
