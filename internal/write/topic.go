package write

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
	"github.com/lightmem/lightmem/internal/when"
)

// topic is what a statement is about, as far as a rule knows: it keys conflicts.
type topic struct {
	subject, attribute, value string
	// negates ends an earlier statement; past says that it is over ("used to").
	negates, past bool
}

// Self is the subject of statements that users make about themselves.
const Self = "user"

// predicate is a pattern for what follows the subject. Group 1 is the value;
// group 2, where there is one, completes the attribute's name.
type predicate struct {
	re        *regexp.Regexp
	attribute string
	negates   bool
	past      bool
	place     bool // the value is a name: its run of capitals is taken
}

func predicates(list ...predicate) []predicate { return list }

func says(attribute, pattern string) predicate {
	return predicate{attribute: attribute, re: regexp.MustCompile(`(?i)^` + pattern)}
}

func proper(x predicate) predicate { x.place = true; return x }
func ended(x predicate) predicate  { x.negates = true; return x }
func bygone(x predicate) predicate { x.past = true; return x }

const (
	jobs = `engineer|teacher|nurse|doctor|physician|surgeon|dentist|manager|developer|programmer|designer|student|lawyer|attorney|chef|cook|baker|pilot|architect|accountant|consultant|analyst|scientist|researcher|professor|lecturer|writer|author|journalist|editor|photographer|artist|musician|actor|actress|director|producer|electrician|plumber|carpenter|mechanic|driver|firefighter|police officer|paramedic|therapist|psychologist|counselor|counsellor|social worker|librarian|translator|salesperson|sales rep|representative|marketer|recruiter|founder|co-founder|ceo|cto|cfo|coo|vp|president|intern|trainer|coach|barista|waiter|waitress|pharmacist|veterinarian|vet|biologist|chemist|physicist|mathematician|economist|administrator|sysadmin|technician|farmer|gardener|tailor|hairdresser|realtor|banker|broker|clerk|secretary|assistant|freelancer|contractor|team lead|tech lead|lead|principal|officer|specialist|supervisor|owner`
	pet  = `dog|cat|puppy|kitten|rabbit|parrot|hamster|bird|horse|turtle|tortoise|goldfish|guinea pig|snake|lizard|ferret|bulldog|labrador|retriever|poodle|beagle|terrier`
)

