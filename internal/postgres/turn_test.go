package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/postgres"
	"github.com/lightmem/lightmem/internal/postgres/postgrestest"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

var day = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// answered is a turn of a user, complete but for what is written.
func answered(user, key, text string) memory.Answered {
	workflow := "turn/" + user + "/" + key
	r := memory.Request{
		Scope: memory.Scope{Tenant: "acme", User: memory.UserID(user)}, Conversation: "c1", IdempotencyKey: key,
		Mode: memory.ModeAnswer, Text: text, At: day, K: 5, Actor: "key-1",
	}
	return memory.Answered{
		Selected: memory.Selected{Retrieved: memory.Retrieved{Planned: memory.Planned{
			Turn: memory.Turn{
				Request: r, ID: memory.TurnIDFor(workflow, day), AcceptedAt: day, RequestDigest: r.Digest(), WorkflowID: workflow, RunID: "run-1",
			},
			Plan: memory.Plan{Queries: []memory.Query{{Text: text, Tier: memory.TierMTM, Origin: "input", Vector: memory.Vector{1, 0}}}, Version: "plan.rule.1"},
		}}},
		Answer: memory.Answer{Text: "answer to " + text, Version: "answer.rule.1"},
	}
}

func scopeOf(ctx context.Context, a memory.Answered) context.Context {
	return tenant.NewContext(ctx, a.Scope)
}

// drafted proposes statements; vectors are those of the words.
func drafted(a memory.Answered, drafts ...memory.Draft) memory.Drafted {
	for i := range drafts {
		d := &drafts[i]
		if d.Kind == "" {
			d.Kind = memory.KindFact
		}
		if d.Source == "" {
			d.Source = memory.SourceUser
		}
		if d.Rule == "" {
			d.Rule = "write.rule.1"
		}
	}
	return memory.Drafted{Answered: a, Drafts: drafts, Version: "write.rule.1", EmbedModel: "test"}
}

func TestTurnIsOpenedRecordedAndCommittedOnce(t *testing.T) {
	t.Parallel()
	s := postgrestest.Store(t, postgres.Options{})
	a := answered("ann", "k1", "I live in Berlin")
	ctx := scopeOf(t.Context(), a)

	profile, messages, done, err := s.Open(ctx, a.Request)
	require.NoError(t, err)
	require.Empty(t, profile)
	require.Empty(t, messages)
	require.Nil(t, done)

	require.NoError(t, s.Record(ctx, a))
	require.NoError(t, s.Record(ctx, a), "recording again changes nothing")
	first, err := s.Commit(ctx, drafted(a, memory.Draft{Text: "Ann lives in Berlin.", Subject: "Ann", Attribute: "residence", Value: "Berlin"}))
	require.NoError(t, err)
	require.Len(t, first.Written, 1)
	require.Equal(t, memory.EventAdded, first.Written[0].Event)
	again, err := s.Commit(ctx, drafted(a, memory.Draft{Text: "Something else."}))
	require.NoError(t, err)
	require.Equal(t, first, again)

	_, _, done, err = s.Open(ctx, a.Request)
	require.NoError(t, err)
	require.NotNil(t, done)
	require.Equal(t, first.Written, done.Written)
	require.Equal(t, a.ID, done.TurnID)
	require.Equal(t, "answer to I live in Berlin", done.Answer)

	b := answered("ann", "k2", "what did I say?")
	_, messages, done, err = s.Open(ctx, b.Request)
	require.NoError(t, err)
	require.Nil(t, done)
	require.Equal(t, []memory.Message{
		{From: memory.FromUser, Text: "I live in Berlin", At: day, Turn: a.ID},
		{From: memory.FromAssistant, Text: "answer to I live in Berlin", At: day, Turn: a.ID},
	}, messages)

	delta, err := s.Changes(ctx, "test", 0)
	require.NoError(t, err)
	require.True(t, delta.Reset)
	require.Len(t, delta.Items, 1)
}
