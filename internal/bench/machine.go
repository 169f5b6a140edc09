package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
)

// machine is what the figures were measured on.
type machine struct {
	Cores    int     `json:"cores"`
	CPU      string  `json:"cpu"`
	MemoryGB float64 `json:"memory_gb"`
	Kernel   string  `json:"kernel"`
	Go       string  `json:"go"`
	Postgres string  `json:"postgres"`
	// PostgresSettings are those that matter to the figures.
	PostgresSettings string `json:"postgres_settings"`
	Temporal         string `json:"temporal"`
	// Load is the load average of the last minute when measuring began; over 1,
	// somebody else used the machine.
	Load float64 `json:"load_average_at_start"`
	// Rows is how many items were loaded, Users how many users have them.
	Rows  int `json:"rows"`
	Users int `json:"users"`
	// Database is the size of all tables.
	DatabaseMB int `json:"database_mb"`
}

func describeMachine(ctx context.Context, in *installation) (machine, error) {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Load: loadAverage(), Rows: rows(in.users), Users: len(in.users)}
	m.CPU = fieldOf("/proc/cpuinfo", "model name")
	if kb, err := strconv.ParseFloat(strings.TrimSuffix(fieldOf("/proc/meminfo", "MemTotal"), " kB"), 64); err == nil {
		m.MemoryGB = round(kb/1024/1024, 1)
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	info, err := in.client.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{})
	if err != nil {
		return m, fmt.Errorf("ask Temporal for its version: %w", err)
	}
	m.Temporal = info.GetServerVersion()
	conn, err := pgx.Connect(ctx, in.database)
	if err != nil {
		return m, fmt.Errorf("connect to Postgres: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing to do about it
	err = conn.QueryRow(ctx, `SELECT current_setting('server_version'),
		(SELECT string_agg(name || ' ' || setting || coalesce(unit, ''), ', ' ORDER BY name) FROM pg_settings
			WHERE name IN ('fsync', 'synchronous_commit', 'shared_buffers')),
		pg_database_size(current_database()) / 1048576`).Scan(&m.Postgres, &m.PostgresSettings, &m.DatabaseMB)
	if err != nil {
		return m, fmt.Errorf("ask Postgres for its version: %w", err)
	}
	return m, nil
}

// fieldOf is the first value of a "name : value" line of a file, "" if none.
func fieldOf(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// loadAverage is that of the last minute, 0 where there is none to read.
func loadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	load, _ := strconv.ParseFloat(strings.Fields(string(text) + " 0")[0], 64)
	return load
}

// usage is how much of the processors each process used: in a reading, seconds
// since it began; in a result, cores.
type usage struct {
	Client   float64 `json:"client"`
	Worker   float64 `json:"worker"`
	Temporal float64 `json:"temporal"`
	Postgres float64 `json:"postgres"`
	// All is everything that the machine did, Others what none of ours did.
	All    float64 `json:"all"`
	Others float64 `json:"others"`
	Cores  float64 `json:"of"`
}

// cpu reads how much processor time everybody has used so far.
func (in *installation) cpu(ctx context.Context) usage {
	u := usage{Client: processSeconds(os.Getpid()), Worker: processSeconds(in.worker.Process.Pid), All: machineSeconds()}
	address := in.temporal.Address
	port := address[strings.LastIndexByte(address, ':')+1:]
	database := ""
	if config, err := pgx.ParseConfig(in.database); err == nil {
		database = config.Database
	}
	processes, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range processes {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		command := strings.ReplaceAll(string(text), "\x00", " ")
		switch {
		case strings.Contains(command, " start-dev ") && strings.Contains(command, "--port "+port+" "):
			u.Temporal += processSeconds(pid)
		case strings.HasPrefix(command, "postgres: ") && (strings.Contains(command, " "+database+" ") || isAuxiliary(command)):
			u.Postgres += processSeconds(pid)
		}
	}
	return u
}

// isAuxiliary reports whether a Postgres process works for all databases.
func isAuxiliary(command string) bool {
	for _, name := range []string{"walwriter", "checkpointer", "background writer"} {
		if strings.Contains(command, name) {
			return true
		}
	}
	return false
}

// since is the cores used between two readings.
func (u usage) since(before usage, took time.Duration) usage {
	cores := func(now, then float64) float64 { return round(max(now-then, 0)/took.Seconds(), 2) }
	d := usage{
		Client: cores(u.Client, before.Client), Worker: cores(u.Worker, before.Worker),
		Temporal: cores(u.Temporal, before.Temporal), Postgres: cores(u.Postgres, before.Postgres), All: cores(u.All, before.All),
		Cores: float64(runtime.NumCPU()),
	}
	d.Others = round(max(d.All-d.Client-d.Worker-d.Temporal-d.Postgres, 0), 2)
	return d
}

// cost is the processor time of one turn, in milliseconds.
type cost struct {
	Worker   float64 `json:"worker"`
	Temporal float64 `json:"temporal"`
	Postgres float64 `json:"postgres"`
	Client   float64 `json:"client"`
}

// over divides the cores used by the turns a second.
func (u usage) over(rate float64) cost {
	per := func(cores float64) float64 { return round(1000*cores/rate, 1) }
	return cost{Worker: per(u.Worker), Temporal: per(u.Temporal), Postgres: per(u.Postgres), Client: per(u.Client)}
}

func (c cost) sum() float64 { return c.Worker + c.Temporal + c.Postgres + c.Client }

// saturated says what was exhausted first.
func (u usage) saturated() string {
	if u.All < 0.85*u.Cores {
		return fmt.Sprintf("nothing: %.0f %% of the processors idle", 100*(1-u.All/u.Cores))
	}
	name, most := "", 0.0
	for _, p := range []struct {
		name  string
		cores float64
	}{{"Temporal", u.Temporal}, {"worker", u.Worker}, {"Postgres", u.Postgres}, {"client", u.Client}, {"others", u.Others}} {
		if p.cores > most {
			name, most = p.name, p.cores
		}
	}
	return fmt.Sprintf("the processors; most by %s (%.0f %%)", name, 100*most/u.Cores)
}

// clockTicks is the unit of /proc's processor times: 100 a second on every
// Linux platform that Go supports.
const clockTicks = 100

// processSeconds is the processor time of a process and of its ended children.
func processSeconds(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return statSeconds(string(text))
}

// statSeconds reads /proc/PID/stat: utime, stime, cutime and cstime are fields
// 14 to 17; the second field, in brackets, may hold spaces.
func statSeconds(stat string) float64 {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	var ticks float64
	for i := 11; i <= 14 && i < len(fields); i++ {
		n, _ := strconv.ParseFloat(fields[i], 64)
		ticks += n
	}
	return ticks / clockTicks
}

// machineSeconds is the time that all processors were busy.
func machineSeconds() float64 {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return busySeconds(first)
}

// busySeconds reads the first line of /proc/stat: all but idle and iowait.
func busySeconds(line string) float64 {
	var ticks float64
	for i, field := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 8 { // "cpu", idle, iowait; guest time is in user time already
			continue
		}
		n, _ := strconv.ParseFloat(field, 64)
		ticks += n
	}
	return ticks / clockTicks
}