// english predicates, the more particular first. Contractions are spelled out
// and adverbs left out before they are tried.
var english = predicates(
	bygone(proper(says(Residence, `used to (?:live|reside|be based) in (.+)`))),
	bygone(says(Employer, `used to work (?:at|for) (.+)`)),
	ended(says(Likes, `used to (?:like|love|enjoy|adore) (.+)`)),
	bygone(says("habit", `used to (.+)`)),
	proper(says(Residence, `(?:am |is |are |have been |has been |have |has )?(?:live|lives|living|reside|resides|residing|lived) (?:in|at) (.+)`)),
	proper(says(Residence, `(?:have |has )?(?:moved|relocated) (?:back |over |out |here )?(?:from .{2,40}? )?to (.+)`)),
	proper(says(Residence, `(?:am|is|are) (?:based|located|settled) in (.+)`)),
	proper(says(Residence, `(?:have |has )?settled (?:down )?in (.+)`)),
	ended(proper(says(Residence, `(?:have |has )?moved (?:away from|out of) (.+)`))),
	says("tenure:2", `(?:have|has) (?:been|worked) (?:working )?(?:at|for|with) (?P<two>[\p{Lu}][\p{L}\d&.'-]*(?: [\p{Lu}][\p{L}\d&.'-]*)*) for (?P<one>(?:\d+|[a-z]+) (?:years?|months?|weeks?))`),
	says("tenure:2", `(?:have|has) (?P<one>(?:\d+|[a-z]+) (?:years?|months?)) (?:at|with|of experience at) (?P<two>[\p{Lu}][\p{L}\d&.'-]*)`),
	proper(says(Employer, `(?:am |is |are |have |has )?(?:been )?(?:work|works|working|worked|employed|interning) (?:full-time |part-time |remotely )?(?:at|for) (.+)`)),
	proper(says(Employer, `(?:have |has )?(?:started|begun|began|got|landed|accepted|took) (?:a |an |my |the )?(?:new )?(?:job|position|role|working|work)(?: as an? [\p{L} -]+?)? (?:at|with|for) (.+)`)),
	proper(says(Employer, `(?:have |has )?joined (\p{Lu}.+)`)),
	proper(says(Employer, `(?:am|is) an? (?:[\p{L}-]+ ){0,3}?(?:`+jobs+`) (?:at|for) (.+)`)),
	proper(says(Employer, `(?:am|is) an? (?:[\p{L}-]+ ){0,3}?[\p{L}-]+ at (.+)`)),
	ended(proper(says(Employer, `(?:have |has )?(?:quit|left|resigned from|lost) (?:my|his|her|their) (?:job|position|role) (?:at|with) (.+)`))),
	ended(proper(says(Employer, `(?:was |were |got )(?:laid off|fired|let go) (?:from|by) (.+)`))),
	ended(proper(says(Employer, `(?:have |has )?resigned from (.+)`))),
	says(Relationship, `(?:am|is|are|got|became) (single|married|engaged|divorced|widowed|separated|in a relationship)(?:[^\p{L}-]|$)`),
	says(Diet, `(?:am|is|are|became|went|turned) (?:a |an )?(vegetarian|vegan|pescatarian|pescetarian|flexitarian|keto|gluten-free|lactose intolerant|omnivore)\b`),
	says(Allergy, `(?:am|is|are) (?:severely |very |highly |deathly )?allergic to (.+)`),
	says(Allergy, `(?:have|has) an? ([\p{L} ]+?) allergy`),
	says(JobTitle, `(?:am|is|are|became|work as|works as|working as|started as|got promoted to|was promoted to|been promoted to|got a job as|am working as|is working as) (?:an? |the )?((?:[\p{L}-]+ ){0,3}?(?:`+jobs+`))\b`),
	says(JobTitle, `(?:am |is )?(?:work|works|working) (?:at|for|in) .{2,40}? as (?:an? |the |our )?((?:[\p{L}-]+ ){0,3}?(?:`+jobs+`))\b`),
	says(Age, `(?:am|is|turned|are) (\d{1,3}|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|(?:twenty|thirty|forty|fifty|sixty|seventy)-[a-z]+)(?: years old| now| today|$|[.,!])`),
	says(Birthday, `(?:was|were) born on (.+)`),
	proper(says(Origin, `(?:was|were) born (?:and raised )?in (\p{L}.+)`)),
	proper(says(Origin, `(?:am|is|are|come|comes) (?:originally )?from (\p{Lu}.+)`)),
	says(Name, `(?:am|is) called (\p{L}.+)`),
	says(Name, `go(?:es)? by (\p{Lu}.+)`),
	says("count:2", `(?:have|has|own|owns) (?P<one>\d+|two|three|four|five|six|seven|eight|nine|ten) (?P<two>kids|children|sons|daughters|cats|dogs|pets|siblings|brothers|sisters|cars|houses|grandchildren|employees)\b`),
	says(Pet, `(?:have|has|got|adopted|bought|own|owns)(?: got)? (?:a |an )((?:[\p{L}]+ ){0,2}?(?:`+pet+`)(?: (?:named|called) \p{L}+)?)`),
	says(Child, `(?:have|has) an? ((?:[\p{L}-]+ ){0,2}?(?:son|daughter|child|baby|kid)(?: (?:named|called) \p{L}+)?)`),
	proper(says(Car, `(?:drive|drives) (?:a |an |my )?(?:new )?(.+)`)),
	says(Language, `(?:speak|speaks) (?:fluent |some |a little )?(\p{L}+)`),
	says("habit:2", `(?P<two>drink|take|smoke|eat)(?:s|ing)? (?P<one>\p{L}[\p{L} '-]*)`),
	says("weight", `weighs? (\d.*)`),
	says("salary", `(?:earn|earns|make|makes) ((?:[$€£] ?)?\d[\d.,]*k? ?(?:[$€£]|euros?|dollars?|pounds?|usd|eur|gbp)?(?: (?:a|per) (?:month|year|hour|week))?)`),
	says(Hobby, `play(?:s)? (?:the )?(\p{L}+)`),
	ended(says(Likes, `(?:really )?(?:hate|hates|dislike|dislikes|can not stand|detest|detests|despise|despises) (.+)`)),
	says(Likes, `(?:like|likes|love|loves|enjoy|enjoys|adore|adores|prefer|prefers|(?:am|is) (?:into|fond of|a (?:big |huge )?fan of)) (.+)`),
	says("decision:2", `(?:have |has )?(?:decided to use|decided to go with|decided on|decided for|chose|chosen|selected|settled on|went with|agreed on|agreed to use|opted for) (?P<one>[\p{L}\d][\p{L}\d.+#' -]*?) (?:for|as) (?:our |my |the |a )?(?P<two>[\p{L}][\p{L} -]+)`),
	says("decision:2", `(?:have |has )?(?:switched|migrated)(?: over)?(?: from [\p{L}\d.+# -]+?)? to (?P<one>[\p{L}\d][\p{L}\d.+#' -]*?) (?:for|as) (?:our |my |the |a )?(?P<two>[\p{L}][\p{L} -]+)`),
	says("decision", `(?:have |has )?(?:decided|agreed|opted|chose|chosen|picked|settled|selected|going|switched|migrated)(?: over)?(?: from [\p{L}\d.+#-]+)? ?(?:to use|to go with|to adopt|on using|on|for|with|to)? (.+)`),
	says("decision", `(?:are|is|am) (?:now )?(?:using|going with) (.+)`),
)

