package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/lightmem/lightmem/internal/speech"
	"github.com/lightmem/lightmem/internal/when"
	"github.com/lightmem/lightmem/memory"
)

// RuleVersion names the rule in a plan.
const RuleVersion = "rule.plan.v1"

const (
	// maxRuleQueries bounds a rule's plan, the user's own words among them.
	maxRuleQueries = 4
	// maxInputBytes bounds the input query: what is longer is a paste, whose
	// beginning and end say most.
	maxInputBytes = 2000
	originInput   = "input"
	originRule    = "rule"
)

// Rule plans without a model. The first query is always the user's own words
// (Origin "input"). Where they leave something out that the rule knows, up to
// three more are added (Origin "rule"):
//
//   - a pronoun's person, carried over from the conversation ("When did she move?"),
//   - the parts of a question that asks several things,
//   - the words in which an answer is likely to be put ("Where do I live?" is
//     answered by "moved to", which shares no word with it).
//
// With no such sign the input is the only query, so that the rule cannot do harm.
// Times become a window: a soft one, which only raises scores, unless the
// question asks just what happened in a span. "Before", "used to" and the like
// ask for closed statements, too. Long-term memory is asked for general
// knowledge only, never by a request for a recollection (the paper's own failure).
type Rule struct{}

// Plan implements activities.Planner.
func (Rule) Plan(_ context.Context, t memory.Turn) (memory.Plan, error) {
	r := reading{turn: t, lang: speech.Language(t.Text), words: speech.Words(t.Text, 400)}
	r.read()
	first := memory.Query{Text: ends(t.Text), Tier: memory.TierMTM, Origin: originInput, Window: r.window, Soft: r.soft, Past: r.past, Attributes: r.attributes}
	out := memory.Plan{Queries: []memory.Query{first}, Personal: r.personal, Entities: r.entities, Version: RuleVersion}
	if r.general {
		out.Queries = append(out.Queries, memory.Query{Text: first.Text, Tier: memory.TierLTM, Origin: originRule})
	}
	for _, text := range r.rewordings() {
		if len(out.Queries) == maxRuleQueries {
			break
		}
		q := first
		q.Text, q.Origin = text, originRule
		if !slices.ContainsFunc(out.Queries, func(have memory.Query) bool {
			return have.Tier == q.Tier && normal(have.Text) == normal(q.Text)
		}) {
			out.Queries = append(out.Queries, q)
		}
	}
	return out, nil
}

// ends is the beginning and the end of a long text.
func ends(s string) string {
	if len(s) <= maxInputBytes {
		return s
	}
	head := strings.ToValidUTF8(s[:maxInputBytes/2], "")
	tail := strings.ToValidUTF8(s[len(s)-maxInputBytes/2:], "")
	return head + " … " + tail
}

// reading is what the rule sees in a request.
type reading struct {
	turn     memory.Turn
	lang     speech.Lang
	words    []string
	asks     bool
	recalls  bool
	personal float64
	general  bool
	past     bool
	soft     bool
	window   memory.Window
	entities []string
	carried  string // whom a pronoun stands for
	// answerWords are likely to stand in an answer, attributes are what it is
	// likely to be about.
	answerWords string
	attributes  []string
	mentions    []when.Mention
}

func (r *reading) read() {
	for _, s := range speech.Sentences(ends(r.turn.Text)) {
		if speech.IsQuestion(s.Text, r.lang) {
			r.asks = true
		}
	}
	joined := " " + strings.Join(r.words, " ") + " "
	r.recalls = recollects(r.turn.Text) || anyOf(joined, recallSigns[r.lang])
	first := r.firstPerson(joined)
	r.entities = names(r.turn.Text, r.lang, maxEntities)
	if r.asks {
		r.answerWords, r.attributes = expansions(r.lang, r.turn.Text, r.words)
	}
	r.carried = r.carry()
	switch {
	case r.recalls:
		r.personal = 0.95
	case first:
		r.personal = 0.85
	case r.carried != "":
		r.personal = 0.7
	case r.asks && anyOf(joined, generalSigns[r.lang]) && (len(r.entities) == 0 || anyOf(joined, subjectSigns)):
		r.personal = 0.3 // "How does Ida train?" is about Ida, and not about training
	case r.asks && len(r.entities) == 0 && anyOf(joined, whatSigns[r.lang]):
		r.personal = 0.2
	case len(r.entities) > 0:
		r.personal = 0.6
	default:
		r.personal = 0.5
	}
	r.general = !r.recalls && (r.personal < 0.5 || r.asks && len(r.entities) == 0 && anyOf(joined, adviceSigns[r.lang]) && r.personal < personalOnly)
	r.past = anyOf(joined, pastSigns[r.lang]) || r.lang == speech.Chinese && containsAny(r.turn.Text, "以前", "之前", "过去", "曾经", "原来") || r.lang == speech.Japanese && containsAny(r.turn.Text, "以前", "前は", "昔")
	r.times()
	if r.carried != "" && !slices.ContainsFunc(r.entities, func(e string) bool { return strings.EqualFold(e, r.carried) }) && len(r.entities) < maxEntities {
		r.entities = append(r.entities, r.carried)
	}
}

