package devstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// localhost is where everything listens: nothing of the development stack is
// reachable from another machine.
const localhost = "127.0.0.1"

// Ports that are tried first, so that addresses are the usual ones.
const (
	postgresPort  = 54017 // not 5432: a Postgres of the machine may run there
	temporalPort  = 7233
	ollamaPort    = 11434
	chatPort      = 18080
	embeddingPort = 18081
)

// choosePort returns the port that name had last time, else preferred, else
// any; each only if usable says so. The choice is remembered, so that addresses
// survive a restart.
func (s *site) choosePort(ctx context.Context, name string, preferred int, usable func(port int) bool) (int, error) {
	unlock, err := lock(ctx, filepath.Join(s.opts.StateDir, "locks", "ports"))
	if err != nil {
		return 0, err
	}
	defer unlock()
	path := filepath.Join(s.opts.StateDir, "ports.json")
	ports := map[string]int{}
	if text, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(text, &ports)
	}
	candidates := []int{ports[name], preferred}
	for range 20 {
		port, err := freePort()
		if err != nil {
			return 0, err
		}
		candidates = append(candidates, port)
	}
	for _, port := range candidates {
		if port == 0 || !usable(port) {
			continue
		}
		ports[name] = port
		text, err := json.Marshal(ports)
		if err != nil {
			return 0, fmt.Errorf("remember port: %w", err)
		}
		return port, writeFile(path, text, 0o644)
	}
	return 0, fmt.Errorf("find a free port for %s", name)
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", hostPort(port))
	if err != nil {
		return false
	}
	_ = listener.Close()
	return true
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", hostPort(0))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func hostPort(port int) string { return net.JoinHostPort(localhost, strconv.Itoa(port)) }
