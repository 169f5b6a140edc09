package postgres_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/memory"
)

// heard is what a follower has of an answer.
type heard struct {
	mu      sync.Mutex
	attempt int
	text    strings.Builder
}

func (h *heard) emit(attempt int, piece string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if attempt != h.attempt {
		h.attempt = attempt
		h.text.Reset()
	}
	h.text.WriteString(piece)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

func TestPiecesReachTheirFollowersOnly(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	worker, gateway := postgrestest.Store(t, postgres.Options{URL: url}), postgrestest.Store(t, postgres.Options{URL: url})
	ann, bob := postgrestest.In(t.Context(), "acme", "ann"), postgrestest.In(t.Context(), "acme", "bob")
	var annHears, bobHears heard
	var followers sync.WaitGroup
	follow := func(ctx context.Context, h *heard) context.CancelFunc {
		ctx, stop := context.WithCancel(ctx)
		followers.Go(func() { require.NoError(t, gateway.Follow(ctx, "turn/1", h.emit)) })
		return stop
	}
	require.NoError(t, worker.Publish(ann, "turn/1", 1, 0, "Once ")) // before anybody follows
	stopAnn, stopBob := follow(ann, &annHears), follow(bob, &bobHears)
	for i, word := range []string{"upon ", "a ", "time"} {
		require.NoError(t, worker.Publish(ann, "turn/1", 1, i+1, word))
		require.NoError(t, worker.Publish(ann, "turn/1", 1, i+1, word), "a piece that comes twice is one")
	}
	require.Eventually(t, func() bool { return annHears.String() == "Once upon a time" }, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, worker.Publish(ann, "turn/1", 2, 0, "Anew"))
	require.Eventually(t, func() bool { return annHears.String() == "Anew" }, 10*time.Second, 5*time.Millisecond)
	require.Empty(t, bobHears.String(), "a workflow's id opens nobody else's stream")
	stopAnn()
	stopBob()
	followers.Wait()

	a := answered("ann", "1", "x")
	a.WorkflowID = "turn/1"
	require.NoError(t, worker.Record(ann, a))
	var n int
	require.NoError(t, connect(t, url, "").QueryRow(t.Context(), "SELECT count(*) FROM answer_stream").Scan(&n))
	require.Zero(t, n, "recording the turn removes its pieces")
	require.Equal(t, memory.CodeTooLong, memory.CodeOf(worker.Publish(ann, "turn/1", 1, 1<<20, "x")))
}

func TestPiecesComeQuickly(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	ctx, stop := context.WithCancel(postgrestest.In(t.Context(), "acme", "ann"))
	var h heard
	done := make(chan error, 1)
	go func() { done <- s.Follow(ctx, "turn/1", h.emit) }()
	want := ""
	for i := range 50 {
		piece := fmt.Sprint(i, " ")
		want += piece
		require.NoError(t, s.Publish(ctx, "turn/1", 1, i, piece))
	}
	require.Eventually(t, func() bool { return h.String() == want }, 10*time.Second, 2*time.Millisecond)
	stop()
	require.NoError(t, <-done)
}

func TestPiecesOfAnAnswerThatWasNeverRecordedGo(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s, owner := postgrestest.Store(t, postgres.Options{URL: url}), connect(t, url, "")
	ann, bob := postgrestest.In(t.Context(), "acme", "ann"), postgrestest.In(t.Context(), "acme", "bob")
	left := func() (n int) {
		require.NoError(t, owner.QueryRow(t.Context(), "SELECT count(*) FROM answer_stream").Scan(&n))
		return n
	}
	abandon := func(id string) {
		require.NoError(t, s.Publish(ann, id, 1, 0, "x"))
		_, err := owner.Exec(t.Context(), "UPDATE answer_stream SET at = now() - interval '16 minutes' WHERE workflow_id = $1", id)
		require.NoError(t, err)
	}
	abandon("turn/1")
	require.NoError(t, s.Publish(bob, "turn/2", 1, 0, "x"))
	require.Equal(t, 2, left(), "another user's answer removes nothing")
	require.NoError(t, s.Publish(ann, "turn/3", 1, 0, "x"))
	require.Equal(t, 2, left(), "the next answer that is streamed removes it")
	abandon("turn/4")
	a := answered("ann", "1", "x")
	a.WorkflowID = "turn/5"
	require.NoError(t, s.Record(ann, a))
	require.Equal(t, 2, left(), "and the next that is recorded, streamed or not; younger ones stay")
}

func TestNobodyListensAfterClose(t *testing.T) {
	t.Parallel()
	url := postgrestest.URL(t)
	s, owner := postgrestest.Store(t, postgres.Options{URL: url, Name: "listening"}), connect(t, url, "")
	listening := func() (n int) {
		require.NoError(t, owner.QueryRow(t.Context(),
			"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'listening'").Scan(&n))
		return n
	}
	ctx := postgrestest.In(t.Context(), "acme", "ann")
	for range 5 { // each makes a connection anew, while the last one's may still end
		follow, stop := context.WithCancel(ctx)
		var h heard
		var follower sync.WaitGroup
		follower.Go(func() { _ = s.Follow(follow, "turn/1", h.emit) })
		require.NoError(t, s.Publish(ctx, "turn/1", 1, 0, "x"))
		require.Eventually(t, func() bool { return h.String() == "x" }, 10*time.Second, time.Millisecond)
		stop()
		follower.Wait()
	}
	s.Close()
	require.Error(t, s.Follow(ctx, "turn/1", (&heard{}).emit))
	require.Eventually(t, func() bool { return listening() == 0 }, 10*time.Second, 5*time.Millisecond)
}
