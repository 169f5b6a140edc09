package workflows_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/lightmem/lightmem/activities"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/workflows"
)

// parts are a turn's parts as functions, so that a test forces one case. The
// real parts are tested in internal/e2e.
type parts struct {
	open    func() (*memory.Receipt, error)
	plan    func() error
	sel     func(r memory.Retrieved) (memory.Selection, error)
	answer  func() error
	draft   func() error
	commit  func(memory.Drafted) (memory.Receipt, error)
	record  func(memory.Answered) error
	embed   func(texts []string) ([]memory.Vector, error)
	missing func() []memory.Memory
	set     func(map[memory.ID]memory.Vector)

	commits, records atomic.Int32
}

func (p *parts) Open(context.Context, memory.Request) (memory.Profile, []memory.Message, *memory.Receipt, error) {
	if p.open == nil {
		return memory.Profile{}, nil, nil, nil
	}
	done, err := p.open()
	return memory.Profile{}, nil, done, err
}

func (p *parts) Record(_ context.Context, a memory.Answered) error {
	p.records.Add(1)
	if p.record == nil {
		return nil
	}
	return p.record(a)
}

func (p *parts) Commit(_ context.Context, d memory.Drafted) (memory.Receipt, error) {
	p.commits.Add(1)
	if p.commit == nil {
		return memory.Receipt{Written: []memory.Outcome{{ID: "m_1", Memory: d.Drafts[0].Text, Event: memory.EventAdded, Reason: "new"}}}, nil
	}
	return p.commit(d)
}

func (p *parts) Unembedded(context.Context, string, int) ([]memory.Memory, error) {
	if p.missing == nil {
		return nil, nil
	}
	return p.missing(), nil
}

func (p *parts) SetVectors(_ context.Context, _ string, v map[memory.ID]memory.Vector) error {
	if p.set != nil {
		p.set(v)
	}
	return nil
}

func (p *parts) Plan(_ context.Context, t memory.Turn) (memory.Plan, error) {
	return memory.Plan{Version: "rule", Queries: []memory.Query{{Text: t.Text, Tier: memory.TierMTM, Origin: "input"}}}, nil
}

func (p *parts) Retrieve(_ context.Context, in memory.Planned) (memory.Retrieved, error) {
	return memory.Retrieved{Planned: in, Candidates: []memory.Candidate{{ID: "m_1", Memory: "one"}, {ID: "m_2", Memory: "two"}}}, nil
}

func (p *parts) Select(_ context.Context, r memory.Retrieved) (memory.Selection, error) {
	return memory.Selection{Version: "rule", Chosen: []memory.Chosen{{ID: "m_1"}}}, nil
}

func (p *parts) Answer(context.Context, memory.Selected, func(string)) (memory.Answer, error) {
	return memory.Answer{Text: "by rule", Version: "rule"}, nil
}

func (p *parts) Draft(_ context.Context, a memory.Answered) (memory.Drafted, error) {
	return memory.Drafted{Answered: a, Version: "rule", Drafts: []memory.Draft{{Text: "by rule"}}}, nil
}

func (p *parts) Embed(_ context.Context, texts []string) ([]memory.Vector, error) {
	if p.embed == nil {
		return make([]memory.Vector, len(texts)), nil
	}
	return p.embed(texts)
}

func (p *parts) EmbedModel() string { return "test" }

// modelParts answer as a model would, or fail as the test says.
type modelParts struct{ *parts }

func (m modelParts) Plan(_ context.Context, t memory.Turn) (memory.Plan, error) {
	if m.plan != nil {
		if err := m.plan(); err != nil {
			return memory.Plan{}, err
		}
	}
	return memory.Plan{Version: "model", Queries: []memory.Query{{Text: t.Text, Origin: "input"}, {Text: "more", Origin: "model"}}}, nil
}

func (m modelParts) Select(_ context.Context, r memory.Retrieved) (memory.Selection, error) {
	if m.sel != nil {
		return m.sel(r)
	}
	return memory.Selection{Version: "model", Chosen: []memory.Chosen{{ID: "m_2", Reason: "yes"}}}, nil
}

