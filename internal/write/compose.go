package write

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
	"github.com/lightmem/lightmem/internal/when"
)

// dated returns a sentence with the date added after each time that its words
// alone do not tell: "yesterday" becomes "yesterday (2026-05-03)". The words
// stay. A day without a year gets one when the tense says which, and when it is
// not a day of every year.
func dated(s string, mentions []when.Mention) string {
	var b strings.Builder
	at := 0
	for _, m := range mentions {
		if !m.Relative && (!m.Yearless || m.Guessed || yearly.MatchString(s)) {
			continue
		}
		end := m.End
		rest := s[end:]
		if len(rest) > 2 && (rest[0] == '\'' || strings.HasPrefix(rest, "’")) { // yesterday's
			continue
		}
		if strings.HasPrefix(strings.TrimLeft(rest, " "), "(") {
			continue // it has one
		}
		b.WriteString(s[at:end])
		b.WriteString(" (" + m.String() + ")")
		if r, _ := utf8.DecodeRuneInString(rest); unicode.IsLetter(r) { // no space follows in Chinese
			b.WriteByte(' ')
		}
		at = end
	}
	b.WriteString(s[at:])
	return b.String()
}

// yearly are days that come every year.
var yearly = regexp.MustCompile(`(?i)birthday|anniversary|born|geburtstag|geboren|cumpleaños|nací|anniversaire|compleanno|aniversário|生日`)

