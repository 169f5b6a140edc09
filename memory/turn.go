package memory

import "time"

// Mode is one of the ways in which a turn can be called. All are the same
// workflow and leave the same record.
type Mode string

// The modes.
const (
	// ModeAnswer: plan, retrieve, select, answer, write.
	ModeAnswer Mode = "answer"
	// ModeRecall: stop after selection; nothing is written to memory.
	ModeRecall Mode = "recall"
	// ModeCaller: recall now; the caller sends its own answer (at once in
	// Request.AssistantText, or later by the workflow's update); then write.
	ModeCaller Mode = "caller"
	// ModeRemember: write only, from text that the caller hands in.
	ModeRemember Mode = "remember"
)

// Role is a task that a model, or a deterministic rule in its stead, performs.
type Role string

// The roles. There is no rule for RoleEmbed: without it retrieval goes on by
// words alone.
const (
	RolePlan   Role = "plan"
	RoleSelect Role = "select"
	RoleWrite  Role = "write"
	RoleAnswer Role = "answer"
	RoleEmbed  Role = "embed"
)

// Speaker roles of a message.
const (
	FromUser      = "user"
	FromAssistant = "assistant"
)

// Message is one utterance of a conversation.
type Message struct {
	// From is FromUser or FromAssistant.
	From string `json:"from"`
	// Speaker is the speaker's own name where known; may be empty.
	Speaker string    `json:"speaker,omitempty"`
	Text    string    `json:"text"`
	At      time.Time `json:"at"`
	Turn    TurnID    `json:"turn_id,omitempty"`
}

// Profile is what is known about a user apart from memories.
type Profile struct {
	// Name is how the user is called; empty when unknown ("the user").
	Name string `json:"name,omitempty"`
	// TimeZone is an IANA name; empty means UTC. Relative dates are resolved in it.
	TimeZone string `json:"time_zone,omitempty"`
}

// Location returns the profile's time zone, UTC when it is empty or unknown
// (the edge refuses unknown names, so unknown means a retired tzdata entry).
func (p Profile) Location() *time.Location {
	if l, err := time.LoadLocation(p.TimeZone); err == nil {
		return l
	}
	return time.UTC
}

// Request is what a caller asks of one turn, after the edge has checked and
// cleaned it (see Request.Validate).
type Request struct {
	Scope
	Conversation ConversationID `json:"conversation"`
	// IdempotencyKey makes repeats of a request one turn. The edge makes a
	// fresh one when the caller sends none.
	IdempotencyKey string `json:"idempotency_key"`
	Mode           Mode   `json:"mode"`
	// Text is the user's input x_t; for ModeRemember the text to remember.
	Text string `json:"text"`
	// AssistantText is the caller's own answer (ModeCaller); may be empty.
	AssistantText string `json:"assistant_text,omitempty"`
	// At is when the turn happened; the reference for "yesterday". Zero means
	// now: the workflow then takes the time at which it accepted the turn, so
	// that a request sent again stays the same request.
	At time.Time `json:"at,omitzero"`
	// AsOf asks what was known then (knowledge time); zero means now.
	AsOf time.Time `json:"as_of,omitzero"`
	// K is the most memories that may be selected, 1 to MaxK; the edge fills in
	// DefaultK when the caller says nothing.
	K int `json:"k"`
	// Verbatim (ModeRemember) keeps the text as it is, one memory, no extraction.
	Verbatim bool `json:"verbatim,omitempty"`
	// Rules forces the deterministic rules for every role of this turn.
	Rules bool `json:"rules,omitempty"`
	// Speaker names who says Text when that is not the user's profile name.
	Speaker string `json:"speaker,omitempty"`
	// TimeZone overrides the profile's time zone for this turn; IANA name.
	TimeZone string `json:"time_zone,omitempty"`
	// Metadata is the caller's own; stored with what the turn writes.
	Metadata map[string]string `json:"metadata,omitempty"`
	// Actor is who makes the call (a key id or an operator's name), for audit.
	Actor string `json:"actor,omitempty"`
}

// Serving says which provider serves each role, "rules" or a model's name. It is
// fixed for a turn at its opening, so that replays agree.
type Serving map[Role]string

// ByRule reports whether the role is served by a deterministic rule.
func (s Serving) ByRule(r Role) bool { return s[r] == "" || s[r] == ServedByRules }

// ServedByRules is the provider name of the deterministic rules.
const ServedByRules = "rules"

