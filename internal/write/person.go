package write

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
)

var (
	// firstWords are the English words of the first person.
	firstWords = words("i i'm i've i'd i'll im ive my mine me myself we we're we've we'd we'll our ours us ourselves")
	firstIn    = map[speech.Lang]map[string]bool{
		speech.German:     words("ich mein meine meinen meinem meiner meines mir mich wir uns unser unsere unseren unserem unserer"),
		speech.Spanish:    words("yo mi mis me mío mía conmigo nosotros nosotras nos nuestro nuestra nuestros nuestras vivo trabajo tengo soy estoy fui compré quiero prefiero odio juego estudio hablo como bebo uso nací conduzco viajé viajo fuimos tenemos vivimos somos estamos decidimos empecé conocí visité voy toco leo escribo creo hago puedo llevo"),
		speech.French:     words("je mon ma mes moi me nous notre nos"),
		speech.Italian:    words("io mio mia miei mie mi noi nostro nostra nostri nostre vivo abito lavoro ho sono sto voglio preferisco odio gioco studio parlo mangio bevo uso vado faccio abbiamo siamo viviamo leggo suono guido andrò farò"),
		speech.Portuguese: words("eu meu minha meus minhas mim me nós nosso nossa nossos nossas moro vivo trabalho tenho sou estou fui comprei quero prefiro odeio jogo estudo falo como bebo uso vou nasci gosto adoro mudei mudei-me chamo chamo-me temos somos moramos decidimos toco leio dirijo"),
		speech.Russian:    words("я мой моя моё мои мне меня мной мы наш наша наше наши нам нас"),
	}
	firstSigns = map[speech.Lang]*regexp.Regexp{
		speech.French:   regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:j|m)['’]\p{L}`),
		speech.Chinese:  regexp.MustCompile(`我|咱|俺|本人`),
		speech.Japanese: regexp.MustCompile(`私|僕|俺|わたし|ぼく|うちの|ました|ます|です`),
		speech.Korean:   regexp.MustCompile(`저는|나는|제가|내가|저의|나의|제 |내 |우리|저도|나도`),
	}
	hypotheticalStart = words("if suppose imagine")
	moodWords         = words(`so very really a bit little too just feeling fine good ok okay great well happy sad tired hungry thirsty bored sleepy exhausted excited curious confused ready here back sure not unsure sorry glad busy
		sick stressed done lost stuck afraid today now right tonight at the moment again still better bad annoyed angry nervous interested listening impressed amazed surprised grateful thankful all with it about that thanks thank you`)
	idleWords = words(`hi hello hey yo yes yeah yep no nope ok okay sure thanks thank you thx very much so a lot wow cool nice great good awesome perfect lol haha hmm well bye goodbye please sorry alright right exactly
		indeed absolutely definitely maybe perhaps certainly correct true really oh ah morning evening night there again everyone all the best got it fine and`)
)

func isFirstPerson(s string, ws []string, lang speech.Lang) bool {
	if re := firstSigns[lang]; re != nil && re.MatchString(s) {
		return true
	}
	set := firstIn[lang]
	if lang == speech.English {
		set = firstWords
	}
	for _, w := range ws {
		if set[w] || strings.Contains(w, "'") && set[w[:strings.IndexByte(w, '\'')]] {
			return true
		}
	}
	return false
}

var secondIn = map[speech.Lang]map[string]bool{
	speech.English:    words("you you're you've you'd you'll your yours yourself"),
	speech.German:     words("du dein deine deinen dir dich"),
	speech.Spanish:    words("tú tu tus te usted"),
	speech.French:     words("tu ton ta tes toi vous votre vos"),
	speech.Italian:    words("tu tuo tua tuoi tue ti"),
	speech.Portuguese: words("tu teu tua você seu sua te"),
}

// aboutYou reports whether a sentence without a first person addresses the
// assistant.
func aboutYou(s string, ws []string, lang speech.Lang) bool {
	if lang == speech.Chinese {
		return strings.HasPrefix(s, "你") || strings.HasPrefix(s, "您")
	}
	set := secondIn[lang]
	return set[ws[0]] || len(ws) > 1 && set[ws[1]]
}

func weather(ws []string) bool {
	for _, w := range ws {
		switch w {
		case "weather", "sunny", "raining", "rainy", "cloudy", "wetter", "regnet", "tiempo", "llueve", "temps", "pleut", "tempo", "piove", "chove":
			return true
		}
	}
	return false
}

// dangling reports whether a sentence begins with a word that stands for
// something said elsewhere.
func dangling(ws []string, lang speech.Lang) bool {
	switch lang {
	case speech.English:
		switch ws[0] {
		case "it", "it's", "its", "that", "that's", "this", "these", "those", "there", "there's", "which", "because":
			return true
		}
	case speech.German:
		switch ws[0] {
		case "es", "das", "dies", "dieser", "diese", "weil":
			return !strings.Contains(strings.Join(ws, " "), " von ")
		}
	}
	return false
}

