// Package model calls models: it adds to a provider's adapter what every call
// needs (a token count before, a circuit breaker and a timeout around, a check
// and one repair after, a meter), and it builds the roles of a turn from a
// configuration.
package model

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/tenant"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// Provider is an adapter to one model of one server. Its errors are
// *memory.Error with the codes that package endpoint documents.
type Provider interface {
	// Complete sends the request as it is and returns the reply as it is.
	Complete(ctx context.Context, r prompts.Request) (prompts.Response, error)
	// ContextLength is how many tokens prompt and reply may have together.
	ContextLength(ctx context.Context) (int, error)
	// Name is the model's name.
	Name() string
	// Address is the server's address, without credentials.
	Address() string
}

// Call is what a Meter is told about one call.
type Call struct {
	Role   memory.Role
	Tenant memory.TenantID
	// Model is the model's name.
	Model string
	// Prompt is the prompt's name and version; empty for embeddings.
	Prompt string
	// Code is the kind of failure, empty for success.
	Code memory.Code
	// Repaired says that the first reply was unusable and a second was asked for.
	Repaired bool
	Usage    prompts.Usage
}

// Meter counts calls, tokens and time for each role and tenant. It is called
// once for each call, concurrently.
type Meter interface {
	ModelCall(ctx context.Context, c Call)
}

// Client calls one model for one role. It implements the model interface that
// the stages declare. Its errors are *memory.Error:
//
//	too_long        the prompt does not fit; nothing was sent
//	unavailable     not reached, too slow, or left alone by the breaker
//	transient       busy, or broke off
//	refused         the model, its policy or its server declines for good
//	invalid_output  empty, cut off or not what the schema asks, twice
//
// A reply without an error is never empty, and satisfies the request's schema.
type Client struct {
	provider Provider
	breaker  *breaker
	role     memory.Role
	timeout  time.Duration
	meter    Meter
}

// Complete makes one call, or two when the first reply is unusable.
func (c *Client) Complete(ctx context.Context, r prompts.Request) (prompts.Response, error) {
	start := time.Now()
	resp, repaired, err := c.complete(ctx, r)
	if c.meter != nil {
		call := Call{Role: c.role, Model: c.provider.Name(), Prompt: r.Prompt, Code: memory.CodeOf(err), Repaired: repaired, Usage: resp.Usage}
		call.Usage.Duration = time.Since(start)
		if scope, err := tenant.FromContext(ctx); err == nil {
			call.Tenant = scope.Tenant
		}
		c.meter.ModelCall(ctx, call)
	}
	if err != nil {
		return prompts.Response{Usage: resp.Usage}, err
	}
	return resp, nil
}

func (c *Client) complete(ctx context.Context, r prompts.Request) (_ prompts.Response, repaired bool, _ error) {
	if r.MaxTokens <= 0 {
		return prompts.Response{}, false, memory.Errorf(memory.CodeInternal, "prompt %s sets no bound for its reply", r.Prompt)
	}
	var s schema
	if len(r.Schema) > 0 {
		var err error
		if s, err = parseSchema(r.Schema); err != nil {
			return prompts.Response{}, false, memory.Wrap(memory.CodeInternal, err, "read schema of prompt %s", r.Prompt)
		}
	}
	resp, problem, err := c.once(ctx, r, s)
	if err != nil || problem == nil {
		return resp, false, err
	}
	if len(r.Schema) == 0 { // nothing to repair in plain text: asked again, it says the same
		return resp, false, problem
	}
	second, problem, err := c.once(ctx, repair(r, resp, problem), s)
	second.Usage = second.Usage.Add(resp.Usage)
	if err == nil && problem != nil {
		err = problem
	}
	return second, true, err
}

// repair is the request that shows the model its reply and what is wrong with
// it. A reply that was cut off gets twice the room instead: repeating half a
// reply would cost what it lacked (hindsight#2579).
func repair(r prompts.Request, resp prompts.Response, problem *memory.Error) prompts.Request {
	if resp.Finish == prompts.FinishLength {
		r.MaxTokens *= 2
		return r
	}
	said := prompts.Cut(resp.Text, 2000)
	if strings.TrimSpace(said) == "" {
		said = "{}"
	}
	r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)],
		prompts.Message{Role: prompts.Assistant, Text: said},
		prompts.Message{Role: prompts.User, Text: "That reply cannot be used: " + problem.Cause.Error() + ". Reply with the JSON alone."},
	)
	return r
}

