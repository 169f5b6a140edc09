package activities

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/lightmem/lightmem/memory"
)

func TestFailureAndBack(t *testing.T) {
	t.Parallel()
	const secret = "my PIN is 1234"
	for name, tt := range map[string]struct {
		err   error
		code  memory.Code
		field string
		again bool
	}{
		"ours, with its field":           {memory.Invalid("k", "must be positive"), memory.CodeInvalid, "k", false},
		"a passing fault":                {memory.Wrap(memory.CodeTransient, errors.New(secret), "commit"), memory.CodeTransient, "", true},
		"somebody else's":                {errors.New(secret), memory.CodeInternal, "", true},
		"a deadline":                     {fmt.Errorf("%s: %w", secret, context.DeadlineExceeded), memory.CodeTransient, "", true},
		"an interrupted call beneath us": {fmt.Errorf("%s: %w", secret, context.Canceled), memory.CodeTransient, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := Failure(tt.err)
			require.NotContains(t, failure.Error(), "1234")
			var app *temporal.ApplicationError
			require.ErrorAs(t, failure, &app)
			require.Equal(t, !tt.again, app.NonRetryable())
			var back *memory.Error
			require.ErrorAs(t, ErrorOf(failure), &back)
			require.Equal(t, tt.code, back.Code)
			require.Equal(t, tt.field, back.Field)
		})
	}
	require.NoError(t, Failure(nil))
	panicked := temporal.NewApplicationError(secret, "PanicError")
	require.Equal(t, memory.CodeInternal, memory.CodeOf(ErrorOf(panicked)), "another library's type is no code of ours")
}

type stateError struct{ error }

func (stateError) SQLState() string { return "23505" }

func TestCauseTellsKindsAndNoText(t *testing.T) {
	t.Parallel()
	const secret = "my PIN is 1234"
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a database's state":   {memory.Wrap(memory.CodeInternal, stateError{errors.New(secret)}, "commit"), "SQLSTATE 23505"},
		"a refused connection": {&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, "dial tcp, connection refused"},
		"anything else":        {errors.New(secret), "*errors.errorString"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, cause(tt.err), tt.want)
			require.NotContains(t, cause(tt.err), "1234")
		})
	}
}
