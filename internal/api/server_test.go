package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/api"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

const token = "0123456789abcdef"

type fake struct {
	asked []memory.Request
	err   error
	scope memory.Scope
	// listed are the pages asked for.
	listed []api.Listing
}

func (f *fake) Reply(_ context.Context, r memory.Request) (memory.Reply, error) {
	f.asked = append(f.asked, r)
	return memory.Reply{TurnID: "t_1", WorkflowID: "w", Answer: "<yes>"}, f.err
}

func (f *fake) Receipt(context.Context, memory.Request) (memory.Receipt, error) {
	return memory.Receipt{Written: []memory.Outcome{{ID: "m_1", Memory: "x", Event: memory.EventAdded, Reason: "new"}}}, nil
}

func (f *fake) Memories(ctx context.Context, l api.Listing) ([]memory.Memory, string, error) {
	f.scope, _ = tenant.FromContext(ctx)
	f.listed = append(f.listed, l)
	if l.Cursor == "" {
		return []memory.Memory{{Scope: f.scope, ID: "m_1", Text: "x", Status: memory.StatusActive}}, "2a", f.err
	}
	return nil, "", f.err
}

func server(t *testing.T, f *fake) *api.Server {
	t.Helper()
	s, err := api.New(api.Options{
		Turns: f, Memories: f, Ready: func(context.Context) error { return f.err }, Tenant: "acme", Token: token, K: 5,
		Key: func() string { return "fresh" },
	})
	require.NoError(t, err)
	return s
}

func call(s *api.Server, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestModes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want string
		mode memory.Mode
	}{
		"recall":          {`{"mode":"recall","user_id":"a","text":"x"}`, `{"turn_id":"t_1","workflow_id":"w","plan":{"queries":[],"personal":0},"candidates":[],"selected":[],"degraded":[]}`, memory.ModeRecall},
		"answer":          {`{"mode":"answer","user_id":"a","text":"x"}`, `{"turn_id":"t_1","workflow_id":"w","plan":{"queries":[],"personal":0},"candidates":[],"selected":[],"degraded":[],"answer":"<yes>"}`, memory.ModeAnswer},
		"answer and wait": {`{"mode":"answer","user_id":"a","text":"x","wait":true}`, `{"turn_id":"t_1","workflow_id":"w","plan":{"queries":[],"personal":0},"candidates":[],"selected":[],"degraded":[],"answer":"<yes>","written":[{"id":"m_1","memory":"x","event":"added","reason":"new"}]}`, memory.ModeAnswer},
		"caller":          {`{"mode":"caller","user_id":"a","text":"x","assistant_text":"y"}`, `{"turn_id":"t_1","workflow_id":"w","plan":{"queries":[],"personal":0},"candidates":[],"selected":[],"degraded":[],"answer":"<yes>"}`, memory.ModeCaller},
		"remember":        {`{"mode":"remember","user_id":"a","text":"x","verbatim":true,"metadata":{"k":"v"}}`, `{"turn_id":"t_1","workflow_id":"w","results":[{"id":"m_1","memory":"x","event":"added","reason":"new"}],"degraded":[]}`, memory.ModeRemember},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			w := call(server(t, f), "POST", "/v1/turns", c.body)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.JSONEq(t, c.want, w.Body.String())
			require.Equal(t, "fresh", w.Header().Get("Idempotency-Key"))
			require.Equal(t, c.mode, f.asked[0].Mode)
			require.Equal(t, memory.Scope{Tenant: "acme", User: "a"}, f.asked[0].Scope, "the tenant is the token's")
		})
	}
}

