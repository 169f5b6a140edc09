package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/answer"
	"github.com/lightmem/lightmem/internal/model/ollama"
	"github.com/lightmem/lightmem/internal/model/openai"
	"github.com/lightmem/lightmem/internal/model/scripted"
	"github.com/lightmem/lightmem/internal/plan"
	"github.com/lightmem/lightmem/internal/selection"
	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// The providers.
const (
	ProviderOllama   = "ollama"
	ProviderOpenAI   = "openai"
	ProviderRules    = "rules"
	ProviderScripted = "scripted"
)

// RoleConfig says who serves one role.
type RoleConfig struct {
	// Model is "provider:model[@address]": "ollama:qwen2.5:1.5b",
	// "openai:gpt-4o-mini", "openai:m@http://gpu:8000/v1", "rules:". Empty means
	// rules; for embeddings, for which there is no rule, both mean none.
	Model string
	// Timeout bounds one call. Defaults to TimeoutDefault of the role.
	Timeout time.Duration
	// ContextLength is how many tokens prompt and reply may have together.
	// Defaults to the provider's Config.
	ContextLength int
	// Key is the API key for the role's server. Empty: the one of Config.
	Key string
}

// Config says who serves the roles of a turn.
type Config struct {
	// AllowScripted permits the provider "scripted:", which is for tests.
	AllowScripted bool
	Answer        RoleConfig
	AnswerOptions answer.ModelOptions
	// Breaker applies to each model of each server.
	Breaker BreakerConfig
	Embed   RoleConfig
	// Meter is told about each call; may be nil.
	Meter Meter
	// Ollama holds the defaults for models of "ollama:"; Model is ignored.
	Ollama ollama.Config
	// OpenAI holds the defaults and the key for models of "openai:"; Model is
	// ignored. The key is sent to its Address only: a role that names another
	// address gets no key, so that a secret never reaches a stranger, unless
	// OpenAIKeys holds one for it.
	OpenAI openai.Config
	// OpenAIKeys are the keys by address, for roles that name another one.
	OpenAIKeys    map[string]string
	Plan          RoleConfig
	Select        RoleConfig
	SelectOptions selection.ModelOptions
	Write         RoleConfig
	WriteOptions  write.ModelOptions
}

// Planner, Selector, Answerer, Writer and TextEmbedder are the roles as package
// activities declares them.
type (
	// Planner makes a plan.
	Planner interface {
		Plan(ctx context.Context, t memory.Turn) (memory.Plan, error)
	}
	// Selector picks at most K of the candidates.
	Selector interface {
		Select(ctx context.Context, r memory.Retrieved) (memory.Selection, error)
	}
	// Answerer answers, in pieces when emit is not nil.
	Answerer interface {
		Answer(ctx context.Context, s memory.Selected, emit func(piece string)) (memory.Answer, error)
	}
	// Writer proposes what to keep.
	Writer interface {
		Draft(ctx context.Context, a memory.Answered) (memory.Drafted, error)
	}
	// TextEmbedder turns texts into unit vectors.
	TextEmbedder interface {
		Embed(ctx context.Context, texts []string) ([]memory.Vector, error)
		EmbedModel() string
	}
)

// Rules are the rules that the models build upon: the plan whose queries they
// add to, and the drafts that they reword.
type Rules struct {
	Planner Planner
	Writer  Writer
}

// Roles are the roles that models serve; nil for those that rules serve (and
// for Embedder: when nothing embeds).
type Roles struct {
	Answerer Answerer
	Embedder TextEmbedder
	Planner  Planner
	Selector Selector
	Writer   Writer
	// Serving says who serves each role: "rules", or "provider:model".
	Serving memory.Serving

	warmers []func(ctx context.Context) error
}

// Warm makes each server load its models and each embedding model tell its
// dimensions, so that no turn waits for that. Its error says everything that is
// wrong; the roles work, or fall back, all the same.
func (r *Roles) Warm(ctx context.Context) error {
	var errs []error
	for _, warm := range r.warmers {
		errs = append(errs, warm(ctx))
	}
	return errors.Join(errs...)
}

