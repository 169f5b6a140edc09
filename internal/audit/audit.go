// Package audit checks that a tenant's audit is what was written: that no event
// was changed, removed, inserted or moved, from the first to the last, that the
// texts of events are there unless an event says that they were erased, and
// that the memories are as their last events left them.
//
// Each event's hash covers its body and the hash of the event before it, and
// the head of the chain, which is kept apart, names the last. Whoever can
// rewrite everything, head included, can still make a chain that holds
// together; that shows against an Anchor, the head as it was noted earlier
// outside the database.
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// Anchor is a place in a chain: what to note elsewhere after a verification, to
// be held against the chain at the next. In text it is "SEQ:HASH".
type Anchor struct {
	Seq  int64
	Hash [sha256.Size]byte
}

// String returns "SEQ:HASH".
func (a Anchor) String() string { return fmt.Sprintf("%d:%x", a.Seq, a.Hash) }

// MarshalText implements encoding.TextMarshaler.
func (a Anchor) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Anchor) UnmarshalText(text []byte) error {
	seq, hash, ok := strings.Cut(string(text), ":")
	n, err := strconv.ParseInt(seq, 10, 64)
	raw, herr := hex.DecodeString(hash)
	if !ok || err != nil || n < 0 || herr != nil || len(raw) != sha256.Size {
		return memory.Invalid("anchor", "must be SEQ:HASH as a verification prints it")
	}
	a.Seq, a.Hash = n, [sha256.Size]byte(raw)
	return nil
}

// Entry is an event as it is stored: its columns, and what was hashed.
type Entry struct {
	Tenant, User              string
	Seq                       int64
	At                        time.Time
	Event, MemoryID           string
	Actor, Reason, Rule       string
	TurnID, WorkflowID, RunID string
	Content                   string
	BeforeDigest, AfterDigest []byte
	Body                      string
	PrevHash, Hash            []byte
	// Text holds the texts before and after; nil when they are gone.
	Text *Text
	// Excused says of texts that are gone that this or a later event (forgotten,
	// erased) allows it.
	Excused bool
	// Lost says of an event that made a memory that the memory is gone although
	// no event says why.
	Lost bool
}

// State is a memory as it is, and what the audit says last about it.
type State struct {
	Memory memory.Memory
	// Seq is the memory's last event, 0 when there is none.
	Seq   int64
	Event memory.Event
	// After is the event's text after: the memory as JSON. It is empty after an
	// erasure, and when the text is gone.
	After string
}

// Text is the content that an event's digests were made of.
type Text struct {
	Salt          []byte
	Before, After string
}

// View is one tenant's audit at one moment.
type View interface {
	// Head returns the end of the chain; false when the tenant has none.
	Head(ctx context.Context) (Anchor, bool, error)
	// Page returns up to limit entries whose Seq is larger, in its order.
	Page(ctx context.Context, after int64, limit int) ([]Entry, error)
	// Memories returns up to limit memories of the tenant, whatever their
	// status, in the order of users and ids, that come after the given one.
	Memories(ctx context.Context, after memory.Memory, limit int) ([]State, error)
}

// Log gives views.
type Log interface {
	// Snapshot calls f with a view that does not change while f runs.
	Snapshot(ctx context.Context, tenant memory.TenantID, f func(View) error) error
}

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	// Changed: the event is not what was written.
	Changed Kind = "changed"
	// Removed: the event is gone; also when the last ones are.
	Removed Kind = "removed"
	// Moved: the event stands in another's place.
	Moved Kind = "moved"
	// Inserted: the event is not the chain's.
	Inserted Kind = "inserted"
	// ContentChanged: the texts before or after are not what was written.
	ContentChanged Kind = "content changed"
	// ContentRemoved: the texts are gone, and no event says that they were erased.
	ContentRemoved Kind = "content removed"
	// MemoryChanged: a memory is not as its last event left it, or no event
	// tells of it (Seq is 0 then).
	MemoryChanged Kind = "memory changed"
	// MemoryRemoved: the memory that an event made is gone.
	MemoryRemoved Kind = "memory removed"
	// Rewritten: the chain holds together, but is not the one of the anchor.
	Rewritten Kind = "rewritten"
)

