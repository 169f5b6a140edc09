package write

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
)

// things are predicates of named things: "the deadline of Atlas is 3 March".
var (
	ofThing  = regexp.MustCompile(`^(?i:the|our|my) (?i:new |current |final )?([\p{L} -]{2,30}?) (?i:of|for|from) (?i:the |project |our |my )?([\p{L}\d][\p{L}\d'&._-]*(?: [\p{L}\d][\p{L}\d'&._-]*){0,3}?) ` + changes + `(.+)`)
	setThing = regexp.MustCompile(`\b(?i:raised|increased|reduced|cut|changed|moved|extended|postponed|pushed|set|lowered|updated|doubled|brought forward) (?i:the|our|my) ([\p{L} -]{2,30}?) (?i:of|for|from) (?i:the |project |our |my )?([\p{L}\d][\p{L}\d'&._-]*(?: [\p{Lu}\d][\p{L}\d'&._-]*){0,3}) (?i:(?:from .{1,40}? )?to) (.+)`)
	hisThing = regexp.MustCompile(`^(?i:project |the )?(\p{L}[\p{L}\d&._-]*(?: \p{Lu}[\p{L}\d&._-]*){0,2})(?:'s|s') (?i:new |current |final )?([\p{L} -]{2,30}?) ` + changes + `(.+)`)
	namedOf  = regexp.MustCompile(`^(?i:the|our) (?i:new |current |final |project )?([\p{L}\d][\p{L}\d'&._-]*) (?i:(` + nouns + `)) ` + changes + `(.+)`)
	myThing  = regexp.MustCompile(`^(?i:my|our) (?i:new |current |all-time )?([\p{L}-]+(?: (?:phone|mobile|cell|e-mail|email|bank|home|work|street|postal)?(?: ?[\p{L}-]+)){0,2}?) (?:` + changes + `|(?i:has been) )(?i:called |named |now |set to )?(.+)`)
	myNamed  = regexp.MustCompile(`^(?i:my|our|the) (?i:new |current |final |project )?([\p{L}\d][\p{L}\d'&._-]*(?: [\p{L}\d][\p{L}\d'&._-]*){0,2}?) (?i:(deadline|due date|budget|launch date|release date|start date|end date)) ` + changes + `(.+)`)
	isDue    = regexp.MustCompile(`^(?i:project |the )?(\p{Lu}[\p{L}\d&._-]*(?: \p{Lu}[\p{L}\d&._-]*){0,2}) (?i:is|will be) (?i:now )?(?i:due)(?i: on| by)? (.+)`)
	isFavour = regexp.MustCompile(`^(.{2,40}?) (?i:is|are) my (?i:all-time |absolute )?(?i:favou?rite) ([\p{L} ]+)`)
)

const (
	changes = `(?i:is now|are now|is set to|is set for|is|are|will be|was moved to|was changed to|was set to|was extended to|was postponed to|was pushed to|was increased to|was reduced to|has been moved to|has been changed to|has been extended to|has been postponed to|has been pushed to|has been increased to|has been reduced to|has moved to|has changed to|moved to|changed to|got moved to|got pushed to|slipped to|went up to|went down to|rose to|fell to) (?i:due |on |by |due on |scheduled for )?`
	nouns   = `deadline|due date|budget|owner|status|version|price|launch date|launch|release date|release|name|password|port|manager|lead|cost|priority|location|venue|start date|end date|meeting|address|phone number|contact|headquarters|stack|database|language|framework|hostname|url`
)

