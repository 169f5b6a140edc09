package postgres

import (
	"context"
	"sync"

	"github.com/lightmem/lightmem/memory"
)

// userLocks lets one writer of a process at a time to each user. The database
// would do the same, but there each that waits holds a connection, and many
// requests of one user would leave none for the others (mem0#6237).
type userLocks struct {
	mu      sync.Mutex
	waiting map[memory.Scope]*userLock
}

type userLock struct {
	holder chan struct{} // has a value while the lock is held
	users  int           // who hold it or wait for it
}

// acquire waits for the lock and returns what gives it back.
func (l *userLocks) acquire(ctx context.Context, scope memory.Scope) (release func(), err error) {
	l.mu.Lock()
	if l.waiting == nil {
		l.waiting = map[memory.Scope]*userLock{}
	}
	u := l.waiting[scope]
	if u == nil {
		u = &userLock{holder: make(chan struct{}, 1)}
		l.waiting[scope] = u
	}
	u.users++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if u.users--; u.users == 0 {
			delete(l.waiting, scope)
		}
	}
	select {
	case u.holder <- struct{}{}:
		return func() {
			<-u.holder
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}
