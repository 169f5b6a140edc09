package memory

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"time"
)

// TenantID names a tenant: the outer wall, which nothing crosses.
type TenantID string

// UserID names a user within a tenant.
type UserID string

// ConversationID names a conversation of one user.
type ConversationID string

// TurnID identifies a turn; see TurnIDFor.
type TurnID string

// ID identifies a memory (an MTM item, or an LTM statement or path).
type ID string

// Scope is whose memory is meant. Both parts are always set; every query names
// both, and row-level security checks both again.
type Scope struct {
	Tenant TenantID `json:"tenant"`
	User   UserID   `json:"user_id"`
}

// idEncoding is Crockford's base32, lower case: sortable, without look-alikes.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// newID returns a 26-letter id whose order is that of its time in milliseconds
// (the layout of a ULID, https://github.com/ulid/spec, in lower case): 48 bits
// of time, 80 bits of randomness.
func newID(at time.Time) string {
	var b [16]byte
	if _, err := rand.Read(b[6:]); err != nil { // never fails (crypto/rand docs)
		panic(err)
	}
	return encodeID(b, at)
}

// encodeID puts the time into the first 48 bits of b and encodes the whole.
func encodeID(b [16]byte, at time.Time) string {
	ms := uint64(at.UnixMilli())
	for i := range 6 {
		b[i] = byte(ms >> (40 - 8*i))
	}
	return idEncoding.EncodeToString(b[:])
}

// TurnIDFor returns the id of the turn that a workflow accepted at the given
// time. It is a function of its arguments, so that a step that runs again after
// a crash speaks of the same turn.
func TurnIDFor(workflowID string, at time.Time) TurnID {
	var b [16]byte
	sum := sha256.Sum256([]byte(workflowID))
	copy(b[6:], sum[:])
	return TurnID("t_" + encodeID(b, at))
}

// NewID returns a new id for a memory that was recorded at the given time.
func NewID(at time.Time) ID { return ID("m_" + newID(at)) }
