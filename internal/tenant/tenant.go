// Package tenant carries the scope of a call, tenant and user, in its context.
// Every store method takes it from there and refuses to work without it, so
// that no query can be written that forgets whose memory it reads.
package tenant

import (
	"context"

	"github.com/lightmem/lightmem/memory"
)

type key struct{}

// NewContext returns a context that carries the scope.
func NewContext(ctx context.Context, s memory.Scope) context.Context {
	return context.WithValue(ctx, key{}, s)
}

// FromContext returns the scope of ctx. Without one, or with a blank tenant or
// user, it returns a CodeForbidden error: a missing scope is never "everybody".
func FromContext(ctx context.Context) (memory.Scope, error) {
	s, _ := ctx.Value(key{}).(memory.Scope)
	if s.Tenant == "" || s.User == "" {
		return memory.Scope{}, memory.Errorf(memory.CodeForbidden, "the call carries no tenant and user")
	}
	return s, nil
}