// topicOf returns what an English statement is about; the zero topic when no
// rule knows.
func topicOf(text string, lang speech.Lang, mentions []when.Mention) topic {
	if strings.ContainsAny(text, "\"“”„«»\n") {
		return topic{} // whose words are they?
	}
	if lang != speech.English {
		return foreignTopic(text, lang)
	}
	s := text
	// "Last month, I moved": the time in front is not the subject.
	if len(mentions) > 0 && strings.TrimSpace(trimLead(s[:mentions[0].Start])) == "" && mentions[0].End < len(s) {
		s = strings.TrimLeft(s[mentions[0].End:], " ,")
	}
	s = spellOut(s)
	if t, ok := thingTopic(s); ok {
		// "My name is not Bob": that ends nothing but another "Bob".
		if m := notValue.FindStringIndex(t.value); m != nil {
			t.value, t.negates = t.value[m[1]:], true
			if m := anyMore.FindStringIndex(t.value); m != nil {
				t.value = t.value[:m[0]]
			}
		}
		return t.fitting().clean()
	}
	subject, rest, ok := subjectOf(s)
	if !ok {
		return topic{}
	}
	rest, negated, over := undeny(rest)
	for _, x := range english {
		m := x.re.FindStringSubmatch(rest)
		if m == nil {
			continue
		}
		t := topic{subject: subject, attribute: x.attribute, value: m[1], negates: x.negates, past: x.past}
		if i := x.re.SubexpIndex("one"); i >= 0 {
			t.value = m[i]
			t.attribute = strings.Replace(t.attribute, "2", strings.ToLower(m[x.re.SubexpIndex("two")]), 1)
		}
		if x.place {
			if inHouse.MatchString(t.value) { // "moved to the sales team at Acme"
				continue
			}
			whole := t.value
			t.value = properName(t.value)
			if t.attribute == Residence && toPlace.MatchString(rest) {
				switch kind := category[strings.ToLower(firstField(t.value))]; {
				case kind != "":
					t.attribute = "decision:" + kind
				case noPlace[strings.ToLower(firstField(t.value))] || noPlace[strings.ToLower(t.value)],
					!placeLike(t.value, s), noPlaceEnd.MatchString(cutValue(whole)):
					continue
				}
			}
			// A second job beside the first.
			if t.attribute == Employer && besides.MatchString(text) {
				t.attribute = SideJob
			}
		}
		if negated || over { // "I don't hate it any more"
			t.negates = !t.negates
		}
		if t.attribute == "decision" {
			t.attribute = "decision:" + category[strings.ToLower(firstField(cutValue(t.value)))]
			if t.attribute == "decision:" {
				return topic{}
			}
			t.value = firstField(cutValue(t.value))
		}
		if strings.HasPrefix(t.attribute, Habit) {
			// "every morning" is how often, not what; who denies only that ends nothing.
			thing := habitEnd.ReplaceAllString(cutValue(t.value), "")
			if len(strings.Fields(thing)) > 3 || (negated || over) && thing != cutValue(t.value) || notThing[strings.ToLower(firstField(thing))] {
				continue
			}
			t.value = strings.ToLower(thing)
		}
		if t.attribute == "habit" {
			return topic{subject: "", past: true}
		}
		if t = t.clean(); t.attribute != "" {
			return t
		}
	}
	if over {
		return topic{negates: true}
	}
	return topic{}
}

