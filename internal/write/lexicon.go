package write

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/lexical"
)

// tokens are the words and numbers of a text as they are written; an apostrophe
// and the points inside numbers belong to their word.
func tokens(s string) []string {
	s = strings.ReplaceAll(s, "’", "'")
	var out []string
	start := -1
	flush := func(end int) {
		if start >= 0 {
			if w := strings.Trim(s[start:end], "'.,:-"); w != "" {
				out = append(out, strings.TrimSuffix(w, "'s"))
			}
		}
		start = -1
	}
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if start < 0 {
				start = i
			}
		case start >= 0 && (r == '\'' || (r == '.' || r == ',' || r == ':') && betweenDigits(s, i)):
		default:
			flush(i)
		}
	}
	flush(len(s))
	return out
}

func betweenDigits(s string, i int) bool {
	return i > 0 && i+1 < len(s) && s[i-1] >= '0' && s[i-1] <= '9' && s[i+1] >= '0' && s[i+1] <= '9'
}

func firstRune(s string) (rune, int) { return utf8.DecodeRuneInString(s) }

// number returns the digits of a number, also of one that is spelled out.
func number(w string) (string, bool) {
	if n, ok := spelled[w]; ok {
		return n, true
	}
	if strings.ContainsFunc(w, unicode.IsDigit) {
		return strings.TrimRight(strings.ReplaceAll(w, ",", ""), "."), true
	}
	return "", false
}

var negationSigns = regexp.MustCompile(`(?i)n't\b|\b(?:not|no|never|none|nobody|nothing|without|neither|nor|cannot|stopped|quit|hates?|dislikes?|kein(?:e[nmrs]?)?|nicht|nie(?:mals)?|pas|jamais|plus|non|mai|nunca|jamás|ya no|não|jamais)\b|[不没沒无無未]|ない|ません|нет|не `)

// negated reports whether a text denies something.
func negated(text string) bool {
	return negationSigns.MatchString(strings.ReplaceAll(text, "’", "'"))
}

// composed reports whether a text has marks that only a composed memory has: a
// date in brackets after a relative one, or the speaker's name before a colon.
func composed(text string) bool { return composedMark.MatchString(text) }

var composedMark = regexp.MustCompile(`\(\d{4}(?:-\d\d){0,2}\)|^\p{Lu}[\p{L}' -]{0,40}: |^The user\b`)

func words(s string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// stems are the words of a list as lexical.Words gives them.
func stems(list string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		for _, t := range lexical.Words(w) {
			m[t] = true
		}
	}
	return m
}

var (
	articles = words("a an the my our his her their der die das ein eine einen el la los las un una le les une il lo gli i o os as um uma")
	calendar = words("monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december " +
		"montag dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember " +
		"lunes martes miércoles jueves viernes sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre " +
		"lundi mardi mercredi jeudi vendredi samedi dimanche janvier février mars avril juin juillet août octobre novembre décembre")
	spelled = map[string]string{
		"one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
		"eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14", "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18",
		"nineteen": "19", "twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "hundred": "100", "thousand": "1000",
		"first": "1st", "second": "2nd", "third": "3rd", "once": "1x", "twice": "2x",
		"zwei": "2", "drei": "3", "vier": "4", "fünf": "5", "sechs": "6", "sieben": "7", "acht": "8", "neun": "9", "zehn": "10",
		"dos": "2", "tres": "3", "cuatro": "4", "cinco": "5", "seis": "6", "siete": "7", "ocho": "8", "nueve": "9", "diez": "10",
		"deux": "2", "trois": "3", "quatre": "4", "cinq": "5", "sept": "7", "huit": "8", "neuf": "9", "dix": "10",
	}
	// negationWords are those that lexical.Words leaves in a text.
	negationWords = stems("longer anymore never stopped quit without n't don doesn didn isn aren wasn weren won cannot mehr nie niemals jamais plus ya nunca")
	// adverbs say nothing by themselves that makes another fact.
	adverbs = stems("really actually currently now just also still already today very quite well yes user")
	// cues only express a topic: two statements of one topic and one value do not
	// differ by them.
	cues = stems("work works working worked employed employee employ job job's position role live lives living lived reside resides based home residence moved move relocated settled " +
		"favourite favorite like likes love loves prefer best most enjoy name named called due deadline allergic allergy allergies have has is scheduled set date day end ends born birthday " +
		"use using chose chosen decided decide picked settled went wohne lebe arbeite heiße vivo trabajo llamo habite travaille appelle")
	// families are groups of words of which two are two facts.
	families = familyOf(
		"left right", "red white black blue green yellow orange purple pink brown grey gray rosé", "north south east west northern southern eastern western",
		"morning afternoon evening night noon midnight", "old new young", "big small large little", "hot cold warm cool", "more less fewer", "before after",
		"mother father mom dad mum", "sister brother", "son daughter", "husband wife", "uncle aunt", "niece nephew", "grandmother grandfather grandma grandpa", "boy girl", "boyfriend girlfriend",
		"good bad", "love hate like dislike", "start stop finish end begin quit", "buy sell", "bought sold", "win lose won lost", "open close", "accept reject decline", "arrive leave", "up down",
		"cat dog rabbit bird fish hamster", "tea coffee wine beer water milk juice", "piano guitar violin cello drums flute", "breakfast lunch dinner supper",
		"spring summer autumn fall winter", "upstairs downstairs", "inside outside", "early late", "high low", "fast slow", "increase decrease", "raise lower", "yesterday today tomorrow", "front back rear", "daily weekly monthly yearly",
	)
)

func isCue(w string) bool { return cues[w] }

func familyOf(groups ...string) map[string]int {
	m := make(map[string]int)
	for i, g := range groups {
		for w := range stems(g) {
			m[w] = i + 1
		}
	}
	return m
}

// hasDone is an assistant's report of something it did.
var hasDone = regexp.MustCompile(`\bI(?:'ve| have|’ve)? (?:just |now |already |also )?(?:booked|reserved|scheduled|rescheduled|cancelled|canceled|ordered|sent|emailed|created|added|set up|set a|filed|submitted|updated|deleted|moved|renamed|deployed|merged|opened|closed|paid|transferred|registered|signed|saved|uploaded|drafted|prepared|assigned) (?:a|an|the|your|you|two|three|\d|it|an? )`)
