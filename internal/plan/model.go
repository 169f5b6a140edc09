package plan

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// model is the one call that the planner needs; see prompts.Request.
type model interface {
	Complete(ctx context.Context, r prompts.Request) (prompts.Response, error)
}

// planner makes the plan that the model's queries are added to.
type planner interface {
	Plan(ctx context.Context, t memory.Turn) (memory.Plan, error)
}

const (
	// maxModelQueries is how many queries the model may add. The user's own
	// words stay the first query (retrieval.md: the model's queries alone lose
	// four points, added they win five).
	maxModelQueries = 3
	// maxQueryBytes bounds one query; small models sometimes do not stop.
	maxQueryBytes = 300
	// maxEntities bounds a plan's entities.
	maxEntities = 8
	// personalOnly is from where on a request is about the user alone, so that
	// nothing of its budget goes to general knowledge.
	personalOnly = 0.75
	// replyTokens bounds the plan; three queries take about 120.
	replyTokens = 256
)

// Model plans with a small language model (SLM-1). The rule's plan is its
// basis: the user's own words, the time window, which code resolves and no
// model, and what the rule found. The model adds up to three hypothetical
// queries, entities that the conversation names, and how personal the request
// is.
type Model struct {
	model  model
	base   planner
	prompt *prompts.Set
}

// NewModel returns a planner that adds the model's queries to base's plan.
func NewModel(m model, base planner, set *prompts.Set) *Model {
	return &Model{model: m, base: base, prompt: set}
}

// reply is what the schema of the prompt asks for.
type reply struct {
	Personal float64  `json:"personal"` // 0..10
	Entities []string `json:"entities"`
	Queries  []struct {
		Text  string        `json:"text"`
		Tier  memory.Tier   `json:"tier"`
		Kinds []memory.Kind `json:"kinds"`
		Past  bool          `json:"past"`
	} `json:"queries"`
}

// Plan implements activities.Planner.
func (p *Model) Plan(ctx context.Context, t memory.Turn) (memory.Plan, error) {
	out, err := p.base.Plan(ctx, t)
	if err != nil {
		return memory.Plan{}, err
	}
	if len(out.Queries) == 0 {
		return memory.Plan{}, memory.Errorf(memory.CodeInternal, "the rule's plan has no query")
	}
	var r reply
	err = prompts.Fit(len(t.Context), tooLong, func(skip int) error {
		req, err := p.prompt.Render(prompts.Plan, map[string]any{
			"Today":   t.At.In(t.Location()),
			"User":    t.UserName(),
			"Context": spoken(t, skip),
			"Input":   t.Text,
		})
		if err != nil {
			return memory.Wrap(memory.CodeInternal, err, "render plan prompt")
		}
		req.MaxTokens = replyTokens
		resp, err := p.model.Complete(ctx, req)
		if err != nil {
			return err
		}
		return memory.Wrap(memory.CodeInvalidOutput, json.Unmarshal([]byte(resp.Text), &r), "read the model's plan")
	})
	if err != nil {
		return memory.Plan{}, err
	}
	merge(&out, r, t)
	out.Version = prompts.Plan + "+" + out.Version
	return out, nil
}

// merge adds the model's reply to the rule's plan, as far as it may.
func merge(out *memory.Plan, r reply, t memory.Turn) {
	personal := min(max(r.Personal/10, 0), 1)
	recalls := recollects(t.Text)
	if recalls {
		personal = max(personal, 0.9)
	}
	out.Personal = max(out.Personal, personal)

	first := out.Queries[0]
	seen := make(map[string]bool, len(out.Queries)+maxModelQueries)
	for _, q := range out.Queries {
		seen[normal(q.Text)+string(q.Tier)] = true
	}
	added := 0
	for _, q := range r.Queries {
		text := strings.TrimSpace(prompts.Cut(prompts.Line(q.Text), maxQueryBytes))
		key := normal(text) + string(q.Tier)
		if normal(text) == "" || seen[key] || added == maxModelQueries {
			continue
		}
		// The paper's own failure: "remind me what I decided about the timeline"
		// spent half of its budget on planning tips from LTM.
		if q.Tier == memory.TierLTM && (recalls || out.Personal >= personalOnly) {
			continue
		}
		seen[key] = true
		added++
		query := memory.Query{Text: text, Tier: q.Tier, Kinds: q.Kinds, Past: q.Past || first.Past, Origin: "model"}
		if q.Tier == memory.TierMTM {
			query.Window, query.Soft = first.Window, first.Soft
		} else {
			query.Kinds, query.Past = nil, false // general knowledge has neither
		}
		out.Queries = append(out.Queries, query)
	}
	for _, e := range r.Entities {
		e = strings.TrimSpace(prompts.Line(e))
		if len(out.Entities) >= maxEntities {
			break
		}
		known := slices.ContainsFunc(out.Entities, func(have string) bool { return strings.EqualFold(have, e) })
		if !known && named(e, t) {
			out.Entities = append(out.Entities, e)
		}
	}
}

// recollects reports whether the request is for something particular that was
// said, decided or done. It errs on the side of no: the model's own measure of
// how personal the request is counts too.
func recollects(text string) bool {
	text = " " + normal(text) + " "
	for _, cue := range []string{
		" remind me ", " do you remember ", " do you recall ", " can you recall ", " did i ", " did we ", " have i ", " have we ",
		" i said ", " i told ", " i decided ", " we decided ", " i mentioned ", " i asked you ", " i planned ", " we talked ", " we discussed ", " last time ",
	} {
		if strings.Contains(text, cue) {
			return true
		}
	}
	return false
}

// named reports whether the turn or its context names e: an entity that nobody
// named is the model's invention.
func named(e string, t memory.Turn) bool {
	e = normal(e)
	if e == "" || utf8.RuneCountInString(e) > 60 {
		return false
	}
	if holds(t.Text, e) || holds(t.UserName(), e) {
		return true
	}
	for _, m := range t.Context {
		if holds(m.Text, e) || holds(m.Speaker, e) {
			return true
		}
	}
	return false
}

// holds reports whether text holds the normalised words of e. Scripts without
// spaces between words are searched as they are.
func holds(text, e string) bool {
	text = normal(text)
	if strings.IndexFunc(e, func(r rune) bool { return r >= 0x2E80 }) >= 0 {
		return strings.Contains(text, e)
	}
	return strings.Contains(" "+text+" ", " "+e+" ") // mem0#5630: "Ann" is not in "Anna"
}

// normal is the text's words in lower case, one space between them.
func normal(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}

func tooLong(err error) bool { return memory.CodeOf(err) == memory.CodeTooLong }

// spoken is the conversation without its skip oldest messages.
func spoken(t memory.Turn, skip int) []prompts.Spoken {
	out := make([]prompts.Spoken, 0, len(t.Context))
	for _, m := range t.Context[skip:] {
		speaker := m.Speaker
		switch {
		case m.From == memory.FromAssistant:
			speaker = "Assistant"
		case speaker == "":
			speaker = t.UserName()
		}
		out = append(out, prompts.Spoken{Speaker: speaker, Text: m.Text})
	}
	return out
}
