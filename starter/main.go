// Command lightmem is the user's command line of LightMem: it talks, recalls,
// remembers, and shows every memory, turn and change.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	_ "time/tzdata" // a machine or image without zone files resolves dates the same
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	a := newApp(os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	if strings.ContainsRune(os.Args[0], filepath.Separator) { // not found by PATH
		a.program = os.Args[0]
	}
	code := a.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