// times turns the request's times into a window.
func (r *reading) times() {
	if r.turn.At.IsZero() || !r.asks && !r.recalls {
		return // a statement's own times say nothing about what to look for
	}
	lean := when.Auto
	if speech.TenseOf(r.turn.Text, r.lang) != speech.Future {
		lean = when.Past // one asks about what was, unless one says so
	}
	r.mentions = when.Find(ends(r.turn.Text), r.turn.At.In(r.turn.Location()), r.lang, lean)
	if len(r.mentions) == 0 {
		return
	}
	r.soft = true
	from, to := r.mentions[0].From, r.mentions[0].To
	for _, m := range r.mentions[1:] {
		if m.From.Before(from) {
			from = m.From
		}
		if m.To.After(to) {
			to = m.To
		}
	}
	before := wordBefore(r.turn.Text, r.mentions[0].Start)
	switch {
	case len(r.mentions) == 1 && beforeSigns[before]:
		r.window = memory.Window{To: from}
	case len(r.mentions) == 1 && sinceSigns[before]:
		r.window = memory.Window{From: from}
	case len(r.mentions) == 1 && afterSigns[before]:
		r.window = memory.Window{From: to}
	default:
		r.window = memory.Window{From: from, To: to}
		if m := r.mentions[0]; len(r.mentions) == 1 && m.Relative { // people round off: "two weeks ago"
			if slack := slackDays(r.turn.Text[min(m.Start, len(r.turn.Text)):min(m.End, len(r.turn.Text))], r.window); slack > 0 {
				r.window = memory.Window{From: from.AddDate(0, 0, -slack), To: to.AddDate(0, 0, slack)}
				return
			}
		}
		// "What did I do yesterday?" names nothing else to look for: then, and
		// only then, the span is the question.
		if len(r.mentions) == 1 && !r.mentions[0].Guessed && r.onlyTime() {
			r.soft = false
		}
	}
}

// onlyTime reports whether a question has no content but its time.
func (r *reading) onlyTime() bool {
	text := ends(r.turn.Text)
	m := r.mentions[0]
	if r.lang == speech.Chinese {
		rest := text[:m.Start] + text[m.End:]
		return containsAny(rest, "做了什么", "干了什么", "发生了什么", "做什么") && len([]rune(rest)) <= 10
	}
	for _, w := range speech.Words(text[:m.Start]+" "+text[m.End:], 0) {
		if !emptyWords[w] {
			return false
		}
	}
	return true
}

// slackDays is how far off a rounded distance may be: three days for "two weeks
// ago", one for a weekend.
func slackDays(phrase string, w memory.Window) int {
	p := strings.ToLower(phrase)
	switch {
	case containsAny(p, "weekend", "wochenende", "周末"):
		return 1
	case containsAny(p, "week", "woche", "semana", "semaine", "settiman", "周", "星期", "недел") && w.To.Sub(w.From).Hours() < 48:
		return 3
	}
	return 0
}

// firstPerson reports whether the request speaks of the user.
func (r *reading) firstPerson(joined string) bool {
	if r.lang == speech.Chinese {
		return containsAny(r.turn.Text, "我", "咱")
	}
	if r.lang == speech.Japanese {
		return containsAny(r.turn.Text, "私", "僕", "俺")
	}
	return anyOf(joined, selfSigns[r.lang])
}

// carry returns the person or thing that a pronoun of the request stands for:
// the last name in the conversation, when the request itself names nobody. The
// user's own name is nobody's.
func (r *reading) carry() string {
	if len(r.entities) > 0 || len(r.words) == 0 || !slices.ContainsFunc(r.words, func(w string) bool { return pronounSigns[r.lang][w] }) {
		return ""
	}
	person := slices.ContainsFunc(r.words, func(w string) bool { return personSigns[w] })
	for i := len(r.turn.Context) - 1; i >= 0; i-- {
		m := r.turn.Context[i]
		found := names(m.Text, speech.Language(m.Text), maxEntities)
		found = slices.DeleteFunc(found, func(n string) bool {
			return strings.EqualFold(n, r.turn.UserName()) || strings.EqualFold(n, m.Speaker) || person && isPlace(m.Text, n)
		})
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	return ""
}

// rewordings are further queries, the most useful first.
func (r *reading) rewordings() []string {
	var out []string
	if r.carried != "" {
		out = append(out, r.carried+" "+strings.Join(r.content(), " "))
	}
	if words := r.answerWords; words != "" {
		if r.carried != "" {
			words = r.carried + " " + words
		} else if len(r.entities) > 0 {
			words = strings.Join(r.entities, " ") + " " + words
		}
		out = append(out, words)
	}
	return append(out, r.parts()...)
}

// content are the request's words that are not merely grammar.
func (r *reading) content() []string {
	var out []string
	for _, w := range r.words {
		if !emptyWords[w] && !pronounSigns[r.lang][w] && len(out) < 24 {
			out = append(out, w)
		}
	}
	return out
}

// parts splits a request that asks several things: "Where does Ben live and what
// does he do?"
func (r *reading) parts() []string {
	var questions []string
	for _, s := range speech.Sentences(ends(r.turn.Text)) {
		if speech.IsQuestion(s.Text, r.lang) {
			questions = append(questions, s.Text)
		}
	}
	if len(questions) == 1 {
		questions = splitQuestion(questions[0], r.lang)
	}
	if len(questions) < 2 {
		return nil
	}
	for i, q := range questions {
		subject := strings.Join(r.entities, " ")
		if subject != "" && len(names(q, r.lang, 1)) == 0 {
			questions[i] = subject + ": " + q
		}
	}
	return questions
}

func splitQuestion(q string, lang speech.Lang) []string {
	for _, sep := range []string{", and ", " and ", "; ", " und ", " y ", " et ", " e ", "，", "？"} {
		head, tail, ok := strings.Cut(q, sep)
		if ok && speech.IsQuestion(strings.TrimRight(tail, "?？ "), lang) && len(speech.Words(tail, 3)) >= 2 && len(speech.Words(head, 3)) >= 2 {
			return []string{strings.TrimSpace(head) + "?", strings.TrimSpace(tail)}
		}
	}
	return []string{q}
}
