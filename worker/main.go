// Lightmem-worker runs LightMem's task queues: turns and their database steps,
// the small models, the answer model.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // a machine or image without zone files resolves dates the same

	"github.com/lightmem/lightmem/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, config.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lightmem-worker:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}
