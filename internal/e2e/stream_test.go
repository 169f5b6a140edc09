package e2e

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
)

// The pieces of an answer reach who follows the turn; the record is the reply,
// whether anybody followed or not.
func TestAnswerIsStreamedAndRecordedOnce(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true})
	who := scope("greta")
	s.worker()
	s.remember(who, "My canoe is called Aurora and it is green.", time.Time{})
	r := request(who, memory.ModeAnswer, "What is my canoe called?")

	ctx, cancel := context.WithCancel(s.as(who))
	defer cancel()
	var mu sync.Mutex
	var pieces []string
	got := func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(pieces, "")
	}
	release := make(chan struct{})
	var once sync.Once
	// Recording the turn removes its pieces, and instant models leave no time to
	// read them: recording is held up until one has arrived.
	db, err := pgx.Connect(context.Background(), s.databases)
	require.NoError(t, err)
	defer db.Close(context.Background())
	tx, err := db.Begin(context.Background())
	require.NoError(t, err)
	_, err = tx.Exec(context.Background(), `SELECT FROM lightmem.conversation WHERE user_id = 'greta' FOR UPDATE`)
	require.NoError(t, err)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		_ = s.store.Follow(ctx, s.turns.WorkflowID(r), func(_ int, piece string) { // ends with ctx
			mu.Lock()
			defer mu.Unlock()
			pieces = append(pieces, piece)
			once.Do(func() { close(release) })
		})
	}()
	ended := s.begin(r)
	select {
	case <-release:
	case <-time.After(patience):
		t.Fatal("no piece of the answer arrived")
	}
	require.NoError(t, tx.Rollback(context.Background()))
	o := <-ended
	require.NoError(t, o.err)
	receipt := o.receipt
	require.NotEmpty(t, receipt.Answer)
	cancel()
	<-followed
	require.True(t, strings.HasPrefix(receipt.Answer, got()), "%q is no beginning of %q", got(), receipt.Answer)
	require.NotEmpty(t, got())
}

// A turn stays with the build that began it; new turns go to the current one.
func TestVersionedWorkers(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{})
	old := s.worker("--worker-deployment", "lightmem", "--worker-build-id", "v1")
	r := request(scope("heidi"), memory.ModeCaller, "My boat is white.")
	reply, err := s.turns.Reply(context.Background(), r)
	require.NoError(t, err)

	s.worker("--worker-deployment", "lightmem", "--worker-build-id", "v2", "--worker-make-current")
	_, err = s.turns.GiveAnswer(context.Background(), reply.WorkflowID, "Noted.")
	require.NoError(t, err)
	s.run(r)
	description, err := s.client.DescribeWorkflow(context.Background(), reply.WorkflowID, "")
	require.NoError(t, err)
	require.Equal(t, "v1", description.RawResponse.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId())

	old.stop()
	next := s.run(request(scope("heidi"), memory.ModeRecall, "What colour is my boat?"))
	description, err = s.client.DescribeWorkflow(context.Background(), next.WorkflowID, "")
	require.NoError(t, err)
	require.Equal(t, "v2", description.RawResponse.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId())
}
