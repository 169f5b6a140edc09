package devstack

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func writeWheel(t *testing.T, path, name, content string) {
	t.Helper()
	file, err := os.Create(path)
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	entry, err := archive.Create(name)
	require.NoError(t, err)
	_, err = entry.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
}

func always(context.Context) error { return nil }

func TestProcessStopsWhatItStartedAndWaits(t *testing.T) {
	t.Parallel()
	p := newProcess(t.TempDir(), "sleeper")
	require.NoError(t, p.start(t.Context(), exec.Command("sleep", "600"), 1234, "v1", always))
	record, ok := p.running()
	require.True(t, ok)
	require.Equal(t, 1234, record.Port)
	stopped, err := p.stop(t.Context(), syscall.SIGTERM, 5*time.Second)
	require.NoError(t, err)
	require.True(t, stopped)
	require.Empty(t, startTicks(record.PID))
	stopped, err = p.stop(t.Context(), syscall.SIGTERM, 5*time.Second)
	require.NoError(t, err)
	require.False(t, stopped)
}

func TestProcessKillsWhatIgnoresTheSignal(t *testing.T) {
	t.Parallel()
	p := newProcess(t.TempDir(), "stubborn")
	deaf := exec.Command("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 600; done")
	require.NoError(t, p.start(t.Context(), deaf, 0, "", func(context.Context) error {
		if len(lastLines(p.log, 1)) == 0 {
			return errors.New("has not said that it is deaf")
		}
		return nil
	}))
	record, _ := p.running()
	t.Cleanup(func() { _ = syscall.Kill(-record.PID, syscall.SIGKILL) }) // its sleep
	stopped, err := p.stop(t.Context(), syscall.SIGTERM, 50*time.Millisecond)
	require.NoError(t, err)
	require.True(t, stopped)
}

// A process id that the kernel gave to another process since must be left
// alone.
func TestProcessLeavesAReusedProcessIDAlone(t *testing.T) {
	t.Parallel()
	stranger := exec.Command("sleep", "600")
	require.NoError(t, stranger.Start())
	t.Cleanup(func() { _ = stranger.Process.Kill(); _ = stranger.Wait() })
	p := newProcess(t.TempDir(), "server")
	text, err := json.Marshal(processRecord{PID: stranger.Process.Pid, Ticks: "1"})
	require.NoError(t, err)
	require.NoError(t, writeFile(p.record, text, 0o644))
	_, ok := p.running()
	require.False(t, ok)
	stopped, err := p.stop(t.Context(), syscall.SIGKILL, time.Second)
	require.NoError(t, err)
	require.False(t, stopped)
	require.NotEmpty(t, startTicks(stranger.Process.Pid))
}

func TestProcessThatEndsWhileStartingSaysWhy(t *testing.T) {
	t.Parallel()
	p := newProcess(t.TempDir(), "failing")
	err := p.start(t.Context(), exec.Command("sh", "-c", "echo no room >&2; exit 3"), 0, "", func(context.Context) error {
		return errors.New("not yet")
	})
	require.ErrorContains(t, err, "exit status 3")
	failure := &Failure{Step: "start it", Log: p.log, Err: err, Hint: "make room"}
	require.ErrorContains(t, failure, "no room")
	require.ErrorContains(t, failure, "what to do: make room")
	_, ok := p.running()
	require.False(t, ok)
}

func TestProcessThatDoesNotGetReadyIsStopped(t *testing.T) {
	t.Parallel()
	p := newProcess(t.TempDir(), "slow")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	cmd := exec.Command("sleep", "600")
	err := p.start(ctx, cmd, 0, "", func(context.Context) error { return errors.New("still loading") })
	require.ErrorContains(t, err, "still loading")
	require.Eventually(t, func() bool { return startTicks(cmd.Process.Pid) == "" }, 5*time.Second, 10*time.Millisecond)
}

func TestChoosePortRemembersAndAvoidsWhatIsTaken(t *testing.T) {
	t.Parallel()
	s, err := open(Options{CacheDir: t.TempDir(), StateDir: t.TempDir()})
	require.NoError(t, err)
	taken, err := net.Listen("tcp", hostPort(0))
	require.NoError(t, err)
	defer taken.Close()
	_, text, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	preferred, err := strconv.Atoi(text)
	require.NoError(t, err)

	first, err := s.choosePort(t.Context(), "part", preferred, isFree)
	require.NoError(t, err)
	require.NotEqual(t, preferred, first)
	again, err := s.choosePort(t.Context(), "part", preferred, isFree)
	require.NoError(t, err)
	require.Equal(t, first, again)
}

func TestEnsureRefusesAnUnknownPartByName(t *testing.T) {
	t.Parallel()
	_, err := Ensure(t.Context(), Options{CacheDir: t.TempDir(), StateDir: t.TempDir(), Parts: []Part{"mysql"}})
	require.ErrorContains(t, err, `"mysql"`)
}

func TestDownInAnEmptyStateFolderStopsNothing(t *testing.T) {
	t.Parallel()
	require.NoError(t, Down(t.Context(), Options{CacheDir: t.TempDir(), StateDir: t.TempDir()}))
}

func TestSweepPrivateRemovesOnlyWhatLostItsOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gone := exec.Command("true")
	require.NoError(t, gone.Run())
	lost := filepath.Join(dir, "private-"+strconv.Itoa(gone.Process.Pid)+"-1-aabbccdd")
	kept := filepath.Join(dir, privateName())
	require.NoError(t, os.Mkdir(lost, 0o755))
	require.NoError(t, os.Mkdir(kept, 0o755))
	inside := exec.Command("sleep", "600")
	inside.Dir = lost
	require.NoError(t, inside.Start())
	sweepPrivate(dir)
	require.Error(t, inside.Wait())
	require.NoDirExists(t, lost)
	require.DirExists(t, kept)
}

func TestDynamicConfigBecomesFlagsOfTheServer(t *testing.T) {
	t.Parallel()
	flags, err := dynamicConfig()
	require.NoError(t, err)
	require.Contains(t, flags, "matching.enableFairness=true")
	require.Contains(t, flags, "history.transferProcessorMaxPollRPS=5000")
	require.Zero(t, len(flags)%2)
}

func TestOllamaURLCompletesWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"127.0.0.1":              "http://127.0.0.1:11434",
		"127.0.0.1:9000":         "http://127.0.0.1:9000",
		"http://models:11434/":   "http://models:11434",
		"https://models.example": "https://models.example",
	} {
		require.Equal(t, want, ollamaURL(in))
	}
}

func TestDebianSourceIsTheArchiveItself(t *testing.T) {
	t.Parallel()
	mirror, err := debianSource("https://packages.example/apt cloud-sdk-bookworm main\n" +
		"https://mirror.example/debian-security/ bookworm-security main\n" +
		"https://mirror.example/debian/ bookworm contrib\n" +
		"https://mirror.example/debian/ bookworm main\n")
	require.NoError(t, err)
	require.Equal(t, "https://mirror.example/debian/", mirror)
	_, err = debianSource("https://packages.example/apt nodistro main\n")
	require.ErrorIs(t, err, errNoMirror)
}

func TestDebianMirrorOutlastsAnotherAPT(t *testing.T) {
	// apt fails the first two times, as while its lists are refreshed.
	folder := t.TempDir()
	script := "#!/bin/sh\necho x >> " + folder + "/calls\n" +
		"[ $(wc -l < " + folder + "/calls) -gt 2 ] || { echo busy >&2; exit 100; }\necho https://mirror.example/debian/ bookworm main\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "apt-get"), []byte(script), 0o755))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	t.Setenv("LIGHTMEM_DEBIAN_MIRROR", "")
	mirror, err := DebianMirror(t.Context())
	require.NoError(t, err)
	require.Equal(t, "https://mirror.example/debian/", mirror)
}