// Open builds the roles. It reaches no server: one that is down at the start is
// used as soon as it is up. Errors are CodeInvalid and name the role.
func Open(c Config, rules Rules) (*Roles, error) {
	set, err := prompts.Load()
	if err != nil {
		return nil, memory.Wrap(memory.CodeInternal, err, "load prompts")
	}
	o := opener{config: c, shared: make(map[string]*shared), breakers: make(map[string]*breaker)}
	out := &Roles{Serving: make(memory.Serving)}
	for _, role := range []struct {
		role   memory.Role
		config RoleConfig
		build  func(*Client)
	}{
		{memory.RolePlan, c.Plan, func(m *Client) { out.Planner = plan.NewModel(m, rules.Planner, set) }},
		{memory.RoleSelect, c.Select, func(m *Client) { out.Selector = selection.NewModel(m, set, c.SelectOptions) }},
		{memory.RoleAnswer, c.Answer, func(m *Client) { out.Answerer = answer.NewModel(m, set, c.AnswerOptions) }},
		{memory.RoleWrite, c.Write, func(m *Client) { out.Writer = write.NewModel(m, rules.Writer, set, c.WriteOptions) }},
	} {
		s, err := o.open(role.role, role.config)
		if err != nil {
			return nil, err
		}
		out.Serving[role.role] = memory.ServedByRules
		if s == nil {
			continue
		}
		if role.role == memory.RolePlan && rules.Planner == nil || role.role == memory.RoleWrite && rules.Writer == nil {
			return nil, memory.Errorf(memory.CodeInternal, "the model for %s needs the rule that it builds upon", role.role)
		}
		out.Serving[role.role] = s.name
		client := newClient(s.provider, s.breaker, role.role, role.config.Timeout, c.Meter)
		role.build(client)
		if !s.warmed {
			s.warmed = true
			out.warmers = append(out.warmers, func(ctx context.Context) error { return warm(ctx, s.provider) })
		}
	}
	s, err := o.open(memory.RoleEmbed, c.Embed)
	if err != nil {
		return nil, err
	}
	out.Serving[memory.RoleEmbed] = memory.ServedByRules
	if s != nil {
		out.Serving[memory.RoleEmbed] = s.name
		e := &Embedder{provider: s.embedding, breaker: s.breaker, timeout: cmp.Or(c.Embed.Timeout, TimeoutDefault(memory.RoleEmbed)), meter: c.Meter}
		out.Embedder = e
		out.warmers = append(out.warmers, func(ctx context.Context) error {
			_, err := e.Embed(ctx, []string{"warm"})
			return err
		})
	}
	return out, nil
}

// warm loads a language model by its shortest call.
func warm(ctx context.Context, p Provider) error {
	_, err := p.Complete(ctx, prompts.Request{
		Prompt: "warm", MaxTokens: 1, MayBeCut: true,
		Messages: []prompts.Message{{Role: prompts.User, Text: "Reply with yes."}},
	})
	return err
}

// shared is one model of one server, for all roles that use it.
type shared struct {
	name      string
	provider  Provider
	embedding EmbeddingProvider
	breaker   *breaker
	warmed    bool
}

type opener struct {
	config   Config
	shared   map[string]*shared
	breakers map[string]*breaker
}

// breaker is the one of a model of a server, whatever its roles' settings.
func (o opener) breaker(name string) *breaker {
	if _, ok := o.breakers[name]; !ok {
		o.breakers[name] = newBreaker(name, o.config.Breaker)
	}
	return o.breakers[name]
}

// open returns the model that a role is served by, nil for rules.
func (o opener) open(role memory.Role, c RoleConfig) (*shared, error) {
	field := string(role) + ".model"
	provider, name, address := Split(c.Model)
	if c.Timeout < 0 {
		return nil, memory.Invalid(string(role)+".timeout", "must not be negative")
	}
	fail := func(err error) (*shared, error) {
		var e *memory.Error
		if errors.As(err, &e) {
			return nil, &memory.Error{Code: memory.CodeInvalid, Field: field, Message: e.Message, Cause: e.Cause}
		}
		return nil, err
	}
	var s shared
	switch provider {
	case "", ProviderRules:
		if name != "" {
			return nil, memory.Invalid(field, `rules take no model; write "rules:"`)
		}
		return nil, nil
	case ProviderOllama:
		conf := o.config.Ollama
		conf.Model, conf.Address = name, cmp.Or(address, conf.Address)
		conf.ContextLength = cmp.Or(c.ContextLength, conf.ContextLength)
		m, err := ollama.New(conf)
		if err != nil {
			return fail(err)
		}
		s.provider, s.embedding = m, m
	case ProviderOpenAI:
		conf := o.config.OpenAI
		if address != "" && strings.TrimRight(address, "/") != strings.TrimRight(cmp.Or(conf.Address, openai.AddressDefault), "/") {
			conf.Key = o.config.OpenAIKeys[address]
		}
		conf.Model, conf.Address = name, cmp.Or(address, conf.Address)
		conf.Key = cmp.Or(c.Key, conf.Key)
		conf.ContextLength = cmp.Or(c.ContextLength, conf.ContextLength)
		m, err := openai.New(conf)
		if err != nil {
			return fail(err)
		}
		s.provider, s.embedding = m, m
	case ProviderScripted:
		if !o.config.AllowScripted {
			return nil, memory.Invalid(field, "scripted models are for tests; they must be allowed explicitly")
		}
		script, err := scripted.Parse(name)
		if err != nil {
			return fail(err)
		}
		m := scripted.New(name, script)
		s.provider, s.embedding = m, m
	default:
		return nil, memory.Invalid(field, `unknown provider; write ollama:MODEL, openai:MODEL or "rules:"`)
	}
	s.name = provider + ":" + s.provider.Name()
	key := fmt.Sprintf("%s@%s#%d#%s", s.name, s.provider.Address(), c.ContextLength, c.Key)
	if known, ok := o.shared[key]; ok {
		return known, nil
	}
	s.breaker = o.breaker(s.name + " at " + s.provider.Address())
	o.shared[key] = &s
	return &s, nil
}

// Split takes "provider:model[@address]" apart. The model may hold colons, and
// an @ that no URL follows.
func Split(spec string) (provider, model, address string) {
	spec = strings.TrimSpace(spec)
	provider, model, _ = strings.Cut(spec, ":")
	for _, scheme := range []string{"@http://", "@https://"} {
		if i := strings.LastIndex(model, scheme); i >= 0 {
			model, address = model[:i], model[i+1:]
			break
		}
	}
	return strings.ToLower(strings.TrimSpace(provider)), strings.TrimSpace(model), address
}
