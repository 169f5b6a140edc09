package eval_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/eval"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// ours is a conversation of our own in LoCoMo's format.
const ours = `[{
  "sample_id": "ours-1",
  "conversation": {
    "speaker_a": "Ada", "speaker_b": "Bo",
    "session_1_date_time": "2:07 pm on 9 June, 2024",
    "session_1": [
      {"speaker": "Ada", "dia_id": "D1:1", "text": "I sold my boat last week."},
      {"speaker": "Bo", "dia_id": "D1:2", "text": "Look at this!", "img_url": ["x"], "blip_caption": "a red kite", "query": "kite"}
    ],
    "session_2_date_time": "9:05 am on 21 July, 2024",
    "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "My kite is broken."}],
    "session_3_date_time": "9:05 am on 22 July, 2024"
  },
  "qa": [
    {"question": "What did Ada sell?", "answer": "a boat", "evidence": ["D1:1"], "category": 4},
    {"question": "What happened to the kite?", "answer": 7, "evidence": ["D1:2; D2:1", "D9:9", "D"], "category": 1},
    {"question": "Who knows?", "evidence": [], "category": 3},
    {"question": "What did Bo sell?", "adversarial_answer": "a boat", "evidence": ["D1:1"], "category": 5}
  ]
}]`

func TestParseLoCoMo(t *testing.T) {
	t.Parallel()
	got, err := eval.ParseLoCoMo(strings.NewReader(ours))
	require.NoError(t, err)
	require.Len(t, got, 1)
	c := got[0]
	require.Equal(t, "ours-1", c.ID)
	require.Len(t, c.Sessions, 2)
	require.Equal(t, time.Date(2024, 6, 9, 14, 7, 0, 0, time.UTC), c.Sessions[0].At)
	require.Equal(t, "Bo: Look at this! [shares a photo of a red kite]", c.Sessions[0].Utterances[1].Memory())
	require.Equal(t, "Bo: My kite is broken.", c.Sessions[1].Utterances[0].Memory())
	require.Len(t, c.Questions, 4)
	require.Equal(t, []string{"D1:2", "D2:1"}, c.Questions[1].Evidence, "several in one text; those that do not exist are left out")
}

func TestParseLoCoMoNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, data, field string }{
		{"no JSON", `{`, "data"},
		{"another shape", `{"a":1}`, "data"},
		{"empty list", `[]`, "data"},
		{"something behind", ours + `[]`, "data"},
		{"no id", strings.Replace(ours, "ours-1", "", 1), "data[0].sample_id"},
		{"no session", `[{"sample_id":"x","conversation":{}}]`, "x.conversation"},
		{"a session that is no list", strings.Replace(ours, `"session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "My kite is broken."}]`, `"session_2": 3`, 1), "ours-1.session_2"},
		{"a date of another form", strings.Replace(ours, "9 June, 2024", "8.5.2023", 1), "ours-1.session_1_date_time"},
		{"no date", strings.Replace(ours, "session_1_date_time", "session_1_day", 1), "ours-1.session_1_date_time"},
		{"a dialogue id twice", strings.Replace(ours, "D2:1", "D1:1", 1), "ours-1.session_2"},
		{"no speaker", strings.Replace(ours, `"speaker": "Ada"`, `"speaker": ""`, 1), "ours-1.session_1[0]"},
		{"an empty question", strings.Replace(ours, "What did Ada sell?", " ", 1), "ours-1.qa[0].question"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := eval.ParseLoCoMo(strings.NewReader(test.data))
			var e *memory.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, memory.CodeInvalid, e.Code)
			require.Equal(t, test.field, e.Field)
		})
	}
}

func FuzzParseLoCoMo(f *testing.F) {
	f.Add(ours)
	f.Add(`[{"sample_id":"x","conversation":{"session_1":[],"session_1_date_time":"2:07 pm on 9 June, 2024"}}]`)
	f.Fuzz(func(t *testing.T, data string) {
		got, err := eval.ParseLoCoMo(strings.NewReader(data))
		if err != nil {
			require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
			return
		}
		for _, c := range got {
			require.NotEmpty(t, c.Sessions)
		}
	})
}

// fixed remembers every utterance by its dialogue id and recalls a fixed list.
type fixed []memory.ID

func (f fixed) Remember(_ context.Context, c eval.Conversation) (map[string]memory.ID, error) {
	out := map[string]memory.ID{}
	for _, s := range c.Sessions {
		for _, u := range s.Utterances {
			out[u.Dialogue] = memory.ID(u.Dialogue)
		}
	}
	return out, nil
}

func (f fixed) Recall(context.Context, eval.Conversation, string, int) ([]memory.ID, error) {
	return slices.Clone(f), nil
}

func TestRetrievalCountsEvidence(t *testing.T) {
	t.Parallel()
	data, err := eval.ParseLoCoMo(strings.NewReader(ours))
	require.NoError(t, err)
	scope := func(ctx context.Context, c eval.Conversation) context.Context {
		return tenant.NewContext(ctx, memory.Scope{Tenant: "t", User: memory.UserID(c.ID)})
	}
	done := 0
	f := fixed{"D1:1", "x", "D2:1", "D1:2"}
	got, err := eval.Retrieval(t.Context(), data, []int{1, 3, 10}, scope, f, f, func(n int) { done = n })
	require.NoError(t, err)
	require.Equal(t, 1, done)
	out, err := json.Marshal(got)
	require.NoError(t, err)
	require.JSONEq(t, `{"questions":2,"recall":{"1":0.5,"3":0.75,"10":1},"by_category":{"1":{"1":0,"3":0.5,"10":1},"4":{"1":1,"3":1,"10":1}}}`, string(out))

	for _, k := range [][]int{{0}, {101}, {5, -1}} {
		_, err = eval.Retrieval(t.Context(), data, k, scope, f, f, nil)
		require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
	}
}