// Degraded says that a role was not served as configured, and why.
type Degraded struct {
	Role   Role `json:"role"`
	Reason Code `json:"reason"`
	// Detail is a short safe explanation, without text of people.
	Detail string `json:"detail,omitempty"`
}

// Turn is an accepted request together with what it starts from.
type Turn struct {
	Request
	ID TurnID `json:"turn_id"`
	// Context is C_t: the last messages of the conversation, oldest first,
	// cut to the short-term budget.
	Context  []Message  `json:"context,omitempty"`
	Profile  Profile    `json:"profile"`
	Serving  Serving    `json:"serving,omitempty"`
	Degraded []Degraded `json:"degraded,omitempty"`
	// AcceptedAt is when LightMem recorded the turn (knowledge time).
	AcceptedAt time.Time `json:"accepted_at"`
	// RequestDigest is Request.Digest of the request as it came.
	RequestDigest string `json:"request_digest"`
	WorkflowID    string `json:"workflow_id"`
	RunID         string `json:"run_id"`
}

// Location is the time zone in which this turn's relative dates are meant.
func (t Turn) Location() *time.Location {
	if t.TimeZone != "" {
		return Profile{TimeZone: t.TimeZone}.Location()
	}
	return t.Profile.Location()
}

// UserName is how the user of this turn is called, "the user" when unknown.
func (t Turn) UserName() string {
	switch {
	case t.Speaker != "":
		return t.Speaker
	case t.Profile.Name != "":
		return t.Profile.Name
	default:
		return "the user"
	}
}

// Tier is where a memory lives.
type Tier string

// The tiers that can be searched. Short-term memory is never searched.
const (
	TierMTM Tier = "mtm"
	TierLTM Tier = "ltm"
)

// Window is a span of event time; a zero bound is open. From is included, To
// is not (memanto#1584: "yesterday" needs both).
type Window struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// IsZero reports whether the window is open on both sides.
func (w Window) IsZero() bool { return w.From.IsZero() && w.To.IsZero() }

// Query is one hypothetical query q^(i) with its constraints φ (Eq. 1). The
// tenant and the user are never the model's to choose and are not here.
type Query struct {
	Text string `json:"text"`
	Tier Tier   `json:"tier"`
	// Window restricts event time; an item without event time never matches a
	// closed window.
	Window Window `json:"window,omitzero"`
	// Soft says that Window only raises the score of what lies inside it.
	Soft bool `json:"soft,omitempty"`
	// Kinds restricts to kinds of memory; empty means all.
	Kinds []Kind `json:"kinds,omitempty"`
	// Attributes are what a statement that answers is likely to be about
	// (Memory.Attribute); they raise the score of such statements.
	Attributes []string `json:"attributes,omitempty"`
	// Past asks for closed statements too ("where did I live before?").
	Past bool `json:"past,omitempty"`
	// Origin is "input" for the user's own words, "rule" or "model".
	Origin string `json:"origin"`
	// Vector is the query's embedding, unit length; empty when there is none.
	Vector Vector `json:"vector,omitempty"`
}

// Plan is SLM-1's output, or its rule's: never empty, and always with the
// user's own words among the queries (retrieval.md: +5 points with them,
// −4 without).
type Plan struct {
	Queries []Query `json:"queries"`
	// Personal is how personal the request is, 0..1.
	Personal float64 `json:"personal"`
	// Entities are names found in, or left out of, the input.
	Entities []string `json:"entities,omitempty"`
	// Version is the prompt's or rule's name and version.
	Version string `json:"version"`
	// EmbedModel names the model of the queries' vectors.
	EmbedModel string `json:"embed_model,omitempty"`
}

// Planned is a turn with its plan.
type Planned struct {
	Turn
	Plan Plan `json:"plan"`
}

// Candidate is one item that coarse retrieval found.
type Candidate struct {
	ID     ID     `json:"id"`
	Tier   Tier   `json:"tier"`
	Memory string `json:"memory"`
	// Score is the fused score; comparable within one retrieval only.
	Score float64 `json:"score"`
	// Lexical and Dense are the two channels' z-scores behind Score.
	Lexical float64 `json:"lexical"`
	Dense   float64 `json:"dense"`
	// Queries are the indexes into Plan.Queries that found it.
	Queries []int `json:"queries,omitempty"`

	Kind         Kind           `json:"kind,omitempty"`
	Status       Status         `json:"status,omitempty"`
	Speaker      string         `json:"speaker,omitempty"`
	Conversation ConversationID `json:"conversation,omitempty"`
	// EventAt is when it happened; ValidFrom/ValidTo when it was true.
	EventAt   time.Time `json:"event_at,omitzero"`
	ValidFrom time.Time `json:"valid_from,omitzero"`
	ValidTo   time.Time `json:"valid_to,omitzero"`
	Evidence  []TurnID  `json:"evidence,omitempty"`
}