var (
	habitEnd   = regexp.MustCompile(`(?i) (?:every|each|once|twice|on|in|at|with|for|a lot|daily|weekly|often|per|from|to|when|before|after|during|only|three|four|most|any|much|mainly|instead|regularly|sometimes)\b.*$`)
	notThing   = words("a an the my our his her their care part it up off out time lots some more less place turns notes advantage over back for too only in at him them me you this that these photos pictures lessons classes courses breaks")
	toPlace    = regexp.MustCompile(`^(?i:(?:have |has )?(?:moved|relocated) )`)
	noPlaceEnd = regexp.MustCompile(`(?i)\b(?:mode|team|plan|version|branch|account|department|schedule|shift|stack|theme|premium|tier|layout|subscription|diet|side|phase)$`)
	besides    = regexp.MustCompile(`(?i)\b(?:on (?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|on (?:the )?(?:weekends?|side)\b|at weekends\b|in the evenings?\b|at nights?\b|part[- ]time\b|also work|work also|as well\b|too[.!]?$|freelanc|second job|side job|(?:one|two|three) (?:days?|evenings?|nights?) a week)`)
	// noPlace are what one moves to that is no place.
	noPlace = words(`windows linux mac macos ios android iphone ipad notion spotify netflix gmail outlook chrome firefox safari vim neovim emacs vscode vs premium plan python php ruby swift javascript typescript node docker podman
		excel word office chatgpt claude gemini tensorflow pytorch sales marketing engineering legal hr finance support product design operations management accounting procurement research qa it r&d step level stage part version
		monday tuesday wednesday thursday friday saturday sunday obsidian evernote figma sketch bitwarden protonmail kde gnome wayland arch ubuntu debian fedora`)
)

// placeLike reports whether a value can be the name of a place. Who writes
// without capitals may name one without.
func placeLike(v, sentence string) bool {
	r, _ := utf8.DecodeRuneInString(v)
	if unicode.IsUpper(r) {
		return true
	}
	return len(strings.Fields(v)) == 1 && strings.ToLower(sentence[:1]) == sentence[:1]
}

var leadWords = regexp.MustCompile(`(?i)^(?:in|on|at|since|the|back|by|around|as of|from|until)\b ?`)

func trimLead(s string) string {
	for {
		m := leadWords.FindStringIndex(s)
		if m == nil || m[1] == 0 {
			return s
		}
		s = s[m[1]:]
	}
}

