package write

import (
	"context"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
	"github.com/lightmem/lightmem/internal/when"
	"github.com/lightmem/lightmem/memory"
)

// RuleVersion names the rule in a draft.
const RuleVersion = "rule.write.v1"

// maxDrafts bounds what one turn may write, as the store does; a message of 64
// KiB can hold ten times as many sentences. What is over is refused, visibly.
const maxDrafts = 64

// Rule writes without a model: it cuts the turn into sentences, drops those that
// are no statement about the user's world, and keeps the others in the speaker's
// own words, made to stand alone: the speaker's name for "I", names for pronouns
// where the same text leaves no doubt, and dates added to relative times.
// Statements whose attribute a rule knows carry it, so that the host finds
// conflicts. Every refusal is among the result's Refused, with its reason.
//
// Of the assistant's answer only what it says to have done is kept ("I booked
// the table for Friday"), as the assistant's statement.
type Rule struct{}

// Draft implements activities.Writer.
func (Rule) Draft(_ context.Context, a memory.Answered) (memory.Drafted, error) {
	out := memory.Drafted{Answered: a, Version: RuleVersion}
	name := ""
	if n := a.UserName(); n != (memory.Turn{}).UserName() {
		name = n
	}
	w := run{out: &out, at: a.At, loc: a.Location(), name: name, handed: a.Mode == memory.ModeRemember}
	if a.Speaker != "" && NormalizeText(a.Speaker) != NormalizeText(a.Profile.Name) {
		w.other = canonical(a.Speaker)
	}
	if a.Verbatim {
		out.Drafts = []memory.Draft{{
			Text: a.Text, Kind: memory.KindNote, Speaker: name, Source: memory.SourceUser,
			EventAt: a.At, ValidFrom: a.At, Rule: RuleVersion, Quote: a.Text, Verbatim: true,
		}}
		return out, nil
	}
	w.text(a.Text)
	if !strings.HasPrefix(a.Answer.Version, "rule.answer") { // that one only quotes memories
		w.assistant(a.Answer.Text)
	}
	return out, nil
}

// run is one turn's run of the rule.
type run struct {
	out  *memory.Drafted
	at   time.Time
	loc  *time.Location
	name string
	// other is the canonical name of a speaker who is not the user, "" for the
	// user: his "I" is nothing about the user.
	other   string
	handed  bool
	earlier []person
}

func (w *run) refuse(text, reason string) {
	w.out.Refused = append(w.out.Refused, memory.Outcome{Memory: text, Event: memory.EventRefused, Reason: reason})
}

// text drafts from what the user said.
func (w *run) text(text string) {
	lang := speech.Language(text)
	fence, prompt, reported := false, false, 0
	sentences := speech.Sentences(text)
	brought, found := materialIn(text, sentences, 0)
	for i, s := range sentences {
		if found && s.Start >= brought.to {
			brought, found = materialIn(text, sentences, i)
		}
		if found && s.Start >= brought.from {
			if s.Start == brought.from { // once for the whole
				w.refuse(clip(text[brought.from:brought.to]), brought.reason)
			}
			continue
		}
		if strings.HasPrefix(s.Text, "```") {
			fence = !fence
			w.refuse(s.Text, reasonCode)
			continue
		}
		sentence := lang
		if l := speech.Language(s.Text); lang == speech.Other || scripted(l) != scripted(lang) {
			sentence = l
		}
		switch {
		case fence:
			w.refuse(s.Text, reasonCode)
			continue
		case prompt:
			w.refuse(s.Text, reasonPrompt)
			continue
		case quotedLine(text, s.Start), s.Start < reported:
			w.refuse(s.Text, reasonQuotation)
			continue
		}
		if reports.MatchString(s.Text) { // without quotation marks: what follows on the line is quoted, too
			reported = s.Start + len(s.Text)
			if end := strings.IndexAny(text[reported:], "\n\r"); end >= 0 {
				reported += end
			} else {
				reported = len(text)
			}
		}
		st, reason := judge(resolved(s.Text, w.earlier), sentence, w.handed)
		if reason != "" {
			// What follows a prompt's beginning is the prompt (mem0#4573).
			prompt = reason == reasonPrompt && (i == 0 || roleMark(s.Text))
			w.refuse(s.Text, reason)
			w.earlier = append(w.earlier, people(s.Text)...)
			continue
		}
		if len(w.out.Drafts) >= maxDrafts {
			w.refuse(s.Text, reasonTooMany)
			continue
		}
		for _, part := range clauses(st) {
			w.keep(part, s.Text)
		}
		w.earlier = append(w.earlier, people(st.text)...)
	}
}

