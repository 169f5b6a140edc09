package answer_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/answer"
	"github.com/lightmem/lightmem/memory"
)

func TestRule(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 3, 22, 30, 0, 0, time.UTC) // the 4th in Berlin
	moved := memory.Candidate{ID: "a", Memory: "Anna moved to Oslo", EventAt: at}
	for _, c := range []struct {
		name, input string
		candidates  []memory.Candidate
		want        string
	}{
		{"none, in English", "Where do I live?", nil, "I have no memory about that."},
		{"none, in German", "Wo wohne ich?", nil, "Dazu habe ich keine Erinnerung."},
		{"none, in Spanish", "¿Dónde vivo?", nil, "No tengo ningún recuerdo sobre eso."},
		{"none, in French", "Où est-ce que j'habite ?", nil, "Je n'ai aucun souvenir à ce sujet."},
		{"none, in Italian", "Dove abito?", nil, "Non ho ricordi a riguardo."},
		{"none, in Portuguese", "Onde é que eu moro?", nil, "Não tenho nenhuma memória sobre isso."},
		{"none, in Chinese", "我住在哪里？", nil, "关于这件事我没有记忆。"},
		{"none, in a language without fixed words", "Где я живу?", nil, "I have no memory about that."},
		{"a statement", "I bought a boat.", nil, "All right. I have no earlier memory about that."},
		{"one, dated in the user's time zone", "Where do I live?", []memory.Candidate{moved}, "I remember: Anna moved to Oslo [2026-05-04]"},
		{"a date that the text has is not repeated", "When did I move?", []memory.Candidate{{ID: "a", Memory: "Anna moved yesterday (2026-05-04)", EventAt: at}}, "I remember: Anna moved yesterday (2026-05-04)"},
		{"over, and contested", "Where did I live?", []memory.Candidate{
			{ID: "a", Memory: "Anna lives in Rome", EventAt: at.AddDate(-2, 0, 0), ValidTo: at.AddDate(-1, 0, 0)},
			{ID: "b", Memory: "Anna lives in\nOslo", EventAt: at, Status: memory.StatusContested},
		}, "I remember:\n- Anna lives in Rome [2024-05-04; until 2025-05-04]\n- Anna lives in Oslo [2026-05-04; contradicted by another memory]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var s memory.Selected
			s.Text, s.At, s.TimeZone, s.Candidates = c.input, at, "Europe/Berlin", c.candidates
			for _, m := range c.candidates {
				s.Selection.Chosen = append(s.Selection.Chosen, memory.Chosen{ID: m.ID})
			}
			var pieces []string
			got, err := answer.Rule{}.Answer(context.Background(), s, func(p string) { pieces = append(pieces, p) })
			require.NoError(t, err)
			require.Equal(t, c.want, got.Text)
			require.Equal(t, c.want, strings.Join(pieces, ""))
			require.Equal(t, answer.RuleVersion, got.Version)
			again, err := answer.Rule{}.Answer(context.Background(), s, nil)
			require.NoError(t, err)
			require.Equal(t, got, again)
		})
	}
}

func TestRuleQuotesWhatBearsOnTheInputNotWhatTheScoreTookAlong(t *testing.T) {
	t.Parallel()
	turn := memory.Turn{Request: memory.Request{Text: "Where is my canoe?", K: 5}}
	candidates := []memory.Candidate{{ID: "m_1", Memory: "The canoe is in the shed."}, {ID: "m_2", Memory: "Lunch was good."}}
	for name, tt := range map[string]struct {
		chosen []memory.Chosen
		quoted []string
		absent []string
	}{
		"one bears on it":   {[]memory.Chosen{{ID: "m_1", Reason: "score, words"}, {ID: "m_2", Reason: "score"}}, []string{"shed"}, []string{"Lunch"}},
		"a model chose":     {[]memory.Chosen{{ID: "m_2", Reason: "yes"}}, []string{"Lunch"}, []string{"shed"}},
		"only by the score": {[]memory.Chosen{{ID: "m_1", Reason: "score"}, {ID: "m_2", Reason: "score"}}, []string{"shed"}, []string{"Lunch"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := memory.Select(memory.Retrieved{Planned: memory.Planned{Turn: turn}, Candidates: candidates}, memory.Selection{Chosen: tt.chosen})
			a, err := answer.Rule{}.Answer(t.Context(), s, nil)
			require.NoError(t, err)
			for _, text := range tt.quoted {
				require.Contains(t, a.Text, text)
			}
			for _, text := range tt.absent {
				require.NotContains(t, a.Text, text)
			}
		})
	}
}
