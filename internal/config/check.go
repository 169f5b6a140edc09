package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// check refuses a value that is not among the choices or outside the range.
// Zero means "not set" for a setting without a default.
func (s Setting) check() error {
	if len(s.Choices) > 0 {
		values, ok := s.field.Interface().([]string)
		if !ok {
			values = []string{s.field.String()}
		}
		if ok && len(values) == 0 {
			return fmt.Errorf("names none of %s", strings.Join(s.Choices, ", "))
		}
		for i, v := range values {
			if !slices.Contains(s.Choices, v) {
				return fmt.Errorf("%q is none of %s", v, strings.Join(s.Choices, ", "))
			}
			if slices.Contains(values[:i], v) {
				return fmt.Errorf("names %q twice", v)
			}
		}
	}
	if s.Range == "" || s.field.IsZero() && s.Default == "" {
		return nil
	}
	low, high, _ := strings.Cut(s.Range, "..")
	if v := s.field.Int(); v < s.number(low) || v > s.number(high) {
		return fmt.Errorf("%s is not between %s and %s", s.text(), low, high)
	}
	return nil
}

// number reads a bound in the setting's own unit. Bounds are tags of this
// package; the tests read all of them.
func (s Setting) number(text string) int64 {
	switch s.field.Interface().(type) {
	case time.Duration:
		d, _ := time.ParseDuration(text)
		return int64(d)
	case Bytes:
		var b Bytes
		_ = b.UnmarshalText([]byte(text))
		return int64(b)
	default:
		n, _ := strconv.ParseInt(text, 10, 64)
		return n
	}
}
