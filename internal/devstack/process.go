package devstack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server that outlives the program that starts it. Its record
// holds the process id together with the process's start time, so that a
// number which the kernel has given to another process since is never taken
// for the server, let alone killed.
type process struct {
	name   string // names the record, the log and the messages
	record string // file with processRecord
	log    string
}

type processRecord struct {
	PID     int       `json:"pid"`
	Ticks   string    `json:"start_ticks"`
	Port    int       `json:"port"`
	Started time.Time `json:"started"`
	// Version says what was started, in words of the part: when it differs
	// from what would be started now, the part is restarted.
	Version string `json:"version,omitempty"`
}

func newProcess(stateDir, name string) process {
	return process{
		name:   name,
		record: filepath.Join(stateDir, "run", name+".json"),
		log:    filepath.Join(stateDir, "log", name+".log"),
	}
}

// running returns the record of the server if it runs.
func (p process) running() (processRecord, bool) {
	var record processRecord
	text, err := os.ReadFile(p.record)
	if err != nil || json.Unmarshal(text, &record) != nil {
		return processRecord{}, false
	}
	return record, record.PID > 0 && startTicks(record.PID) == record.Ticks
}

// start starts cmd in a session of its own, records it, and waits until ready
// reports nil, the process ends, or ctx ends. A server that does not get ready
// is stopped again.
func (p process) start(ctx context.Context, cmd *exec.Cmd, port int, version string, ready func(context.Context) error) error {
	if err := os.MkdirAll(filepath.Dir(p.log), 0o755); err != nil {
		return fmt.Errorf("make log folder: %w", err)
	}
	rotate(p.log)
	logFile, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer logFile.Close()
	cmd.Stdout, cmd.Stderr = logFile, logFile
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	record := processRecord{PID: cmd.Process.Pid, Ticks: startTicks(cmd.Process.Pid), Port: port, Started: time.Now().UTC(), Version: version}
	text, err := json.Marshal(record)
	if err == nil {
		err = writeFile(p.record, text, 0o644)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		return fmt.Errorf("record %s: %w", p.name, err)
	}

	pause := time.NewTicker(30 * time.Millisecond)
	defer pause.Stop()
	for {
		probe, cancel := context.WithTimeout(ctx, 5*time.Second)
		notReady := ready(probe)
		cancel()
		if notReady == nil {
			return nil
		}
		select {
		case err := <-ended:
			_ = os.Remove(p.record)
			if err == nil {
				err = errors.New("it exited at once")
			}
			return fmt.Errorf("%s ended while starting: %w", p.name, err)
		case <-ctx.Done():
			_ = cmd.Process.Kill()
			_ = os.Remove(p.record)
			return fmt.Errorf("%s did not get ready: %w", p.name, errors.Join(notReady, ctx.Err()))
		case <-pause.C:
		}
	}
}

// stop sends the signal, waits, and kills what is still there after the grace.
// It reports whether there was something to stop.
func (p process) stop(ctx context.Context, signal syscall.Signal, grace time.Duration) (bool, error) {
	record, ok := p.running()
	if !ok {
		_ = os.Remove(p.record)
		return false, nil
	}
	if err := syscall.Kill(record.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("stop %s: %w", p.name, err)
	}
	deadline := time.Now().Add(grace)
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for startTicks(record.PID) == record.Ticks {
		if time.Now().After(deadline) {
			_ = syscall.Kill(record.PID, syscall.SIGKILL)
			deadline = time.Now().Add(time.Hour)
		}
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("wait for %s to end: %w", p.name, ctx.Err())
		case <-pause.C:
		}
	}
	_ = os.Remove(p.record)
	return true, nil
}

// startTicks returns the start time of a process as the kernel counts it, or ""
// when there is no such process or it is a zombie.
func startTicks(pid int) string {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	// The second field is the program's name in parentheses and may hold
	// anything; the fields after it start with the state.
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return ""
	}
	fields := strings.Fields(string(stat[end+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// rotate keeps a log from growing without end: over 16 MB it becomes LOG.1.
func rotate(path string) {
	if info, err := os.Stat(path); err == nil && info.Size() > 16<<20 {
		_ = os.Rename(path, path+".1")
	}
}

// lastLines returns up to n last lines of a file, shortened.
func lastLines(path string, n int) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() > 8<<10 {
		_, _ = file.Seek(-8<<10, io.SeekEnd)
	}
	text, _ := io.ReadAll(file)
	var lines []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line[:min(len(line), 300)])
		}
	}
	return lines[max(0, len(lines)-n):]
}
