// Package composetest builds the images of docker-compose.yml, brings all
// services up, and plays turns through the gateway: as a person with Docker
// would, and on a bare machine by podman.
package composetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const token = "a-token-of-the-test-0123456789"

type gateway struct {
	t       *testing.T
	address string
}

func (g gateway) do(method, path string, body any) (int, string, error) {
	text, err := json.Marshal(body)
	require.NoError(g.t, err)
	request, err := http.NewRequestWithContext(g.t.Context(), method, g.address+path, bytes.NewReader(text))
	require.NoError(g.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return response.StatusCode, string(answer), err
}

// turn plays a turn and decodes the answer.
func (g gateway) turn(request map[string]any, answer any) {
	g.t.Helper()
	status, text, err := g.do(http.MethodPost, "/v1/turns", request)
	require.NoError(g.t, err)
	require.Equal(g.t, http.StatusOK, status, text)
	require.NoError(g.t, json.Unmarshal([]byte(text), answer))
}

func (g gateway) awaitReady() {
	g.t.Helper()
	last := ""
	require.Eventually(g.t, func() bool {
		status, text, err := g.do(http.MethodGet, "/health/ready", nil)
		last = fmt.Sprint(status, " ", text, " ", err)
		return err == nil && status == http.StatusOK
	}, 5*time.Minute, 500*time.Millisecond, "the gateway is not ready")
	fmt.Fprintln(g.t.Output(), "gateway:", last)
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

type remembered struct {
	Results []struct{ ID, Memory, Event string }
}

type recalled struct {
	Candidates []struct{ ID, Memory string }
	Selected   []json.RawMessage
}

func TestComposeServesATurnAndKeepsItOverAKill(t *testing.T) {
	apiPort, temporalPort, uiPort := freePort(t), freePort(t), freePort(t)
	e := newEngine(t, "LIGHTMEM_API_TOKEN="+token, "LIGHTMEM_API_PORT="+apiPort,
		"LIGHTMEM_TEMPORAL_PORT="+temporalPort, "LIGHTMEM_TEMPORAL_UI_PORT="+uiPort)
	if e.podman {
		// No model can be pulled: the machine's own are mounted, as a copy by
		// links, because a starting Ollama removes what it thinks unused.
		files := e.ollamaFiles()
		models := filepath.Join(cacheDir(t), "models-"+e.project)
		t.Cleanup(func() { _ = exec.Command("rm", "--recursive", "--force", models).Run() })
		e.run("cp", "--archive", "--link", files.Models, models)
		e.env = append(e.env, "LIGHTMEM_OLLAMA_MODELS="+models, "LIGHTMEM_CHAT_MODEL="+files.ChatModel, "LIGHTMEM_EMBED_MODEL="+files.EmbedModel)
	}
	e.up()
	g := gateway{t: t, address: "http://127.0.0.1:" + apiPort}
	g.awaitReady()

	// By the models, or by the rules where the machine is too slow for them.
	var written remembered
	g.turn(map[string]any{
		"mode": "remember", "user_id": "ada", "idempotency_key": "one",
		"text": "I live in Lisbon and my sister Mia plays the violin.",
	}, &written)
	require.NotEmpty(t, written.Results)
	var lisbon string
	for _, result := range written.Results {
		if strings.Contains(result.Memory, "Lisbon") {
			lisbon = result.ID
		}
	}
	require.NotEmpty(t, lisbon, "%v", written)

	recall := map[string]any{"mode": "recall", "user_id": "ada", "text": "Where do I live?", "roles": "rules"}
	var found recalled
	g.turn(recall, &found)
	require.NotEmpty(t, found.Selected)
	require.Equal(t, lisbon, found.Candidates[0].ID)

	var others recalled
	g.turn(map[string]any{"mode": "recall", "user_id": "bob", "text": "Where do I live?", "roles": "rules"}, &others)
	require.Empty(t, others.Candidates)

	// The turns are to be seen in Temporal's UI.
	response, err := http.Get("http://127.0.0.1:" + uiPort + "/api/v1/namespaces/default/workflows")
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "turn/")
	require.NotContains(t, string(text), "Lisbon")

	for _, service := range []string{"postgres", "temporal", "worker"} {
		e.kill(service)
	}
	g.awaitReady()
	require.Eventually(t, func() bool {
		status, text, err := g.do(http.MethodPost, "/v1/turns", recall)
		return err == nil && status == http.StatusOK && strings.Contains(text, lisbon)
	}, 3*time.Minute, time.Second)
	var again remembered
	g.turn(map[string]any{
		"mode": "remember", "user_id": "ada", "idempotency_key": "one",
		"text": "I live in Lisbon and my sister Mia plays the violin.",
	}, &again)
	require.Equal(t, written, again)
}