// spellOut spells contractions out.
func spellOut(s string) string {
	if !strings.ContainsAny(s, "'’") && !strings.Contains(s, " stand ") {
		return s
	}
	return contractions.Replace(cannotStand.ReplaceAllString(strings.ReplaceAll(s, "’", "'"), "detest"))
}

var cannotStand = regexp.MustCompile(`(?i)\b(?:can't|cannot|can not|couldn't) stand\b`)

var contractions = strings.NewReplacer("can't", "can not", "won't", "will not", "n't", " not", "I'm", "I am", "i'm", "i am", "'re ", " are ", "'ve ", " have ", "'ll ", " will ",
	"e's been", "e has been", "He's", "He is", "he's", "he is", "She's", "She is", "she's", "she is", "It's", "It is", "name's", "name is")

// subjectOf splits a sentence into its subject, canonical, and the rest without
// adverbs.
func subjectOf(s string) (subject, rest string, ok bool) {
	m := subjectPattern.FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	rest = strings.TrimLeft(s[len(m[0]):], " ,")
	switch {
	case m[1] != "":
		subject = Self
	case m[3] != "": // my sister Anna
		subject = canonical(m[3])
	case m[4] != "": // my sister
		subject = canonical(m[4])
	default:
		if commonStarts[strings.ToLower(firstField(m[5]))] {
			return "", "", false
		}
		subject = canonical(m[5])
	}
	return subject, dropAdverbs(rest), true
}

var subjectPattern = regexp.MustCompile(`^(?:((?i:i|we))\b|(?i:my|our) (?i:(?:best|older|younger|little|big|elder|twin|ex) )?(\p{L}+)(?:,? (\p{Lu}[\p{L}-]+)),?|(?i:my|our) (?i:(?:best|older|younger|little|big|elder|twin|ex) )?(\p{Ll}+)|(\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+){0,2}))`)

var adverb = regexp.MustCompile(`(?i)^(?:(am|is|are|have|has|was|do|does|did|will)(?: (?:just|recently|currently|now|still|also|already|really|actually|finally|officially|permanently|temporarily|happily|mostly|always|only|both|all|even|probably))+ |(?:just|recently|currently|now|still|also|already|really|actually|finally|officially|permanently|temporarily|happily|mostly|always|only|both|all|even|probably) )`)

func dropAdverbs(s string) string {
	for range 4 {
		m := adverb.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		if m[2] >= 0 {
			s = s[m[2]:m[3]] + " " + s[m[1]:]
		} else {
			s = s[m[1]:]
		}
	}
	return s
}

// undeny cuts the denial out of a predicate: "do not like sushi" → "like
// sushi". ended says that it held once: "no longer", "not … any more".
func undeny(s string) (rest string, negated, ended bool) {
	if m := anyMore.FindStringIndex(s); m != nil {
		s, ended = strings.TrimSpace(s[:m[0]]+s[m[1]:]), true
	}
	if m := notVerb.FindStringSubmatchIndex(s); m != nil {
		negated = true
		s = s[m[1]:]
		if m[2] >= 0 { // am, is, are stay: "am not married"
			s = "am " + s
		}
	}
	if m := noLonger.FindStringSubmatchIndex(s); m != nil {
		ended = true
		head := ""
		if m[2] >= 0 {
			head = "am "
		}
		s = head + s[m[1]:]
	}
	if m := stopped.FindStringIndex(s); m != nil && !ownJob.MatchString(s[m[1]:]) {
		ended, s = true, s[m[1]:]
	}
	return dropAdverbs(s), negated, ended
}