func (m modelParts) Answer(context.Context, memory.Selected, func(string)) (memory.Answer, error) {
	if m.answer != nil {
		if err := m.answer(); err != nil {
			return memory.Answer{}, err
		}
	}
	return memory.Answer{Text: "by model", Version: "model"}, nil
}

func (m modelParts) Draft(_ context.Context, a memory.Answered) (memory.Drafted, error) {
	if m.draft != nil {
		if err := m.draft(); err != nil {
			return memory.Drafted{}, err
		}
	}
	return memory.Drafted{Answered: a, Version: "model", Drafts: []memory.Draft{{Text: "by model"}}}, nil
}

// allModels serves every role by models.
var allModels = memory.Serving{memory.RolePlan: "m", memory.RoleSelect: "m", memory.RoleAnswer: "m", memory.RoleWrite: "m"}

func newEnv(t *testing.T, p *parts, serving memory.Serving) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(20 * time.Second)
	env.RegisterWorkflowWithOptions(workflows.Turn, workflow.RegisterOptions{Name: workflows.TypeTurn})
	env.RegisterWorkflowWithOptions(workflows.Embed, workflow.RegisterOptions{Name: workflows.TypeEmbed})
	models := modelParts{p}
	env.RegisterActivity(&activities.Turn{
		Store: p, Retriever: p, Embedder: p, Logger: slog.New(slog.DiscardHandler), Serving: serving,
		Rules:  activities.Roles{Planner: p, Selector: p, Answerer: p, Writer: p},
		Models: activities.Roles{Planner: models, Selector: models, Answerer: models, Writer: models},
	})
	return env
}

func request(mode memory.Mode) memory.Request {
	return memory.Request{
		Scope: memory.Scope{Tenant: "acme", User: "u1"}, Conversation: "c", IdempotencyKey: "k",
		Mode: mode, Text: "where do I live?", K: 5,
	}
}

// ask sends the reply update and returns where its outcome will be.
type asked struct {
	reply    memory.Reply
	err      error
	rejected error
	done     bool
}

func ask(env *testsuite.TestWorkflowEnvironment, digest string, after time.Duration) *asked {
	a := &asked{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(workflows.UpdateReply, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { a.rejected = err },
			OnComplete: func(v any, err error) {
				a.done, a.err = true, err
				if r, ok := v.(memory.Reply); ok {
					a.reply = r
				}
			},
		}, workflows.Ask{Digest: digest})
	}, after)
	return a
}

func TestTurnFallsBackToTheRuleOfARole(t *testing.T) {
	t.Parallel()
	down := memory.Errorf(memory.CodeUnavailable, "the model server cannot be reached")
	garbage := memory.Errorf(memory.CodeInvalidOutput, "the model's reply does not match the schema")
	tests := []struct {
		name     string
		parts    *parts
		serving  memory.Serving
		degraded []memory.Degraded
		plan     string
		selected memory.ID
		answer   string
	}{
		{"models serve", &parts{}, allModels, []memory.Degraded{}, "model", "m_2", "by model"},
		{"rules serve", &parts{}, nil, []memory.Degraded{}, "rule", "m_1", "by rule"},
		{
			"planner down", &parts{plan: func() error { return down }}, allModels,
			[]memory.Degraded{{Role: memory.RolePlan, Reason: memory.CodeUnavailable, Detail: down.Message}},
			"rule", "m_2", "by model",
		},
		{
			"selector talks nonsense", &parts{sel: func(memory.Retrieved) (memory.Selection, error) { return memory.Selection{}, garbage }}, allModels,
			[]memory.Degraded{{Role: memory.RoleSelect, Reason: memory.CodeInvalidOutput, Detail: garbage.Message}},
			"model", "m_1", "by model",
		},
		{
			"answer model down", &parts{answer: func() error { return down }}, allModels,
			[]memory.Degraded{{Role: memory.RoleAnswer, Reason: memory.CodeUnavailable, Detail: down.Message}},
			"model", "m_2", "by rule",
		},
		{
			"embedder down", &parts{embed: func([]string) ([]memory.Vector, error) { return nil, down }}, nil,
			[]memory.Degraded{{Role: memory.RoleEmbed, Reason: memory.CodeUnavailable, Detail: down.Message}},
			"rule", "m_1", "by rule",
		},
		{
			"embedder gives too few vectors (mem0#5604)", &parts{embed: func([]string) ([]memory.Vector, error) { return nil, nil }}, nil,
			[]memory.Degraded{{Role: memory.RoleEmbed, Reason: memory.CodeInvalidOutput, Detail: "the embedder returned 0 vectors for 1 texts"}},
			"rule", "m_1", "by rule",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			env := newEnv(t, tt.parts, tt.serving)
			r := request(memory.ModeAnswer)
			a := ask(env, r.Digest(), 0)
			env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
			require.NoError(t, env.GetWorkflowError())
			require.True(t, a.done)
			require.NoError(t, a.err)
			require.Equal(t, tt.degraded, a.reply.Degraded)
			require.Equal(t, tt.plan, a.reply.Plan.Version)
			require.Equal(t, tt.answer, a.reply.Answer)
			require.Equal(t, tt.selected, a.reply.Selected[0].ID)
		})
	}
}

