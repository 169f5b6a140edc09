package story_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/memory"
)

// A script reads lists without asking whether they are null.
func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	turn := story.OfRequest(memory.Request{}, memory.Reply{Candidates: []memory.Candidate{{ID: "m_1"}}}).After(memory.Receipt{})
	for _, v := range []any{turn.Recall(), turn.Asked(true), turn.Remembered(), story.MemoriesOf(nil), turn} {
		b, err := json.Marshal(v)
		require.NoError(t, err)
		for _, list := range []string{"queries", "candidates", "selected", "degraded", "written", "results"} {
			require.NotContains(t, string(b), `"`+list+`":null`)
		}
	}
}

func TestAVectorNeverLeaves(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(story.OfReply(memory.Reply{Plan: memory.Plan{Queries: []memory.Query{{Text: "x", Vector: memory.Vector{1}}}}}))
	require.NoError(t, err)
	require.NotContains(t, string(b), "ector")
}

func TestOpenEndsAreNull(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(story.MemoryOf(memory.Memory{ID: "m_1", ValidFrom: time.Unix(0, 0).UTC()}))
	require.NoError(t, err)
	require.Contains(t, string(b), `"valid_from":"1970-01-01T00:00:00Z","valid_to":null,"superseded_by":null`)
	require.Contains(t, string(b), `"metadata":{}`)
}

func TestTellsEveryMode(t *testing.T) {
	t.Parallel()
	tell := func(turn story.Turn) string {
		var b strings.Builder
		story.Tell(page.New(&b, 0, false), turn, time.UTC)
		return b.String()
	}
	require.Contains(t, tell(story.Turn{Mode: memory.ModeAnswer, State: "recorded"}), "not written yet")
	require.Contains(t, tell(story.Turn{Mode: memory.ModeAnswer, State: "committed"}), "nothing to remember")
	require.Contains(t, tell(story.Turn{Mode: memory.ModeAnswer}), "candidates  none")
	require.NotContains(t, tell(story.Turn{Mode: memory.ModeRecall}), "memory")
	require.NotContains(t, tell(story.Turn{Mode: memory.ModeRemember}), "plan")
	told := tell(story.Turn{
		Mode: memory.ModeAnswer, Input: "\x1b[2Jhi", Degraded: []memory.Degraded{{Role: memory.RoleEmbed, Reason: memory.CodeUnavailable}},
		Serving:  memory.Serving{memory.RolePlan: "ollama:q", memory.RoleAnswer: "ollama:q"},
		Versions: story.Versions{Plan: "rule.plan.v1", Answer: "answer.v1"},
	})
	require.Contains(t, told, `\x1b[2Jhi`, "no control over the terminal")
	require.Contains(t, told, "no vectors, words alone: unavailable")
	require.Contains(t, told, "plan rule.plan.v1, answer answer.v1 on ollama:q", "a rule runs on no model")
}
