// Package endpoint is what the model adapters share about HTTP: a client that
// bounds what it reads, and the translation of what can go wrong on the way to
// a model server into the codes of package memory.
package endpoint

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// MaxReplyBytes bounds what is read of one reply. A reply of 32,000 tokens with
// twenty alternatives each has about 40 MB; embeddings of a batch less.
const MaxReplyBytes = 64 << 20

// maxErrorBytes bounds what is kept of an error's body.
const maxErrorBytes = 16 << 10

// NewHTTPClient returns a client for one model server. It has no timeout of its
// own: each call's context bounds it, streaming included.
func NewHTTPClient() *http.Client {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   64, // calls go in parallel to one host
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
	return &http.Client{Transport: observer{next: t}}
}

// Seen is what a call's HTTP response said besides what the provider's library
// makes of it.
type Seen struct {
	mu         sync.Mutex
	status     int
	retryAfter time.Duration
	body       string
	readErr    error
}

type seenKey struct{}

// Observe returns a context whose HTTP calls, made through a client of
// NewHTTPClient, are noted in the returned Seen.
func Observe(ctx context.Context) (context.Context, *Seen) {
	s := &Seen{}
	return context.WithValue(ctx, seenKey{}, s), s
}

// ReadError returns the error that ended the reading of the reply's body, nil
// at its proper end. The Ollama client swallows it.
func (s *Seen) ReadError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readErr
}

// observer notes status, Retry-After and the beginning of an error's body.
type observer struct{ next http.RoundTripper }

func (o observer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	seen, _ := r.Context().Value(seenKey{}).(*Seen)
	if seen == nil {
		seen = &Seen{}
	}
	seen.mu.Lock()
	seen.status, seen.retryAfter, seen.readErr = resp.StatusCode, retryAfter(resp.Header), nil
	seen.mu.Unlock()
	resp.Body = &body{ReadCloser: resp.Body, left: MaxReplyBytes, seen: seen, keep: resp.StatusCode >= http.StatusBadRequest}
	return resp, nil
}

// body bounds and notes what is read.
type body struct {
	io.ReadCloser
	left int
	seen *Seen
	keep bool
}

var errReplyTooLarge = errors.New("the reply is too large")

func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.note(errReplyTooLarge, nil)
		return 0, errReplyTooLarge
	}
	if len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= n
	b.note(err, p[:n])
	return n, err
}

func (b *body) note(err error, p []byte) {
	b.seen.mu.Lock()
	defer b.seen.mu.Unlock()
	if b.keep && len(b.seen.body) < maxErrorBytes {
		b.seen.body += string(p[:min(len(p), maxErrorBytes-len(b.seen.body))])
	}
	if err != nil && !errors.Is(err, io.EOF) {
		b.seen.readErr = err
	}
}

// retryAfter reads the header in seconds or as a date, 0 without one; at most
// ten minutes.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	d := time.Duration(0)
	if s, err := strconv.Atoi(v); err == nil {
		d = time.Duration(min(s, 3600)) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = time.Until(at)
	}
	return min(max(0, d), 10*time.Minute)
}

// Server names a model server in error messages and says what to do about a
// missing model.
type Server struct {
	// Name is the server as its operator knows it: "Ollama at http://…". It
	// holds no secret.
	Name string
	// Model is the model's name.
	Model string
	// Missing is what to do when the server does not have the model.
	Missing string
}

