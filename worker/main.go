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
	"github.com/lightmem/lightmem/memory"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, config.ErrHelp) {
		fmt.Fprintln(os.Stderr, "lightmem-worker:", err)
		stop()
		if memory.CodeOf(err) == memory.CodeInvalid {
			os.Exit(2) // a setting is wrong; starting it again does not help
		}
		os.Exit(1)
	}
}