// reports is somebody's "Tom wrote: I moved", without quotation marks.
var reports = regexp.MustCompile(`^(?:(?i:my|our) (?:\p{L}+ ){1,3}|\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)? )(?i:just |then |also )?(?i:said|says|wrote|writes|texted|e-?mailed|messaged|replied|answered|told me|asked me|wrote to me|wrote me|said to me)(?: (?:today|yesterday|this morning|last \p{L}+|back|me|to me|on \p{L}+))?: (?i:I|I['’]m|We|My|Our)[ '’]`)

// clip bounds what of a long text stands in a refusal.
func clip(s string) string {
	if len(s) <= maxSentenceBytes {
		return s
	}
	return strings.ToValidUTF8(s[:maxSentenceBytes], "") + "…"
}

// clauses splits "I live in Berlin and I work at Siemens" into its two
// statements, when each has a topic of its own that can be known without the
// other.
func clauses(s statement) []statement {
	if s.lang != speech.English {
		return []statement{s}
	}
	for _, sep := range []string{", and I", " and I", ", but I", " but I", "; I", ", and my ", " and my ", "; my "} {
		i := strings.Index(s.text, sep)
		if i < 0 {
			continue
		}
		head, tail := s, s
		head.text, tail.text = s.text[:i], strings.TrimLeft(s.text[i:], " ,;")
		tail.text = strings.TrimPrefix(strings.TrimPrefix(tail.text, "and "), "but ")
		head.first = isFirstPerson(head.text, speech.Words(head.text, 0), s.lang)
		if len(when.Find(s.text, referenceTime, s.lang, when.Past)) == 0 && topicOf(head.text, s.lang, nil).attribute != "" && topicOf(tail.text, s.lang, nil).attribute != "" {
			return append([]statement{head}, clauses(tail)...)
		}
	}
	return coordinated(s)
}

// coordinated splits "I live in Hamburg and work as a nurse" and "I live in Lyon
// with my wife Eva" in two, so that a move ends no more than the residence.
func coordinated(s statement) []statement {
	subject := firstField(s.text)
	if subject != "I" && subject != "We" || negated(s.text) || len(when.Find(s.text, referenceTime, s.lang, when.Past)) > 0 {
		return []statement{s}
	}
	for at := 0; ; {
		i := strings.Index(s.text[at:], " and ")
		if i < 0 {
			break
		}
		head, tail := s, s
		head.text, tail.text = s.text[:at+i], s.text[at+i+len(" and "):]
		at += i + 1
		fields := strings.Fields(tail.text)
		if len(fields) < 2 || pronounsOnly[bare(fields[1])] || !startsVerb(bare(fields[0]), bare(fields[1])) || topicOf(head.text, s.lang, nil).attribute == "" {
			continue
		}
		tail.text = subject + " " + tail.text
		return append(coordinated(head), clauses(tail)...)
	}
	if m := livesWith.FindStringSubmatchIndex(s.text); m != nil {
		head, tail := s, s
		head.text, tail.text = s.text[:m[5]], s.text[:m[4]]+s.text[m[6]-1:]
		if topicOf(head.text, s.lang, nil).attribute == Residence {
			return []statement{head, tail}
		}
	}
	return []statement{s}
}

// livesWith: group 2 is the place, with its preposition; group 3 the company.
var livesWith = regexp.MustCompile(`^(?:I|We) (live|live now|currently live|now live)( in [^,.;]+?) (with (?:my|our|a|two|three|four) .+)$`)

func startsVerb(w, next string) bool {
	if baseVerbs[w] {
		return !nounToo[w] || afterVerb[next]
	}
	changed, ok := third(w)
	return ok && (irregular3[w] != "" || changed == w && !unchanged[w] && w != "the")
}

