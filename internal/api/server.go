// Package api is the HTTP gateway: turns and memories as JSON, in the shapes of
// the command line (package story).
//
//	POST /v1/turns      a turn: mode answer, recall, caller or remember
//	GET  /v1/memories   a user's memories, a page at a time
//	GET  /health/live   the process runs; asks nobody
//	GET  /health/ready  database and Temporal answer
//
// Every call but the health checks presents a bearer token, which stands for
// one tenant; there is no open access. Errors are application/problem+json
// (RFC 9457) with the code and the field of package memory.
package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/story"
	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
)

// Turns runs turns.
type Turns interface {
	Reply(ctx context.Context, r memory.Request) (memory.Reply, error)
	Receipt(ctx context.Context, r memory.Request) (memory.Receipt, error)
}

// Memories lists the memories of the scope of ctx, newest first, page by page.
// next is the Cursor of the page after, empty after the last.
type Memories interface {
	Memories(ctx context.Context, l Listing) (list []memory.Memory, next string, err error)
}

// Listing says which page of which memories.
type Listing struct {
	// All asks for closed ones, too.
	All bool
	// AsOf asks for what was held then; zero is now.
	AsOf time.Time
	// Cursor is what the page before gave; empty for the first.
	Cursor string
	// Limit is how many memories the page has at most; never zero.
	Limit int
}

const (
	// DefaultPage is how many memories a page has when the caller does not say.
	DefaultPage = 100
	// MaxPage is how many it may ask for.
	MaxPage = 1000
)

// Options are what a Server needs. All but Logger are required.
type Options struct {
	Turns    Turns
	Memories Memories
	// Ready reports whether the parts behind answer.
	Ready func(ctx context.Context) error
	// Tenant is what Token stands for.
	Tenant memory.TenantID
	Token  string
	// K is how many memories a turn selects that does not say.
	K int
	// Key makes fresh idempotency keys.
	Key func() string
	// Timeout bounds one call; the turn itself goes on. Five minutes when zero.
	Timeout time.Duration
	// Logger receives one line a failed call, without text of people.
	Logger *slog.Logger
}

// Server is the gateway. Use New.
type Server struct {
	o     Options
	token [sha256.Size]byte
	mux   *http.ServeMux
}

const (
	// maxBody bounds a request: a text of memory.MaxTextBytes may be six times
	// as long in JSON.
	maxBody = 2 << 20
	// readyPatience bounds a readiness check.
	readyPatience = 3 * time.Second
)

// New returns the gateway. It refuses to be built without a token.
func New(o Options) (*Server, error) {
	if len(o.Token) < 16 {
		return nil, memory.Invalid("api.token", "is required, with at least 16 characters: there is no open access")
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, token: sha256.Sum256([]byte(o.Token)), mux: http.NewServeMux()}
	s.mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) { s.write(w, http.StatusOK, health{"live"}) })
	s.mux.HandleFunc("GET /health/ready", s.ready)
	s.mux.Handle("POST /v1/turns", s.guarded(s.postTurn))
	s.mux.Handle("GET /v1/memories", s.guarded(s.getMemories))
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, memory.Errorf(memory.CodeNotFound, "there is no %s %s", r.Method, strings.ToValidUTF8(r.URL.Path, "?")))
	})
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

type health struct {
	Status string `json:"status"`
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), readyPatience)
	defer cancel()
	if err := s.o.Ready(ctx); err != nil {
		s.fail(w, r, memory.Wrap(memory.CodeUnavailable, err, "not ready"))
		return
	}
	s.write(w, http.StatusOK, health{"ready"})
}

// guarded lets only callers with the token pass, and bounds their calls.
func (s *Server) guarded(next func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		given := sha256.Sum256([]byte(token))
		if !ok || subtle.ConstantTimeCompare(given[:], s.token[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="lightmem"`)
			s.problem(w, http.StatusUnauthorized, problem{Code: memory.CodeForbidden, Detail: "the call presents no valid bearer token"})
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
		defer cancel()
		if err := next(w, r.WithContext(ctx)); err != nil {
			s.fail(w, r, err)
		}
	})
}

func (s *Server) postTurn(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	in, err := decodeTurn(body)
	if err != nil {
		return err
	}
	request, err := in.request(s.o.Tenant, s.o.K)
	if err != nil {
		return err
	}
	if header := r.Header.Get("Idempotency-Key"); header != "" {
		if request.IdempotencyKey != "" && request.IdempotencyKey != header {
			return memory.Invalid("idempotency_key", "differs between body and header")
		}
		request.IdempotencyKey = header
	}
	if request.IdempotencyKey == "" {
		request.IdempotencyKey = s.o.Key()
	}
	request = request.Clean()
	if err := request.Validate(); err != nil {
		return err
	}
	w.Header().Set("Idempotency-Key", request.IdempotencyKey)
	reply, err := s.o.Turns.Reply(r.Context(), request)
	if err != nil {
		return err
	}
	told := story.OfRequest(request, reply)
	if in.Wait || request.Mode == memory.ModeRemember {
		receipt, err := s.o.Turns.Receipt(r.Context(), request)
		if err != nil {
			return err
		}
		told = told.After(receipt)
	}
	switch request.Mode {
	case memory.ModeRecall:
		s.write(w, http.StatusOK, told.Recall())
	case memory.ModeRemember:
		s.write(w, http.StatusOK, told.Remembered())
	default:
		s.write(w, http.StatusOK, told.Asked(in.Wait))
	}
	return nil
}

func (s *Server) getMemories(w http.ResponseWriter, r *http.Request) error {
	q, err := query(r, "user_id", "all", "as_of", "limit", "cursor")
	if err != nil {
		return err
	}
	scope := memory.Scope{Tenant: s.o.Tenant, User: memory.UserID(q["user_id"])}
	// A request's own rules are the rules for ids.
	if err := (memory.Request{Scope: scope, Mode: memory.ModeRemember, Text: "x"}).Validate(); err != nil {
		return err
	}
	l := Listing{Limit: DefaultPage, Cursor: q["cursor"]}
	if v, ok := q["all"]; ok {
		if l.All, err = strconv.ParseBool(v); err != nil {
			return memory.Invalid("all", "is true or false")
		}
	}
	if v, ok := q["limit"]; ok {
		if l.Limit, err = strconv.Atoi(v); err != nil || l.Limit < 1 || l.Limit > MaxPage {
			return memory.Invalid("limit", "must be between 1 and %d", MaxPage)
		}
	}
	if v, ok := q["as_of"]; ok {
		if l.AsOf, err = memory.ParseTime("as_of", v); err != nil {
			return err
		}
	}
	list, next, err := s.o.Memories.Memories(tenant.NewContext(r.Context(), scope), l)
	if err != nil {
		return err
	}
	page := story.MemoriesOf(list)
	page.Next = next
	s.write(w, http.StatusOK, page)
	return nil
}

func (s *Server) write(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // the caller is gone
		s.o.Logger.Debug("response not sent", "error", err)
	}
}