func TestTurnSelectionIsASubsetOfTheCandidates(t *testing.T) {
	t.Parallel()
	// mem0#4674, graphiti#939: the model names ids that were not offered, or one twice.
	p := &parts{sel: func(memory.Retrieved) (memory.Selection, error) {
		return memory.Selection{Chosen: []memory.Chosen{{ID: "m_9"}, {ID: "m_2"}, {ID: "m_2"}, {ID: "m_1"}}}, nil
	}}
	env := newEnv(t, p, allModels)
	r := request(memory.ModeRecall)
	r.K = 1
	a := ask(env, r.Digest(), 0)
	env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []memory.Chosen{{ID: "m_2"}}, a.reply.Selected)
}

func TestTurnRepliesBeforeItWrites(t *testing.T) {
	t.Parallel()
	var a *asked
	replied := false
	p := &parts{commit: func(memory.Drafted) (memory.Receipt, error) {
		replied = a.done
		return memory.Receipt{}, nil
	}}
	env := newEnv(t, p, nil)
	r := request(memory.ModeAnswer)
	a = ask(env, r.Digest(), 0)
	env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
	require.NoError(t, env.GetWorkflowError())
	require.True(t, replied, "the commit ran before the reply was given")
}

func TestTurnRecallWritesNothing(t *testing.T) {
	t.Parallel()
	p := &parts{}
	env := newEnv(t, p, nil)
	r := request(memory.ModeRecall)
	env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
	require.NoError(t, env.GetWorkflowError())
	require.Zero(t, p.commits.Load())
	require.EqualValues(t, 1, p.records.Load())
}

func TestTurnWriteThatFailsIsNeverNothingToRemember(t *testing.T) {
	t.Parallel()
	t.Run("a writer that is down leaves the rule to write (mem0#5878)", func(t *testing.T) {
		t.Parallel()
		p := &parts{draft: func() error { return memory.Errorf(memory.CodeUnavailable, "down") }}
		env := newEnv(t, p, allModels)
		r := request(memory.ModeAnswer)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, env.GetWorkflowError())
		var receipt memory.Receipt
		require.NoError(t, env.GetWorkflowResult(&receipt))
		require.Equal(t, "by rule", receipt.Written[0].Memory)
		require.Equal(t, memory.RoleWrite, receipt.Degraded[0].Role)
	})
	t.Run("a commit that cannot be made fails the turn after the reply", func(t *testing.T) {
		t.Parallel()
		p := &parts{commit: func(memory.Drafted) (memory.Receipt, error) {
			return memory.Receipt{}, memory.Errorf(memory.CodeForbidden, "no")
		}}
		env := newEnv(t, p, nil)
		r := request(memory.ModeAnswer)
		a := ask(env, r.Digest(), 0)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, a.err)
		require.Equal(t, memory.CodeForbidden, memory.CodeOf(activities.ErrorOf(env.GetWorkflowError())))
	})
	t.Run("a commit outlives a passing fault", func(t *testing.T) {
		t.Parallel()
		p := &parts{}
		p.commit = func(memory.Drafted) (memory.Receipt, error) {
			if p.commits.Load() < 5 {
				return memory.Receipt{}, memory.Errorf(memory.CodeUnavailable, "the database restarts")
			}
			return memory.Receipt{}, nil
		}
		env := newEnv(t, p, nil)
		r := request(memory.ModeAnswer)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, env.GetWorkflowError())
		require.EqualValues(t, 5, p.commits.Load())
	})
}

