package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// debianSuite is the release that has Postgres 17 with Apache AGE and pgvector
// as packages.
const debianSuite = "trixie"

// debianKeyring is where Debian and its derivatives keep the archive's keys.
const debianKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// debianReleases are the names by which an apt source is recognised as
// Debian's own archive.
var debianReleases = []string{"bullseye", "bookworm", "trixie", "forky", "sid", "oldstable", "stable", "testing", "unstable"}

// apt fetches packages of debianSuite without touching the machine's own
// packages: apt-get runs over a state folder of ours with nothing installed in
// it, and with the machine's own proxy, certificate and mirror settings.
type apt struct {
	dir string // state, lists and archives
}

// newAPT makes the state folder and fetches the package lists.
func newAPT(ctx context.Context, dir string, progress *step) (apt, error) {
	a := apt{dir: dir}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return a, &Failure{
			Step: "fetch Debian packages", Err: err,
			Hint: "this machine has no apt; start the part yourself and name it (LIGHTMEM_DATABASE_URL), or use docker compose",
		}
	}
	mirror, err := DebianMirror(ctx)
	if err != nil {
		return a, err
	}
	for _, sub := range []string{"state", "lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return a, fmt.Errorf("make apt state: %w", err)
		}
	}
	source := fmt.Sprintf("deb [signed-by=%s] %s %s main\n", debianKeyring, mirror, debianSuite)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "sources.list"), []byte(source), 0o644),
		os.WriteFile(filepath.Join(dir, "status"), nil, 0o644),
	); err != nil {
		return a, fmt.Errorf("make apt state: %w", err)
	}
	progress.say("reading the package lists of %s", debianSuite)
	if err = a.run(ctx, "update"); err == nil {
		return a, nil
	}
	// An old keyring does not know the newer release's key yet; the machine's
	// own archive has a newer keyring.
	if os.Geteuid() == 0 {
		progress.say("refreshing the archive's keys")
		if installPackages(ctx, "debian-archive-keyring") == nil {
			err = a.run(ctx, "update")
		}
	}
	if err != nil {
		return a, &Failure{
			Step: "read the package lists of Debian " + debianSuite, Err: err,
			Hint: "check the network and apt's proxy settings, and that debian-archive-keyring is installed; LIGHTMEM_DEBIAN_MIRROR names another mirror",
		}
	}
	return a, nil
}

// fetch downloads the packages and all that they depend on.
func (a apt) fetch(ctx context.Context, packages ...string) error {
	return a.run(ctx, append([]string{"install", "--yes", "--download-only"}, packages...)...)
}

// fetchOnly downloads the packages without what they depend on.
func (a apt) fetchOnly(ctx context.Context, packages ...string) error {
	return a.run(ctx, append([]string{"download"}, packages...)...)
}

// archives lists what was downloaded, without the packages that skip names by
// a part of their name.
func (a apt) archives(skip ...string) ([]string, error) {
	all, err := filepath.Glob(filepath.Join(a.dir, "archives", "*.deb"))
	if err != nil {
		return nil, fmt.Errorf("list archives: %w", err)
	}
	return slices.DeleteFunc(all, func(path string) bool {
		name, _, _ := strings.Cut(filepath.Base(path), "_")
		return slices.ContainsFunc(skip, func(part string) bool { return strings.Contains(name, part) })
	}), nil
}

func (a apt) run(ctx context.Context, args ...string) error {
	options := map[string]string{
		"Acquire::Languages":         "none",
		"APT::Install-Recommends":    "false",
		"APT::Sandbox::User":         "root",
		"Acquire::Retries":           "3",
		"Debug::NoLocking":           "true",
		"Dir::Cache":                 a.dir,
		"Dir::Cache::archives":       filepath.Join(a.dir, "archives"),
		"Dir::Etc::preferences":      "/dev/null",
		"Dir::Etc::preferencesparts": "/dev/null",
		"Dir::Etc::sourcelist":       filepath.Join(a.dir, "sources.list"),
		"Dir::Etc::sourceparts":      "/dev/null",
		"Dir::State":                 filepath.Join(a.dir, "state"),
		"Dir::State::lists":          filepath.Join(a.dir, "lists"),
		"Dir::State::status":         filepath.Join(a.dir, "status"),
	}
	command := []string{"--quiet=2"}
	for key, value := range options {
		command = append(command, "--option", key+"="+value)
	}
	cmd := exec.Command("apt-get", append(command, args...)...)
	cmd.Dir = filepath.Join(a.dir, "archives")
	return runQuietly(ctx, cmd)
}