// referenceTime serves where only the presence of a time matters.
var referenceTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// scripted tells languages apart that are written in other characters.
func scripted(l speech.Lang) int {
	switch l {
	case speech.Chinese, speech.Japanese:
		return 1
	case speech.Korean:
		return 2
	case speech.Russian:
		return 3
	case speech.Other:
		return 4
	}
	return 0
}

func quotedLine(text string, start int) bool {
	line := text[strings.LastIndexByte(text[:start], '\n')+1 : start]
	return strings.HasPrefix(strings.TrimSpace(line), ">")
}

func roleMark(s string) bool {
	return strings.Contains(s, "<|") || strings.Contains(s, "[INST]") || strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "system")
}

// keep makes the draft of a statement.
func (w *run) keep(s statement, quote string) {
	text := s.text
	mentions := when.Find(text, w.at.In(w.loc), s.lang, when.Auto)
	t := topicOf(text, s.lang, mentions)
	tense := speech.TenseOf(text, s.lang)
	d := memory.Draft{
		Text:    compose(s, dated(text, mentions), w.name),
		Speaker: w.name, Source: memory.SourceUser, Rule: RuleVersion, Quote: quote,
		EventAt: w.at, ValidFrom: w.at,
	}
	if !s.first && startsWithPronoun(text) && w.name != "" {
		d.Text = w.name + ": " + capital(dated(text, mentions)) // somebody's "she": whose is not known
	}
	// What is yet to come changes nothing now, except what is settled for things.
	if tense == speech.Future && personal[t.attribute] {
		t = topic{}
	}
	d.Subject, d.Attribute, d.Value, d.Negates = w.whose(t.subject, text), t.attribute, t.value, t.negates
	w.times(&d, text, mentions, t, tense)
	d.Kind = kindOf(s.lang, text, t, tense, mentions)
	if d.Kind == memory.KindEvent && d.EventAt.After(w.at.AddDate(0, 0, 1)) {
		d.Kind = memory.KindPlan
	}
	if head, more, ok := besidesValue(s, t, mentions); ok {
		// What ends the value must not end what is said beside it.
		alone := d
		alone.Text = compose(head, dated(head.text, within(mentions, len(head.text))), w.name)
		w.out.Drafts = append(w.out.Drafts, alone)
		d.Subject, d.Attribute, d.Value = more.subject, more.attribute, more.value
		d.Subject = w.whose(d.Subject, text)
	}
	w.out.Drafts = append(w.out.Drafts, d)
}

// besidesValue returns the part of a statement up to the value of its attribute,
// when what follows tells much more, and what that is about.
func besidesValue(s statement, t topic, mentions []when.Mention) (head statement, more topic, ok bool) {
	if t.attribute == "" || t.value == "" || t.negates || t.past || additive(t.attribute) || s.lang == speech.Chinese || s.lang == speech.Japanese {
		return head, more, false
	}
	i := strings.LastIndex(s.text, t.value)
	if i < 0 {
		return head, more, false
	}
	end := i + len(t.value)
	head = s
	head.text = s.text[:end]
	if again := topicOf(head.text, s.lang, within(mentions, end)); again != t || !tellsMore(s, end, mentions) {
		return head, more, false
	}
	if rest, at := strings.CutPrefix(s.text[end:], " at "); at && t.attribute == JobTitle {
		if firm := properName(rest); firm != "" {
			more = topic{subject: t.subject, attribute: Employer, value: firm}
		}
	}
	return head, more, true
}

// tellsMore reports whether the text from a place on names somebody, or says as
// much as another statement, apart from times.
func tellsMore(s statement, from int, mentions []when.Mention) bool {
	rest := s.text[from:]
	if s.lang == speech.English && !afterValue.MatchString(rest) {
		return false // the value goes on: "Sahlgrenska hospital"
	}
	for k := len(mentions) - 1; k >= 0; k-- {
		if m := mentions[k]; m.Start >= from {
			rest = rest[:m.Start-from] + rest[m.End-from:]
		}
	}
	content := 0
	for _, w := range tokens(whereIs.ReplaceAllString(rest, "")) {
		r, _ := utf8.DecodeRuneInString(w)
		lower := strings.ToLower(w)
		if unicode.IsUpper(r) && s.lang != speech.German && w != "I" && !calendar[lower] {
			return true
		}
		if unicode.IsLetter(r) && utf8.RuneCountInString(w) > 3 && !adverbs[lower] && !calendar[lower] {
			content++
		}
	}
	return content >= 4
}