// Fault is something that is not as it was written.
type Fault struct {
	Kind Kind `json:"kind"`
	// Seq is the first event at fault, To the last (Seq, unless many are gone).
	Seq int64 `json:"seq"`
	To  int64 `json:"to"`
	// Detail says how it shows, without any text of people.
	Detail string `json:"detail"`
}

// maxFaults bounds a report; what comes after is only counted.
const maxFaults = 100

// Report is the result of a verification.
type Report struct {
	Tenant memory.TenantID `json:"tenant"`
	// Events is how many were checked, Erased how many of them have lost their
	// texts (their digests remain).
	Events int64 `json:"events"`
	Erased int64 `json:"erased"`
	// Memories is how many were held against their last events.
	Memories int64 `json:"memories"`
	// Head is the chain's end: the anchor for the next verification.
	Head Anchor `json:"head"`
	// Faults are the first ones, Count is the number of all.
	Faults []Fault `json:"faults"`
	Count  int     `json:"fault_count"`
}

// OK reports whether nothing is at fault.
func (r Report) OK() bool { return r.Count == 0 }

func (r *Report) add(kind Kind, seq, to int64, format string, args ...any) {
	r.Count++
	if len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, Fault{kind, seq, to, fmt.Sprintf(format, args...)})
	}
}

// Options of a verification. The zero value is fine.
type Options struct {
	// Anchors are heads that were noted earlier.
	Anchors []Anchor
	// PageSize is how many events are held at a time. Defaults to 1000.
	PageSize int
}

// Verify checks a tenant's whole audit, page by page. Faults are in the report;
// an error means that it could not be read.
func Verify(ctx context.Context, log Log, tenant memory.TenantID, o Options) (Report, error) {
	report := Report{Tenant: tenant, Faults: []Fault{}}
	if tenant == "" {
		return report, memory.Invalid("tenant", "must not be empty")
	}
	if o.PageSize <= 0 {
		o.PageSize = 1000
	}
	err := log.Snapshot(ctx, tenant, func(v View) error {
		head, ok, err := v.Head(ctx)
		if err != nil {
			return err
		}
		report.Head = head
		c := chain{report: &report, anchors: map[int64]Anchor{}, next: 1}
		for _, a := range o.Anchors {
			c.anchors[a.Seq] = a
		}
		for after := int64(math.MinInt64); ; {
			page, err := v.Page(ctx, after, o.PageSize)
			if err != nil {
				return err
			}
			for i := range page {
				c.check(&page[i])
				after = page[i].Seq
			}
			if len(page) < o.PageSize {
				break
			}
		}
		c.end(head, ok)
		return memories(ctx, v, o.PageSize, &report)
	})
	return report, err
}

// chain is how far a verification has come.
type chain struct {
	report  *Report
	anchors map[int64]Anchor
	next    int64 // the number that comes next
	last    *Entry
	hash    []byte // of the last event; nil when it is not known
}

// check checks the next event.
func (c *chain) check(e *Entry) {
	r := c.report
	r.Events++
	if e.Seq < 1 {
		r.add(Inserted, e.Seq, e.Seq, "a chain begins with 1")
		return
	}
	if e.Seq > c.next {
		r.add(Removed, c.next, e.Seq-1, "the numbers skip")
		c.hash = nil
	}
	whole := bytes.Equal(sum(e.PrevHash, []byte(e.Body)), e.Hash)
	if !whole {
		r.add(Changed, e.Seq, e.Seq, "the hash is not that of the body")
	}
	if kind, detail := columns(e); detail != "" {
		r.add(kind, e.Seq, e.Seq, "%s", detail)
	}
	switch {
	case e.Seq == 1:
		if !bytes.Equal(e.PrevHash, make([]byte, sha256.Size)) {
			r.add(Changed, 1, 1, "the first event follows another")
		}
	case c.hash != nil && !bytes.Equal(e.PrevHash, c.hash):
		// If this event is whole, it is the one before that was written anew.
		if whole {
			r.add(Changed, c.last.Seq, c.last.Seq, "the next event follows another hash")
		} else {
			r.add(Changed, e.Seq, e.Seq, "it does not follow the event before it")
		}
	}
	c.text(e)
	if a, ok := c.anchors[e.Seq]; ok && !bytes.Equal(a.Hash[:], e.Hash) {
		r.add(Rewritten, e.Seq, e.Seq, "the hash is not that of the anchor")
	}
	c.next, c.last, c.hash = e.Seq+1, e, e.Hash
}

