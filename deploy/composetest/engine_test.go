package composetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/devstack"
)

// engine brings the compose file up: by Docker where an engine runs, by podman
// elsewhere. With podman no registry is needed: the base images are made from
// Debian's packages, from this machine's Go, and from an Ollama built here.
type engine struct {
	t       *testing.T
	root    string   // of the repository
	env     []string // beyond the machine's own
	compose []string // the command, up to the subcommand
	podman  bool
	project string
}

// podmanPackages are what a bare Debian needs for podman and its compose.
var podmanPackages = []string{
	"podman", "runc", "podman-compose", "netavark", "aardvark-dns", "golang-github-containernetworking-plugin-dnsname",
	"iptables", "debootstrap",
}

const (
	debianImage = "docker.io/library/debian:trixie-slim"
	golangImage = "docker.io/library/golang:1.26-trixie"
	ollamaImage = "docker.io/ollama/ollama:0.17.4"
)

// newEngine returns an engine with all images built.
func newEngine(t *testing.T, env ...string) *engine {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	e := &engine{t: t, root: root, env: env, project: fmt.Sprintf("lmtest%d", os.Getpid())}
	if exec.CommandContext(t.Context(), "docker", "compose", "version").Run() == nil &&
		exec.CommandContext(t.Context(), "docker", "info").Run() == nil {
		e.compose = []string{"docker", "compose", "--project-name", e.project, "--file", "docker-compose.yml"}
		e.run(e.compose[0], append(e.compose[1:], "build")...)
		return e
	}
	e.podman = true
	e.compose = []string{"podman-compose", "--project-name", e.project, "--file", "docker-compose.yml"}
	e.preparePodman()
	return e
}

// preparePodman installs podman where it is missing, makes the base images, and
// builds ours. Images live in a store of their own in the cache: the stand-ins
// must not be taken for the real ones elsewhere.
func (e *engine) preparePodman() {
	e.t.Helper()
	cache := cacheDir(e.t)
	unlock := lockFile(e.t, filepath.Join(cache, "podman.lock"))
	defer unlock()
	if e.missing("podman", "podman-compose", "runc", "debootstrap", "iptables") {
		e.env = append(e.env, "DEBIAN_FRONTEND=noninteractive")
		e.run("apt-get", "--quiet=2", "update")
		e.run("apt-get", append([]string{"--quiet=2", "install", "--yes", "--no-install-recommends"}, podmanPackages...)...)
	}
	here, err := os.Getwd()
	require.NoError(e.t, err)
	storage := filepath.Join(cache, "storage.conf")
	require.NoError(e.t, os.WriteFile(storage, fmt.Appendf(nil,
		"[storage]\ndriver = \"overlay\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(cache, "graph"), filepath.Join(cache, "run")), 0o644))
	e.env = append(e.env, "CONTAINERS_CONF="+filepath.Join(here, "containers.conf"), "CONTAINERS_STORAGE_CONF="+storage)

	if !e.hasImage(debianImage) {
		e.makeDebian(cache)
	}
	if !e.hasImage(golangImage) {
		goroot := strings.TrimSpace(e.output("go", "env", "GOROOT"))
		e.makeImage(golangImage, "FROM "+debianImage+"\nCOPY go /usr/local/go\nENV PATH=/usr/local/go/bin:/usr/bin:/bin GOPATH=/go\n",
			map[string]string{"go": goroot})
	}
	if !e.hasImage(ollamaImage) {
		files := e.ollamaFiles()
		libgomp := strings.TrimSpace(e.output("gcc", "-print-file-name=libgomp.so.1"))
		e.makeImage(ollamaImage, "FROM "+debianImage+"\nCOPY ollama /usr/bin/ollama\nCOPY libgomp.so.1 /usr/lib/libgomp.so.1\n"+
			"ENTRYPOINT [\"/usr/bin/ollama\"]\nCMD [\"serve\"]\n",
			map[string]string{"ollama": files.Binary, "libgomp.so.1": libgomp})
	}
	// The machine's own Go caches: what is compiled once is not again.
	caches := []string{
		"--volume", strings.TrimSpace(e.output("go", "env", "GOMODCACHE")) + ":/go/pkg/mod",
		"--volume", strings.TrimSpace(e.output("go", "env", "GOCACHE")) + ":/root/.cache/go-build",
		"--build-arg", "GOPROXY=" + strings.TrimSpace(e.output("go", "env", "GOPROXY")),
	}
	for image, file := range map[string]string{
		"localhost/lightmem-postgres": "postgres", "localhost/lightmem-temporal": "temporal", "localhost/lightmem": "lightmem",
	} {
		e.run("podman", append([]string{
			"build", "--isolation", "chroot", "--quiet", "--tag", image, "--file", "deploy/images/" + file + ".Dockerfile",
		}, append(caches, ".")...)...)
	}
}

// makeDebian makes the base image from the packages of the mirror that this
// machine's apt uses.
func (e *engine) makeDebian(cache string) {
	e.t.Helper()
	mirror, err := devstack.DebianMirror(e.t.Context())
	require.NoError(e.t, err)
	tree := filepath.Join(cache, "trixie")
	require.NoError(e.t, os.RemoveAll(tree))
	e.run("debootstrap", "--variant=minbase", "trixie", tree, mirror)
	archive := tree + ".tar"
	e.run("tar", "--create", "--file", archive, "--directory", tree, ".")
	e.run("podman", "import", "--quiet", archive, debianImage)
	require.NoError(e.t, os.Remove(archive))
	require.NoError(e.t, os.RemoveAll(tree))
}

// makeImage builds an image from a Dockerfile and files by their names in it.
func (e *engine) makeImage(name, dockerfile string, files map[string]string) {
	e.t.Helper()
	folder := e.t.TempDir()
	require.NoError(e.t, os.WriteFile(filepath.Join(folder, "Dockerfile"), []byte(dockerfile), 0o644))
	for file, source := range files {
		e.run("cp", "--archive", "--dereference", source, filepath.Join(folder, file))
	}
	e.run("podman", "build", "--isolation", "chroot", "--quiet", "--tag", name, folder)
}

func (e *engine) ollamaFiles() *devstack.OllamaFiles {
	e.t.Helper()
	files, err := devstack.MakeOllamaFiles(e.t.Context(), devstack.Options{Progress: e.t.Output()})
	require.NoError(e.t, err)
	return files
}

// up starts all services; they are taken down, with their volumes, when the
// test ends.
func (e *engine) up() {
	e.t.Helper()
	args := append(e.compose[1:], "up", "--detach")
	if e.podman {
		args = append(args, "--no-build")
	}
	e.t.Cleanup(func() {
		if e.t.Failed() {
			e.tellLogs()
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.t.Context()), 3*time.Minute)
		defer cancel()
		if err := e.start(ctx, e.compose[0], append(e.compose[1:], "down", "--volumes")...); err != nil {
			e.t.Errorf("take the services down: %v", err)
		}
	})
	e.run(e.compose[0], args...)
}

// tellLogs shows the end of each service's log.
func (e *engine) tellLogs() {
	for _, service := range []string{"postgres", "temporal", "ollama", "models", "migrate", "worker", "gateway"} {
		fmt.Fprintln(e.t.Output(), "--- "+service)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(e.t.Context()), 20*time.Second)
		if e.podman {
			_ = e.start(ctx, "podman", "logs", "--tail", "20", e.project+"_"+service+"_1")
		} else {
			_ = e.start(ctx, e.compose[0], append(e.compose[1:], "logs", "--tail", "20", service)...)
		}
		cancel()
	}
}

// kill ends a service's container by SIGKILL and starts it again.
func (e *engine) kill(service string) {
	e.t.Helper()
	if e.podman {
		container := e.project + "_" + service + "_1"
		e.run("podman", "kill", "--signal", "KILL", container)
		e.run("podman", "start", container)
		return
	}
	e.run(e.compose[0], append(e.compose[1:], "kill", "--signal", "KILL", service)...)
	e.run(e.compose[0], append(e.compose[1:], "start", service)...)
}

func (e *engine) missing(programs ...string) bool {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return true
		}
	}
	return false
}

