package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"go.temporal.io/sdk/temporal"

	"github.com/lightmem/lightmem/memory"
)

// Failure turns an error into the failure that Temporal records: its type is
// the memory.Code, its message the safe message, its detail the field at fault;
// the cause stays with the process that saw it. Whether Temporal tries again
// follows from the code. A nil error is nil.
func Failure(err error) error {
	if err == nil {
		return nil
	}
	code := memory.CodeOf(err)
	message, field := "internal failure", ""
	var e *memory.Error
	switch {
	case errors.As(err, &e):
		message, field = e.Error(), e.Field
	case errors.Is(err, context.Canceled):
		code, message = memory.CodeTransient, "was interrupted"
	case errors.Is(err, context.DeadlineExceeded):
		code, message = memory.CodeTransient, "took too long"
	}
	return temporal.NewApplicationErrorWithOptions(message, string(code), temporal.ApplicationErrorOptions{
		NonRetryable: !code.Retryable(),
		Details:      []any{field},
	})
}

// ErrorOf is the way back: the memory.Error that a Temporal failure stands
// for, so that a caller sees the code, field and message of the activity that
// failed, not Temporal's wrapping. Errors of other kinds become
// CodeUnavailable for timeouts and CodeInternal else.
func ErrorOf(err error) error {
	if err == nil {
		return nil
	}
	var own *memory.Error
	if errors.As(err, &own) {
		return err
	}
	var app *temporal.ApplicationError
	if errors.As(err, &app) && memory.Code(app.Type()).Known() {
		field := ""
		if app.HasDetails() {
			_ = app.Details(&field) // an undecodable field only leaves the message without it
		}
		message := app.Message()
		if field != "" && len(message) > len(field)+2 && message[:len(field)] == field {
			message = message[len(field)+2:]
		}
		return &memory.Error{Code: memory.Code(app.Type()), Field: field, Message: message, Cause: err}
	}
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return memory.Wrap(memory.CodeUnavailable, err, "the turn did not end in time")
	}
	return memory.Wrap(memory.CodeInternal, err, "the turn failed")
}

// cause describes for a log what lies beneath a safe message: kinds, states and
// operations, never the text of a driver or a server, which may quote people.
func cause(err error) string {
	var parts []string
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		parts = append(parts, "SQLSTATE "+state.SQLState())
	}
	var network *net.OpError
	if errors.As(err, &network) {
		parts = append(parts, network.Op+" "+network.Net)
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		parts = append(parts, number.Error())
	}
	for _, known := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			parts = append(parts, known.Error())
		}
	}
	inner := err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	return strings.Join(append(parts, fmt.Sprintf("%T", inner)), ", ")
}