func TestTurnIdempotencyKey(t *testing.T) {
	t.Parallel()
	t.Run("another request under the same key is refused", func(t *testing.T) {
		t.Parallel()
		env := newEnv(t, &parts{}, nil)
		r := request(memory.ModeRecall)
		a := ask(env, "another digest", 0)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.Equal(t, memory.CodeConflict, memory.CodeOf(activities.ErrorOf(a.rejected)))
	})
	t.Run("a turn that the database knows is told again, not run again", func(t *testing.T) {
		t.Parallel()
		p := &parts{open: func() (*memory.Receipt, error) {
			return &memory.Receipt{Reply: memory.Reply{TurnID: "t_first", Answer: "first"}}, nil
		}}
		env := newEnv(t, p, nil)
		r := request(memory.ModeAnswer)
		a := ask(env, r.Digest(), 0)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, "first", a.reply.Answer)
		require.Zero(t, p.commits.Load()+p.records.Load())
	})
}

// A run that failed after its reply: the next one, under the same key, gives the
// same reply and goes on with the write; no stage is run again.
func TestTurnGoesOnWhereAnEarlierRunStopped(t *testing.T) {
	t.Parallel()
	asked := 0
	p := &parts{
		open: func() (*memory.Receipt, error) {
			return &memory.Receipt{Unfinished: true, Reply: memory.Reply{TurnID: "t_first", Answer: "first"}}, nil
		},
		answer: func() error { asked++; return nil },
	}
	var committed memory.Drafted
	p.commit = func(d memory.Drafted) (memory.Receipt, error) {
		committed = d
		return memory.Receipt{}, nil
	}
	env := newEnv(t, p, allModels)
	r := request(memory.ModeAnswer)
	a := ask(env, r.Digest(), 0)
	env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, "first", a.reply.Answer)
	require.Equal(t, memory.TurnID("t_first"), committed.ID)
	require.Equal(t, "first", committed.Answer.Text)
	require.Zero(t, asked)
	require.Zero(t, p.records.Load())
}

func TestEmbedLeavesOutWhatTheModelNeverTakes(t *testing.T) {
	t.Parallel()
	stored := map[memory.ID]bool{}
	p := &parts{}
	p.missing = func() []memory.Memory {
		var out []memory.Memory
		for _, m := range []memory.Memory{{ID: "m_1", Text: "one"}, {ID: "m_bad", Text: "bad"}, {ID: "m_2", Text: "two"}} {
			if !stored[m.ID] {
				out = append(out, m)
			}
		}
		return out
	}
	p.embed = func(texts []string) ([]memory.Vector, error) {
		for _, text := range texts {
			if text == "bad" {
				return nil, memory.Errorf(memory.CodeRefused, "not this one")
			}
		}
		return make([]memory.Vector, len(texts)), nil
	}
	p.set = func(v map[memory.ID]memory.Vector) {
		for id := range v {
			stored[id] = true
		}
	}
	env := newEnv(t, p, nil)
	env.ExecuteWorkflow(workflows.TypeEmbed, workflows.EmbedInput{Scope: scopeOf()})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, map[memory.ID]bool{"m_1": true, "m_2": true}, stored)
}

func scopeOf() memory.Scope { return memory.Scope{Tenant: "acme", User: "u1"} }

