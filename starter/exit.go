package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/memory"
)

// Exit codes. Scripts rely on them; README.md and --help list them.
const (
	exitOK          = 0
	exitInternal    = 1
	exitInvalid     = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitForbidden   = 5
	exitUnavailable = 6
	exitInterrupted = 130
)

const exitCodesHelp = `Exit codes: 0 done, 2 invalid request, 3 not found, 4 conflict (an idempotency key used for another request), 5 forbidden, 6 unavailable or too slow (try again with the same idempotency key), 1 anything else, 130 interrupted.`

// exitCode is the one place where a code becomes an exit code.
func exitCode(ctx context.Context, err error) int {
	switch memory.CodeOf(err) {
	case "":
		return exitOK
	case memory.CodeInvalid:
		return exitInvalid
	}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return exitInterrupted
	}
	switch memory.CodeOf(err) {
	case memory.CodeNotFound:
		return exitNotFound
	case memory.CodeConflict:
		return exitConflict
	case memory.CodeForbidden:
		return exitForbidden
	case memory.CodeUnavailable, memory.CodeTransient:
		return exitUnavailable
	}
	return exitInternal
}

// failureShape is an error as --json prints it, on standard error.
type failureShape struct {
	Code    memory.Code `json:"code"`
	Field   string      `json:"field,omitempty"`
	Message string      `json:"message"`
	// IdempotencyKey gives the turn's result to whoever asks again with it.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// report writes an error. What is no *memory.Error has a message that was not
// made to be shown, and is summed up.
func report(w io.Writer, err error, asJSON bool, key string) {
	f := failureShape{Code: memory.CodeOf(err), Message: "something went wrong inside lightmem"}
	var e *memory.Error
	switch {
	case errors.As(err, &e):
		f.Field = e.Field
		bare := *e
		bare.Field = ""
		f.Message = bare.Error()
	case errors.Is(err, context.DeadlineExceeded):
		f.Code, f.Message = memory.CodeUnavailable, "no answer in time (--timeout)"
	case errors.Is(err, context.Canceled):
		f.Message = "interrupted"
	}
	if slices.Contains([]memory.Code{memory.CodeUnavailable, memory.CodeTransient, memory.CodeInternal}, f.Code) {
		f.IdempotencyKey = key
	}
	if asJSON {
		b, _ := json.Marshal(f) // strings always encode
		fmt.Fprintln(w, string(b))
		return
	}
	field := ""
	if f.Field != "" {
		field = f.Field + ": "
	}
	fmt.Fprintln(w, "lightmem: "+page.Safe(field+f.Message))
	if f.IdempotencyKey != "" {
		fmt.Fprintln(w, "lightmem: to get this turn's result: --idempotency-key "+page.Safe(f.IdempotencyKey))
	}
}
