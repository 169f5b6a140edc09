package memory

import "time"

// Limits and defaults (spec sections 1 and 2; the paper's Sec. 3 and 4).
const (
	// DefaultK is how many memories a turn selects at most.
	DefaultK = 5
	// MaxK is the largest K a caller may ask for.
	MaxK = 50
	// DefaultCapacity is B: how many live memories a user may have.
	DefaultCapacity = 10_000
	// MaxTextBytes bounds one message or memory.
	MaxTextBytes = 64 << 10
	// MaxIDBytes bounds each id and the idempotency key.
	MaxIDBytes = 256
	// DefaultContextTokens is the budget of the short-term context C_t.
	DefaultContextTokens = 1_024
	// MaxMetadata bounds the entries of a memory's metadata.
	MaxMetadata = 32
)

// Kind is what sort of thing a memory is.
type Kind string

// The kinds. Utility (eviction) and queries' constraints use them.
const (
	KindFact       Kind = "fact"
	KindPreference Kind = "preference"
	KindEvent      Kind = "event"
	KindPlan       Kind = "plan"
	KindNote       Kind = "note"
)

// Status is a memory's standing.
type Status string

// The statuses. Only active and contested memories are searched by default.
const (
	StatusActive Status = "active"
	// StatusContested: contradicted by a statement that was too weak to close
	// it, or itself that weak statement; both are shown.
	StatusContested  Status = "contested"
	StatusSuperseded Status = "superseded"
	StatusMerged     Status = "merged"
	StatusEvicted    Status = "evicted"
	StatusForgotten  Status = "forgotten"
)

// Source says how strongly a statement is supported (spec section 3).
type Source string

// The sources, strongest first.
const (
	SourceUser      Source = "user"
	SourceRepeated  Source = "repeated"
	SourceAssistant Source = "assistant"
)

// Strength is the source's rank: larger wins a conflict.
func (s Source) Strength() int {
	switch s {
	case SourceUser:
		return 3
	case SourceRepeated:
		return 2
	default:
		return 1
	}
}

// Vector is an embedding of unit length. In JSON it is base64 of little-endian
// float32s: a tenth the size of a list of decimals.
type Vector []float32

// Memory is one item of mid-term memory, private to one user.
type Memory struct {
	Scope
	ID ID `json:"id"`
	// Text is the self-contained statement as it is shown and searched.
	Text         string         `json:"memory"`
	Kind         Kind           `json:"kind"`
	Status       Status         `json:"status"`
	Speaker      string         `json:"speaker,omitempty"`
	Conversation ConversationID `json:"conversation,omitempty"`
	// Subject and Attribute key conflicts ("user", "residence"); empty when
	// the statement has none that a rule knows.
	Subject   string `json:"subject,omitempty"`
	Attribute string `json:"attribute,omitempty"`
	Value     string `json:"value,omitempty"`
	Source    Source `json:"source"`
	// EventAt is when it happened or was said; ValidFrom..ValidTo when it was
	// true (event time); RecordedAt..ExpiredAt when we held it to be current
	// (knowledge time). Zero ends are open.
	EventAt    time.Time `json:"event_at"`
	ValidFrom  time.Time `json:"valid_from"`
	ValidTo    time.Time `json:"valid_to,omitzero"`
	RecordedAt time.Time `json:"created_at"`
	ExpiredAt  time.Time `json:"expired_at,omitzero"`
	// SupersededBy is the memory that closed this one, or it was merged into.
	SupersededBy ID `json:"superseded_by,omitempty"`
	// Strength counts how often the statement was made (1 at first).
	Strength int       `json:"strength"`
	LastSeen time.Time `json:"last_seen"`
	// Accessed counts selections into a context.
	Accessed   int               `json:"accessed"`
	AccessedAt time.Time         `json:"accessed_at,omitzero"`
	Pinned     bool              `json:"pinned,omitempty"`
	Evidence   []TurnID          `json:"evidence,omitempty"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	// Version grows by one with each change.
	Version int `json:"version"`
}

// Draft is a statement proposed for memory, before the host decides.
type Draft struct {
	Text      string `json:"text"`
	Kind      Kind   `json:"kind"`
	Speaker   string `json:"speaker,omitempty"`
	Subject   string `json:"subject,omitempty"`
	Attribute string `json:"attribute,omitempty"`
	Value     string `json:"value,omitempty"`
	Source    Source `json:"source"`
	// EventAt is when it happened, resolved by code (spec section 2.5); the
	// turn's time when nothing was said.
	EventAt time.Time `json:"event_at"`
	// ValidFrom is when it became true; EventAt when unknown. ValidTo is set
	// when the statement itself says that it ended ("I used to…").
	ValidFrom time.Time `json:"valid_from,omitzero"`
	ValidTo   time.Time `json:"valid_to,omitzero"`
	// Negates says that the statement ends an earlier one without a new value
	// ("I no longer work at Acme").
	Negates bool `json:"negates,omitempty"`
	// Rule names the rule or prompt version that produced it, for audit.
	Rule string `json:"rule"`
	// Quote is the span of the turn that supports it.
	Quote  string `json:"quote,omitempty"`
	Vector Vector `json:"vector,omitempty"`
	// Verbatim says that the caller asked to keep the text as it is.
	Verbatim bool `json:"verbatim,omitempty"`
}

// Event is what became of a statement.
type Event string

// The events of a write.
const (
	EventAdded      Event = "added"
	EventReinforced Event = "reinforced"
	EventSuperseded Event = "superseded"
	EventContested  Event = "contested"
	EventRefused    Event = "refused"
	EventMerged     Event = "merged"
	EventEvicted    Event = "evicted"
	EventForgotten  Event = "forgotten"
	EventPinned     Event = "pinned"
	EventUnpinned   Event = "unpinned"
)

// Outcome is one line of a receipt: a memory and what happened to it.
type Outcome struct {
	ID     ID     `json:"id,omitempty"`
	Memory string `json:"memory"`
	Event  Event  `json:"event"`
	// Reason is a short rule name: "new", "same words", "same meaning",
	// "newer value", "weaker source", "question", "small talk", "echo" ….
	Reason string `json:"reason"`
	// Supersedes is the memory that this one closed.
	Supersedes ID `json:"supersedes,omitempty"`
}
