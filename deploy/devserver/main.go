// Command devserver is a Temporal server and its web UI in one process, with
// SQLite as its store: what `temporal server start-dev` is, built from the Go
// module proxy alone.
//
// It takes the command line of `temporal server start-dev`, so the real CLI,
// this binary and the SDK's testsuite.StartDevServer(ExistingPath) are
// interchangeable. It differs in three points: a namespace keeps finished
// workflows for 30 days instead of one, search attributes that are named on
// the command line are added to an existing database too, and a database file
// appears only when its schema is whole.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	opts, err := parse(args)
	if err != nil {
		return err
	}
	server, err := start(opts)
	if err != nil {
		return err
	}
	defer server.stop()
	if err := prepareNamespaces(ctx, opts); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "Temporal %s:%d\n", opts.ip, opts.port)
	if !opts.headless {
		fmt.Fprintf(stdout, "UI       http://%s:%d\n", opts.uiIP, opts.uiPort)
	}
	<-ctx.Done()
	return nil
}
