package devstack

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// pythonEnv returns a virtual environment with pip, in the cache. Python comes
// from the machine or, where root may install it, from Debian's packages; pip
// obeys the machine's own index, proxy and certificate settings.
func (s *site) pythonEnv(ctx context.Context) (string, error) {
	base, err := findPython(ctx)
	if err != nil && os.Geteuid() == 0 {
		step := s.report.step("models", "install python3-venv")
		err = installPackages(ctx, "python3", "python3-venv")
		step.end(&err)
		if err == nil {
			base, err = findPython(ctx)
		}
	}
	if err != nil {
		return "", &Failure{
			Step: "find Python 3.10 or newer with its venv module", Err: err,
			Hint: "apt-get install python3-venv, or name a model server (OLLAMA_HOST, LIGHTMEM_OPENAI_BASE_URL)",
		}
	}
	// The environment points to its base by path, so it is that base's own.
	sum := sha256.Sum256([]byte(base))
	dir, err := s.cache.entry(ctx, "python-"+hex.EncodeToString(sum[:6]), func(draft string) (err error) {
		step := s.report.step("models", "make a Python environment")
		defer step.end(&err)
		program, _, _ := strings.Cut(base, " ")
		return runQuietly(ctx, exec.Command(program, "-m", "venv", draft))
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "bin", "python"), nil
}

// findPython returns the path and version of a Python that can make virtual
// environments with pip in them.
func findPython(ctx context.Context) (string, error) {
	const probe = `import sys, venv, ensurepip
assert sys.version_info >= (3, 10), "Python is older than 3.10"
print(sys.executable, ".".join(map(str, sys.version_info[:3])))`
	var lastErr error
	// Debian's own first: what is first on PATH may be a shim that depends
	// on the working folder.
	for _, name := range []string{"/usr/bin/python3", "python3"} {
		out, err := exec.CommandContext(ctx, name, "-c", probe).Output()
		if err == nil {
			return strings.TrimSpace(string(out)), nil
		}
		lastErr = fmt.Errorf("%s: %w", name, err)
	}
	return "", lastErr
}

// pip runs pip in an environment; while it runs, step reports the size of
// folder as what was downloaded.
func pip(ctx context.Context, python, folder string, step *step, args ...string) error {
	cmd := exec.Command(python, append([]string{"-m", "pip", "--no-input", "--disable-pip-version-check", "--no-cache-dir"}, args...)...)
	// pip downloads into a temporary folder first; ours is removed with the
	// draft, whatever happens.
	temporary := filepath.Join(folder, "pip")
	if err := os.MkdirAll(temporary, 0o755); err != nil {
		return fmt.Errorf("make download folder: %w", err)
	}
	defer os.RemoveAll(temporary)
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "PIP_ROOT_USER_ACTION=ignore")
	if bundle := trustedRoots(ctx, python); bundle != "" {
		cmd.Env = append(cmd.Env, "PIP_CERT="+bundle)
	}
	measured := make(chan struct{})
	finished := make(chan struct{})
	go func() {
		defer close(measured)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-finished:
				return
			case <-tick.C:
				step.at(folderSize(folder))
			}
		}
	}()
	err := runQuietly(ctx, cmd)
	close(finished)
	<-measured
	if err != nil {
		return &Failure{
			Step: "pip " + args[0], Err: err,
			Hint: "check that pip's index is reachable (pip config list, proxy, certificates) and run it again",
		}
	}
	return nil
}

// trustedRoots returns the machine's own certificates for pip, which by itself
// trusts only those that it carries: an organisation's proxy is not among them.
// It returns "" where pip is already told what to trust.
func trustedRoots(ctx context.Context, python string) string {
	const debianBundle = "/etc/ssl/certs/ca-certificates.crt"
	if os.Getenv("PIP_CERT") != "" || exec.CommandContext(ctx, python, "-m", "pip", "config", "get", "global.cert").Run() == nil {
		return ""
	}
	if named := os.Getenv("SSL_CERT_FILE"); named != "" {
		return named
	}
	if _, err := os.Stat(debianBundle); err != nil {
		return ""
	}
	return debianBundle
}

func folderSize(dir string) int64 {
	var size int64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // files come and go while pip works
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}
