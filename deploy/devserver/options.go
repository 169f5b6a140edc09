package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"gopkg.in/yaml.v3"
)

// options are the flags of `server start-dev`. Names and defaults are those of
// the Temporal CLI, except namespaceRetention and dynamicConfigFile, which the
// CLI does not have.
type options struct {
	databaseFile       string // empty: in memory, gone when the process ends
	dynamicConfig      map[string]any
	dynamicConfigFile  string
	headless           bool
	httpPort           int // 0: a free one
	ip                 string
	logFormat          string // "text", "pretty" or "json"
	logLevel           string // "debug", "info", "warn", "error" or "never"
	metricsPort        int    // 0: no metrics
	namespaceRetention time.Duration
	namespaces         []string // "default" is always among them
	port               int
	searchAttributes   map[string]enumspb.IndexedValueType
	sqlitePragmas      map[string]string
	uiCodecEndpoint    string
	uiIP               string
	uiPort             int // 0: port + 1000
}

// reachIP is where the process reaches itself: a server that listens on every
// address (0.0.0.0, in a container) is reached at the local one.
func (o options) reachIP() string {
	if ip := net.ParseIP(o.ip); ip != nil && ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return o.ip
}

// pairs collects a repeated `key=value` flag.
type pairs map[string]string

func (p pairs) String() string { return "" }

func (p pairs) Set(s string) error {
	key, value, ok := strings.Cut(s, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q is not of the form key=value", s)
	}
	p[key] = value
	return nil
}

// words collects a repeated flag.
type words []string

func (w *words) String() string { return "" }

func (w *words) Set(s string) error {
	if s == "" {
		return errors.New("must not be empty")
	}
	*w = append(*w, s)
	return nil
}

// parse reads `server start-dev` and its flags.
func parse(args []string) (options, error) {
	if len(args) < 2 || args[0] != "server" || args[1] != "start-dev" {
		return options{}, errors.New("usage: devserver server start-dev [flags]")
	}
	opts := options{
		dynamicConfig:    map[string]any{},
		searchAttributes: map[string]enumspb.IndexedValueType{},
	}
	dynamicConfig, searchAttributes := pairs{}, pairs{}
	pragmas := pairs{"journal_mode": "wal", "synchronous": "1"}
	namespaces := words{}

	flags := flag.NewFlagSet("devserver server start-dev", flag.ContinueOnError)
	flags.StringVar(&opts.databaseFile, "db-filename", "", "SQLite file; without it everything is lost at the end")
	flags.StringVar(&opts.databaseFile, "f", "", "same as --db-filename")
	flags.StringVar(&opts.dynamicConfigFile, "dynamic-config-file", "", "file in Temporal's dynamic configuration format; --dynamic-config-value overrides it")
	flags.Var(dynamicConfig, "dynamic-config-value", "KEY=JSON; repeatable")
	flags.BoolVar(&opts.headless, "headless", false, "without the web UI")
	flags.IntVar(&opts.httpPort, "http-port", 0, "port of the frontend's HTTP API; 0 takes a free one")
	flags.StringVar(&opts.ip, "ip", "127.0.0.1", "address to listen on")
	flags.StringVar(&opts.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&opts.logLevel, "log-level", "warn", "debug, info, warn, error or never")
	flags.IntVar(&opts.metricsPort, "metrics-port", 0, "port for Prometheus; 0 for none")
	flags.Var(&namespaces, "namespace", "namespace to create; repeatable")
	flags.Var(&namespaces, "n", "same as --namespace")
	flags.DurationVar(&opts.namespaceRetention, "namespace-retention", 30*24*time.Hour, "how long finished workflows are kept")
	flags.IntVar(&opts.port, "port", 7233, "port of the frontend")
	flags.IntVar(&opts.port, "p", 7233, "same as --port")
	flags.Var(searchAttributes, "search-attribute", "Name=Type, Type one of Text, Keyword, Int, Double, Bool, Datetime, KeywordList; repeatable")
	flags.Var(pragmas, "sqlite-pragma", "PRAGMA=VALUE; repeatable")
	flags.StringVar(&opts.uiCodecEndpoint, "ui-codec-endpoint", "", "codec server that the UI asks to decode payloads")
	flags.StringVar(&opts.uiIP, "ui-ip", "", "address of the UI; the one of --ip by default")
	flags.IntVar(&opts.uiPort, "ui-port", 0, "port of the UI; --port + 1000 by default")
	if err := flags.Parse(args[2:]); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}

	opts.sqlitePragmas = pragmas
	opts.uiIP = cmp.Or(opts.uiIP, opts.ip)
	opts.uiPort = cmp.Or(opts.uiPort, opts.port+1000)
	opts.namespaces = append(words{"default"}, without(namespaces, "default")...)
	if opts.namespaceRetention < time.Hour {
		return options{}, fmt.Errorf("--namespace-retention %s: the shortest is 1h", opts.namespaceRetention)
	}
	for name, kind := range searchAttributes {
		valueType, err := enumspb.IndexedValueTypeFromString(kind)
		if err != nil {
			return options{}, fmt.Errorf("--search-attribute %s=%s: %w", name, kind, err)
		}
		opts.searchAttributes[name] = valueType
	}
	if opts.dynamicConfigFile != "" {
		values, err := readDynamicConfig(opts.dynamicConfigFile)
		if err != nil {
			return options{}, err
		}
		opts.dynamicConfig = values
	}
	for key, text := range dynamicConfig {
		// YAML reads JSON, and a bare word as a string.
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return options{}, fmt.Errorf("--dynamic-config-value %s: %w", key, err)
		}
		opts.dynamicConfig[key] = value
	}
	return opts, nil
}

// readDynamicConfig reads the unconstrained values of a file in Temporal's own
// format. A value with constraints is refused: the static client that serves
// the values here has no use for them.
func readDynamicConfig(path string) (map[string]any, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read dynamic configuration: %w", err)
	}
	file := map[string][]struct {
		Value       any            `yaml:"value"`
		Constraints map[string]any `yaml:"constraints"`
	}{}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read dynamic configuration %s: %w", path, err)
	}
	values := make(map[string]any, len(file))
	for key, entries := range file {
		if len(entries) != 1 || len(entries[0].Constraints) > 0 {
			return nil, fmt.Errorf("read dynamic configuration %s: %s: want one value without constraints", path, key)
		}
		values[key] = entries[0].Value
	}
	return values, nil
}

func without(list []string, word string) []string {
	var kept []string
	seen := map[string]bool{word: true}
	for _, w := range list {
		if !seen[w] {
			seen[w] = true
			kept = append(kept, w)
		}
	}
	return kept
}
