package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/devstack/stacktest"
	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/memory"
)

// outcome is how a turn ended.
type outcome struct {
	receipt memory.Receipt
	err     error
}

// begin starts a turn and tells later how it ended. Like a careful client it
// sends the request again, under the same key, while a server is away.
func (s *system) begin(r memory.Request) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
		defer cancel()
		var o outcome
		for {
			if _, o.err = s.turns.Reply(ctx, r); o.err == nil {
				o.receipt, o.err = s.turns.Receipt(ctx, r)
			}
			if o.err == nil || ctx.Err() != nil || !memory.CodeOf(o.err).Retryable() {
				out <- o
				return
			}
		}
	}()
	return out
}

// holder holds up what it is told to: the nth call to a model that speaks of a
// word.
type holder struct {
	mu    sync.Mutex
	nth   map[string]int
	calls map[string]int
	// held receives the word whose call is being held.
	held    chan string
	release chan struct{}
}

func (h *holder) script(c scripted.Call) scripted.Reply {
	text := strings.Join(c.Texts, " ")
	for _, m := range c.Request.Messages {
		text += m.Text
	}
	h.mu.Lock()
	hold := ""
	for word, n := range h.nth {
		if strings.Contains(text, word) {
			h.calls[word]++
			if h.calls[word] == n {
				hold = word
			}
		}
	}
	h.mu.Unlock()
	if hold != "" {
		h.held <- hold
		<-h.release
	}
	return scripted.Instant(c)
}

func (h *holder) callsOf(word string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls[word]
}

