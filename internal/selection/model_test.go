package selection

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// modelFunc is a model that a test makes up.
type modelFunc func(context.Context, prompts.Request) (prompts.Response, error)

func (f modelFunc) Complete(ctx context.Context, r prompts.Request) (prompts.Response, error) {
	return f(ctx, r)
}

// last is the last message, the one with the candidate.
func last(r prompts.Request) string { return r.Messages[len(r.Messages)-1].Text }

// scored judges a memory by the number in its text: "weight 2.5".
func scored(_ context.Context, r prompts.Request) (prompts.Response, error) {
	_, after, _ := strings.Cut(last(r), "weight ")
	var score float64
	if _, err := fmt.Sscan(after, &score); err != nil {
		return prompts.Response{}, err
	}
	return prompts.Response{Tokens: []prompts.Token{{Top: []prompts.Alternative{
		{Text: "yes", Logprob: -1}, {Text: "no", Logprob: -1 - score}, {Text: "x", Logprob: -100},
	}}}}, nil
}

func retrieved(k int, memories ...string) memory.Retrieved {
	r := memory.Retrieved{}
	r.K, r.Text, r.At = k, "What did Ida bring?", time.Date(2026, 5, 3, 9, 0, 0, 0, time.UTC)
	r.Scope = memory.Scope{Tenant: "tenant-id", User: "user-id"}
	r.Profile = memory.Profile{Name: "Nora", TimeZone: "Asia/Tokyo"}
	for i, text := range memories {
		r.Candidates = append(r.Candidates, memory.Candidate{
			ID: memory.ID(fmt.Sprintf("m_%d", i+1)), Memory: text, EventAt: time.Date(2026, 4, 1, 20, 0, 0, 0, time.UTC),
		})
	}
	return r
}

func selector(t *testing.T, m model, o ModelOptions) *Model {
	t.Helper()
	set, err := prompts.Load()
	require.NoError(t, err)
	return NewModel(m, set, o)
}

func ids(s memory.Selection) []memory.ID {
	out := []memory.ID{}
	for _, c := range s.Chosen {
		out = append(out, c.ID)
	}
	return out
}

func TestPointwiseChoosesByLogProbability(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		k         int
		threshold float64
		scores    []string
		want      []memory.ID
	}{
		{"the best first, those below the threshold not at all", 5, 0, []string{"0.5", "-1", "3", "0"}, []memory.ID{"m_3", "m_1", "m_4"}},
		{"at most K", 2, 0, []string{"1", "2", "3", "4"}, []memory.ID{"m_4", "m_3"}},
		{"none is a valid answer", 5, 0, []string{"-1", "-2"}, []memory.ID{}},
		{"no candidates, no calls", 5, 0, nil, []memory.ID{}},
		{"a higher threshold", 5, 2, []string{"1", "2", "3"}, []memory.ID{"m_3", "m_2"}},
		{"a lower one", 5, -2, []string{"-1", "-3"}, []memory.ID{"m_1"}},
		{"equal scores keep retrieval's order", 5, 0, []string{"1", "1", "1"}, []memory.ID{"m_1", "m_2", "m_3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			memories := []string{}
			for _, s := range tt.scores {
				memories = append(memories, "weight "+s)
			}
			got, err := selector(t, modelFunc(scored), ModelOptions{Threshold: &tt.threshold}).Select(t.Context(), retrieved(tt.k, memories...))
			require.NoError(t, err)
			require.Equal(t, tt.want, ids(got))
			require.Equal(t, "select.v1", got.Version)
			require.NotNil(t, got.Chosen)
			for _, c := range got.Chosen {
				require.Equal(t, "yes", c.Reason)
			}
		})
	}
}

func TestPointwisePrompts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var asked []prompts.Request
	m := modelFunc(func(ctx context.Context, r prompts.Request) (prompts.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r)
		return scored(ctx, r)
	})
	_, err := selector(t, m, ModelOptions{Parallel: 1}).Select(t.Context(), retrieved(5, "weight 1", "weight 2 "+strings.Repeat("long ", 1000)))
	require.NoError(t, err)
	require.Len(t, asked, 2)
	for i, r := range asked {
		require.Equal(t, 1, r.MaxTokens)
		require.Equal(t, topLogprobs, r.TopLogprobs)
		require.True(t, r.MayBeCut)
		all, err := json.Marshal(r.Messages)
		require.NoError(t, err)
		for _, id := range []string{"tenant-id", "user-id", fmt.Sprintf("m_%d", i+1)} { // hindsight#1948
			require.NotContains(t, string(all), id)
		}
		require.Contains(t, string(all), "2 April 2026", "the date in the user's time zone (MemOS#2369)")
		require.Less(t, len(all), 3000, "a long memory is cut")
	}
	a, b := last(asked[0]), last(asked[1])
	front := strings.Index(a, "weight 1")
	require.Equal(t, a[:front], b[:front], "all candidates share their prompt's front")
}

func TestPointwiseWithoutLogProbabilities(t *testing.T) {
	t.Parallel()
	m := modelFunc(func(_ context.Context, r prompts.Request) (prompts.Response, error) {
		if strings.Contains(last(r), "plums") {
			return prompts.Response{Text: "Yes"}, nil
		}
		return prompts.Response{Text: "No"}, nil
	})
	got, err := selector(t, m, ModelOptions{}).Select(t.Context(), retrieved(5, "bread", "plums", "more plums"))
	require.NoError(t, err)
	require.Equal(t, []memory.ID{"m_2", "m_3"}, ids(got))
	require.Equal(t, "yes, without log-probability", got.Chosen[0].Reason)
}

func TestPointwiseFailsRatherThanDropACandidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		bad  func() (prompts.Response, error)
		code memory.Code
	}{
		{"one call fails", func() (prompts.Response, error) {
			return prompts.Response{}, memory.Errorf(memory.CodeUnavailable, "down")
		}, memory.CodeUnavailable},
		{"one reply is neither yes nor no", func() (prompts.Response, error) { return prompts.Response{Text: "Well"}, nil }, memory.CodeInvalidOutput},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := modelFunc(func(ctx context.Context, r prompts.Request) (prompts.Response, error) {
				if strings.Contains(last(r), "weight 9") {
					return tt.bad()
				}
				if ctx.Err() != nil {
					return prompts.Response{}, memory.Wrap(memory.CodeTransient, context.Canceled, "cancelled")
				}
				return scored(ctx, r)
			})
			got, err := selector(t, m, ModelOptions{Parallel: 2}).Select(t.Context(), retrieved(5, "weight 1", "weight 9", "weight 2", "weight 3", "weight 4", "weight 5"))
			require.Equal(t, tt.code, memory.CodeOf(err), "the cause, not the cancellations that follow: %v", err)
			require.Empty(t, got.Chosen)
		})
	}
	t.Run("the caller goes away", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := selector(t, modelFunc(scored), ModelOptions{}).Select(ctx, retrieved(5, "weight 1"))
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestPointwiseAsksInParallelUpToItsBound(t *testing.T) {
	t.Parallel()
	const bound = 3
	var running, most atomic.Int32
	full := make(chan struct{})
	var once sync.Once
	m := modelFunc(func(ctx context.Context, r prompts.Request) (prompts.Response, error) {
		n := running.Add(1)
		defer running.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		if n == bound {
			once.Do(func() { close(full) })
		}
		<-full // the first ones wait for each other: less than bound in parallel would never end
		return scored(ctx, r)
	})
	memories := make([]string, 12)
	for i := range memories {
		memories[i] = "weight 1"
	}
	_, err := selector(t, m, ModelOptions{Parallel: bound}).Select(t.Context(), retrieved(5, memories...))
	require.NoError(t, err)
	require.Equal(t, int32(bound), most.Load())
}

func TestListwise(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, reply string
		want        []memory.ID
	}{
		{"in the model's order", `{"useful":[3,1]}`, []memory.ID{"m_3", "m_1"}},
		{"none", `{"useful":[]}`, []memory.ID{}},
		{"graphiti#939: out of range, and twice", `{"useful":[0,9,2,2,-1]}`, []memory.ID{"m_2"}},
		{"at most K", `{"useful":[1,2,3]}`, []memory.ID{"m_1", "m_2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := modelFunc(func(_ context.Context, r prompts.Request) (prompts.Response, error) {
				var s struct {
					Properties struct {
						Useful struct {
							MaxItems int
							Items    struct{ Enum []int }
						}
					}
				}
				require.NoError(t, json.Unmarshal(r.Schema, &s))
				require.Equal(t, []int{1, 2, 3}, s.Properties.Useful.Items.Enum, "only candidates can be named")
				require.Equal(t, 2, s.Properties.Useful.MaxItems)
				require.Contains(t, last(r), "2. [2 April 2026] b")
				return prompts.Response{Text: tt.reply}, nil
			})
			got, err := selector(t, m, ModelOptions{Listwise: true}).Select(t.Context(), retrieved(2, "a", "b", "c"))
			require.NoError(t, err)
			require.Equal(t, tt.want, ids(got))
			require.Equal(t, "selectlist.v1", got.Version)
		})
	}
	t.Run("what does not fit is left out from the end", func(t *testing.T) {
		t.Parallel()
		m := modelFunc(func(_ context.Context, r prompts.Request) (prompts.Response, error) {
			if strings.Contains(last(r), "3. ") {
				return prompts.Response{}, memory.Errorf(memory.CodeTooLong, "too long")
			}
			return prompts.Response{Text: `{"useful":[1,3]}`}, nil
		})
		got, err := selector(t, m, ModelOptions{Listwise: true}).Select(t.Context(), retrieved(5, "a", "b", "c", "d"))
		require.NoError(t, err)
		require.Equal(t, []memory.ID{"m_1"}, ids(got))
	})
	t.Run("no candidates, no call", func(t *testing.T) {
		t.Parallel()
		got, err := selector(t, nil, ModelOptions{Listwise: true}).Select(t.Context(), retrieved(5))
		require.NoError(t, err)
		require.Empty(t, got.Chosen)
	})
	t.Run("a failure is a failure", func(t *testing.T) {
		t.Parallel()
		m := modelFunc(func(context.Context, prompts.Request) (prompts.Response, error) {
			return prompts.Response{}, memory.Errorf(memory.CodeRefused, "no")
		})
		_, err := selector(t, m, ModelOptions{Listwise: true}).Select(t.Context(), retrieved(5, "a"))
		require.Equal(t, memory.CodeRefused, memory.CodeOf(err))
	})
}