// DebianMirror returns the address of the Debian mirror that this machine's apt
// uses, or $LIGHTMEM_DEBIAN_MIRROR.
func DebianMirror(ctx context.Context) (string, error) {
	if mirror := os.Getenv("LIGHTMEM_DEBIAN_MIRROR"); mirror != "" {
		return mirror, nil
	}
	// Another apt that refreshes its lists (ours, for Python, or the system's)
	// makes this one fail for a moment.
	pause := time.NewTicker(500 * time.Millisecond)
	defer pause.Stop()
	var err error
	for range 120 {
		var mirror string
		if mirror, err = mirrorOfAPT(ctx); err == nil {
			return mirror, nil
		}
		if errors.Is(err, errNoMirror) {
			break
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("find a Debian mirror: %w", errors.Join(ctx.Err(), err))
		case <-pause.C:
		}
	}
	return "", &Failure{
		Step: "find a Debian mirror", Err: err,
		Hint: "set LIGHTMEM_DEBIAN_MIRROR to a mirror's address, or name a running part (LIGHTMEM_DATABASE_URL)",
	}
}

// errNoMirror says that apt answered, and that trying again is of no use.
var errNoMirror = errors.New("apt's sources name no Debian archive")

// mirrorOfAPT asks apt for the first source that is Debian's own archive.
func mirrorOfAPT(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets",
		"--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return "", err
	}
	return debianSource(string(out))
}

// debianSource picks Debian's own archive from lines of address, release and
// component.
func debianSource(lines string) (string, error) {
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		if len(words) == 3 && words[2] == "main" && slices.Contains(debianReleases, words[1]) {
			return words[0], nil
		}
	}
	return "", errNoMirror
}

// unpack unpacks packages into a tree without running their scripts.
func unpack(ctx context.Context, tree string, archives []string) error {
	// Packages ship files below /usr only; the links are made by a script of
	// base-files that does not run here.
	for _, name := range []string{"bin", "lib", "lib64", "sbin"} {
		if err := os.MkdirAll(filepath.Join(tree, "usr", name), 0o755); err != nil {
			return fmt.Errorf("prepare tree: %w", err)
		}
		if err := os.Symlink("usr/"+name, filepath.Join(tree, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return fmt.Errorf("prepare tree: %w", err)
		}
	}
	for _, archive := range archives {
		if err := runQuietly(ctx, exec.Command("dpkg-deb", "--extract", archive, tree)); err != nil {
			return fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
		}
	}
	return nil
}

// installPackages installs packages of the machine's own release, as root. One
// at a time does: apt waits for another's lock on packages, but not on lists.
func installPackages(ctx context.Context, packages ...string) error {
	unlock, err := lock(ctx, filepath.Join(os.TempDir(), "lightmem-apt.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	env := append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	update := exec.Command("apt-get", "--quiet=2", "update")
	update.Env = env
	// A broken third-party source fails the update; what is needed may be
	// in reach all the same.
	updateErr := runQuietly(ctx, update)
	install := exec.Command("apt-get", append([]string{"--quiet=2", "--option=DPkg::Lock::Timeout=300", "install", "--yes", "--no-install-recommends"}, packages...)...)
	install.Env = env
	if err := runQuietly(ctx, install); err != nil {
		return fmt.Errorf("install %s: %w", strings.Join(packages, " "), errors.Join(err, updateErr))
	}
	return nil
}

// runQuietly runs a command made by exec.Command and, if it fails, returns the
// end of what it printed. When ctx ends, it is ended together with its
// children.
func runQuietly(ctx context.Context, cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := runGroup(ctx, cmd)
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(out.String())
	if len(text) > 1000 {
		text = "…" + text[len(text)-1000:]
	}
	return fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, text)
}

// runGroup runs a command made by exec.Command in a process group of its own,
// which is ended as a whole when ctx ends.
func runGroup(ctx context.Context, cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return err
	}
	release := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) })
	defer release()
	return errors.Join(cmd.Wait(), ctx.Err())
}