// compose returns the sentence as it can stand alone: the speaker's name for the
// first person where grammar allows it without doubt, in front of the words
// otherwise. name is "" when it is not known.
func compose(s statement, text, name string) string {
	text = capital(strings.TrimSpace(text))
	if !s.first {
		return text
	}
	if s.lang == speech.English {
		if out, ok := thirdPerson(text, name); ok {
			return out
		}
		if name == "" {
			return "User: " + text
		}
	}
	if name == "" {
		return text
	}
	return name + ": " + text
}

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError || !unicode.IsLower(r) || strings.HasPrefix(s, "http") {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// thirdPerson puts the name for the one word of the first person that a sentence
// has: "I moved" → "Anna moved", "my sister called" → "Anna's sister called",
// "Ben gave me a book" → "Ben gave Anna a book". It declines when there are
// several, when the words are not the speaker's own (in quotation marks), or when
// a verb would have to change that it does not know.
func thirdPerson(s, name string) (string, bool) {
	who := name
	if who == "" {
		who = "the user"
	}
	if strings.ContainsAny(s, "\"“”„«»") || introduces.MatchString(s) {
		return "", false
	}
	fields := strings.Split(s, " ")
	at, word, count := -1, "", 0
	for i, f := range fields {
		w := bare(f)
		if firstWords[w] || strings.HasPrefix(w, "i'") {
			if count++; at < 0 {
				at, word = i, w
			}
		}
	}
	if count != 1 {
		return "", false
	}
	switch word {
	case "my":
		if !swap(fields, at, "my", who+"'s") {
			return "", false
		}
	case "me":
		if !swap(fields, at, "me", who) || at > 0 && (bare(fields[at-1]) == "and" || bare(fields[at-1]) == "like") {
			return "", false
		}
	case "i", "i'm", "i've", "i'll":
		if at > 0 && !clauseStart(fields[at-1]) && !timeStart(fields[:at]) {
			return "", false
		}
		if !inflect(fields, at, word, who) {
			return "", false
		}
	default:
		return "", false
	}
	return capital(strings.Join(fields, " ")), true
}

// introduces: "Anna is Anna" would say nothing, and "the user's name" is clumsy.
var introduces = regexp.MustCompile(`^(?:(?i:my name is(?: not)?|(?:please |you can |everyone |people )?calls? me)|I(?:'m|’m| am)) \p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?[.!]?$`)

// bare is a word without the punctuation around it, in lower case.
func bare(f string) string {
	return strings.ToLower(strings.Trim(strings.ReplaceAll(f, "’", "'"), ".,;:!?()-–—…"))
}

func swap(fields []string, at int, from, to string) bool {
	i := strings.Index(strings.ToLower(fields[at]), from)
	if i < 0 || i+len(from) > len(fields[at]) {
		return false
	}
	fields[at] = fields[at][:i] + to + fields[at][i+len(from):]
	return true
}

func clauseStart(before string) bool { return strings.HasSuffix(before, ",") }

// timeStart reports whether the words before the subject are a time: "Yesterday
// I", "Last month (2026-04) I".
func timeStart(fields []string) bool {
	return timeWords[bare(fields[0])] || strings.HasSuffix(fields[len(fields)-1], ")")
}

var timeWords = words("yesterday today tomorrow last next this on in since two three four five six a an one few recently currently now sometimes usually lately nowadays again every")

// inflect rewrites the subject at a place and the verb after it.
func inflect(fields []string, at int, word, who string) bool {
	// A second verb further on would have to agree, too.
	switch word {
	case "i'm":
		fields[at] = who + " is"
		return !laterVerb(fields[at+1:])
	case "i've":
		fields[at] = who + " has"
		return !laterVerb(fields[at+1:])
	case "i'll":
		fields[at] = who + " will"
		return true
	}
	v := at + 1
	for v < len(fields) && midAdverbs[bare(fields[v])] {
		v++
	}
	if v >= len(fields) {
		return false
	}
	verb := bare(fields[v])
	changed, ok := third(verb)
	if !ok {
		return false
	}
	if !modal[verb] && laterVerb(fields[v+1:]) {
		return false
	}
	fields[at] = who
	if changed != verb {
		if !swap(fields, v, verb, changed) {
			// "don’t" with a typographic apostrophe
			fields[v] = changed
		}
	}
	return true
}

var (
	modal      = words("will would can could should must might may won't can't cannot couldn't wouldn't shouldn't did didn't")
	midAdverbs = words("just also really recently never always usually often still already finally actually currently now sometimes only even probably definitely absolutely mostly mainly originally previously once soon certainly truly normally generally rarely")
	unchanged  = words("will would can could should must might may won't can't cannot couldn't wouldn't shouldn't did didn't had hadn't was wasn't used")
	irregular3 = map[string]string{"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't", "go": "goes", "were": "was"}
	baseVerbs  = words(`work live love like hate want need prefer use play eat drink drive own speak study teach run try enjoy think believe know feel plan hope take make get write watch cook sleep wake walk swim travel
		collect avoid dislike train lead manage miss wear pay save suffer sing dance practice practise volunteer commute rent keep grow hold see come meet visit listen call spend start look support follow maintain
		attend belong bake bike climb code consider crave cycle design develop do draw dream employ exercise expect finish fish fly garden go have hike intend jog juggle knit learn leave lift mentor paint photograph
		program ride row sail sell serve skate ski smoke snowboard specialize stay stream surf talk tutor understand weigh wish worry adore admire care admit agree appreciate breed bring build buy carry celebrate change
		choose clean coach compete complete consult contribute create decide depend direct disagree donate earn edit end explore fear fix forget give help host identify invest join lack lend maintain mean mind move observe
		offer operate order organize pick post prepare produce publish receive recommend recycle relax remember repair require research respect review sew share shop show sit skip smell solve sound stand stop struggle
		swear take teach tend throw trade translate treat trust turn wait wash water win wonder worship yell`)
)

// third returns the form of a verb for the third person.
func third(verb string) (string, bool) {
	switch {
	case irregular3[verb] != "":
		return irregular3[verb], true
	case unchanged[verb]:
		return verb, true
	case verb == "read" || verb == "cut" || verb == "put" || verb == "set" || verb == "let" || verb == "hit" || verb == "quit" || verb == "cost" || verb == "hurt" || verb == "bet" || verb == "spread":
		return verb, false // present or past
	case baseVerbs[verb]:
		switch {
		case strings.HasSuffix(verb, "s") || strings.HasSuffix(verb, "sh") || strings.HasSuffix(verb, "ch") || strings.HasSuffix(verb, "x"):
			return verb + "es", true
		case strings.HasSuffix(verb, "y") && len(verb) > 1 && !strings.ContainsRune("aeiou", rune(verb[len(verb)-2])):
			return verb[:len(verb)-1] + "ies", true
		}
		return verb + "s", true
	}
	return verb, speech.TenseOf("x "+verb, speech.English) == speech.Past
}

// laterVerb reports whether the words may hold a second verb of the subject.
func laterVerb(fields []string) bool {
	for i, f := range fields {
		w := bare(f)
		if w != "and" && w != "but" && w != "or" && w != "then" {
			continue
		}
		for k := i + 1; k < min(i+3, len(fields)); k++ {
			n := bare(fields[k])
			if baseVerbs[n] && (!nounToo[n] || k+1 < len(fields) && afterVerb[bare(fields[k+1])]) || irregular3[n] != "" {
				return true
			}
			if !midAdverbs[n] {
				break
			}
		}
	}
	return false
}

// nounToo are base forms that as often are nouns: "rice and fish".
var nounToo = words("fish water work love design code garden program paint trade change help water end fear care exercise dance")

var afterVerb = words("at for with from in as on a an the my our every to it them him her")

// resolved replaces a pronoun at the beginning of a sentence by the one person
// that the same text has named before; people are those, "" when there is more
// than one or none.
func resolved(s string, earlier []person) string {
	head, rest, ok := strings.Cut(s, " ")
	if !ok {
		return s
	}
	pronoun, suffix := strings.ToLower(head), ""
	for _, ending := range []string{"'s", "’s"} {
		if cut, ok := strings.CutSuffix(pronoun, ending); ok {
			pronoun, suffix = cut, " is"
			if w := bare(firstField(rest)); strings.HasSuffix(w, "ed") || w == "been" || w == "got" {
				suffix = " has"
			}
		}
	}
	if pronoun != "she" && pronoun != "he" {
		return s
	}
	name := ""
	for _, p := range earlier {
		if p.gender != 0 && p.gender != pronoun[0] {
			continue
		}
		if name != "" && name != p.name {
			return s // two people: who is meant?
		}
		name = p.name
	}
	if name == "" {
		return s
	}
	return name + suffix + " " + rest
}

func firstField(s string) string {
	head, _, _ := strings.Cut(s, " ")
	return head
}

// person is somebody whom a text named.
type person struct {
	name   string
	gender byte // 's' she, 'h' he, 0 not known
}

var (
	kinName    = regexp.MustCompile(`(?:\b(?i:my|our|his|her|their)|\p{Lu}[\p{L}-]+['’]s) (?:\p{Ll}+ )??(?i:(sister|mother|mom|mum|daughter|wife|girlfriend|aunt|niece|grandmother|grandma|fiancée|brother|father|dad|son|husband|boyfriend|uncle|nephew|grandfather|grandpa|fiancé|friend|colleague|coworker|boss|manager|neighbour|neighbor|roommate|partner|cousin|teacher|doctor|coach)),? (\p{Lu}[\p{L}'-]+)`)
	actName    = regexp.MustCompile(`(?:^|[.!?] )(\p{Lu}[\p{Ll}'-]+) (?:is|was|has|said|told|called|moved|works|lives|likes|loves|wants|got|came|went|started|visited|bought|will)\b`)
	calledName = regexp.MustCompile(`\b(?i:called|named) (\p{Lu}[\p{L}'-]+)`)
	ownerName  = regexp.MustCompile(`^(\p{Lu}[\p{L}-]+)['’]s (?i:birthday|wife|husband|mother|father|sister|brother|son|daughter|job|boss|wedding|party|school)\b`)
	female     = words("sister mother mom mum daughter wife girlfriend aunt niece grandmother grandma fiancée")
	male       = words("brother father dad son husband boyfriend uncle nephew grandfather grandpa fiancé")
)

// people are those whom a sentence names in a way that leaves no doubt that they
// are people.
func people(s string) []person {
	var out []person
	for _, m := range kinName.FindAllStringSubmatch(s, 8) {
		p := person{name: m[2]}
		switch kin := strings.ToLower(m[1]); {
		case female[kin]:
			p.gender = 's'
		case male[kin]:
			p.gender = 'h'
		}
		out = append(out, p)
	}
	for _, re := range []*regexp.Regexp{calledName, ownerName} {
		if m := re.FindStringSubmatch(s); m != nil {
			out = append(out, person{name: m[1]})
		}
	}
	for _, m := range actName.FindAllStringSubmatch(s, 8) {
		if !commonStarts[strings.ToLower(m[1])] {
			out = append(out, person{name: m[1]})
		}
	}
	return out
}
