// Package modeltest checks model adapters: one suite that every server with a
// model must pass, real or scripted, and one that leads an adapter through
// every failure of a scripted server.
package modeltest

import (
	"net/http/httptest"
	"testing"

	"github.com/lightmem/lightmem/internal/model/scripted"
)

// Serve runs the scripted server until the test ends and returns its address
// as Ollama's; the OpenAI API is below /v1.
func Serve(t testing.TB, s *scripted.Server) string {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(func() {
		srv.CloseClientConnections() // of calls that a Slow script keeps waiting
		srv.Close()
	})
	return srv.URL
}