// Retrieved is a planned turn with its candidates, best first, at most 2K.
type Retrieved struct {
	Planned
	Candidates []Candidate `json:"candidates"`
	// Searched is how many items the constraints left to search in.
	Searched int `json:"searched"`
}

// Chosen is one selected candidate with the reason for choosing it.
type Chosen struct {
	ID ID `json:"id"`
	// Score is the selector's own score; its meaning is Reason's.
	Score float64 `json:"score"`
	// Reason is a short safe word such as "yes" (a model's judgement),
	// "score" (above the gap) or "listed".
	Reason string `json:"reason"`
}

// Selection is SLM-2's output, or its rule's: a subset of the candidates, at
// most K (Eq. 5). Empty is a valid answer.
type Selection struct {
	Chosen  []Chosen `json:"chosen"`
	Version string   `json:"version"`
}

// Selected is a retrieved turn with its selection. Build it with Select.
type Selected struct {
	Retrieved
	Selection Selection `json:"selection"`
}

// Select joins a retrieval and a selection and enforces the selection's
// invariant: ids that are no candidates or come twice are dropped (and counted
// in dropped), and at most K remain.
func Select(r Retrieved, s Selection) (_ Selected, dropped int) {
	known := make(map[ID]bool, len(r.Candidates))
	for _, c := range r.Candidates {
		known[c.ID] = true
	}
	kept := make([]Chosen, 0, len(s.Chosen))
	for _, c := range s.Chosen {
		if !known[c.ID] || len(kept) >= r.K {
			dropped++
			continue
		}
		known[c.ID] = false
		kept = append(kept, c)
	}
	s.Chosen = kept
	return Selected{Retrieved: r, Selection: s}, dropped
}

// Memories returns the chosen candidates in the order of choice.
func (s Selected) Memories() []Candidate {
	byID := make(map[ID]Candidate, len(s.Candidates))
	for _, c := range s.Candidates {
		byID[c.ID] = c
	}
	out := make([]Candidate, 0, len(s.Selection.Chosen))
	for _, c := range s.Selection.Chosen {
		if m, ok := byID[c.ID]; ok {
			out = append(out, m)
		}
	}
	return out
}

// Answer is y_t.
type Answer struct {
	Text string `json:"text"`
	// Version is the prompt's or rule's name and version; "caller" when the
	// caller answered.
	Version string `json:"version"`
	Usage   Usage  `json:"usage,omitzero"`
}

// Answered is a selected turn with its answer.
type Answered struct {
	Selected
	Answer Answer `json:"answer"`
}

// Usage is what a model call cost.
type Usage struct {
	Calls        int           `json:"calls"`
	InputTokens  int           `json:"input_tokens"`
	OutputTokens int           `json:"output_tokens"`
	Duration     time.Duration `json:"duration"`
}

// Drafted is an answered turn with what SLM-3, or its rule, wants to keep.
type Drafted struct {
	Answered
	Drafts []Draft `json:"drafts"`
	// Refused are statements that never became drafts, with the reason.
	Refused []Outcome `json:"refused,omitempty"`
	// Version is the prompt's or rule's name and version.
	Version string `json:"version"`
	// EmbedModel names the model of the drafts' vectors; empty without one.
	EmbedModel string `json:"embed_model,omitempty"`
}

// Reply is what the caller of a turn gets back at once.
type Reply struct {
	TurnID     TurnID      `json:"turn_id"`
	WorkflowID string      `json:"workflow_id"`
	RunID      string      `json:"run_id"`
	Plan       Plan        `json:"plan"`
	Candidates []Candidate `json:"candidates"`
	Selected   []Chosen    `json:"selected"`
	Answer     string      `json:"answer,omitempty"`
	Degraded   []Degraded  `json:"degraded"`
}

// Receipt is the result of a whole turn: the reply and every effect on memory.
type Receipt struct {
	Reply
	Written []Outcome `json:"written"`
	// Unembedded counts written memories that still lack a vector.
	Unembedded int `json:"unembedded,omitempty"`
	// RequestDigest is Request.Digest of the request that made the turn.
	RequestDigest string `json:"request_digest"`
	// Unfinished says that the turn is on record, but that its write has not
	// ended: an earlier run failed after the reply.
	Unfinished bool `json:"unfinished,omitempty"`
}
