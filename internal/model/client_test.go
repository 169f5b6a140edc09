package model

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// meter records calls.
type meter struct {
	mu    sync.Mutex
	calls []Call
}

func (m *meter) ModelCall(_ context.Context, c Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
}

// replies answers with one reply after the other and keeps what was asked.
type replies struct {
	mu    sync.Mutex
	next  []scripted.Reply
	asked []prompts.Request
}

func (r *replies) script(c scripted.Call) scripted.Reply {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, c.Request)
	if len(r.next) == 0 {
		return scripted.Reply{Fault: scripted.Failing}
	}
	reply := r.next[0]
	r.next = r.next[1:]
	return reply
}

func newTestClient(script scripted.Script) (*Client, *scripted.Model, *meter) {
	m, met := scripted.New("m", script), &meter{}
	return newClient(m, newBreaker("m", BreakerConfig{}), memory.RolePlan, time.Second, met), m, met
}

var structured = prompts.Request{
	Prompt: "plan.v1", MaxTokens: 50, Schema: json.RawMessage(planLike),
	Messages: []prompts.Message{{Role: prompts.User, Text: "What did Ida say about the lighthouse on the island last summer?"}},
}

var spokenText = prompts.Request{
	Prompt: "answer.v1", MaxTokens: 50,
	Messages: []prompts.Message{{Role: prompts.User, Text: "What did Ida say about the lighthouse on the island last summer?"}},
}

const goodReply = `{"action":"keep","queries":["a"]}`

func TestClientRepairsOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		replies []scripted.Reply
		code    memory.Code
		calls   int
	}{
		{"a good reply needs no repair", []scripted.Reply{{Text: goodReply}}, "", 1},
		{"mem0#3391: an empty reply", []scripted.Reply{{Fault: scripted.Empty}, {Text: goodReply}}, "", 2},
		{"prose", []scripted.Reply{{Fault: scripted.Prose}, {Text: goodReply}}, "", 2},
		{"graphiti#868: the schema", []scripted.Reply{{Fault: scripted.WrongSchema}, {Text: goodReply}}, "", 2},
		{"hindsight#2579: a reply that was cut off", []scripted.Reply{{Text: goodReply, Fault: scripted.Truncated}, {Text: goodReply}}, "", 2},
		{"bad twice", []scripted.Reply{{Fault: scripted.Prose}, {Fault: scripted.WrongSchema}, {Text: goodReply}}, memory.CodeInvalidOutput, 2},
		{"cut off twice", []scripted.Reply{{Text: goodReply, Fault: scripted.Truncated}, {Text: goodReply, Fault: scripted.Truncated}}, memory.CodeInvalidOutput, 2},
		{"mem0#5878: a busy server during the repair is not nothing", []scripted.Reply{{Fault: scripted.Prose}, {Fault: scripted.Busy}}, memory.CodeTransient, 2},
		{"hindsight#3690: a refusal is not repaired", []scripted.Reply{{Fault: scripted.Refusing}, {Text: goodReply}}, memory.CodeRefused, 1},
		{"OpenViking#2992: a server that read a part of the prompt", []scripted.Reply{{Text: goodReply, Fault: scripted.Forgetful}}, memory.CodeTooLong, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &replies{next: tt.replies}
			c, _, met := newTestClient(r.script)
			resp, err := c.Complete(tenant.NewContext(t.Context(), memory.Scope{Tenant: "acme", User: "u"}), structured)
			require.Equal(t, tt.code, memory.CodeOf(err), "%v", err)
			require.Len(t, r.asked, tt.calls)
			if err == nil {
				require.Equal(t, goodReply, resp.Text)
				require.Equal(t, tt.calls, resp.Usage.Calls, "both calls are accounted for")
			} else {
				require.Empty(t, resp.Text)
			}
			require.Len(t, met.calls, 1)
			require.Equal(t, memory.RolePlan, met.calls[0].Role)
			require.Equal(t, memory.TenantID("acme"), met.calls[0].Tenant)
			require.Equal(t, tt.code, met.calls[0].Code)
		})
	}
}

func TestClientShowsTheModelWhatWasWrong(t *testing.T) {
	t.Parallel()
	r := &replies{next: []scripted.Reply{{Fault: scripted.Prose}, {Text: goodReply}}}
	c, _, met := newTestClient(r.script)
	_, err := c.Complete(t.Context(), structured)
	require.NoError(t, err)
	require.True(t, met.calls[0].Repaired)
	asked := r.asked[1]
	require.Len(t, asked.Messages, 3)
	require.Equal(t, prompts.Assistant, asked.Messages[1].Role)
	require.Contains(t, asked.Messages[2].Text, "not JSON")
	require.Len(t, structured.Messages, 1, "the caller's request is untouched")

	r = &replies{next: []scripted.Reply{{Text: goodReply, Fault: scripted.Truncated}, {Text: goodReply}}}
	c, _, _ = newTestClient(r.script)
	_, err = c.Complete(t.Context(), structured)
	require.NoError(t, err)
	require.Equal(t, 2*structured.MaxTokens, r.asked[1].MaxTokens, "what was cut off gets more room")
	require.Len(t, r.asked[1].Messages, 1)
}

