// Package retrieve is coarse retrieval: the exact hybrid ranking of one user's
// items by words and by meaning, from an index that lives in the worker's
// memory and is checked against the database on every call.
package retrieve

import (
	"context"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// Item is one item of a user's mid-term memory as the index needs it.
type Item struct {
	memory.Memory
	// Seq orders the user's items as they were recorded; it is unique within a
	// user and never changes. Items of one conversation that follow each other
	// by Seq are neighbours.
	Seq int64
	// Vector is the unit vector of Text by the model that was asked for; empty
	// when there is none (yet).
	Vector memory.Vector
	// Terms is lexical.Analyze(Text) where it was stored under the current
	// lexical.Version. Nil means unknown: the index analyses Text itself.
	Terms []int32
}

// Delta is what changed in a user's memory.
type Delta struct {
	// Revision is the state that Items lead to. It grows with every change to
	// any of the user's items that a reader could notice (text, status,
	// validity, kind, vector), and is read in the same snapshot as Items.
	Revision int64
	// Reset says that Items is the whole memory and everything known before is
	// to be forgotten: always so for since = 0, and when rows were removed for
	// good (erasure), or when the answer to "since" is no longer known.
	Reset bool
	// Items are the items in their present state, of whatever status, in any
	// order. Items that are no longer live come with their new status.
	Items []Item
}

// Source is where the index is built from. Every method works for the scope of
// ctx (tenant.FromContext) and for nobody else, enforced again by row-level
// security.
type Source interface {
	// Changes returns what changed after the revision since. When nothing did,
	// which is the common case, it costs one query on one row and returns
	// Delta{Revision: since}. Vectors are those of the given model; an empty
	// model asks for none.
	Changes(ctx context.Context, model string, since int64) (Delta, error)
	// AsOf returns the items that were known at t (RecordedAt ≤ t), with
	// Status, ValidTo, ExpiredAt and SupersededBy as they stood then.
	AsOf(ctx context.Context, model string, t time.Time) ([]Item, error)
	// Fetch returns the present state of those of the given items that exist
	// and belong to the scope of ctx, in any order; others are left out
	// without an error.
	Fetch(ctx context.Context, ids []memory.ID) ([]memory.Memory, error)
}