// commonStarts begin sentences with a capital and are no names.
var commonStarts = words(`the a an it this that these those there here he she they his her their its what who where when why how which while because since after before although though however but and or so then if as at in on
	to for from with without by of about into over under yesterday today tomorrow last next every each some many most all both no not never always sometimes often usually maybe perhaps also just only even still already yes well
	please thanks hello hi hey ok okay sure great good nice let's people everyone somebody someone nobody everything something nothing one two three first second third monday tuesday wednesday thursday friday saturday sunday
	january february march april may june july august september october november december more less other another such same new old big small different life time food work music movies`)

// verbish are words that follow a subject.
var verbish = words(`left found felt won shot hit hurt quit put let set beat read wore wrote starts leaves arrives comes goes gets says thinks visits plans is was are were has had have will would can could should does did doesn't didn't isn't wasn't won't can't wants needs likes loves hates lives works moved started got went came said told thinks knows plays
	studies teaches runs owns leads manages costs uses needs decided owes ist war hat hatte wird wohnt arbeitet lebt kommt zieht heißt studiert mag liebt spielt es fue era tiene vive trabaja está se quiere est était a habite
	travaille aime va è era ha vive lavora abita ama é foi tem mora trabalha está gosta`)

// aboutSomebody reports whether a sentence without a first person speaks of
// somebody or something by name, or of a definite thing with a definite value.
func aboutSomebody(s string, ws []string, lang speech.Lang) bool {
	switch lang {
	case speech.Chinese:
		return chineseKin.MatchString(s) || strings.ContainsFunc(s, unicode.IsDigit) || strings.Contains(s, "的") && strings.Contains(s, "是") || strings.ContainsFunc(s, func(r rune) bool { return r < 0x250 && unicode.IsUpper(r) })
	case speech.Japanese, speech.Korean, speech.Other, speech.Russian:
		return true // no way to tell; nothing is lost by keeping it
	}
	if lang == speech.English && ws[0] != "the" && genericSubject[ws[0]] {
		return false
	}
	raw := tokens(s)
	if len(raw) < 2 {
		return false
	}
	if lang != speech.German { // where every noun has a capital
		for _, w := range raw[1:] {
			r, _ := utf8.DecodeRuneInString(w)
			if unicode.IsUpper(r) && w != "I" && !calendar[strings.ToLower(w)] {
				return true
			}
		}
	}
	first, _ := utf8.DecodeRuneInString(raw[0])
	if possessive.MatchString(s) || lang == speech.English && len(ws) > 2 && ws[0] == "the" && theirs[ws[1]] {
		return true
	}
	if strings.HasSuffix(raw[0], "ing") && lang == speech.English {
		return false // "Painting is …"
	}
	if len(raw) > 2 && midAdverbs[strings.ToLower(raw[1])] {
		raw = append(raw[:1:1], raw[2:]...)
	}
	if unicode.IsUpper(first) && !commonStarts[strings.ToLower(raw[0])] && !articles[strings.ToLower(raw[0])] && (verbish[strings.ToLower(raw[1])] || lang == speech.English && speech.TenseOf(raw[1]+" x", lang) == speech.Past) {
		return true
	}
	return strings.ContainsFunc(s, unicode.IsDigit) && !strings.Contains(s, "%") || thingIs.MatchString(s) || strings.Contains(s, "@")
}

var (
	genericSubject = words("people everyone everybody life food water coffee music")
	possessive     = regexp.MustCompile(`^\p{Lu}[\p{L}-]+['’]s (?:\p{L}+ ){1,3}?(?:is|are|was|were|has|have|will|moved|changed)\b`)
	theirs         = words("kids children baby twins dog cat wife husband boss team client customer landlord family parents neighbours neighbors")
	chineseKin     = regexp.MustCompile(`妈妈|爸爸|姐姐|妹妹|哥哥|弟弟|儿子|女儿|老婆|老公|丈夫|妻子|朋友|同事|老板|爷爷|奶奶|叔叔|阿姨`)
	// thingIs is "the deadline of Atlas is …", also with a lower-case name.
	thingIs = regexp.MustCompile(`(?i)^(?:the|die|der|das|el|la|le|il|lo|o|a) [\p{L} -]{2,40} (?:of|for|von|für|de|del|du|di|do|da|pour) [\p{L}\d' -]{2,40} (?:is|are|was|has|moved|changed|will|ist|es|est|è|é)\b|^(?:the) [\p{L}\d -]{2,40} (?:deadline|budget|owner|password|version|meeting|price|release|launch|address|port|status) (?:is|was|moved|changed|has|will)\b`)
)

// unspacedScript reports whether a text has characters of a script that puts no
// spaces between words.
func unspacedScript(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x2E80 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
	}) >= 0
}