func TestClientPlainText(t *testing.T) {
	t.Parallel()
	t.Run("mem0#3391: an empty reply is no success", func(t *testing.T) {
		t.Parallel()
		c, _, _ := newTestClient(scripted.Always(scripted.Reply{Fault: scripted.Empty}))
		_, err := c.Complete(t.Context(), spokenText)
		require.Equal(t, memory.CodeInvalidOutput, memory.CodeOf(err))
	})
	t.Run("nor is one of nothing but reasoning", func(t *testing.T) {
		t.Parallel()
		c, _, _ := newTestClient(scripted.Always(scripted.Reply{Text: "<think>\nhm\n</think>\n\n"}))
		_, err := c.Complete(t.Context(), spokenText)
		require.Equal(t, memory.CodeInvalidOutput, memory.CodeOf(err))
	})
	t.Run("a cut reply is an error unless the caller expects it", func(t *testing.T) {
		t.Parallel()
		c, _, _ := newTestClient(scripted.Always(scripted.Reply{Text: "one two three four", Fault: scripted.Truncated}))
		_, err := c.Complete(t.Context(), spokenText)
		require.Equal(t, memory.CodeInvalidOutput, memory.CodeOf(err))
		r := spokenText
		r.MayBeCut = true
		resp, err := c.Complete(t.Context(), r)
		require.NoError(t, err)
		require.Equal(t, "one two t", resp.Text)
		require.Equal(t, prompts.FinishLength, resp.Finish)
	})
	t.Run("graphiti#627: reasoning is neither streamed nor returned", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{
			"<think>a b c </think> Ida said so.", "\n<think> a </think>\n\nIda said so.", "Ida said so.",
		} {
			c, _, _ := newTestClient(scripted.Always(scripted.Reply{Text: text}))
			r := spokenText
			var streamed strings.Builder
			r.Emit = func(p string) { streamed.WriteString(p) }
			resp, err := c.Complete(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, "Ida said so.", resp.Text)
			require.Equal(t, "Ida said so.", streamed.String())
		}
	})
	t.Run("hindsight#3426: what only looks like reasoning stays", func(t *testing.T) {
		t.Parallel()
		for _, text := range []string{"<thin", "The tag <think>x</think> is for models.", "<thick> fog"} {
			c, _, _ := newTestClient(scripted.Always(scripted.Reply{Text: text}))
			r := spokenText
			var streamed strings.Builder
			r.Emit = func(p string) { streamed.WriteString(p) }
			resp, err := c.Complete(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, text, resp.Text)
			require.Equal(t, text, streamed.String())
		}
	})
}

func TestClientCountsBeforeItCalls(t *testing.T) {
	t.Parallel()
	r := &replies{next: []scripted.Reply{{Text: goodReply}}}
	c, m, met := newTestClient(r.script)
	m.Context = 100
	long := structured
	long.Messages = []prompts.Message{{Role: prompts.User, Text: strings.Repeat("word ", 100)}}
	_, err := c.Complete(t.Context(), long)
	require.Equal(t, memory.CodeTooLong, memory.CodeOf(err))
	require.Empty(t, r.asked, "nothing was sent")
	require.Zero(t, met.calls[0].Usage.Calls)
}

func TestClientTimesOutAndThenLeavesTheServerAlone(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	calls := 0
	slow := func(scripted.Call) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		calls++
		return scripted.Reply{Fault: scripted.Slow}
	}
	m := scripted.New("m", slow)
	c := newClient(m, newBreaker("m", BreakerConfig{}), memory.RolePlan, 10*time.Millisecond, nil)
	for range BreakerFailuresDefault {
		_, err := c.Complete(t.Context(), structured)
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
	}
	start := time.Now()
	for range 100 {
		_, err := c.Complete(t.Context(), structured)
		require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
	}
	require.Less(t, time.Since(start), 500*time.Millisecond, "a dead server costs no timeouts")
	require.Equal(t, BreakerFailuresDefault, calls)
}

func TestClientPassesCancellationOn(t *testing.T) {
	t.Parallel()
	c, _, _ := newTestClient(scripted.Always(scripted.Reply{Fault: scripted.Slow}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Complete(ctx, structured)
	require.ErrorIs(t, err, context.Canceled) // hindsight#2185
}

func TestClientRefusesARequestWithoutBound(t *testing.T) {
	t.Parallel()
	c, _, _ := newTestClient(scripted.Instant)
	_, err := c.Complete(t.Context(), prompts.Request{})
	require.Equal(t, memory.CodeInternal, memory.CodeOf(err))
}