// thingTopic reads "the X of Y is Z" and its like.
func thingTopic(s string) (topic, bool) {
	lower := strings.ToLower(s)
	if m := nameIs.FindStringSubmatch(s); m != nil {
		front := notValue.FindString(m[1])
		return topic{subject: Self, attribute: Name, value: front + properName(m[1][len(front):])}, true
	}
	if m := iAmName.FindStringSubmatch(s); m != nil && !nationality(m[1]) && !commonStarts[strings.ToLower(m[1])] {
		return topic{subject: Self, attribute: Name, value: m[1]}, true
	}
	if m := isFavour.FindStringSubmatch(s); m != nil {
		return topic{subject: Self, attribute: "favourite:" + british(cutValue(m[2])), value: m[1]}, true
	}
	if m := favourite.FindStringSubmatch(s); m != nil {
		subject := Self
		if m[1] != "" {
			subject = canonical(m[1])
		}
		return topic{subject: subject, attribute: "favourite:" + british(m[2]), value: m[3]}, true
	}
	if m := isDue.FindStringSubmatch(s); m != nil {
		return topic{subject: canonical(m[1]), attribute: "deadline", value: m[2]}, true
	}
	if strings.HasPrefix(lower, "my ") || strings.HasPrefix(lower, "our ") {
		if m := kinThing.FindStringSubmatch(s); m != nil {
			subject := canonical(m[1])
			if m[2] != "" {
				subject = canonical(m[2])
			}
			return topic{subject: subject, attribute: attributeName(m[3]), value: m[4]}, true
		}
	}
	if m := setThing.FindStringSubmatch(s); m != nil && hasOne(m[1], m[3]) {
		return topic{subject: canonical(m[2]), attribute: attributeName(m[1]), value: m[3]}, true
	}
	if m := ofThing.FindStringSubmatch(s); m != nil && !strings.Contains(m[1], " of ") {
		return topic{subject: canonical(m[2]), attribute: attributeName(m[1]), value: m[3]}, true
	}
	if m := hisThing.FindStringSubmatch(s); m != nil && !strings.EqualFold(m[1], "it") && !strings.EqualFold(m[1], "that") && !strings.EqualFold(m[1], "let") && hasOne(m[2], m[3]) {
		return topic{subject: canonical(m[1]), attribute: attributeName(m[2]), value: m[3]}, true
	}
	if m := namedOf.FindStringSubmatch(s); m != nil {
		return topic{subject: canonical(m[1]), attribute: attributeName(m[2]), value: m[3]}, true
	}
	if m := myNamed.FindStringSubmatch(s); m != nil && !degrees[strings.ToLower(m[1])] && !qualifiers[strings.ToLower(m[1])] {
		return topic{subject: canonical(m[1]), attribute: attributeName(m[2]), value: m[3]}, true
	}
	if m := myThing.FindStringSubmatch(s); m != nil && hasOne(m[1], m[2]) {
		return topic{subject: Self, attribute: attributeName(m[1]), value: m[2]}, true
	}
	return topic{}, false
}

var (
	nameIs    = regexp.MustCompile(`^(?i:(?:my (?:first |full |real )?name is|(?:you can |please |everyone )?calls? me|people call me)) (\p{L}[\p{L}' -]*)`)
	iAmName   = regexp.MustCompile(`^I am (\p{Lu}\p{Ll}+(?: \p{Lu}\p{Ll}+)?)[.!]?$`)
	favourite = regexp.MustCompile(`^(?:(?i:my)|(\p{Lu}[\p{L}-]+)'s) (?i:new |all-time |absolute |current )?(?i:favou?rite) (\p{L}+(?: \p{L}+)?) (?i:is|are|was|has always been) (?i:now |still )?(.+)`)
	kinThing  = regexp.MustCompile(`^(?i:my|our) (\p{L}+)(?: (\p{Lu}[\p{L}-]+))?'s (?i:new )?([\p{L} -]{2,30}?) (?i:is|are|is now|changed to|is called|is named) (.+)`)
	// qualifiers before "deadline" name no thing.
	qualifiers = words("new old current final first last next project personal original latest")
	// single are attributes that one has one value of at a time. "My car is red"
	// and "my car is broken" contradict nothing.
	single = table(map[string]string{
		"name|e-mail|email|email address|e-mail address|phone|phone number|number|mobile|mobile number|cell|cell number|cell phone number|telephone number|address|home address|job|title|job title|position|role|profession|occupation|employer|company|birthday|date of birth|age|" +
			"blood type|shirt size|shoe size|dress size|size|height|weight|rent|mortgage|nationality|hometown|home town|religion|zodiac sign|star sign|major|school|university|college|salary|income|username|user name|handle|nickname|twitter handle|time zone|timezone|license plate|mother tongue|native language|" +
			"deadline|due date|budget|status|version|price|cost|launch date|launch|release date|release|password|wifi password|port|priority|location|venue|start date|end date|headquarters|stack|hostname|url|limit|quota|target|goal|diet": "value",
		"wife|husband|girlfriend|boyfriend|partner|fiancé|fiancée|boss|manager|supervisor|dentist|doctor|therapist|lawyer|landlord|mentor|coach|teacher|bank|gym|phone model|car|bike|owner|lead|contact|emergency contact|maintainer|team|language|database|framework|vendor|supplier|provider|mom|mum|mother|dad|father": "name",
	})
	// category is the kind of thing that a decision for a tool is about.
	category = table(map[string]string{
		"postgres postgresql mysql mariadb mongodb sqlite cassandra dynamodb cockroachdb oracle redis": "database",
		"react vue svelte angular solid ember":                                                         "frontend framework",
		"aws gcp azure hetzner digitalocean":                                                           "cloud",
		"go golang rust python java kotlin typescript":                                                 "language",
		"kubernetes nomad ecs":                                                                         "orchestrator", "jira linear asana trello notion": "tracker", "slack teams discord zoom": "chat tool",
		"kafka rabbitmq nats pulsar": "message broker", "terraform pulumi": "infrastructure tool", "github gitlab bitbucket": "code host",
	})
)