var (
	anyMore  = regexp.MustCompile(`(?i) (?:any ?more|any longer)\b`)
	notVerb  = regexp.MustCompile(`(?i)^(?:(am|is|are)|do|does|did|have|has|can|will|would) (?:not|never) (?:really |actually )?`)
	noLonger = regexp.MustCompile(`(?i)^(?:(am|is|are) )?(?:do |does |have |has )?no longer (?:a |an )?`)
	ownJob   = regexp.MustCompile(`(?i)^(?:my|his|her|their) (?:job|position|role)\b`)
	stopped  = regexp.MustCompile(`(?i)^(?:have |has )?(?:stopped|quit|given up|gave up) `)
)

// properName is the run of capitalised words in a value, the value up to the
// first stop when it has none.
func properName(v string) string {
	v = cutValue(v)
	fields := strings.Fields(v)
	start, end := -1, -1
	for i, f := range fields {
		r, _ := utf8.DecodeRuneInString(f)
		if unicode.IsUpper(r) || start >= 0 && unicode.IsDigit(r) {
			if start < 0 {
				start = i
			}
			end = i + 1
			continue
		}
		if start >= 0 && !inName[f] {
			break
		}
	}
	if start >= 0 {
		return strings.Join(fields[start:end], " ")
	}
	if len(fields) > 2 || len(fields) > 0 && (articles[fields[0]] || noName[fields[0]]) {
		return ""
	}
	return v
}

// noName are words after "in" and "at" that name no place or firm.
var noName = words("this that these home peace fear town it there here work night nights school least all once weekends harmony poverty luxury bed secret class college university hell paradise town two one")

var inName = words("of the de la del der den am an upon sur di da do dos das von van and & le el al")

var inHouse = regexp.MustCompile(`(?i)^(?:the|a|an|another|our|my) (?:[\p{L}-]+ ){0,3}(?:team|department|role|job|position|project|company|division|group|next|other|new version)\b`)

// valueEnd ends a value.
var valueEnd = regexp.MustCompile(`(?i)[.,;:!?(\[]+(?:\s|$)|[;!?(\[]| (?:and|but|because|since|until|till|when|where|which|who|while|so|ago|last|next|yesterday|today|tomorrow|right now|now|these days|at the moment|currently|lately|recently|nowadays|as of|after|before|though|although|instead|again|with my|with our|with a|for (?:a|the|two|three|four|five|six|seven|eight|nine|ten|\d+|many|several|almost|over|about)|in (?:\d{4}|January|February|March|April|May|June|July|August|September|October|November|December)|this (?:week|month|year|morning|summer|spring|winter|fall|autumn)|a (?:few|couple|week|month|year)|\d+ (?:weeks?|months?|years?|days?)|(?:two|three|four|five|six) (?:weeks?|months?|years?|days?)|on (?:Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday))\b`)

func cutValue(v string) string {
	for from := 0; ; {
		m := valueEnd.FindStringIndex(v[from:])
		if m == nil {
			break
		}
		start, end := from+m[0], from+m[1]
		if start == 0 || v[start] == '.' && end < len(v) && titles[strings.ToLower(v[strings.LastIndexByte(v[:start], ' ')+1:start])] {
			from = end // "Dr. Wu"
			continue
		}
		v = v[:start]
		break
	}
	return strings.Trim(v, " .,;:!?\"'。，")
}

var titles = words("dr mr mrs ms prof st rev sr fr hr mme m dott sra dra")

// cutDateValue is cutValue for values that may be dates.
func cutDateValue(v string) string {
	for _, m := range dateValueEnd.FindAllStringIndex(v, -1) {
		if m[0] == 0 || v[m[0]] == '.' && v[m[0]-1] >= '0' && v[m[0]-1] <= '9' && m[1] < len(v) {
			continue // "3. März"
		}
		v = v[:m[0]]
		break
	}
	return strings.Trim(v, " .,;:!?\"'。，")
}

var dateValueEnd = regexp.MustCompile(`(?i)[;!?(\[。，]|[.,](?:\s|$)| (?:and|but|because|since|when|where|which|who|while|so|instead|again|after|though)\b`)

