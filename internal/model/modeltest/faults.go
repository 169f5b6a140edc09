package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// RunFaults leads an adapter through every failure of a server. open makes an
// adapter to a scripted server at the address.
func RunFaults(t *testing.T, open func(t *testing.T, address string) Adapter) {
	for _, tt := range []struct {
		fault scripted.Fault
		// chat and embed are the codes of the errors; empty: a reply comes.
		chat, embed memory.Code
		retryAfter  time.Duration
	}{
		{fault: scripted.Down, chat: memory.CodeUnavailable, embed: memory.CodeUnavailable},
		{fault: scripted.Slow, chat: memory.CodeUnavailable, embed: memory.CodeUnavailable},
		{fault: scripted.Nonsense, chat: memory.CodeInvalidOutput, embed: memory.CodeInvalidOutput},
		{fault: scripted.BrokenOff, chat: memory.CodeTransient},
		{fault: scripted.Busy, chat: memory.CodeTransient, embed: memory.CodeTransient, retryAfter: scripted.BusyWait}, // mem0#5878
		{fault: scripted.Failing, chat: memory.CodeTransient, embed: memory.CodeTransient},
		{fault: scripted.Missing, chat: memory.CodeRefused, embed: memory.CodeRefused},
		{fault: scripted.Unauthorized, chat: memory.CodeRefused, embed: memory.CodeRefused},
		{fault: scripted.TooLong, chat: memory.CodeTooLong, embed: memory.CodeTooLong},
	} {
		for _, stream := range []bool{false, true} {
			name := string(tt.fault)
			if stream {
				name += ", streamed"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := &scripted.Server{}
				s.Follow(scripted.Always(scripted.Reply{Text: "a reply of some words", Fault: tt.fault}))
				m := open(t, Serve(t, s))
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if tt.fault == scripted.Slow {
					ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
				}
				defer cancel()
				r := yesNo("secret-of-a-person")
				if stream {
					r.Emit = func(string) {}
				}
				resp, err := m.Complete(ctx, r)
				requireCode(t, tt.chat, err, resp.Text)
				if tt.retryAfter > 0 {
					var e *memory.Error
					require.True(t, errors.As(err, &e))
					require.Equal(t, tt.retryAfter, e.RetryAfter)
				}
				if stream || tt.fault == scripted.Slow {
					return
				}
				_, _, err = m.Embed(ctx, []string{"secret-of-a-person"})
				requireCode(t, tt.embed, err, "")
			})
		}
	}

	t.Run("hindsight#3690: a refusal by policy is for good", func(t *testing.T) {
		t.Parallel()
		s := &scripted.Server{}
		s.Follow(scripted.Always(scripted.Reply{Fault: scripted.Refusing}))
		resp, err := open(t, Serve(t, s)).Complete(t.Context(), yesNo("x"))
		if err != nil {
			require.Equal(t, memory.CodeRefused, memory.CodeOf(err), "%v", err)
			return
		}
		require.Equal(t, prompts.FinishRefused, resp.Finish)
	})

	t.Run("a truncated reply says so", func(t *testing.T) {
		t.Parallel()
		s := &scripted.Server{}
		s.Follow(scripted.Always(scripted.Reply{Text: "a reply of some words", Fault: scripted.Truncated}))
		resp, err := open(t, Serve(t, s)).Complete(t.Context(), yesNo("x"))
		require.NoError(t, err)
		require.Equal(t, prompts.FinishLength, resp.Finish)
	})

	t.Run("nobody listens", func(t *testing.T) {
		t.Parallel()
		m := open(t, "http://127.0.0.1:1")
		_, err := m.Complete(t.Context(), yesNo("x"))
		requireCode(t, memory.CodeUnavailable, err, "")
		_, _, err = m.Embed(t.Context(), []string{"x"})
		requireCode(t, memory.CodeUnavailable, err, "")
	})

	t.Run("a server without log-probabilities sends the word", func(t *testing.T) {
		t.Parallel()
		yes := 0.9
		s := &scripted.Server{NoLogprobs: true}
		s.Follow(scripted.Always(scripted.Reply{Yes: &yes}))
		resp, err := open(t, Serve(t, s)).Complete(t.Context(), yesNo("x"))
		require.NoError(t, err)
		score, weighed, ok := prompts.YesNo(resp)
		require.True(t, ok)
		require.False(t, weighed)
		require.Positive(t, score)
	})
}

// requireCode checks an error's code, that a failure comes without a reply, and
// that its message holds no text of people.
func requireCode(t *testing.T, want memory.Code, err error, text string) {
	t.Helper()
	if want == "" {
		require.NoError(t, err)
		return
	}
	require.Error(t, err)
	require.Equal(t, want, memory.CodeOf(err), "%v", err)
	require.Empty(t, text)
	require.NotContains(t, err.Error(), "secret-of-a-person")
	_, jsonErr := json.Marshal(err.Error())
	require.NoError(t, jsonErr)
}
