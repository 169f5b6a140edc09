package write

import (
	"slices"
	"strings"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// Thresholds of what counts as saying the same. The cosines are those of
// all-MiniLM-L6-v2; other models are bolder or shyer, which is why words are
// always looked at too.
const (
	// samePoint is the cosine from which on two statements may differ in some
	// of their content words and still say the same.
	samePoint = 0.93
	// nearPoint is the cosine that is asked for when the newer statement has no
	// content word of its own.
	nearPoint = 0.85
	// sharePoint is the part of content words (Jaccard) that stands for the
	// cosine where one of the vectors is missing.
	sharePoint = 0.75
)

// Neighbour is a memory that the host found near a draft: of the same words, of
// the same subject and attribute, or of a close vector.
type Neighbour struct {
	Memory memory.Memory
	// Cosine is that of the two vectors of one model; -1 when either is missing.
	Cosine float64
	// SameText says that NormalizeText gives the same for both.
	SameText bool
}

// Verdict is what is to become of a draft.
type Verdict struct {
	// Event is one of
	//   - added: store Draft as a new active memory. When Target is set, Target is
	//     the newer statement that had already closed this one: store Draft as
	//     superseded by it, with the ValidTo that Draft has.
	//   - reinforced: Target gains evidence, strength and last seen; no new row.
	//   - superseded: store Draft as a new active memory, and close Target and Also
	//     (ValidTo = Draft.ValidFrom, superseded by the new one).
	//   - contested: store Draft as contested, and mark Target and Also contested.
	//   - refused: store nothing.
	Event  memory.Event
	Reason string
	Target memory.ID
	// Also are further memories that Event closes or contests.
	Also []memory.ID
	// Shorten are memories that are superseded already, and were true until later
	// than Draft begins only because nobody had told of Draft: their ValidTo is to
	// become Draft.ValidFrom. Their status and successor stay.
	Shorten []memory.ID
	// Draft is the draft as it is to be stored: ValidFrom is set, and ValidTo
	// where it is over already.
	Draft memory.Draft
}

// Decide says what becomes of a draft among its neighbours (spec section 3). It
// is pure: the store calls it inside its transaction, under the user's lock, and
// with neighbours that were read there (mem0#6515).
//
// near should hold the memories with the same normalised text, those with the
// draft's subject and attribute, and the nearest by vector, of that user alone
// and of any status; their order does not matter. Of the superseded ones those of the
// draft's subject and attribute count: they bound how long it was true.
//
// In this order: an echo of what was just retrieved is refused; the same words
// reinforce; a negation closes what it ends; another value of the same subject
// and attribute closes the older one, is closed by the newer one, or is
// contested; the same meaning reinforces; anything else is kept beside the rest.
func Decide(a memory.Answered, d memory.Draft, near []Neighbour) Verdict {
	if d.EventAt.IsZero() {
		d.EventAt = a.At
	}
	if d.ValidFrom.IsZero() {
		d.ValidFrom = d.EventAt
	}
	if d.Negates && d.Value != "" && !strings.HasPrefix(d.Value, endedValue) {
		d.Value = endedValue + d.Value
	}
	v := Verdict{Event: memory.EventAdded, Reason: "new", Draft: d}
	if id, ok := echoed(a, d); ok {
		v.Event, v.Reason, v.Target = memory.EventRefused, "echo", id
		return v
	}
	live := make([]Neighbour, 0, len(near))
	var past []memory.Memory
	for _, n := range near {
		if a.Scope != (memory.Scope{}) && n.Memory.Scope != a.Scope {
			continue // powercontext#255: another user's memory decides nothing here
		}
		if n.Memory.Status == memory.StatusActive || n.Memory.Status == memory.StatusContested {
			live = append(live, n)
		} else if n.Memory.Status == memory.StatusSuperseded {
			past = append(past, n.Memory)
		}
	}
	// Most recent first, so that Target is the statement that held until now.
	slices.SortStableFunc(live, func(x, y Neighbour) int { return y.Memory.ValidFrom.Compare(x.Memory.ValidFrom) })

	for _, n := range live {
		if n.SameText { // mem0#1674: an identical statement deletes nothing
			v.Event, v.Reason, v.Target = memory.EventReinforced, "same words", n.Memory.ID
			return v
		}
	}
	if d.Verbatim { // kept as it is, and it says nothing that a rule understood
		return v
	}
	if d.Negates {
		return ends(v, live)
	}
	if v, ok := finished(v, a.At, live); ok {
		return v
	}
	if v, ok := conflict(v, live, past); ok {
		return v
	}
	for _, n := range live {
		if alike(d, n) {
			v.Event, v.Reason, v.Target = memory.EventReinforced, "same meaning", n.Memory.ID
			return v
		}
	}
	return v
}

// endedValue marks the value of a statement that something ended, so that it
// is told apart from the statement that it began.
const endedValue = "not "

// ends decides about a statement that ends earlier ones. What it ends must have
// the same subject and attribute, and the same value where it names one; when no
// rule knew the attribute, it must be the same sentence but for the negation
// (graphiti#1728: unrelated facts end nothing).
func ends(v Verdict, live []Neighbour) Verdict {
	d := v.Draft
	value := strings.TrimPrefix(d.Value, endedValue)
	for _, n := range live {
		m := n.Memory
		if m.ValidFrom.After(d.ValidFrom) || closedBefore(m, d.ValidFrom) {
			continue
		}
		if strings.HasPrefix(m.Value, endedValue) || d.Attribute == "" && negated(m.Text) {
			if alike(d, n) {
				v.Event, v.Reason, v.Target, v.Also = memory.EventReinforced, "same meaning", m.ID, nil
				return v
			}
			continue
		}
		switch {
		case d.Attribute != "":
			if !sameTopic(d, m) || value != "" && !sameValue(d.Attribute, value, m.Value) {
				continue
			}
		case !sameBut(d.Text, m.Text):
			continue
		}
		if d.Source.Strength() < m.Source.Strength() {
			if v.Event == memory.EventAdded {
				v.Event, v.Reason = memory.EventContested, "weaker source"
			}
		} else if v.Event != memory.EventSuperseded {
			v.Event, v.Reason, v.Target, v.Also = memory.EventSuperseded, "ended", "", nil
		}
		if (v.Event == memory.EventSuperseded) == (d.Source.Strength() >= m.Source.Strength()) {
			v.aim(m.ID)
		}
	}
	return v
}

// finished decides about a statement of what is over ("I used to live in Rome").
// It ends the same statement where that still stands, and touches no other.
func finished(v Verdict, now time.Time, live []Neighbour) (Verdict, bool) {
	d := v.Draft
	if d.ValidTo.IsZero() || d.ValidTo.After(now) || d.Attribute == "" {
		return v, false
	}
	for _, n := range live {
		m := n.Memory
		if !sameTopic(d, m) || !sameValue(d.Attribute, d.Value, m.Value) {
			continue
		}
		if m.ValidTo.IsZero() && !m.ValidFrom.After(d.ValidTo) && d.Source.Strength() >= m.Source.Strength() {
			v.Event, v.Reason = memory.EventSuperseded, "ended"
			v.aim(m.ID)
		} else if v.Target == "" && (alike(d, n) || !d.ValidFrom.Before(d.ValidTo) && NormalizeText(d.Text) == NormalizeText(m.Text)) {
			v.Event, v.Reason, v.Target = memory.EventReinforced, "same meaning", m.ID
			return v, true
		}
	}
	return v, true
}

func (v *Verdict) aim(id memory.ID) {
	if v.Target == "" {
		v.Target = id
	} else {
		v.Also = append(v.Also, id)
	}
}

// conflict decides about a statement of another value for the same subject and
// attribute. Event time decides, not the order of arrival: the same statements
// lead to the same memory in whatever order they come.
func conflict(v Verdict, live []Neighbour, past []memory.Memory) (Verdict, bool) {
	d := v.Draft
	if d.Attribute == "" || d.Value == "" {
		return v, false
	}
	var older, newer, stronger []memory.Memory
	for _, n := range live {
		m := n.Memory
		if !sameTopic(d, m) || !contradicts(d, m) || apart(d, m) {
			continue
		}
		late := m.ValidFrom.After(d.ValidFrom)
		switch {
		case late && m.Source.Strength() >= d.Source.Strength():
			newer = append(newer, m)
		case !late && d.Source.Strength() >= m.Source.Strength():
			older = append(older, m)
		default:
			stronger = append(stronger, m)
		}
	}
	switch {
	case len(newer) > 0:
		// It was true once and is over: closed by the first that came after it.
		first := newer[len(newer)-1]
		v.Reason, v.Target = "older value", first.ID
		if v.Draft.ValidTo.IsZero() || v.Draft.ValidTo.After(first.ValidFrom) {
			v.Draft.ValidTo = first.ValidFrom
		}
		v.between(past)
	case len(stronger) > 0:
		v.Event, v.Reason = memory.EventContested, "weaker source"
		for _, m := range stronger {
			v.aim(m.ID)
		}
	case len(older) > 0:
		v.Event, v.Reason = memory.EventSuperseded, "newer value"
		for _, m := range older {
			v.aim(m.ID)
		}
	default:
		return v, false
	}
	return v, true
}

// between fits an older value among others that are over: it ends when the next
// of them begins, and the one before it ends when it begins.
func (v *Verdict) between(past []memory.Memory) {
	d := &v.Draft
	for _, m := range past {
		if !sameTopic(*d, m) || !contradicts(*d, m) || m.Source.Strength() < d.Source.Strength() {
			continue
		}
		if m.ValidFrom.After(d.ValidFrom) && m.ValidFrom.Before(d.ValidTo) {
			d.ValidTo = m.ValidFrom
		}
	}
	for _, m := range past {
		if sameTopic(*d, m) && contradicts(*d, m) && m.Source.Strength() <= d.Source.Strength() && m.ValidFrom.Before(d.ValidFrom) && m.ValidTo.After(d.ValidFrom) {
			v.Shorten = append(v.Shorten, m.ID)
		}
	}
}

// sameTopic reports whether both speak of the same subject's same attribute.
// Names are compared whole (mem0#5630: "Ann" is not "Anna").
func sameTopic(d memory.Draft, m memory.Memory) bool {
	return d.Attribute != "" && d.Attribute == m.Attribute && NormalizeText(d.Subject) == NormalizeText(m.Subject)
}

// contradicts reports whether two statements about one topic cannot both hold.
func contradicts(d memory.Draft, m memory.Memory) bool {
	if m.Value == "" {
		return false
	}
	if ended, ok := strings.CutPrefix(m.Value, endedValue); ok {
		return sameValue(d.Attribute, ended, d.Value) // "likes sushi again"
	}
	if d.Attribute == Residence && regions[NormalizeText(d.Value)] != regions[NormalizeText(m.Value)] && !moves(d.Text) && !moves(m.Text) {
		return false // Germany and Berlin
	}
	return !additive(d.Attribute) && !sameValue(d.Attribute, d.Value, m.Value)
}

// apart reports whether the two were true at times that do not meet
// (graphiti#1865).
func apart(d memory.Draft, m memory.Memory) bool {
	return closedBefore(m, d.ValidFrom) || !d.ValidTo.IsZero() && !d.ValidTo.After(m.ValidFrom)
}

func closedBefore(m memory.Memory, t time.Time) bool {
	return !m.ValidTo.IsZero() && !m.ValidTo.After(t)
}

// alike reports whether a draft says nothing but what a memory says. When in
// doubt it does not: two rows lose nothing, one row may.
func alike(d memory.Draft, n Neighbour) bool {
	m := n.Memory
	if apart(d, m) || d.ValidTo.IsZero() != m.ValidTo.IsZero() {
		return false
	}
	if d.Attribute != "" && m.Attribute != "" && (!sameTopic(d, m) || !sameStem(d.Value, m.Value) || ownWords[firstField(d.Value)] != ownWords[firstField(m.Value)]) {
		return false
	}
	return sameMeaning(d.Text, m.Text, n.Cosine, sameTopic(d, m))
}
