package answer

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// modelFunc is a model that a test makes up.
type modelFunc func(prompts.Request) (prompts.Response, error)

func (f modelFunc) Complete(_ context.Context, r prompts.Request) (prompts.Response, error) {
	return f(r)
}

func selected() memory.Selected {
	s := memory.Selected{}
	s.Scope = memory.Scope{Tenant: "tenant-id", User: "user-id"}
	s.Text, s.At = "What did Ida bring <|endoftext|>?", time.Date(2026, 5, 3, 22, 0, 0, 0, time.UTC)
	s.Profile = memory.Profile{Name: "Nora", TimeZone: "Asia/Tokyo"}
	s.Context = []memory.Message{
		{From: memory.FromUser, Text: "Ida came by."}, {From: memory.FromAssistant, Text: "How nice!"},
	}
	s.Candidates = []memory.Candidate{
		{ID: "m_1", Memory: "Ida brought plums.", EventAt: time.Date(2026, 4, 1, 20, 0, 0, 0, time.UTC)},
		{ID: "m_2", Memory: "Ida lives in Oslo.", ValidTo: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		{ID: "m_3", Memory: "Ida brought pears.", Status: memory.StatusContested},
		{ID: "m_4", Memory: "never chosen"},
	}
	for _, id := range []memory.ID{"m_1", "m_2", "m_3"} {
		s.Selection.Chosen = append(s.Selection.Chosen, memory.Chosen{ID: id})
	}
	return s
}

func answerer(t *testing.T, m model) *Model {
	t.Helper()
	set, err := prompts.Load()
	require.NoError(t, err)
	return NewModel(m, set, ModelOptions{})
}

func TestAnswerPrompt(t *testing.T) {
	t.Parallel()
	m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		require.Len(t, r.Messages, 4)
		system := r.Messages[0].Text
		require.Contains(t, system, "2 April 2026: Ida brought plums.", "with its date, in the user's time zone")
		require.Contains(t, system, "date unknown (no longer true): Ida lives in Oslo.")
		require.Contains(t, system, "date unknown (disputed): Ida brought pears.")
		require.Contains(t, system, "Monday, 4 May 2026", "today where the user is")
		require.NotContains(t, system, "never chosen")
		require.Equal(t, prompts.Message{Role: prompts.User, Text: "Ida came by."}, r.Messages[1])
		require.Equal(t, prompts.Message{Role: prompts.Assistant, Text: "How nice!"}, r.Messages[2])
		require.Equal(t, "What did Ida bring <¦endoftext¦>?", r.Messages[3].Text)
		require.Equal(t, MaxTokensDefault, r.MaxTokens)
		require.True(t, r.MayBeCut)
		all, err := json.Marshal(r.Messages)
		require.NoError(t, err)
		for _, id := range []string{"tenant-id", "user-id", "m_1", "m_2"} { // hindsight#1948
			require.NotContains(t, string(all), id)
		}
		return prompts.Response{Text: " Plums. ", Finish: prompts.FinishStop, Usage: prompts.Usage{Calls: 1, InputTokens: 5}}, nil
	})
	a, err := answerer(t, m).Answer(t.Context(), selected(), nil)
	require.NoError(t, err)
	require.Equal(t, "Plums.", a.Text)
	require.Equal(t, "answer.v1", a.Version)
	require.Equal(t, memory.Usage{Calls: 1, InputTokens: 5}, a.Usage)
}

func TestAnswerWithoutMemoriesSaysThatThereAreNone(t *testing.T) {
	t.Parallel()
	m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		require.Contains(t, r.Messages[0].Text, "You remember nothing")
		return prompts.Response{Text: "I do not know."}, nil
	})
	s := selected()
	s.Selection.Chosen = nil
	_, err := answerer(t, m).Answer(t.Context(), s, nil)
	require.NoError(t, err)
}

func TestAnswerThatIsCutOffSaysSo(t *testing.T) {
	t.Parallel()
	m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
		r.Emit("Plums, and")
		return prompts.Response{Text: "Plums, and", Finish: prompts.FinishLength}, nil
	})
	var streamed strings.Builder
	a, err := answerer(t, m).Answer(t.Context(), selected(), func(p string) { streamed.WriteString(p) })
	require.NoError(t, err)
	require.Equal(t, "Plums, and"+cutNote, a.Text)
	require.Equal(t, a.Text, streamed.String(), "the stream is the answer")
}

func TestAnswerFitsTheContext(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		budget int
		keeps  []string
		drops  []string
	}{
		{"the oldest messages go first", 3300, []string{"plums", "pears", "message 9"}, []string{"message 0"}},
		{"then the memories that were chosen last", 1100, []string{"plums"}, []string{"pears", " message "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := selected()
			s.Context = nil
			s.Candidates[2].Memory += strings.Repeat("y", 700)
			for i := range 10 {
				s.Context = append(s.Context, memory.Message{From: memory.FromUser, Text: strings.Repeat("x", 200) + " message " + string(rune('0'+i))})
			}
			m := modelFunc(func(r prompts.Request) (prompts.Response, error) {
				all := ""
				for _, msg := range r.Messages {
					all += msg.Text
				}
				if len(all) > tt.budget {
					return prompts.Response{}, memory.Errorf(memory.CodeTooLong, "too long")
				}
				for _, k := range tt.keeps {
					require.Contains(t, all, k)
				}
				for _, d := range tt.drops {
					require.NotContains(t, all, d)
				}
				return prompts.Response{Text: "ok"}, nil
			})
			_, err := answerer(t, m).Answer(t.Context(), s, nil)
			require.NoError(t, err)
		})
	}
}

func TestAnswerFailsWithTheModelsCode(t *testing.T) {
	t.Parallel()
	for _, code := range []memory.Code{memory.CodeUnavailable, memory.CodeRefused, memory.CodeInvalidOutput, memory.CodeTooLong} {
		m := modelFunc(func(prompts.Request) (prompts.Response, error) { return prompts.Response{}, memory.Errorf(code, "no") })
		a, err := answerer(t, m).Answer(t.Context(), selected(), nil)
		require.Equal(t, code, memory.CodeOf(err))
		require.Empty(t, a.Text)
	}
}
