// Command stack starts, stops and shows the real parts that LightMem needs on
// this machine. See the package internal/devstack for what it does and the
// variables that it obeys.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/lightmem/lightmem/internal/devstack"
)

const usage = `usage: stack COMMAND [PART ...]

  up      fetch, build and start what is missing, and print the addresses
  work P  the same, and run the worker P on it (migrate the database first)
  down    stop what up and work started, and wait for it
  status  what runs, where, since when
  env     the addresses as KEY=value, for: export $(go run ./deploy/stack env)

PART is postgres, temporal, openai or ollama; without any, up takes what a turn needs and down takes all`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "\nFAILED:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, progress io.Writer) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	opts := devstack.Options{Progress: progress}
	for _, part := range args[1:] {
		opts.Parts = append(opts.Parts, devstack.Part(part))
	}
	switch args[0] {
	case "up":
		return up(ctx, opts, stdout)
	case "work":
		if len(args) != 2 {
			return errors.New(usage)
		}
		opts.Parts = nil
		return work(ctx, opts, args[1], stdout)
	case "down":
		return devstack.Down(ctx, opts)
	case "status":
		return status(opts, stdout)
	case "env":
		text, err := devstack.Env(opts)
		if err != nil {
			return err
		}
		_, err = stdout.Write(text)
		return err
	default:
		return fmt.Errorf("unknown command %q\n%s", args[0], usage)
	}
}

func up(ctx context.Context, opts devstack.Options, stdout io.Writer) error {
	began := time.Now()
	stack, err := devstack.Ensure(ctx, opts)
	if err != nil {
		return err
	}
	tell(stack, began, stdout)
	return nil
}

func work(ctx context.Context, opts devstack.Options, program string, stdout io.Writer) error {
	began := time.Now()
	stack, err := devstack.Ensure(ctx, opts)
	if err != nil {
		return err
	}
	if err := devstack.EnsureWorker(ctx, opts, stack, program); err != nil {
		return err
	}
	tell(stack, began, stdout)
	return nil
}

// tell prints the addresses.
func tell(stack *devstack.Stack, began time.Time, stdout io.Writer) {
	for _, line := range []struct{ name, address string }{
		{"Postgres", withoutPassword(stack.DatabaseURL)},
		{"Temporal", stack.TemporalAddress},
		{"Temporal UI", stack.TemporalUI},
		{"Ollama", stack.OllamaHost},
		{"OpenAI API", stack.OpenAIBaseURL},
		{"  embeddings", stack.OpenAIEmbedBaseURL},
	} {
		if line.address != "" {
			fmt.Fprintf(stdout, "%-13s %s\n", line.name, line.address)
		}
	}
	fmt.Fprintf(stdout, "ready after %.1f s; state, logs and lightmem.env are in %s\n", time.Since(began).Seconds(), stack.StateDir)
}

// withoutPassword is for people; lightmem.env has the whole address.
func withoutPassword(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "as LIGHTMEM_DATABASE_URL says"
	}
	return parsed.Redacted()
}

func status(opts devstack.Options, stdout io.Writer) error {
	list, err := devstack.Status(opts)
	if err != nil {
		return err
	}
	for _, server := range list {
		if !server.Running {
			fmt.Fprintf(stdout, "%-13s stopped\n", server.Name)
			continue
		}
		fmt.Fprintf(stdout, "%-13s %-21s pid %-7d since %s  log %s\n", server.Name, server.Address, server.PID,
			server.Since.Local().Format(time.DateTime), server.Log)
	}
	return nil
}
