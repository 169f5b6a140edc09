package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lightmem/lightmem/memory"
)

// turnBody is the body of POST /v1/turns. Ids are pointers or strings exactly
// as memory.Request has them; a missing one is "".
type turnBody struct {
	Mode           memory.Mode       `json:"mode"`
	UserID         string            `json:"user_id"`
	Conversation   *string           `json:"conversation"`
	IdempotencyKey *string           `json:"idempotency_key"`
	Text           string            `json:"text"`
	AssistantText  string            `json:"assistant_text"`
	At             *string           `json:"at"`
	AsOf           *string           `json:"as_of"`
	K              *int              `json:"k"`
	Verbatim       bool              `json:"verbatim"`
	Roles          string            `json:"roles"`
	Speaker        string            `json:"speaker"`
	TimeZone       string            `json:"time_zone"`
	Metadata       map[string]string `json:"metadata"`
	// Wait waits for the write, and returns what was written.
	Wait bool `json:"wait"`
}

// readBody reads a JSON body of bounded size.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, memory.Invalid("body", "must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, memory.Invalid("body", "has more than %d bytes", maxBody)
	case err != nil:
		return nil, memory.Wrap(memory.CodeInvalid, err, "read the body")
	case !utf8.Valid(body):
		return nil, memory.Invalid("body", "is not UTF-8")
	}
	return body, nil
}

// decodeTurn reads one JSON object with known fields, each once at most as its
// type says.
func decodeTurn(body []byte) (turnBody, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	var in turnBody
	err := d.Decode(&in)
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrongType):
		field := wrongType.Field
		if field == "" {
			field = "body"
		}
		return in, memory.Invalid(field, "has the wrong type: %s", wrongType.Value)
	case err != nil:
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return in, memory.Invalid(strings.Trim(name, `"`), "is not a field of a turn")
		}
		return in, &memory.Error{Code: memory.CodeInvalid, Field: "body", Message: "is not a JSON object", Cause: err}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return in, memory.Invalid("body", "holds more than one JSON value")
	}
	return in, nil
}

// request makes the request; what it says is checked by memory.Request itself.
func (b turnBody) request(tenant memory.TenantID, k int) (memory.Request, error) {
	r := memory.Request{
		Scope: memory.Scope{Tenant: tenant, User: memory.UserID(b.UserID)}, Mode: b.Mode, Conversation: "default",
		Text: b.Text, AssistantText: b.AssistantText, K: k, Verbatim: b.Verbatim,
		Speaker: b.Speaker, TimeZone: b.TimeZone, Metadata: b.Metadata, Actor: "api",
	}
	for _, id := range []struct {
		field string
		given *string
		set   func(string)
	}{
		{"user_id", &b.UserID, func(string) {}},
		{"conversation", b.Conversation, func(s string) { r.Conversation = memory.ConversationID(s) }},
		{"idempotency_key", b.IdempotencyKey, func(s string) { r.IdempotencyKey = s }},
	} {
		switch {
		case id.given == nil:
		case *id.given == "" && id.field != "user_id":
			return r, memory.Invalid(id.field, "is empty")
		case strings.ContainsRune(*id.given, utf8.RuneError):
			// Halves of surrogate pairs decode to it (letta#9323), and two ids
			// that differ in them must not become one.
			return r, memory.Invalid(id.field, "holds broken characters")
		default:
			id.set(*id.given)
		}
	}
	switch b.Roles {
	case "":
	case "rules":
		r.Rules = true
	default:
		return r, memory.Invalid("roles", "is rules, or left out")
	}
	var err error
	if b.At != nil {
		if r.At, err = memory.ParseTime("at", *b.At); err != nil {
			return r, err
		}
	}
	if b.AsOf != nil {
		if r.AsOf, err = memory.ParseTime("as_of", *b.AsOf); err != nil {
			return r, err
		}
	}
	if b.K != nil {
		r.K = *b.K
	} else if b.Mode == memory.ModeRemember {
		r.K = 0
	}
	return r, nil
}

// query reads the known parameters of a URL, each at most once.
func query(r *http.Request, known ...string) (map[string]string, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, memory.Invalid("query", "is malformed")
	}
	out := make(map[string]string, len(values))
	for name, list := range values {
		switch {
		case !slices.Contains(known, name):
			return nil, memory.Invalid(strings.ToValidUTF8(name, "?"), "is no parameter; there are %s", strings.Join(known, ", "))
		case len(list) != 1:
			return nil, memory.Invalid(name, "comes more than once")
		}
		out[name] = list[0]
	}
	return out, nil
}
