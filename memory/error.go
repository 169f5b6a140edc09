package memory

import (
	"errors"
	"fmt"
	"time"
)

// Code says what kind of failure an error is. It decides the exit code of a
// command, the status of a response, and whether a Temporal activity is tried
// again; nothing else about an error does.
type Code string

// The codes. A failure with none of them is CodeInternal.
const (
	// CodeInvalid: the request itself is wrong; Error.Field names the field.
	CodeInvalid Code = "invalid"
	// CodeNotFound: no such thing in this tenant and user; also the answer for
	// a thing that belongs to somebody else.
	CodeNotFound Code = "not_found"
	// CodeConflict: the request contradicts what is recorded, for example an
	// idempotency key used again with another body.
	CodeConflict Code = "conflict"
	// CodeForbidden: the caller may not do this.
	CodeForbidden Code = "forbidden"
	// CodeTransient: a passing fault; the same call may succeed when repeated.
	CodeTransient Code = "transient"
	// CodeUnavailable: a part (model server, database) cannot be reached now.
	CodeUnavailable Code = "unavailable"
	// CodeInvalidOutput: a model answered, but not with what was asked for.
	CodeInvalidOutput Code = "invalid_output"
	// CodeTooLong: the prompt does not fit the model's context.
	CodeTooLong Code = "too_long"
	// CodeRefused: a model or its policy declined; repeating will not help.
	CodeRefused Code = "refused"
	// CodeInternal: a fault of ours.
	CodeInternal Code = "internal"
)

// Error is the one error type of the product: a code for programs, a message
// that is safe to show (it never holds a person's text or a secret), the field
// of the request that is at fault where there is one, and the cause for logs.
type Error struct {
	Code    Code
	Field   string
	Message string
	// RetryAfter is how long the other side asked to be left alone; zero when
	// it said nothing.
	RetryAfter time.Duration
	Cause      error
}

// Error implements error. The cause is included only when it is itself an
// *Error (whose message is safe); other causes are reachable by Unwrap.
func (e *Error) Error() string {
	s := e.Message
	if e.Field != "" {
		s = e.Field + ": " + s
	}
	var inner *Error
	if errors.As(e.Cause, &inner) && inner != e {
		s += ": " + inner.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Errorf makes an error with a code and a safe message. Arguments must not
// hold text of people; %w is not interpreted, use Wrap for a cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes a CodeInvalid error that names the field at fault.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Wrap makes an error with a code, a safe message (a verb phrase such as
// "load context") and a cause. It returns nil when cause is nil.
func Wrap(code Code, cause error, format string, args ...any) error {
	if cause == nil {
		return nil
	}
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// CodeOf returns the code of the outermost *Error in err's chain, CodeInternal
// for any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// Known reports whether c is one of the codes above. What is not one of ours,
// such as the type of another library's failure, must not be taken for a code.
func (c Code) Known() bool {
	switch c {
	case CodeInvalid, CodeNotFound, CodeConflict, CodeForbidden, CodeTransient, CodeUnavailable,
		CodeInvalidOutput, CodeTooLong, CodeRefused, CodeInternal:
		return true
	}
	return false
}

// Retryable reports whether repeating the same call may succeed.
func (c Code) Retryable() bool {
	return c == CodeTransient || c == CodeUnavailable || c == CodeInternal
}
