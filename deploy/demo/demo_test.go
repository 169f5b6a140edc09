package demo_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/deploy/demo"
	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/memory"
)

// What issue 3 asks of the conversation.
func TestTheConversationHasWhatItNeeds(t *testing.T) {
	t.Parallel()
	c, err := demo.Load()
	require.NoError(t, err)
	require.Len(t, c.People, 2)
	turns, days, keys := 0, map[string]bool{}, map[string]bool{}
	check := func(turn demo.Turn) {
		r := turn.Request("default", "")
		require.NoError(t, r.Validate(), turn.Says)
		require.False(t, keys[r.IdempotencyKey], "the same turn twice: %s", turn.Says)
		keys[r.IdempotencyKey] = true
		require.NotEqual(t, turn.Ask, turn.Assistant != "", turn.Says)
		days[turn.At.Format(time.DateOnly)] = true
		turns++
	}
	for _, list := range c.History() {
		last := time.Time{}
		for _, turn := range list {
			require.True(t, turn.At.After(last), "in order: %s", turn.Says)
			last = turn.At
			check(turn)
		}
	}
	for _, turn := range c.Finale {
		check(turn)
	}
	require.GreaterOrEqual(t, turns, 40)
	require.GreaterOrEqual(t, len(days), 5)
	require.GreaterOrEqual(t, len(c.Sessions), 6)
}

func TestKeysFollowFromTheWords(t *testing.T) {
	t.Parallel()
	turn := demo.Turn{Person: "p", Conversation: "c", At: time.Unix(1, 0), Says: "x", Assistant: "y"}
	require.Equal(t, turn.Request("t", "").IdempotencyKey, turn.Request("t", "").IdempotencyKey)
	other := turn
	other.Says = "z"
	require.NotEqual(t, turn.Request("t", "").IdempotencyKey, other.Request("t", "").IdempotencyKey)
	require.Equal(t, memory.UserID("p-2"), turn.Request("t", "-2").User)
}

type fake struct {
	mu   sync.Mutex
	seen []memory.Request
	fail string
	// traced counts the stories; the first was served by a model.
	traced int
}

func (f *fake) Reply(_ context.Context, r memory.Request) (memory.Reply, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, r)
	if f.fail != "" && strings.Contains(r.Text, f.fail) {
		return memory.Reply{}, errors.New("broken")
	}
	return memory.Reply{TurnID: "t_1"}, nil
}

func (f *fake) Receipt(context.Context, memory.Request) (memory.Receipt, error) {
	return memory.Receipt{Written: []memory.Outcome{{Event: memory.EventAdded}}}, nil
}

func (f *fake) SetProfile(context.Context, memory.Profile) error { return nil }

func (f *fake) Trace(_ context.Context, id memory.TurnID) (story.Turn, error) {
	out := story.Turn{TurnID: id, Mode: memory.ModeAnswer, State: "committed"}
	if f.traced++; f.traced == 1 {
		out.Serving = memory.Serving{memory.RolePlan: "ollama:q"}
	}
	return out, nil
}

func player(f *fake, out io.Writer) *demo.Player {
	return &demo.Player{
		Turns: f, Store: f, Tenant: "default", Out: page.New(out, 0, false), Progress: io.Discard,
		Key: func() string { return "fresh" }, Now: time.Now,
	}
}

func TestPlaysEachPersonInOrderAndTellsTheFinale(t *testing.T) {
	t.Parallel()
	c, err := demo.Load()
	require.NoError(t, err)
	f := &fake{}
	var out strings.Builder
	sum, err := player(f, &out).Play(context.Background(), c)
	require.NoError(t, err)
	require.Len(t, sum.Told, len(c.Finale))
	last := map[memory.UserID]time.Time{}
	for _, r := range f.seen {
		if r.Mode == memory.ModeRecall {
			continue
		}
		require.False(t, r.At.Before(last[r.User]))
		last[r.User] = r.At
	}
	require.Len(t, f.seen, sum.Turns+len(c.Finale)+len(c.Live))
	require.Contains(t, out.String(), "by the models")
	require.Contains(t, out.String(), "by the rules")
}

func TestAFailedTurnEndsThePlayAndSaysWhich(t *testing.T) {
	t.Parallel()
	c, err := demo.Load()
	require.NoError(t, err)
	_, err = player(&fake{fail: "half marathon on 23 May"}, io.Discard).Play(context.Background(), c)
	require.ErrorContains(t, err, "play the turn of 2026-03-14 17:44:00: broken")
}