func table(groups map[string]string) map[string]string {
	m := make(map[string]string)
	for list, v := range groups {
		for _, w := range strings.FieldsFunc(list, func(r rune) bool { return r == '|' || r == ' ' && !strings.Contains(list, "|") }) {
			m[w] = v
		}
	}
	return m
}

// hasOne reports whether a thing has one value of an attribute at a time, and v
// is one: for people and makes a name, not an adjective.
func hasOne(attribute, v string) bool {
	switch single[strings.ToLower(strings.Join(strings.Fields(attribute), " "))] {
	case "value":
		return true
	case "name":
		fields := strings.Fields(v)
		for len(fields) > 1 && (articles[strings.ToLower(fields[0])] || strings.EqualFold(fields[0], "now")) {
			fields = fields[1:]
		}
		if len(fields) == 0 {
			return false
		}
		r, _ := utf8.DecodeRuneInString(fields[0])
		return unicode.IsUpper(r)
	}
	return false
}

// british is a word in the one spelling that attributes have.
func british(s string) string { return spellings.Replace(strings.ToLower(s)) }

var spellings = strings.NewReplacer("color", "colour", "flavor", "flavour", "theater", "theatre", "neighbor", "neighbour", "favorite", "favourite", "jewelry", "jewellery", "neighborhood", "neighbourhood")

var notValue = regexp.MustCompile(`(?i)^(?:now )?(?:not|no longer|never) (?:really |actually |called )?`)

// fitting drops a topic whose value cannot be one of its attribute: a thing that
// is broken has no other name for it.
func (t topic) fitting() topic {
	words := speech.Words(cutValue(t.value), 0)
	state := len(words) > 0 && !stateful[t.attribute]
	for _, w := range words {
		state = state && (states[w] || midAdverbs[w] || degrees[w])
	}
	switch {
	case state:
		return topic{}
	case t.attribute == Phone && strings.IndexFunc(t.value, unicode.IsDigit) < 0,
		t.attribute == Phone && !t.negates && digits(t.value) < 5 && strings.IndexFunc(t.value, unicode.IsLetter) >= 0:
		t.attribute = "phone model"
		if r, _ := utf8.DecodeRuneInString(strings.TrimLeft(articleFront.ReplaceAllString(t.value, ""), " ")); !unicode.IsUpper(r) && !unicode.IsDigit(r) && !strings.HasPrefix(t.value, "i") {
			return topic{}
		}
	case t.attribute == Phone && digits(t.value) < 3, t.attribute == Email && !strings.Contains(t.value, "@"):
		return topic{}
	}
	return t
}

func digits(s string) (n int) {
	for _, r := range s {
		if unicode.IsDigit(r) {
			n++
		}
	}
	return n
}

var (
	articleFront = regexp.MustCompile(`^(?i:an?|the|now|new)(?: |$)`)
	degrees      = words("very too so quite pretty rather a bit little not more less again as well than before")
	// states are what things are for a while.
	states = words(`broken dead lost stolen slow fast fine good bad great nice old new dirty clean empty full closed open down up ok okay busy ill sick sore cold hot warm boring stressful hard easy tough tiring demanding fun interesting
		amazing awesome terrible horrible awful cool annoying loud quiet late early gone missing ringing charging out wrong right ready ruined cracked damaged fixed repaired expensive cheap beautiful ugly important exhausting rewarding better worse`)
	// stateful attributes have states for values.
	stateful = words("status priority")
)

func nationality(s string) bool {
	s = strings.ToLower(s)
	for _, suffix := range []string{"ish", "ese", "ican", "sian", "nian", "lian", "gian", "dian", "tian", "rian", "man", "holic", "lim", "dhist", "ench", "tch", "iss"} {
		if strings.HasSuffix(s, suffix) && len(s) > 5 {
			return true
		}
	}
	return false
}