func TestEveryFieldOfATurn(t *testing.T) {
	t.Parallel()
	f := &fake{}
	w := call(server(t, f), "POST", "/v1/turns", `{"mode":"recall","user_id":"a/b&c=d:é","conversation":"c","text":"私は <|endoftext|>","at":"2026-05-04T12:00:00+02:00","as_of":"2026-01-02T03:04:05Z","k":7,"roles":"rules","speaker":"Bo","time_zone":"Asia/Tokyo","metadata":{"a":"b"}}`, "Idempotency-Key", "mine")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, memory.Request{
		Scope: memory.Scope{Tenant: "acme", User: "a/b&c=d:é"}, Conversation: "c", IdempotencyKey: "mine", Mode: memory.ModeRecall,
		Text: "私は <|endoftext|>", At: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), AsOf: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		K: 7, Rules: true, Speaker: "Bo", TimeZone: "Asia/Tokyo", Metadata: map[string]string{"a": "b"}, Actor: "api",
	}, f.asked[0])
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, field string }{
		"no JSON":               {`x`, "body"},
		"empty":                 {``, "body"},
		"a list":                {`[]`, "body"},
		"two values":            {`{"mode":"recall","user_id":"a","text":"x"} {}`, "body"},
		"unknown field":         {`{"mode":"recall","user_id":"a","text":"x","tenant":"other"}`, "tenant"}, // mem0#6656
		"no mode":               {`{"user_id":"a","text":"x"}`, "mode"},
		"unknown mode":          {`{"mode":"sing","user_id":"a","text":"x"}`, "mode"},
		"no user":               {`{"mode":"recall","text":"x"}`, "user_id"}, // mem0#5992
		"blank user":            {`{"mode":"recall","user_id":" ","text":"x"}`, "user_id"},
		"user is a number":      {`{"mode":"recall","user_id":7,"text":"x"}`, "user_id"},
		"half a surrogate pair": {`{"mode":"recall","user_id":"a\ud83d","text":"x"}`, "user_id"}, // letta#9323
		"no text":               {`{"mode":"recall","user_id":"a"}`, "text"},                     // mem0#5258
		"text is an object":     {`{"mode":"recall","user_id":"a","text":{}}`, "text"},           // MemOS#1493
		"text too long":         {`{"mode":"recall","user_id":"a","text":"` + strings.Repeat("x", memory.MaxTextBytes+1) + `"}`, "text"},
		"10 MB":                 {`{"mode":"recall","user_id":"a","text":"` + strings.Repeat("x", 10<<20) + `"}`, "body"},
		"not UTF-8":             {"{\"mode\":\"recall\",\"user_id\":\"a\",\"text\":\"\xff\"}", "body"},
		"k is zero":             {`{"mode":"recall","user_id":"a","text":"x","k":0}`, "k"},
		"k is huge":             {`{"mode":"recall","user_id":"a","text":"x","k":1000000}`, "k"},
		"k is a fraction":       {`{"mode":"recall","user_id":"a","text":"x","k":1.5}`, "k"},
		"year 99999":            {`{"mode":"recall","user_id":"a","text":"x","at":"99999-01-01T00:00:00Z"}`, "at"},
		"year 1":                {`{"mode":"recall","user_id":"a","text":"x","as_of":"0001-01-01T00:00:00Z"}`, "as_of"},
		"bad time zone":         {`{"mode":"recall","user_id":"a","text":"x","time_zone":"x"}`, "time_zone"},
		"empty conversation":    {`{"mode":"recall","user_id":"a","text":"x","conversation":""}`, "conversation"},
		"empty key":             {`{"mode":"recall","user_id":"a","text":"x","idempotency_key":""}`, "idempotency_key"},
		"two keys":              {`{"mode":"recall","user_id":"a","text":"x","idempotency_key":"other"}`, "idempotency_key"},
		"unknown roles":         {`{"mode":"recall","user_id":"a","text":"x","roles":"x"}`, "roles"},
		"reserved metadata":     {`{"mode":"remember","user_id":"a","text":"x","metadata":{"user_id":"b"}}`, "metadata.user_id"},
		"metadata is null":      {`{"mode":"remember","user_id":"a","text":"","metadata":null}`, "text"}, // hindsight#3209
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{}
			w := call(server(t, f), "POST", "/v1/turns", c.body, "Idempotency-Key", "mine")
			require.Equal(t, http.StatusUnprocessableEntity, w.Code, w.Body)
			require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
			var p struct{ Code, Field, Detail, Title string }
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
			require.Equal(t, c.field, p.Field, w.Body)
			require.Equal(t, "invalid", p.Code)
			require.NotEmpty(t, p.Detail)
			require.Empty(t, f.asked)
		})
	}
}

func TestHalfASurrogatePairInATextIsReplaced(t *testing.T) {
	t.Parallel()
	f := &fake{}
	w := call(server(t, f), "POST", "/v1/turns", `{"mode":"recall","user_id":"a","text":"hi \ud83d\u0000"}`)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, "hi \ufffd\ufffd", f.asked[0].Text)
}

