package devstack

import (
	"fmt"
	"strings"
)

// Failure is a step of the stack that did not work out, with what a person can
// do about it.
type Failure struct {
	// Step is what was tried, as a verb phrase: "start Postgres".
	Step string
	// Log is the file with more, where there is one.
	Log string
	// Hint is what to do now.
	Hint string
	// Err is the cause.
	Err error
}

// Error says what failed, why, and what to do, over several lines.
func (f *Failure) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %v", f.Step, f.Err)
	if f.Log != "" {
		fmt.Fprintf(&text, "\n  log: %s", f.Log)
		for _, line := range lastLines(f.Log, 8) {
			fmt.Fprintf(&text, "\n  | %s", line)
		}
	}
	if f.Hint != "" {
		fmt.Fprintf(&text, "\n  what to do: %s", f.Hint)
	}
	return text.String()
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }
