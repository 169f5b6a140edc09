// Package stacktest gives tests the real parts: each function starts what is
// missing (see the package devstack) and returns where it is. What a function
// makes for one test is removed when the test ends; the shared servers go on.
//
// The first call on a fresh machine fetches and builds for minutes: run
// `go run ./deploy/stack up` before `go test`, as `make test` does.
package stacktest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/devstack"
)

// Models is a server of small models.
type Models struct {
	// BaseURL is where chat is: for Ollama "http://host:port", for the
	// OpenAI-compatible server "http://host:port/v1".
	BaseURL string
	// ChatModel is the chat model's name there.
	ChatModel string
	// EmbedBaseURL is where embeddings are; for Ollama the same as BaseURL.
	EmbedBaseURL string
	// EmbedModel is the embedding model's name there (384 dimensions).
	EmbedModel string
}

// Postgres returns the address of a database of the test's own, empty but for
// the extensions age and vector. The user is a superuser.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return database(tb, "", nil)
}

// PostgresFrom returns the address of a database of the test's own that is a
// clone of one which fill prepared. fill runs once for each name, whatever the
// number of tests, packages and runs: name must change with what fill does.
func PostgresFrom(tb testing.TB, name string, fill func(ctx context.Context, address string) error) string {
	tb.Helper()
	return database(tb, name, fill)
}

func database(tb testing.TB, name string, fill func(ctx context.Context, address string) error) string {
	tb.Helper()
	stack := ensure(tb, devstack.Postgres)
	address, err := devstack.NewDatabase(tb.Context(), stack.DatabaseURL, name, fill)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		require.NoError(tb, devstack.DropDatabase(context.WithoutCancel(tb.Context()), stack.DatabaseURL, address))
	})
	return address
}

// Temporal returns host:port of the shared Temporal server, whose namespace
// "default" has LightMem's search attributes. Tests share it: use task queues
// and workflow ids of your own.
func Temporal(tb testing.TB) string {
	tb.Helper()
	return ensure(tb, devstack.Temporal).TemporalAddress
}

// Ollama returns a real Ollama server with both models.
func Ollama(tb testing.TB) Models {
	tb.Helper()
	stack := ensure(tb, devstack.Ollama)
	return Models{
		BaseURL: stack.OllamaHost, ChatModel: stack.ChatModel,
		EmbedBaseURL: stack.OllamaHost, EmbedModel: stack.EmbedModel,
	}
}

// OpenAI returns a real OpenAI-compatible server (llama.cpp's) with both
// models; no API key is needed.
func OpenAI(tb testing.TB) Models {
	tb.Helper()
	stack := ensure(tb, devstack.OpenAI)
	return Models{
		BaseURL: stack.OpenAIBaseURL, ChatModel: stack.ChatModel,
		EmbedBaseURL: stack.OpenAIEmbedBaseURL, EmbedModel: stack.EmbedModel,
	}
}

// PrivatePostgres returns a Postgres server of the test's own, to be killed,
// stopped and started at will.
func PrivatePostgres(tb testing.TB) *devstack.PrivatePostgres {
	tb.Helper()
	server, err := devstack.StartPrivatePostgres(tb.Context(), devstack.Options{Progress: tb.Output()})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, server.Close()) })
	return server
}

// PrivateTemporal returns a Temporal server of the test's own, to be killed,
// stopped and started at will.
func PrivateTemporal(tb testing.TB) *devstack.PrivateTemporal {
	tb.Helper()
	server, err := devstack.StartPrivateTemporal(tb.Context(), devstack.Options{Progress: tb.Output()})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, server.Close(context.WithoutCancel(tb.Context()))) })
	return server
}

func ensure(tb testing.TB, parts ...devstack.Part) *devstack.Stack {
	tb.Helper()
	stack, err := devstack.Ensure(tb.Context(), devstack.Options{Parts: parts, Progress: tb.Output()})
	require.NoError(tb, err)
	return stack
}