func TestOnlyTheTokenOpens(t *testing.T) {
	t.Parallel()
	for _, header := range []string{"", "Bearer ", "Bearer wrong", token, "Basic " + token, "Bearer " + token + "x"} {
		f := &fake{}
		for _, path := range []string{"/v1/memories?user_id=a", "/v1/turns"} {
			method := map[bool]string{true: "POST", false: "GET"}[path == "/v1/turns"]
			w := call(server(t, f), method, path, `{"mode":"recall","user_id":"a","text":"x"}`, "Authorization", header)
			require.Equal(t, http.StatusUnauthorized, w.Code, header)
			require.Empty(t, f.asked)
		}
	}
	_, err := api.New(api.Options{Token: "short"})
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
}

func TestMemories(t *testing.T) {
	t.Parallel()
	f := &fake{}
	w := call(server(t, f), "GET", "/v1/memories?user_id=a%2Fb%26c&all=true&limit=5&as_of=2026-05-04T00:00:00Z", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, memory.Scope{Tenant: "acme", User: "a/b&c"}, f.scope)
	require.Contains(t, w.Body.String(), `"valid_to":null,"superseded_by":null,"status":"active"`)
	for query, field := range map[string]string{
		"": "user_id", "user_id=": "user_id", "user_id=a&user_id=b": "user_id", "user_id=a&limit=-1": "limit", "user_id=a&limit=x": "limit", "user_id=a&limit=0": "limit", "user_id=a&limit=1001": "limit",
		"user_id=a&all=maybe": "all", "user_id=a&as_of=x": "as_of", "user_id=a&bogus=1": "bogus", "user_id=%ff": "user_id", "%": "query",
	} {
		w := call(server(t, f), "GET", "/v1/memories?"+query, "")
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, query)
		require.Contains(t, w.Body.String(), `"field":"`+field+`"`, query)
	}
}

// Without a limit the whole list would have to be held at once.
func TestMemoriesComePageByPage(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := server(t, f)
	w := call(s, "GET", "/v1/memories?user_id=a", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"next_cursor":"2a"`)
	w = call(s, "GET", "/v1/memories?user_id=a&limit=7&cursor=2a", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.JSONEq(t, `{"results":[]}`, w.Body.String(), "the last page names no other")
	require.Equal(t, []api.Listing{{Limit: api.DefaultPage}, {Limit: 7, Cursor: "2a"}}, f.listed)
}

func TestStatusFollowsTheCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[memory.Code]int{
		memory.CodeNotFound: 404, memory.CodeConflict: 409, memory.CodeForbidden: 403, memory.CodeUnavailable: 503,
		memory.CodeTransient: 503, memory.CodeRefused: 502, memory.CodeInternal: 500,
	} {
		f := &fake{err: memory.Errorf(code, "it did not work")}
		w := call(server(t, f), "POST", "/v1/turns", `{"mode":"recall","user_id":"a","text":"x"}`)
		require.Equal(t, want, w.Code)
		require.Contains(t, w.Body.String(), "it did not work")
		require.Equal(t, want == 503, w.Header().Get("Retry-After") != "")
	}
	f := &fake{err: errors.New("pq: my secret")}
	w := call(server(t, f), "POST", "/v1/turns", `{"mode":"recall","user_id":"a","text":"x"}`)
	require.Equal(t, 500, w.Code)
	require.NotContains(t, w.Body.String(), "secret")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := server(t, f)
	require.Equal(t, 200, call(s, "GET", "/health/live", "", "Authorization", "").Code)
	require.Equal(t, 200, call(s, "GET", "/health/ready", "", "Authorization", "").Code)
	f.err = errors.New("down")
	require.Equal(t, 200, call(s, "GET", "/health/live", "").Code, "alive without its database (hindsight#3337)")
	require.Equal(t, 503, call(s, "GET", "/health/ready", "").Code)
	require.Equal(t, 404, call(s, "GET", "/v2/x", "").Code)
}

func FuzzTurn(f *testing.F) {
	f.Add(`{"mode":"recall","user_id":"a","text":"x","k":1}`)
	f.Add(`{"mode":"remember","metadata":{"a":null}}`)
	f.Fuzz(func(t *testing.T, body string) {
		w := call(server(t, &fake{}), "POST", "/v1/turns", body)
		require.Contains(t, []int{200, 422}, w.Code, "%q %s", body, w.Body)
	})
}
