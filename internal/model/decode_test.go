package model

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const planLike = `{
  "type": "object", "additionalProperties": false, "required": ["action", "queries"],
  "properties": {
    "action": {"type": "string", "enum": ["keep", "drop"]},
    "sure": {"type": "boolean"},
    "level": {"type": "integer", "minimum": 0, "maximum": 10},
    "queries": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "integer", "enum": [1, 2, 3]}}
  }
}`

func TestDecode(t *testing.T) {
	t.Parallel()
	s, err := parseSchema(json.RawMessage(planLike))
	require.NoError(t, err)
	const good = `{"action":"keep","queries":["a"]}`

	for _, tt := range []struct {
		name, reply, want, fails string
	}{
		{name: "as asked", reply: good, want: good},
		{name: "with white space and a byte order mark", reply: "\ufeff \n" + good + "\n", want: good},
		{name: "mem0#3391: empty", reply: "  \n", fails: "empty"},
		{name: "mem0#3391: no JSON at all", reply: "I found nothing.", fails: "not JSON"},
		{name: "mem0#4526: prose around it", reply: "Sure! Here it is:\n" + good + "\nHope this helps.", want: good},
		{name: "mem0#4526: braces in the prose before it", reply: "I use {name} and {} here: " + good, want: good},
		{name: "mem0#4526: the first object that fits, not the longest", reply: good + ` or {"action":"drop","queries":["b","c"]}`, want: good},
		{name: "graphiti#868: the schema instead of data", reply: planLike, fails: "missing"},
		{name: "graphiti#912: the schema's properties filled", reply: `{"properties":` + good + `}`, fails: "missing"},
		{name: "graphiti#627: reasoning before it", reply: "<think>\nmaybe {\"action\":\"drop\",\"queries\":[\"x\"]}?\n</think>\n" + good, want: good},
		{name: "graphiti#627: reasoning whose beginning is in the template", reply: "maybe drop?\n</think>\n\n" + good, want: good},
		{name: "graphiti#627: nothing but reasoning", reply: "<think>so much to think", fails: "nothing but reasoning"},
		{name: "hindsight#3426: a literal <think> in a value stays", reply: `{"action":"keep","queries":["what does <think>x</think> mean"]}`, want: `{"action":"keep","queries":["what does \u003cthink\u003ex\u003c/think\u003e mean"]}`},
		{name: "in a fence", reply: "```json\n" + good + "\n```", want: good},
		{name: "hindsight#2563: backticks in a value", reply: "{\"action\":\"keep\",\"queries\":[\"run ```go test``` now\"]}", want: "{\"action\":\"keep\",\"queries\":[\"run ```go test``` now\"]}"},
		{name: "hindsight#2563: backticks in a value in a fence", reply: "```json\n{\"action\":\"keep\",\"queries\":[\"run ```go test``` now\"]}\n```", want: "{\"action\":\"keep\",\"queries\":[\"run ```go test``` now\"]}"},
		{name: "hindsight#2240: one value where a list is expected", reply: `{"action":"keep","queries":"a"}`, want: good},
		{name: "hindsight#2240: null where a list is expected", reply: `{"action":"keep","queries":["a"],"numbers":null}`, want: `{"action":"keep","numbers":[],"queries":["a"]}`},
		{name: "hindsight#2240: a number where text is expected", reply: `{"action":"keep","queries":[2024]}`, want: `{"action":"keep","queries":["2024"]}`},
		{name: "hindsight#2240: text where a number is expected", reply: `{"action":"keep","queries":["a"],"level":"7"}`, want: `{"action":"keep","level":7,"queries":["a"]}`},
		{name: "hindsight#2240: text where a boolean is expected", reply: `{"action":"keep","queries":["a"],"sure":"True"}`, want: `{"action":"keep","queries":["a"],"sure":true}`},
		{name: "a number beyond its bounds", reply: `{"action":"keep","queries":["a"],"level":99}`, want: `{"action":"keep","level":10,"queries":["a"]}`},
		{name: "an enum's word in capitals", reply: `{"action":" KEEP","queries":["a"]}`, want: good},
		{name: "hindsight#2454: an unknown action", reply: `{"action":"explode","queries":["a"]}`, fails: "none of the words"},
		{name: "hindsight#2565: a missing action", reply: `{"queries":["a"]}`, fails: "missing"},
		{name: "graphiti#939: numbers out of range are dropped", reply: `{"action":"keep","queries":["a"],"numbers":[0,2,7,-1,"3"]}`, want: `{"action":"keep","numbers":[2,3],"queries":["a"]}`},
		{name: "mem0#4674: invented ids are dropped", reply: `{"action":"keep","queries":["a"],"numbers":["m_01h", 1]}`, want: `{"action":"keep","numbers":[1],"queries":["a"]}`},
		{name: "fields that nobody asked for", reply: `{"action":"keep","queries":["a"],"note":{"x":1}}`, want: good},
		{name: "a list that is too long", reply: `{"action":"keep","queries":["a","b","c","d"]}`, want: `{"action":"keep","queries":["a","b","c"]}`},
		{name: "a list that is too short", reply: `{"action":"keep","queries":[]}`, fails: "0 items"},
		{name: "hindsight#2579: cut off", reply: `{"action":"keep","queries":["a","b`, fails: "not JSON"},
		{name: "a list instead of an object", reply: `[1,2]`, fails: "no object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode(tt.reply, s)
			if tt.fails != "" {
				require.ErrorContains(t, err, tt.fails)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
}

func FuzzDecode(f *testing.F) {
	s, err := parseSchema(json.RawMessage(planLike))
	require.NoError(f, err)
	for _, seed := range []string{
		`{"action":"keep","queries":["a"]}`, "```json\n{}\n```", "<think></think>{}", "</think>", "```", "{{{{", "[[", `{"a":`, "\x00", "``````",
		strings.Repeat("[", 200), `{"action":"keep","queries":[1e999]}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		got, err := decode(reply, s)
		if err != nil {
			return
		}
		again, err := decode(string(got), s)
		require.NoError(t, err, "what was decoded decodes again")
		require.JSONEq(t, string(got), string(again))
		var v struct {
			Action  string
			Queries []string
			Numbers []int
		}
		require.NoError(t, json.Unmarshal(got, &v))
		require.Contains(t, []string{"keep", "drop"}, v.Action)
		require.NotEmpty(t, v.Queries)
	})
}
