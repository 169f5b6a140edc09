package retrieve_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/internal/retrieve/retrievetest"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

// golden is a conversation of our own with questions and the items that answer
// them. Vectors are all-MiniLM-L6-v2's, 400 times as large, as signed bytes.
type golden struct {
	Items []struct {
		ID, Conversation, Speaker, Text string
		Day                             int
		Vector                          []byte
	}
	Queries []struct {
		Text   string
		Want   []string
		Vector []byte
	}
}

func fromBytes(b []byte) memory.Vector {
	v := make(memory.Vector, len(b))
	for i, x := range b {
		v[i] = float32(int8(x))
	}
	v.Normalize()
	return v
}

// TestGoldenRanking shows what a change does to the ranking as a difference in
// golden.txt: the place of each wanted item, with both channels and by words
// alone. After a change for the better: go test ./internal/retrieve -update.
func TestGoldenRanking(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var g golden
	require.NoError(t, json.Unmarshal(data, &g))

	ctx := tenant.NewContext(t.Context(), alice)
	var source retrievetest.Source
	for i, it := range g.Items {
		source.Put(alice, retrieve.Item{Seq: int64(i + 1), Vector: fromBytes(it.Vector), Memory: memory.Memory{
			ID: memory.ID(it.ID), Text: it.Text, Speaker: it.Speaker, Conversation: memory.ConversationID(it.Conversation),
			Status: memory.StatusActive, Kind: memory.KindNote, EventAt: time.Date(2025, 5, 1, 10, 0, i, 0, time.UTC).AddDate(0, 0, it.Day),
		}})
	}
	retriever := retrieve.New(&source, retrieve.Options{})
	places := func(text string, want []string, vector memory.Vector) (out []int) {
		p := plan(50, memory.Query{Text: text, Origin: "input", Vector: vector})
		p.Plan.EmbedModel = "minilm"
		found := ids(retrieveOrFail(ctx, t, retriever, p))
		for _, w := range want {
			out = append(out, 1+slices.Index(found, memory.ID(w)))
		}
		return out
	}
	var b strings.Builder
	both, wanted := 0, 0
	for _, q := range g.Queries {
		fused, words := places(q.Text, q.Want, fromBytes(q.Vector)), places(q.Text, q.Want, nil)
		fmt.Fprintf(&b, "%s\n\t%s: %v, by words alone %v\n", q.Text, strings.Join(q.Want, " "), fused, words)
		for _, place := range fused {
			wanted++
			if place > 0 && place <= 5 {
				both++
			}
		}
	}
	fmt.Fprintf(&b, "\n%d of %d among the first 5\n", both, wanted)
	const file = "testdata/golden.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(b.String()), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String())
}