func TestTurnCallerAnswers(t *testing.T) {
	t.Parallel()
	give := func(env *testsuite.TestWorkflowEnvironment, id, text string, after time.Duration) *asked {
		a := &asked{}
		env.RegisterDelayedCallback(func() {
			env.UpdateWorkflow(workflows.UpdateCallerAnswer, id, &testsuite.TestUpdateCallback{
				OnAccept:   func() {},
				OnReject:   func(err error) { a.rejected = err },
				OnComplete: func(_ any, err error) { a.done, a.err = true, err },
			}, workflows.CallerAnswer{Text: text})
		}, after)
		return a
	}
	t.Run("the turn writes from the caller's answer", func(t *testing.T) {
		t.Parallel()
		var wrote string
		p := &parts{commit: func(d memory.Drafted) (memory.Receipt, error) {
			wrote = d.Answer.Text
			return memory.Receipt{}, nil
		}}
		env := newEnv(t, p, nil)
		r := request(memory.ModeCaller)
		a := give(env, "1", "in Lisbon", time.Minute)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, env.GetWorkflowError())
		require.True(t, a.done)
		require.Equal(t, "in Lisbon", wrote)
		require.EqualValues(t, 2, p.records.Load(), "the recall and the answer are both on record")
	})
	t.Run("an answer for a turn that has one already is refused", func(t *testing.T) {
		t.Parallel()
		env := newEnv(t, &parts{}, nil)
		r := request(memory.ModeCaller)
		r.AssistantText = "in Porto"
		late := give(env, "1", "in Lisbon", 0)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, memory.CodeConflict, memory.CodeOf(activities.ErrorOf(late.rejected)))
	})
	t.Run("no answer in time ends the turn and writes nothing", func(t *testing.T) {
		t.Parallel()
		p := &parts{}
		env := newEnv(t, p, nil)
		r := request(memory.ModeCaller)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, env.GetWorkflowError())
		require.Zero(t, p.commits.Load())
	})
	t.Run("a blank answer is refused and the turn waits on", func(t *testing.T) {
		t.Parallel()
		p := &parts{}
		env := newEnv(t, p, nil)
		r := request(memory.ModeCaller)
		bad := give(env, "1", " \n", time.Minute)
		good := give(env, "2", "in Lisbon", 2*time.Minute)
		env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, memory.CodeInvalid, memory.CodeOf(activities.ErrorOf(bad.rejected)))
		require.True(t, good.done)
	})
}

func TestTurnFailureReachesTheCallerWithItsCode(t *testing.T) {
	t.Parallel()
	p := &parts{open: func() (*memory.Receipt, error) { return nil, memory.Invalid("conversation", "is unknown") }}
	env := newEnv(t, p, nil)
	r := request(memory.ModeAnswer)
	a := ask(env, r.Digest(), 0)
	env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
	var e *memory.Error
	require.ErrorAs(t, activities.ErrorOf(a.err), &e)
	require.Equal(t, memory.CodeInvalid, e.Code)
	require.Equal(t, "conversation", e.Field)
	require.Equal(t, "is unknown", e.Message)
	var app *temporal.ApplicationError
	require.True(t, errors.As(env.GetWorkflowError(), &app))
	require.True(t, app.NonRetryable())
}

func TestTurnStartsTheBackfillOfMissingVectors(t *testing.T) {
	t.Parallel()
	rounds := 0
	var embedded []string
	p := &parts{
		commit: func(memory.Drafted) (memory.Receipt, error) { return memory.Receipt{Unembedded: 1}, nil },
		missing: func() []memory.Memory {
			if rounds++; rounds > 1 {
				return nil
			}
			return []memory.Memory{{ID: "m_1", Text: "one"}}
		},
	}
	p.embed = func(texts []string) ([]memory.Vector, error) {
		embedded = append(embedded, texts...)
		return make([]memory.Vector, len(texts)), nil
	}
	env := newEnv(t, p, nil)
	r := request(memory.ModeRemember)
	env.ExecuteWorkflow(workflows.TypeTurn, workflows.TurnInput{Request: r, Digest: r.Digest()})
	require.NoError(t, env.GetWorkflowError())
	require.Contains(t, embedded, "one")
	require.Equal(t, 2, rounds)
}