// text checks the texts against the digests, where they still exist.
func (c *chain) text(e *Entry) {
	if e.Lost {
		c.report.add(MemoryRemoved, e.Seq, e.Seq, "the memory %s is gone", e.MemoryID)
	}
	if e.Text == nil {
		c.report.Erased++
		if !e.Excused {
			c.report.add(ContentRemoved, e.Seq, e.Seq, "the texts are gone, and no event says that they were erased")
		}
		return
	}
	for _, t := range []struct {
		name, text string
		digest     []byte
	}{{"before", e.Text.Before, e.BeforeDigest}, {"after", e.Text.After, e.AfterDigest}} {
		want := []byte{}
		if t.text != "" {
			want = sum(e.Text.Salt, []byte(t.text))
		}
		if !bytes.Equal(want, t.digest) {
			c.report.add(ContentChanged, e.Seq, e.Seq, "the text %s does not have its digest", t.name)
		}
	}
}

// end checks the last event against the head, and the anchors beyond it.
func (c *chain) end(head Anchor, ok bool) {
	r := c.report
	last := c.next - 1
	switch {
	case !ok && r.Events > 0:
		r.add(Removed, last+1, last+1, "the head of the chain is gone")
	case head.Seq > last:
		r.add(Removed, last+1, head.Seq, "the chain ends too early")
	case head.Seq < last:
		r.add(Inserted, head.Seq+1, last, "they come after the head of the chain")
	case last > 0 && c.hash != nil && !bytes.Equal(head.Hash[:], c.hash):
		r.add(Changed, last, last, "the hash is not that of the head")
	}
	for seq := range c.anchors {
		if seq > last && seq > head.Seq {
			r.add(Removed, last+1, seq, "the chain ends before the anchor")
		}
	}
}

// body is what an event's hash covers, as the database writes it.
type body struct {
	Tenant       string `json:"tenant"`
	User         string `json:"user_id"`
	Seq          int64  `json:"seq"`
	At           string `json:"at"`
	Event        string `json:"event"`
	MemoryID     string `json:"memory_id"`
	Actor        string `json:"actor"`
	Reason       string `json:"reason"`
	Rule         string `json:"rule"`
	TurnID       string `json:"turn_id"`
	WorkflowID   string `json:"workflow_id"`
	RunID        string `json:"run_id"`
	Content      string `json:"content"`
	BeforeDigest string `json:"before_digest"`
	AfterDigest  string `json:"after_digest"`
}

// columns compares the columns with the body that was hashed; people and
// programs read the columns.
func columns(e *Entry) (Kind, string) {
	var b body
	decoder := json.NewDecoder(strings.NewReader(e.Body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&b); err != nil {
		return Changed, "the body cannot be read"
	}
	if b.Seq != e.Seq {
		return Moved, fmt.Sprintf("it was written as event %d", b.Seq)
	}
	for _, column := range []struct{ name, is, was string }{
		{"tenant", e.Tenant, b.Tenant},
		{"user_id", e.User, b.User},
		{"at", e.At.UTC().Format("2006-01-02T15:04:05.000000Z"), b.At},
		{"event", e.Event, b.Event},
		{"memory_id", e.MemoryID, b.MemoryID},
		{"actor", e.Actor, b.Actor},
		{"reason", e.Reason, b.Reason},
		{"rule", e.Rule, b.Rule},
		{"turn_id", e.TurnID, b.TurnID},
		{"workflow_id", e.WorkflowID, b.WorkflowID},
		{"run_id", e.RunID, b.RunID},
		{"content", e.Content, b.Content},
		{"before_digest", hex.EncodeToString(e.BeforeDigest), b.BeforeDigest},
		{"after_digest", hex.EncodeToString(e.AfterDigest), b.AfterDigest},
	} {
		if column.is != column.was {
			return Changed, "the column " + column.name + " differs from the body"
		}
	}
	return "", ""
}

func sum(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}
