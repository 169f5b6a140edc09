package story

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/page"
	"github.com/lightmem/lightmem/memory"
)

const labels = 12 // the column of labels

// Tell writes the whole story for people. Times are in the given zone.
func Tell(p *page.Page, t Turn, zone *time.Location) {
	p.Line(p.Bold("turn "+string(t.TurnID)) + p.Dim("  "+strings.Join(facts(t, zone), " · ")))
	if t.WorkflowID != "" {
		p.Entry(2, labels, p.Dim("workflow"), t.WorkflowID)
		p.Entry(2, labels, p.Dim("run"), t.RunID)
	}
	if t.Input != "" {
		p.Entry(2, labels, p.Bold("input"), t.Input)
	}
	if t.Mode != memory.ModeRemember {
		TellPlan(p, t, zone)
		TellCandidates(p, t, zone)
	}
	if t.Answer != "" {
		p.Entry(2, labels, p.Bold("answer"), t.Answer)
	}
	if t.Mode != memory.ModeRecall {
		TellWritten(p, t)
	}
	TellDegraded(p, t)
	if who := served(t); who != "" {
		p.Entry(2, labels, p.Dim("served by"), who)
	}
}

// served says who served each role, and by which prompt or rule.
func served(t Turn) string {
	var parts []string
	for _, r := range []struct {
		role    memory.Role
		version string
	}{
		{memory.RolePlan, t.Versions.Plan},
		{memory.RoleSelect, t.Versions.Select},
		{memory.RoleAnswer, t.Versions.Answer},
		{memory.RoleWrite, t.Versions.Write},
	} {
		if r.version == "" {
			continue
		}
		part := string(r.role) + " " + r.version
		if who := t.Serving[r.role]; who != "" && who != memory.ServedByRules && !strings.HasPrefix(r.version, "rule") && r.version != "caller" {
			part += " on " + who
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func facts(t Turn, zone *time.Location) []string {
	list := []string{string(t.Mode)}
	if !t.At.IsZero() {
		list = append(list, t.At.In(zone).Format("Mon 2 Jan 2006 15:04 MST"))
	}
	if t.UserID != "" {
		list = append(list, "user "+page.Safe(string(t.UserID)))
	}
	if t.Conversation != "" {
		list = append(list, "conversation "+page.Safe(string(t.Conversation)))
	}
	if t.Actor != "" {
		list = append(list, "by "+page.Safe(t.Actor))
	}
	if t.State != "" && t.State != "committed" && t.Mode != memory.ModeRecall {
		list = append(list, "not written yet")
	}
	return list
}

// TellPlan writes the queries and their constraints.
func TellPlan(p *page.Page, t Turn, zone *time.Location) {
	label := p.Bold("plan")
	for i, q := range t.Plan.Queries {
		notes := []string{q.Origin, string(q.Tier)}
		if q.From != nil || q.To != nil {
			notes = append(notes, span(q.From, q.To, zone))
			if q.Soft {
				notes = append(notes, "preferred")
			}
		}
		for _, k := range q.Kinds {
			notes = append(notes, string(k))
		}
		if q.Past {
			notes = append(notes, "also what is past")
		}
		p.Entry(2, labels, label, fmt.Sprintf("%d. “%s” (%s)", i+1, q.Text, strings.Join(notes, ", ")))
		label = ""
	}
	if len(t.Plan.Queries) == 0 {
		p.Entry(2, labels, label, "none")
	}
}

// TellCandidates writes what was found, best first, and marks what was chosen.
func TellCandidates(p *page.Page, t Turn, zone *time.Location) {
	if len(t.Candidates) == 0 {
		p.Entry(2, labels, p.Bold("candidates"), "none")
		return
	}
	found := fmt.Sprintf("%d found, %d selected (*)", len(t.Candidates), len(t.Selected))
	if t.Searched > 0 {
		found = fmt.Sprintf("%d found in %d, %d selected (*)", len(t.Candidates), t.Searched, len(t.Selected))
	}
	p.Entry(2, labels, p.Bold("candidates"), found)
	rows := [][]string{{p.Dim(" "), p.Dim("score"), p.Dim("words"), p.Dim("meaning"), p.Dim("chosen"), "memory"}}
	for _, c := range t.Candidates {
		mark, why := " ", ""
		if i := slices.IndexFunc(t.Selected, func(s Selected) bool { return s.ID == c.ID }); i >= 0 {
			mark, why = p.Good("*"), p.Good(fmt.Sprintf("%s %.2f", t.Selected[i].Reason, t.Selected[i].Score))
		}
		rows = append(rows, []string{
			mark, fmt.Sprintf("%.2f", c.Score), fmt.Sprintf("%.2f", c.Lexical), fmt.Sprintf("%.2f", c.Dense), why,
			Statement(c.Memory, c.Status, c.ValidFrom, c.ValidTo, zone),
		})
	}
	p.Table(4, rows)
}

// Statement is a memory's text with what a reader must know about its validity.
func Statement(text string, status memory.Status, from, to *time.Time, zone *time.Location) string {
	var notes []string
	switch status {
	case memory.StatusActive, "":
	default:
		notes = append(notes, string(status))
	}
	if to != nil {
		notes = append(notes, span(from, to, zone))
	}
	if len(notes) == 0 {
		return text
	}
	return text + " [" + strings.Join(notes, ", ") + "]"
}

func span(from, to *time.Time, zone *time.Location) string {
	day := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.In(zone).Format(time.DateOnly)
	}
	return strings.TrimSpace(day(from) + " – " + day(to))
}

// TellWritten writes what became of memory.
func TellWritten(p *page.Page, t Turn) {
	if len(t.Written) == 0 {
		nothing := "nothing to remember"
		if t.State == "recorded" {
			nothing = "not written yet"
		}
		p.Entry(2, labels, p.Bold("memory"), nothing)
		return
	}
	p.Line("  " + p.Bold("memory"))
	for _, o := range t.Written {
		TellOutcome(p, 4, o)
	}
}

// TellOutcome writes one line of a receipt.
func TellOutcome(p *page.Page, indent int, o Outcome) {
	event := fmt.Sprintf("%-10s", o.Event)
	switch o.Event {
	case memory.EventAdded, memory.EventReinforced, memory.EventMerged, memory.EventPinned:
		event = p.Good(event)
	case memory.EventSuperseded, memory.EventContested:
		event = p.Warn(event)
	case memory.EventRefused, memory.EventEvicted, memory.EventForgotten:
		event = p.Bad(event)
	}
	text := o.Memory
	if o.Reason != "" {
		text += " (" + o.Reason + ")"
	}
	if o.Supersedes != "" {
		text += " closes " + string(o.Supersedes)
	}
	p.Entry(indent, 12, event, text)
}

// TellDegraded writes which roles were not served as configured.
func TellDegraded(p *page.Page, t Turn) {
	for _, d := range t.Degraded {
		text := fmt.Sprintf("%s was served by its rule: %s", d.Role, d.Reason)
		if d.Role == memory.RoleEmbed {
			text = fmt.Sprintf("no vectors, words alone: %s", d.Reason)
		}
		if d.Detail != "" {
			text += ", " + d.Detail
		}
		p.Entry(2, labels, p.Warn("degraded"), text)
	}
}