var (
	afterValue = regexp.MustCompile(`^(?:[.,;:!?)(–—-]| (?:and|but|or|with|for|because|since|so|as|at|in|on|near|from|to|by|after|before|until|when|where|while|which|who|whose|that|if|though|although|too|now|again|together|plus|\()\b)`)
	// whereIs only says where the value is to be found.
	whereIs = regexp.MustCompile(`^(?:,| in| near) \p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)*`)
)

// within are the mentions that end before a place.
func within(mentions []when.Mention, end int) []when.Mention {
	for i, m := range mentions {
		if m.End > end {
			return mentions[:i]
		}
	}
	return mentions
}

// whose is a subject as the memory of the user knows it: another speaker's "I"
// is that speaker, and his sister is not the user's.
func (w *run) whose(subject, text string) string {
	if w.other == "" || subject == "" {
		return subject
	}
	if subject == Self {
		return w.other
	}
	lower := strings.ToLower(text)
	for _, front := range []string{"my ", "our ", "mein ", "meine ", "mi ", "mon ", "ma ", "mio ", "mia ", "meu ", "minha "} {
		if strings.Contains(" "+lower, " "+front+subject) {
			return w.other + "'s " + subject
		}
	}
	return subject
}

// personal attributes change when it happens, not when it is announced.
var personal = map[string]bool{Residence: true, Employer: true, JobTitle: true, Relationship: true, Car: true, Age: true, Pet: true, Child: true, Diet: true}

// times sets when it happened and when it was, or is, true.
func (w *run) times(d *memory.Draft, text string, mentions []when.Mention, t topic, tense speech.Tense) {
	var start, end *when.Mention
	main := -1
	for i := range mentions {
		m := &mentions[i]
		if m.Yearless && yearly.MatchString(text) {
			continue // a birthday is no event
		}
		switch before := wordBefore(text, m.Start); {
		case untilWords[before]:
			end = m
			continue
		case sinceWords[before] && start == nil:
			start = m
		case (before == "from" || before == "von") && start == nil && i+1 < len(mentions) && toWords[wordBefore(text, mentions[i+1].Start)]:
			start, end = m, &mentions[i+1]
		}
		if main < 0 || m.Grain == when.Day && mentions[main].Grain != when.Day {
			main = i
		}
	}
	if main >= 0 {
		d.EventAt = mentions[main].At()
	}
	if start != nil {
		d.EventAt, d.ValidFrom = start.At(), start.At()
	} else if main >= 0 && !mentions[main].From.After(w.at) && tense != speech.Future && !valueIsDate(t) {
		d.ValidFrom = d.EventAt
	}
	if mentions != nil && main >= 0 && sameDay(d.EventAt, w.at, w.loc) && !mentions[main].From.After(w.at) {
		d.EventAt = w.at // "today": now is closer than noon
		if start == nil {
			d.ValidFrom = w.at
		}
	}
	if end != nil && tense != speech.Future && !end.To.After(w.at) {
		d.ValidTo = end.To
		if d.ValidFrom.After(d.ValidTo) {
			d.ValidFrom = d.ValidTo.AddDate(0, 0, -1)
		}
		if start == nil {
			d.EventAt = d.ValidFrom
		}
	}
	if t.past && d.ValidTo.IsZero() {
		d.ValidTo = w.at
	}
	// "I lived in Rome in 2019": it is over, unless it says that it goes on.
	if t.attribute == Residence && d.ValidTo.IsZero() && livedOnce(text) {
		d.ValidTo = w.at
		if main >= 0 && !mentions[main].To.After(w.at) {
			d.ValidTo = mentions[main].To
		}
	}
}

func valueIsDate(t topic) bool {
	return t.attribute == "deadline" || strings.Contains(t.attribute, "date") || t.attribute == Birthday
}

func sameDay(a, b time.Time, loc *time.Location) bool {
	return a.In(loc).Format(time.DateOnly) == b.In(loc).Format(time.DateOnly)
}

