package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// problem is an error as a response (RFC 9457).
type problem struct {
	Title  string      `json:"title"`
	Status int         `json:"status"`
	Detail string      `json:"detail"`
	Code   memory.Code `json:"code"`
	Field  string      `json:"field,omitempty"`
}

// statusOf is the one place where a code becomes a status.
func statusOf(c memory.Code) int {
	switch c {
	case memory.CodeInvalid:
		return http.StatusUnprocessableEntity
	case memory.CodeNotFound:
		return http.StatusNotFound
	case memory.CodeConflict:
		return http.StatusConflict
	case memory.CodeForbidden:
		return http.StatusForbidden
	case memory.CodeUnavailable, memory.CodeTransient:
		return http.StatusServiceUnavailable
	case memory.CodeInvalidOutput, memory.CodeTooLong, memory.CodeRefused:
		return http.StatusBadGateway
	}
	return http.StatusInternalServerError
}

// fail answers with a problem. Only a *memory.Error's own words are shown.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problem{Code: memory.CodeOf(err), Detail: "something went wrong inside lightmem"}
	var e *memory.Error
	switch {
	case errors.As(err, &e):
		p.Field = e.Field
		bare := *e
		bare.Field = ""
		p.Detail = bare.Error()
		if e.Code == memory.CodeUnavailable || e.Code == memory.CodeTransient {
			wait := max(e.RetryAfter, time.Second)
			w.Header().Set("Retry-After", strconv.Itoa(int(wait.Round(time.Second).Seconds())))
		}
	case errors.Is(err, context.DeadlineExceeded):
		p.Code, p.Detail = memory.CodeUnavailable, "no answer in time; the turn goes on, and the same idempotency key gives its result"
	}
	if p.Code == memory.CodeInternal && r.Context().Err() == nil {
		s.o.Logger.Error("call failed", "method", r.Method, "pattern", r.Pattern, "code", p.Code, "cause", err)
	}
	s.problem(w, statusOf(p.Code), p)
}

func (s *Server) problem(w http.ResponseWriter, status int, p problem) {
	p.Status, p.Title = status, http.StatusText(status)
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(p); err != nil { // the caller is gone
		s.o.Logger.Debug("response not sent", "error", err)
	}
}