func (e *engine) hasImage(name string) bool {
	return e.start(e.t.Context(), "podman", "image", "exists", name) == nil
}

func (e *engine) run(program string, args ...string) {
	e.t.Helper()
	began := time.Now()
	require.NoError(e.t, e.start(e.t.Context(), program, args...), "%s %v", program, args)
	fmt.Fprintf(e.t.Output(), "%5.1fs  %s %s\n", time.Since(began).Seconds(), program, strings.Join(args, " "))
}

func (e *engine) start(ctx context.Context, program string, args ...string) error {
	cmd := e.command(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = e.t.Output(), e.t.Output()
	return cmd.Run()
}

func (e *engine) output(program string, args ...string) string {
	e.t.Helper()
	cmd := e.command(e.t.Context(), program, args...)
	out, err := cmd.Output()
	require.NoError(e.t, err, "%s %v", program, args)
	return string(out)
}

func (e *engine) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = e.root
	cmd.Env = append(os.Environ(), e.env...)
	cmd.WaitDelay = 10 * time.Second // conmon keeps the pipes of what it starts
	return cmd
}

// cacheDir is the folder of images, beside the rest of what is fetched.
func cacheDir(t *testing.T) string {
	t.Helper()
	base, err := devstack.CacheDir()
	require.NoError(t, err)
	dir := filepath.Join(base, "podman")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

// lockFile keeps two runs from building at once.
func lockFile(t *testing.T, path string) func() {
	t.Helper()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		require.True(t, err == nil || errors.Is(err, syscall.EWOULDBLOCK), err)
		return err == nil
	}, 30*time.Minute, 200*time.Millisecond)
	return func() { require.NoError(t, file.Close()) }
}