// Invariant 6: killing any process at any moment loses no accepted turn and
// writes nothing twice. Every step at once: one turn is held in each call to a
// model, one while it records, one while it commits; then the worker is killed.
func TestWorkerKilledAtEveryStepOfTheTurn(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true, settings: []string{"LIGHTMEM_WORKER_GPU_SLOTS=64"}})
	h := &holder{nth: map[string]int{"quokka0": -1}, calls: map[string]int{}, held: make(chan string, 64), release: make(chan struct{})}
	s.models.Follow(h.script)
	first := s.worker()

	text := func(word string) string { return "My lucky word is " + word + "." }
	s.run(request(scope("quokka0"), memory.ModeAnswer, text("quokka0")))
	steps := h.callsOf("quokka0")
	require.GreaterOrEqual(t, steps, 4, "plan, its embedding, answer, the draft's embedding at least")

	ctx := context.Background()
	db, err := pgx.Connect(ctx, s.databases)
	require.NoError(t, err)
	defer db.Close(ctx)
	hold, err := pgx.Connect(ctx, s.databases)
	require.NoError(t, err)
	defer hold.Close(ctx)

	words := map[string]<-chan outcome{}
	for k := 1; k <= steps; k++ {
		word := fmt.Sprintf("quokka%d", k)
		h.mu.Lock()
		h.nth[word] = k
		h.mu.Unlock()
	}
	// Two more, held by the database: the rows that recording and committing
	// must lock are locked by somebody else.
	for _, user := range []string{"recording", "committing"} {
		s.run(request(scope(user), memory.ModeRecall, "hello?"))
	}
	tx, err := hold.Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM lightmem.conversation WHERE user_id = 'recording' FOR UPDATE`)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, `SELECT FROM lightmem.app_user WHERE user_id = 'committing' FOR UPDATE`)
	require.NoError(t, err)

	for k := 1; k <= steps; k++ {
		word := fmt.Sprintf("quokka%d", k)
		words[word] = s.begin(request(scope(word), memory.ModeAnswer, text(word)))
	}
	for _, user := range []string{"recording", "committing"} {
		words[user] = s.begin(request(scope(user), memory.ModeAnswer, text(user)))
	}
	held := map[string]bool{}
	for len(held) < steps {
		select {
		case word := <-h.held:
			held[word] = true
		case <-time.After(patience):
			t.Fatalf("only %v of %d steps were reached", held, steps)
		}
	}
	require.Eventually(t, func() bool {
		var waiting int
		err := db.QueryRow(ctx, `SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted`).Scan(&waiting)
		return err == nil && waiting >= 2
	}, patience, 50*time.Millisecond, "two turns wait for the database")

	first.kill()
	s.models.Follow(scripted.Instant)
	close(h.release)
	require.NoError(t, tx.Rollback(ctx))
	s.worker()

	for word, ended := range words {
		o := <-ended
		require.NoError(t, o.err, word)
		require.Len(t, addedOf(o.receipt.Written), 1, "%s: %+v", word, o.receipt.Written)
		live := s.live(scope(word))
		require.Len(t, live, 1, word)
		require.Equal(t, 1, live[0].Strength, "%s was written twice", word)
	}
	s.verifyAudit("acme")
}

// talk starts turns of n users and returns their ends; during is called while
// they are on their way.
func (s *system) talk(n int, during func()) {
	s.t.Helper()
	ends := map[string]<-chan outcome{}
	for i := range n {
		user := fmt.Sprintf("talker%d", i)
		ends[user] = s.begin(request(scope(user), memory.ModeAnswer, "My favourite number is "+fmt.Sprint(100+i)+"."))
		if i == n/2 {
			during()
		}
	}
	for user, end := range ends {
		o := <-end
		require.NoError(s.t, o.err, user)
		live := s.live(scope(user))
		require.Len(s.t, live, 1, user)
		require.Equal(s.t, 1, live[0].Strength, "%s was written twice", user)
	}
}

func TestPostgresKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	pg := stacktest.PrivatePostgres(t)
	s := newSystem(t, parts{database: pg.URL})
	s.worker()
	s.talk(12, func() {
		require.NoError(t, pg.Kill(context.Background()))
		require.NoError(t, pg.Start(context.Background()))
	})
}

func TestTemporalKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	server := stacktest.PrivateTemporal(t)
	s := newSystem(t, parts{temporal: server.Address})
	s.worker()
	s.talk(12, func() {
		require.NoError(t, server.Kill(context.Background()))
		require.NoError(t, server.Start(context.Background()))
	})
}

// Peers' sections 3.1 and 3.9: whatever the model server does, the turn ends,
// says what was degraded, and what the user said is kept by the rules.
func TestTurnEndsWhateverTheModelServerDoes(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true, settings: []string{
		"LIGHTMEM_PLAN_TIMEOUT=1s", "LIGHTMEM_SELECT_TIMEOUT=1s", "LIGHTMEM_WRITE_TIMEOUT=1s", "LIGHTMEM_ANSWER_TIMEOUT=1s", "LIGHTMEM_EMBED_TIMEOUT=1s",
	}})
	s.worker()
	for _, fault := range scripted.Faults() {
		who := scope("fault-" + string(fault))
		s.models.Follow(scripted.Instant)
		s.remember(who, "My bicycle is red.", time.Time{})
		s.models.Follow(func(c scripted.Call) scripted.Reply { return scripted.Reply{Fault: fault} })
		receipt := s.run(request(who, memory.ModeAnswer, "I bought a green bicycle. My sister Clara moved to Oslo."))
		require.NotEmpty(t, receipt.Answer, fault)
		require.NotEmpty(t, receipt.Degraded, "%s: the turn must say that it was degraded", fault)
		var texts []string
		for _, m := range s.live(who) {
			texts = append(texts, m.Text)
		}
		require.Contains(t, strings.Join(texts, "\n"), "Oslo", "%s: %+v", fault, receipt.Written)
	}
}

// Words find what has no vector, and the vectors come later.
func TestMissingVectorsAreFilledInWhenTheEmbedderIsBack(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true})
	s.models.Follow(func(c scripted.Call) scripted.Reply {
		if len(c.Texts) > 0 {
			return scripted.Reply{Fault: scripted.Failing}
		}
		return scripted.Instant(c)
	})
	s.worker()
	who := scope("erin")
	receipt := s.remember(who, "My violin was made in Cremona.", time.Time{})
	require.Equal(t, 1, receipt.Unembedded)
	recall := s.run(request(who, memory.ModeRecall, "Where was my violin made?"))
	require.Contains(t, recall.Candidates[0].Memory, "Cremona")
	require.True(t, slices.ContainsFunc(recall.Degraded, func(d memory.Degraded) bool { return d.Role == memory.RoleEmbed }), "%+v", recall.Degraded)

	s.models.Follow(scripted.Instant)
	require.Eventually(t, func() bool {
		missing, err := s.store.Unembedded(s.as(who), "scripted", 10)
		return err == nil && len(missing) == 0
	}, patience, 100*time.Millisecond)
}

// Invariant 10, mem0#6237, cognee#4389: with one connection in all, turns that
// wait for a model leave the database to others.
func TestNoConnectionIsHeldWhileAModelRuns(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true, settings: []string{"LIGHTMEM_DATABASE_CONNECTIONS=1"}})
	h := &holder{nth: map[string]int{}, calls: map[string]int{}, held: make(chan string, 8), release: make(chan struct{})}
	for k := 1; k <= 2; k++ {
		h.nth[fmt.Sprintf("wombat%d", k)] = k // one waits in its plan, one later
	}
	s.models.Follow(h.script)
	s.worker()
	var waiting []<-chan outcome
	for k := 1; k <= 2; k++ {
		waiting = append(waiting, s.begin(request(scope("slow"), memory.ModeRecall, fmt.Sprintf("Where is wombat%d?", k))))
	}
	for range waiting {
		select {
		case <-h.held:
		case <-time.After(patience):
			t.Fatal("the models were not asked")
		}
	}
	r := request(scope("fast"), memory.ModeRecall, "hello?")
	r.Rules = true
	s.run(r)
	close(h.release)
	for _, end := range waiting {
		require.NoError(t, (<-end).err)
	}
}

// A gpu queue that nobody serves holds a turn up for a bounded time only.
func TestTurnGoesOnByTheRulesWhenNoModelSlotIsFree(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true})
	s.worker("--worker-queues", "turns")
	reply := s.run(request(scope("iris"), memory.ModeAnswer, "My kite is yellow. Where is it?"))
	roles := map[memory.Role]string{}
	for _, d := range reply.Degraded {
		roles[d.Role] = d.Detail
	}
	require.Equal(t, "no free model slot in time", roles[memory.RolePlan], "%+v", reply.Degraded)
	require.Len(t, s.live(scope("iris")), 1)
}