// once makes one call. problem says why its reply is unusable although the call
// itself went well.
func (c *Client) once(ctx context.Context, r prompts.Request, s schema) (resp prompts.Response, problem *memory.Error, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	name := c.provider.Name()

	least := 0
	for _, m := range r.Messages {
		least += leastTokens(m.Text)
	}
	err = c.breaker.do(func() error {
		limit, err := c.provider.ContextLength(ctx)
		if err != nil {
			return err
		}
		if n := countRequest(r) + r.MaxTokens; n > limit {
			return memory.Errorf(memory.CodeTooLong, "the prompt %s with its reply may need %d tokens; %s has %d", r.Prompt, n, name, limit)
		}
		quiet := r
		var filter *reasoningFilter
		if r.Emit != nil {
			filter = &reasoningFilter{emit: r.Emit}
			quiet.Emit = filter.write
		}
		resp, err = c.provider.Complete(ctx, quiet)
		if err == nil && filter != nil {
			filter.close()
		}
		return err
	})
	if err != nil {
		return prompts.Response{}, nil, err
	}
	// The server says how much of the prompt it read. Much less than there was
	// means that it dropped the rest without a word (OpenViking#2992).
	if read := resp.Usage.InputTokens; read > 0 && read < least/2 {
		return resp, nil, memory.Errorf(memory.CodeTooLong, "%s read %d tokens of a prompt of at least %d: its context is shorter than configured", name, read, least)
	}
	switch {
	case resp.Finish == prompts.FinishRefused:
		return resp, nil, memory.Errorf(memory.CodeRefused, "%s declines to answer", name) // hindsight#3690: for good
	case len(r.Schema) > 0:
		text, err := decode(resp.Text, s)
		if err == nil {
			resp.Text = string(text)
			return resp, nil, nil
		}
		what := "something that is not what was asked for"
		if resp.Finish == prompts.FinishLength {
			what = "a reply that was cut off at " + strconv.Itoa(resp.Usage.OutputTokens) + " tokens"
		}
		return resp, &memory.Error{Code: memory.CodeInvalidOutput, Message: name + " sent " + what, Cause: err}, nil
	}
	if text, thought := withoutReasoning(strings.TrimSpace(resp.Text)); thought {
		resp.Text = text
	}
	switch {
	case strings.TrimSpace(resp.Text) == "" && len(resp.Tokens) == 0:
		return resp, memory.Errorf(memory.CodeInvalidOutput, "%s sent an empty reply", name), nil // mem0#3391
	case resp.Finish == prompts.FinishLength && !r.MayBeCut:
		return resp, memory.Errorf(memory.CodeInvalidOutput, "%s sent a reply that was cut off at %d tokens", name, resp.Usage.OutputTokens), nil
	}
	return resp, nil, nil
}

// reasoningFilter passes a stream on without the reasoning block at its front.
type reasoningFilter struct {
	emit    func(string)
	held    string
	decided bool
}

const (
	reasoningOpen  = "<think>"
	reasoningClose = "</think>"
)

func (f *reasoningFilter) write(piece string) {
	if f.decided {
		f.emit(piece)
		return
	}
	f.held += piece
	front := strings.TrimLeft(f.held, " \n\t")
	switch {
	case strings.HasPrefix(front, reasoningOpen):
		if _, after, ok := strings.Cut(front, reasoningClose); ok {
			if after = strings.TrimLeft(after, " \n\t"); after != "" {
				f.pass(after)
			}
		}
	case !strings.HasPrefix(reasoningOpen, front):
		f.pass(f.held)
	}
}

func (f *reasoningFilter) pass(text string) {
	f.decided, f.held = true, ""
	f.emit(text)
}

// close passes on what was held back in the hope of a tag.
func (f *reasoningFilter) close() {
	if !f.decided && f.held != "" && !strings.HasPrefix(strings.TrimLeft(f.held, " \n\t"), reasoningOpen) {
		f.pass(f.held)
	}
}

// newClient joins a provider with what surrounds each call.
func newClient(p Provider, b *breaker, role memory.Role, timeout time.Duration, meter Meter) *Client {
	return &Client{provider: p, breaker: b, role: role, timeout: cmp.Or(timeout, TimeoutDefault(role)), meter: meter}
}

// TimeoutDefault is how long one call of a role may take by default: the small
// models answer in 1.5–3 s on two CPU cores, after a turn that waits for them;
// the answer model may stream for longer; writing keeps nobody waiting.
func TimeoutDefault(r memory.Role) time.Duration {
	switch r {
	case memory.RoleAnswer:
		return 2 * time.Minute
	case memory.RoleWrite:
		return 30 * time.Second
	case memory.RoleEmbed:
		return 10 * time.Second
	default:
		return 15 * time.Second
	}
}