func wordBefore(s string, at int) string {
	head := strings.TrimRight(s[:at], " ")
	w := strings.ToLower(head[strings.LastIndexByte(head, ' ')+1:])
	if articles[w] {
		head = strings.TrimRight(head[:len(head)-len(w)], " ")
		w = strings.ToLower(head[strings.LastIndexByte(head, ' ')+1:])
	}
	return w
}

var (
	untilWords = words("until till bis hasta jusqu'en jusqu'au fino até")
	sinceWords = words("since seit desde depuis da dal dalla")
	toWords    = words("to until till through bis")
)

// livedOnce reports a past residence: "lived", without "have".
func livedOnce(s string) bool {
	lower := " " + strings.ToLower(s) + " "
	return strings.Contains(lower, " lived in ") && !strings.Contains(lower, " have lived ") && !strings.Contains(lower, "'ve lived ") && !strings.Contains(lower, "’ve lived ") && !strings.Contains(lower, " has lived ")
}

func startsWithPronoun(s string) bool {
	switch strings.ToLower(strings.TrimSuffix(strings.TrimSuffix(firstField(s), "'s"), "’s")) {
	case "she", "he", "they", "it", "her", "his", "their", "this", "that", "these", "those":
		return true
	}
	return false
}

// kindOf classifies a statement.
func kindOf(lang speech.Lang, text string, t topic, tense speech.Tense, mentions []when.Mention) memory.Kind {
	switch {
	case lang != speech.English && isPreference(lang, text) && t.attribute == "":
		return memory.KindPreference
	case t.attribute == Likes || strings.HasPrefix(t.attribute, "favourite:") || t.attribute == Diet:
		return memory.KindPreference
	case t.attribute != "" && !valueIsDate(t):
		return memory.KindFact
	case t.attribute == Birthday:
		return memory.KindFact
	case t.attribute != "" || tense == speech.Future || isPlan(lang, text):
		return memory.KindPlan
	case tense == speech.Past || len(mentions) > 0:
		return memory.KindEvent
	case isPreference(lang, text):
		return memory.KindPreference
	}
	return memory.KindFact
}

func isPlan(lang speech.Lang, text string) bool {
	if lang == speech.Chinese {
		return strings.Contains(text, "打算") || strings.Contains(text, "计划") || strings.Contains(text, "准备") || strings.Contains(text, "明天") || strings.Contains(text, "下周") || strings.Contains(text, "下个月")
	}
	for _, w := range speech.Words(text, 0) {
		if planWords[w] {
			return true
		}
	}
	return false
}

func isPreference(lang speech.Lang, text string) bool {
	if lang == speech.Chinese {
		return strings.Contains(text, "喜欢") || strings.Contains(text, "讨厌") || strings.Contains(text, "爱")
	}
	for _, w := range speech.Words(text, 0) {
		if likeWords[w] {
			return true
		}
	}
	return false
}

var (
	planWords = words("want wants wish hope hopes intend planning plan dream dreams möchte will plane quiero planeo veux voudrais voglio vorrei quero pretendo")
	likeWords = words("like likes love loves prefer prefers hate hates enjoy enjoys favourite favorite dislike dislikes mag liebe hasse bevorzuge lieber gerne gern gusta gustan encanta prefiero odio aime adore préfère déteste piace piacciono preferisco gosto adoro prefiro")
)

// assistant drafts from the assistant's answer: what it reports to have done.
func (w *run) assistant(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	lang := speech.Language(text)
	refused := ""
	for _, s := range speech.Sentences(text) {
		m := hasDone.FindStringIndex(s.Text)
		if m == nil || lang != speech.English || speech.IsQuestion(s.Text, lang) || len(s.Text) > maxSentenceBytes || len(w.out.Drafts) >= maxDrafts {
			if refused == "" {
				refused = s.Text
			}
			continue
		}
		body := s.Text[m[0]:]
		mentions := when.Find(body, w.at.In(w.loc), lang, when.Auto)
		d := memory.Draft{
			Text: "Assistant: " + capital(dated(body, mentions)), Kind: memory.KindEvent, Speaker: "Assistant", Source: memory.SourceAssistant,
			EventAt: w.at, ValidFrom: w.at, Rule: RuleVersion, Quote: s.Text,
		}
		w.out.Drafts = append(w.out.Drafts, d)
	}
	if refused != "" { // one line for the whole answer: it may be long
		w.refuse(refused, reasonAssistant)
	}
}