// Error translates err, the outcome of one call, into a *memory.Error:
//
//	unavailable     not reached, or no reply in time
//	transient       429, 5xx, a reply that broke off
//	too_long        the prompt does not fit the context
//	refused         any other 4xx: the same call will fail again
//	invalid_output  a reply that is not what the protocol says
//
// The messages hold nothing of what the server said, for it may quote the
// prompt. A nil err is nil.
func (s Server) Error(ctx context.Context, seen *Seen, err error) error {
	if err == nil {
		return nil
	}
	var own *memory.Error
	if errors.As(err, &own) {
		return err
	}
	seen.mu.Lock()
	status, wait, text, readErr := seen.status, seen.retryAfter, strings.ToLower(seen.body+" "+err.Error()), seen.readErr
	seen.mu.Unlock()

	switch cause := context.Cause(ctx); {
	case errors.Is(ctx.Err(), context.Canceled):
		return memory.Wrap(memory.CodeTransient, errors.Join(context.Canceled, cause), "the call of %s was cancelled", s.Name)
	case ctx.Err() != nil, errors.Is(err, context.DeadlineExceeded):
		return memory.Wrap(memory.CodeUnavailable, err, "%s (%s) did not answer in time", s.Name, s.Model)
	}
	if status >= http.StatusBadRequest {
		return s.statusError(status, wait, text, err)
	}
	var asURL *url.Error
	var asNet net.Error
	switch {
	case errors.Is(err, errReplyTooLarge) || errors.Is(readErr, errReplyTooLarge):
		return memory.Wrap(memory.CodeInvalidOutput, err, "%s (%s) sent a reply of more than %d MB", s.Name, s.Model, MaxReplyBytes>>20)
	case status != 0 && readErr != nil:
		return memory.Wrap(memory.CodeTransient, readErr, "the reply of %s (%s) broke off", s.Name, s.Model)
	case status == 0 && (errors.As(err, &asURL) || errors.As(err, &asNet)):
		return memory.Wrap(memory.CodeUnavailable, err, "%s cannot be reached; is it running?", s.Name)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return memory.Wrap(memory.CodeTransient, err, "the reply of %s (%s) broke off", s.Name, s.Model)
	}
	if code, message := s.spoken(text); code != "" { // an error in the middle of a stream
		return memory.Wrap(code, err, "%s", message)
	}
	return memory.Wrap(memory.CodeInvalidOutput, err, "%s (%s) sent something that is no reply", s.Name, s.Model)
}

func (s Server) statusError(status int, wait time.Duration, text string, err error) error {
	if status == http.StatusTooManyRequests && strings.Contains(text, "insufficient_quota") {
		return memory.Wrap(memory.CodeRefused, err, "%s refuses: the account's quota is used up", s.Name)
	}
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		return &memory.Error{
			Code: memory.CodeTransient, RetryAfter: wait, Cause: err,
			Message: s.Name + " is busy (HTTP " + strconv.Itoa(status) + ")",
		}
	}
	if status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout {
		return memory.Wrap(memory.CodeUnavailable, err, "%s (%s) did not answer in time (HTTP %d)", s.Name, s.Model, status)
	}
	if code, message := s.spoken(text); code != "" {
		return memory.Wrap(code, err, "%s", message)
	}
	switch {
	case status >= http.StatusInternalServerError:
		return memory.Wrap(memory.CodeTransient, err, "%s failed (HTTP %d)", s.Name, status)
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return memory.Wrap(memory.CodeRefused, err, "%s refuses the credentials (HTTP %d); check the API key", s.Name, status)
	case status == http.StatusNotFound:
		return memory.Wrap(memory.CodeRefused, err, "%s does not have the model %q; %s", s.Name, s.Model, s.Missing)
	default:
		return memory.Wrap(memory.CodeRefused, err, "%s refuses the request for %q (HTTP %d)", s.Name, s.Model, status)
	}
}

// spoken recognises what servers say in words.
func (s Server) spoken(text string) (memory.Code, string) {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case has("context_length_exceeded", "exceeds the context length", "maximum context length", "exceed_context_size", "exceeds the available context",
		"input length exceeds", "is too long", "too large to process"):
		return memory.CodeTooLong, "the prompt does not fit the context of " + s.Model + " on " + s.Name
	case has("content_filter", "content_policy", "content policy", "content management policy", "moderation", "safety"):
		return memory.CodeRefused, s.Name + " declines by its content policy"
	case has("requires more system memory", "out of memory", "cudamalloc failed"):
		return memory.CodeUnavailable, s.Name + " has not enough memory for " + s.Model
	case has("model_not_found", "try pulling it first") || has("model") && has("not found", "does not exist"):
		return memory.CodeRefused, s.Name + " does not have the model \"" + s.Model + "\"; " + s.Missing
	case has("does not support embeddings", "does not support chat", "does not support generate"):
		return memory.CodeRefused, s.Model + " on " + s.Name + " cannot do what this role needs; configure another model"
	}
	return "", ""
}