// maxTopicBytes bounds each part of a topic; what is longer is no value.
const maxTopicBytes = 120

// clean normalises a topic; it is empty when a part is missing or too long.
func (t topic) clean() topic {
	switch {
	case t.attribute == "deadline" || strings.Contains(t.attribute, "date") || t.attribute == Birthday || t.attribute == Email || t.attribute == Phone || t.attribute == Address ||
		t.attribute == "meeting" || t.attribute == "launch" || t.attribute == "release":
		t.value = cutDateValue(t.value)
	case t.attribute == Likes:
		t.value = likedThing(cutValue(t.value))
	default:
		t.value = cutValue(t.value)
	}
	fields := strings.Fields(t.value)
	for len(fields) > 1 && (articles[strings.ToLower(fields[0])] && !(t.attribute == Likes && ownWords[strings.ToLower(fields[0])]) || fields[0] == "on" || fields[0] == "now") {
		fields = fields[1:]
	}
	for _, end := range []string{" now", " at the moment", " currently"} {
		if n := len(fields) - strings.Count(end, " "); n > 0 && strings.HasSuffix(" "+strings.ToLower(strings.Join(fields[n:], " ")), end) {
			fields = fields[:n]
		}
	}
	t.value = strings.Join(fields, " ")
	if t.attribute == JobTitle || t.attribute == Likes || strings.HasPrefix(t.attribute, "count:") {
		t.value = strings.ToLower(t.value)
	}
	t.attribute = strings.Join(strings.Fields(strings.ToLower(t.attribute)), " ")
	if t.value == "" || t.attribute == "" || t.subject == "" || len(t.value) > maxTopicBytes || len(t.attribute) > maxTopicBytes || len(t.subject) > maxTopicBytes {
		return topic{}
	}
	return t
}

// likedThing shortens what is liked to the thing: "to play tennis a lot".
func likedThing(v string) string {
	v = likedEnd.ReplaceAllString(v, "")
	if pronounsOnly[strings.ToLower(v)] {
		return ""
	}
	return strings.TrimSpace(v)
}

// ownWords: who loves his dog does not say that he loves dogs.
var ownWords = words("my our")

var (
	likedEnd     = regexp.MustCompile(`(?i) (?:a lot|very much|so much|too much|the most|more than anything|most of all|to .*|over .*|than .*|at all|though|too|as well)$`)
	pronounsOnly = words("it that this them you him her these those")
)

// canonical is the name of a subject: lower case, without article or "project".
func canonical(s string) string {
	s = strings.ToLower(strings.Trim(strings.Join(strings.Fields(s), " "), " ,.'"))
	for _, front := range []string{"the ", "project ", "our ", "my "} {
		s = strings.TrimPrefix(s, front)
	}
	return strings.TrimSuffix(strings.TrimSuffix(s, "'s"), " project")
}

// attributeName gives synonyms one name.
func attributeName(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	for _, front := range []string{"new ", "current ", "final ", "first ", "full "} {
		s = strings.TrimPrefix(s, front)
	}
	s = british(s)
	if n, ok := synonyms[s]; ok {
		return n
	}
	return s
}

var synonyms = map[string]string{
	"email": Email, "e-mail address": Email, "email address": Email, "mail": Email, "phone number": Phone, "number": Phone, "mobile": Phone, "mobile number": Phone, "cell": Phone, "cell number": Phone, "telephone": Phone, "telephone number": Phone, "cell phone": Phone, "cell phone number": Phone,
	"due date": "deadline", "end date": "deadline", "project deadline": "deadline", "home address": Address, "job": JobTitle, "title": JobTitle, "position": JobTitle, "role": JobTitle, "profession": JobTitle, "occupation": JobTitle, "employer": Employer, "hometown": Origin, "home town": Origin,
	"birth date": Birthday, "date of birth": Birthday, "launch": "launch date", "release": "release date", "project lead": "lead", "cost": "price",
}
