package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
)

// The SDK's testsuite.StartDevServer calls the server with these flags.
func TestParseTakesTheFlagsOfTheSDK(t *testing.T) {
	t.Parallel()
	opts, err := parse([]string{
		"server", "start-dev", "--ip", "127.0.0.1", "--port", "7000", "--namespace", "mine",
		"--dynamic-config-value", "frontend.enableServerVersionCheck=false", "--log-level", "error", "--log-format", "json",
		"--headless", "--db-filename", "x.db", "--ui-port", "9000", "--search-attribute", "MemUser=Keyword", "--search-attribute", "MemItems=Int",
		"--ui-codec-endpoint", "http://codec",
	})
	require.NoError(t, err)
	require.Equal(t, []string{"default", "mine"}, opts.namespaces)
	require.Equal(t, 7000, opts.port)
	require.Equal(t, 9000, opts.uiPort)
	require.True(t, opts.headless)
	require.Equal(t, "http://codec", opts.uiCodecEndpoint)
	require.Equal(t, map[string]any{"frontend.enableServerVersionCheck": false}, opts.dynamicConfig)
	require.Equal(t, map[string]enumspb.IndexedValueType{
		"MemUser": enumspb.INDEXED_VALUE_TYPE_KEYWORD, "MemItems": enumspb.INDEXED_VALUE_TYPE_INT,
	}, opts.searchAttributes)
}

func TestParseDefaults(t *testing.T) {
	t.Parallel()
	opts, err := parse([]string{"server", "start-dev", "--ip", "0.0.0.0"})
	require.NoError(t, err)
	require.Equal(t, 7233, opts.port)
	require.Equal(t, 8233, opts.uiPort)
	require.Equal(t, 30*24*time.Hour, opts.namespaceRetention)
	require.Equal(t, "127.0.0.1", opts.reachIP())
	require.Equal(t, map[string]string{"journal_mode": "wal", "synchronous": "1"}, opts.sqlitePragmas)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"another command":        {"workflow", "list"},
		"nothing":                {},
		"a stray argument":       {"server", "start-dev", "now"},
		"an unknown type":        {"server", "start-dev", "--search-attribute", "A=Colour"},
		"a pair without a value": {"server", "start-dev", "--dynamic-config-value", "key"},
		"a short retention":      {"server", "start-dev", "--namespace-retention", "1m"},
		"an empty namespace":     {"server", "start-dev", "--namespace", ""},
		"a missing file":         {"server", "start-dev", "--dynamic-config-file", "nowhere.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(args)
			require.Error(t, err)
		})
	}
}

func TestDynamicConfigValueOverridesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a.b:\n  - value: 1\nc.d:\n  - value: true\n"), 0o644))
	opts, err := parse([]string{"server", "start-dev", "--dynamic-config-file", path, "--dynamic-config-value", "a.b=2"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a.b": 2, "c.d": true}, opts.dynamicConfig)
}

func TestDynamicConfigFileWithConstraintsIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte("a.b:\n  - value: 1\n    constraints: {namespace: x}\n"), 0o644))
	_, err := readDynamicConfig(path)
	require.ErrorContains(t, err, "a.b")
}

func TestProjectsOwnDynamicConfigIsRead(t *testing.T) {
	t.Parallel()
	values, err := readDynamicConfig("../dynamicconfig.yaml")
	require.NoError(t, err)
	require.Equal(t, true, values["matching.enableFairness"])
	require.Equal(t, 5000, values["history.transferProcessorMaxPollRPS"])
}
