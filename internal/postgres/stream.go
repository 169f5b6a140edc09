package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

const (
	// maxPieces bounds a stream; an answer of more pieces comes whole with the reply.
	maxPieces = 1 << 15
	// streamPoll is how often a follower looks though nobody woke it, because
	// notifications are lost while a listening connection is made anew.
	streamPoll = time.Second
)

// Publish implements activities.Streamer. Recording the turn removes its pieces.
// Those of an answer that is never recorded are removed when the same user's
// next answer begins or is recorded, 15 minutes after they came by the
// database's clock or later; of a user who does not come again they stay. The
// table is unlogged, and row security shows them to nobody else.
func (s *Store) Publish(ctx context.Context, workflowID string, attempt, seq int, piece string) error {
	if seq < 0 || seq >= maxPieces {
		return memory.Errorf(memory.CodeTooLong, "publish: a stream has at most %d pieces", maxPieces)
	}
	if err := checkText("piece", piece); err != nil {
		return err
	}
	return s.once(ctx, "publish", func(p *pipeline, scope memory.Scope) {
		t, u := string(scope.Tenant), string(scope.User)
		if seq == 0 {
			p.add(func(q *query.Queries) error {
				return q.DeleteOldStreams(ctx, query.DeleteOldStreamsParams{Tenant: t, UserID: u})
			})
		}
		p.add(func(q *query.Queries) error {
			return q.PublishPiece(ctx, query.PublishPieceParams{
				Tenant: t, UserID: u, WorkflowID: workflowID, Attempt: int32(attempt), Seq: int32(seq), Piece: piece,
				Wake: wakeKey(scope, workflowID),
			})
		})
	})
}

// Follow calls emit with the pieces of the turn with that workflow id as they
// come, in order, until ctx ends. Pieces of a later attempt begin the answer
// anew. The last pieces may be missing: the turn's reply holds the whole answer.
func (s *Store) Follow(ctx context.Context, workflowID string, emit func(attempt int, piece string)) error {
	scope, err := tenant.FromContext(ctx)
	if err != nil {
		return err
	}
	woken, leave := s.listener.join(wakeKey(scope, workflowID))
	defer leave()
	poll := time.NewTicker(streamPoll)
	defer poll.Stop()
	attempt, seq := int32(0), int32(-1)
	for {
		var rows []query.StreamAfterRow
		err := s.once(ctx, "follow", func(p *pipeline, scope memory.Scope) {
			p.add(func(q *query.Queries) (err error) {
				rows, err = q.StreamAfter(ctx, query.StreamAfterParams{
					Tenant: string(scope.Tenant), UserID: string(scope.User), WorkflowID: workflowID, Attempt: attempt, Seq: seq,
				})
				return err
			})
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, r := range rows {
			attempt, seq = r.Attempt, r.Seq
			emit(int(r.Attempt), r.Piece)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-woken:
		case <-poll.C:
		}
	}
}

// wakeKey names a stream on the channel that all streams share.
func wakeKey(scope memory.Scope, workflowID string) string {
	h := sha256.New()
	for _, part := range []string{string(scope.Tenant), string(scope.User), workflowID} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// listener hears of new pieces over one connection of its own, which it makes
// when somebody follows a stream and drops when nobody does.
type listener struct {
	base   context.Context //nolint:containedctx // followers share the connection; it outlives each of their contexts
	config *pgx.ConnConfig

	mu      sync.Mutex
	waiting map[string]map[chan struct{}]bool
	stop    context.CancelFunc
	closed  bool
	// running counts the connections: an old one may still end while a new one
	// is made.
	running sync.WaitGroup
}

func newListener(ctx context.Context, config *pgx.ConnConfig) *listener {
	return &listener{base: context.WithoutCancel(ctx), config: config, waiting: map[string]map[chan struct{}]bool{}}
}

// join returns a channel that gets a value when key is notified, and a function
// to call when that is no longer wanted. After close nothing is notified, and
// whoever follows can only look.
func (l *listener) join(key string) (woken <-chan struct{}, leave func()) {
	c := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting[key] == nil {
		l.waiting[key] = map[chan struct{}]bool{}
	}
	l.waiting[key][c] = true
	if l.stop == nil && !l.closed {
		ctx, stop := context.WithCancel(l.base)
		l.stop = stop
		l.running.Go(func() { l.listen(ctx) })
	}
	return c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting[key], c)
		if len(l.waiting[key]) == 0 {
			delete(l.waiting, key)
		}
		if len(l.waiting) == 0 && l.stop != nil {
			l.stop()
			l.stop = nil
		}
	}
}

// close ends all connections and waits for them; none is made any more.
func (l *listener) close() {
	l.mu.Lock()
	l.closed = true
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.mu.Unlock()
	l.running.Wait()
}

// listen keeps a listening connection until ctx ends.
func (l *listener) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if l.hear(ctx) == nil || ctx.Err() != nil {
			return
		}
		select { // followers poll in the meantime
		case <-ctx.Done():
		case <-time.After(streamPoll):
		}
	}
}

func (l *listener) hear(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, l.config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing to do about it
	if _, err := conn.Exec(ctx, "LISTEN lightmem_stream"); err != nil {
		return err
	}
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		l.mu.Lock()
		for c := range l.waiting[n.Payload] {
			select {
			case c <- struct{}{}:
			default: // it has not read the last one yet
			}
		}
		l.mu.Unlock()
	}
}
