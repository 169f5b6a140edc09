package plan

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
)

func set(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// anyOf reports whether one of the signs stands in a text of words with a space
// around each.
func anyOf(joined string, signs []string) bool {
	for _, s := range signs {
		if strings.Contains(joined, " "+s+" ") {
			return true
		}
	}
	return false
}

func containsAny(s string, parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

func wordBefore(s string, at int) string {
	head := strings.TrimRight(s[:max(0, min(at, len(s)))], " ")
	w := strings.ToLower(head[strings.LastIndexByte(head, ' ')+1:])
	if w == "the" || w == "dem" || w == "el" || w == "le" || w == "la" {
		head = strings.TrimRight(head[:len(head)-len(w)], " ")
		w = strings.ToLower(head[strings.LastIndexByte(head, ' ')+1:])
	}
	return w
}

var (
	recallSigns = map[speech.Lang][]string{
		speech.English:    {"remind me", "remember", "recall", "did i tell you", "have i told you", "i told you", "what do you know about me", "did i say", "did i mention", "we decided", "i decided", "last time"},
		speech.German:     {"erinnerst du dich", "erinnere mich", "habe ich gesagt", "habe ich dir", "weißt du noch", "haben wir beschlossen", "habe ich beschlossen"},
		speech.Spanish:    {"recuerdas", "recuérdame", "te dije", "te conté", "te acuerdas", "decidí", "decidimos"},
		speech.French:     {"te souviens", "te rappelles", "rappelle-moi", "ai-je dit", "je t'ai dit", "j'ai décidé", "avons-nous décidé"},
		speech.Italian:    {"ricordi", "ricordami", "ti ho detto", "ho deciso", "abbiamo deciso"},
		speech.Portuguese: {"lembras", "lembra", "lembre-me", "te disse", "eu disse", "decidi", "decidimos"},
	}
	selfSigns = map[speech.Lang][]string{
		speech.English:    {"i", "my", "me", "mine", "we", "our", "us", "i'm", "i've", "i'd", "i'll", "we're", "we've"},
		speech.German:     {"ich", "mein", "meine", "meinen", "meinem", "meiner", "mir", "mich", "wir", "unser", "unsere", "uns"},
		speech.Spanish:    {"yo", "mi", "mis", "me", "nosotros", "nos", "nuestro", "nuestra", "vivo", "trabajo", "tengo", "soy", "llamo", "nací", "vivía"},
		speech.French:     {"je", "mon", "ma", "mes", "moi", "me", "nous", "notre", "nos", "j'ai", "j'habite", "est-ce que j'habite", "m'appelle", "j'aime", "j'étais"},
		speech.Italian:    {"io", "mio", "mia", "miei", "mie", "mi", "noi", "nostro", "nostra", "vivo", "abito", "lavoro", "ho", "sono", "abitavo"},
		speech.Portuguese: {"eu", "meu", "minha", "meus", "minhas", "me", "mim", "nós", "nosso", "nossa", "moro", "vivo", "trabalho", "tenho", "chamo", "morava"},
		speech.Russian:    {"я", "мой", "моя", "моё", "мои", "мне", "меня", "мы", "наш"},
	}
	// generalSigns begin questions about the world.
	generalSigns = map[speech.Lang][]string{
		speech.English: {"how do", "how does", "how to", "why is", "why do", "why does", "explain", "define", "difference between", "how can", "how should"},
		speech.German:  {"wie funktioniert", "warum", "erkläre", "wie kann man"}, speech.Spanish: {"cómo funciona", "por qué", "explica"},
		speech.French: {"comment fonctionne", "pourquoi", "explique"}, speech.Italian: {"come funziona", "perché", "spiega"}, speech.Portuguese: {"como funciona", "por que", "explique"},
	}
	// subjectSigns are about subjects, which have names, too.
	subjectSigns = []string{"difference between", "explain", "define", "unterschied zwischen", "diferencia entre", "différence entre", "differenza tra", "diferença entre"}
	// whatSigns do, too, when nothing is named.
	whatSigns = map[speech.Lang][]string{
		speech.English: {"what is", "what are", "what's"}, speech.German: {"was ist", "was sind"}, speech.Spanish: {"qué es", "qué son"}, speech.French: {"qu'est-ce que", "quel est"},
		speech.Italian: {"che cos'è", "cos'è"}, speech.Portuguese: {"o que é"},
	}
	// personSigns are pronouns of people only.
	personSigns = set("she he her his him hers she's he's ihm ihn ella él elle lui lei ela ele")
	// adviceSigns ask for general knowledge beside one's own affairs.
	adviceSigns = map[speech.Lang][]string{
		speech.English: {"how do you", "how to", "tips", "advice", "best practice", "best practices", "in general", "usually", "typically", "recommend", "explain"},
		speech.German:  {"tipps", "im allgemeinen", "normalerweise", "rat"}, speech.Spanish: {"consejos", "en general"}, speech.French: {"conseils", "en général"}, speech.Italian: {"consigli", "in generale"}, speech.Portuguese: {"dicas", "em geral"},
	}
	pastSigns = map[speech.Lang][]string{
		speech.English:    {"before", "used to", "previously", "previous", "formerly", "former", "old", "earlier", "originally", "in the past", "past", "history", "no longer", "ex", "first", "ever", "did i live", "did we live", "did i work", "did i use"},
		speech.German:     {"früher", "vorher", "zuvor", "davor", "ehemalig", "ehemalige", "ehemaliger", "alte", "alter", "alten", "altes", "damals", "ursprünglich", "vorherige", "vorheriger", "je", "jemals"},
		speech.Spanish:    {"antes", "anterior", "anteriormente", "antiguo", "antigua", "solía", "vivía", "trabajaba"},
		speech.French:     {"avant", "auparavant", "ancien", "ancienne", "précédent", "précédente", "autrefois", "habitais", "travaillais", "j'habitais"},
		speech.Italian:    {"prima", "precedente", "vecchio", "vecchia", "in passato", "abitavo", "lavoravo", "vivevo"},
		speech.Portuguese: {"antes", "anterior", "antigo", "antiga", "antigamente", "morava", "trabalhava", "vivia"},
		speech.Russian:    {"раньше", "прежде", "прежний"},
	}
	pronounSigns = map[speech.Lang]map[string]bool{
		speech.English:    set("she he her his him hers they them their it its she's he's it's they're"),
		speech.German:     set("sie er ihr ihm ihn sein seine ihre es"),
		speech.Spanish:    set("ella él su sus le lo"),
		speech.French:     set("elle il sa son ses lui"),
		speech.Italian:    set("lei lui suo sua suoi sue"),
		speech.Portuguese: set("ela ele dela dele"),
	}
	beforeSigns = set("before until till vor bis antes avant jusqu'à prima antes até")
	sinceSigns  = set("since seit desde depuis dal dalla ab")
	afterSigns  = set("after nach después après dopo depois")
	// emptyWords are no content.
	emptyWords = set(`what did do does was were is are am i i'm we me my our you us the a an and or of on in at to for from with about happened happen happening doing done have had has been be that this it there who where when why
		how which any anything something tell remind remember know can could would will up going go went like by please so there's what's back then during over
		was habe ich gemacht wir getan passiert ist war hatte am im in der die das den an es mir mich und
		qué hice hicimos pasó el la los las que en de mi me qu'ai-je qu'est-ce j'ai fait ai nous avons s'est passé le les ce cosa ho fatto abbiamo è successo che il lo o fiz fizemos aconteceu que eu`)
)

// expansion adds the words in which an answer is likely to be put, and what the
// statement that answers is about (the attributes of package write, spelled out:
// a plan is no writer's business).
type expansion struct {
	signs      []string
	words      string
	attributes []string
}

var expanding = map[speech.Lang][]expansion{
	speech.English: {
		{[]string{"where do i live", "where i live", "where does", "where am i living", "where am i based", "live now", "my home", "my city", "my address", "where did i live", "where did i move", "where do we live", "lived", "living"}, "lives in moved to based in home", []string{"residence", "address"}},
		{[]string{"where do i work", "work at", "work for", "my job", "my employer", "my company", "who do i work", "my work", "for a living", "my profession", "my occupation", "where i work", "where did i work", "my career"}, "works at job joined company position engineer manager", []string{"employer", "job title"}},
		{[]string{"my name", "who am i", "am i called", "called"}, "name is called", []string{"name"}},
		{[]string{"my age", "how old", "birthday", "was i born", "born"}, "birthday born years old", []string{"age", "birthday"}},
		{[]string{"to eat", "food", "dinner", "lunch", "restaurant", "cook", "cuisine", "recipe", "breakfast", "diet"}, "likes loves hates favourite food vegetarian vegan allergic eats diet", []string{"diet", "allergy", "likes"}},
		{[]string{"allergic", "allergies", "allergy"}, "allergic allergy", []string{"allergy"}},
		{[]string{"my pet", "my pets", "any pets", "pets", "pet", "animal", "animals"}, "dog cat pet named adopted", []string{"pet"}},
		{[]string{"my wife", "my husband", "my partner", "married", "girlfriend", "boyfriend", "relationship", "spouse", "single"}, "married wife husband partner engaged divorced single", []string{"relationship"}},
		{[]string{"my kids", "my children", "children", "kids", "my son", "my daughter"}, "kids children son daughter", []string{"child"}},
		{[]string{"hobby", "hobbies", "free time", "for fun", "spare time", "interests", "enjoy doing"}, "likes loves enjoys plays hobby", []string{"hobby", "likes"}},
		{[]string{"deadline", "due", "due date"}, "deadline due", []string{"deadline"}},
		{[]string{"decide", "decided", "decision", "choose", "chose", "pick"}, "decided chose switched use", nil},
		{[]string{"my plans", "plans", "planning", "planned", "upcoming", "appointments", "appointment"}, "will going plans next trip appointment", nil},
		{[]string{"my car", "drive"}, "car drives", []string{"car"}},
		{[]string{"speak", "languages"}, "speaks language", []string{"language"}},
		{[]string{"about me", "know about me"}, "lives works likes family", nil},
	},
	speech.German: {
		{[]string{"wo wohne ich", "wo lebe ich", "wohne", "wohnte", "wohnt", "gewohnt", "wohnort"}, "wohne lebe gezogen umgezogen", []string{"residence"}},
		{[]string{"arbeite", "arbeitet", "job", "beruf", "arbeitgeber", "gearbeitet"}, "arbeite bei job firma", []string{"employer", "job title"}},
		{[]string{"heiße", "name"}, "heiße name", []string{"name"}},
		{[]string{"essen", "lieblingsessen"}, "mag esse liebe vegetarisch allergisch", []string{"diet", "allergy", "likes"}},
		{[]string{"frist", "deadline"}, "frist deadline abgabe", []string{"deadline"}},
	},
	speech.Spanish: {
		{[]string{"dónde vivo", "vivo", "vivía", "vive"}, "vivo mudé", []string{"residence"}}, {[]string{"trabajo", "trabaja", "trabajaba"}, "trabajo empresa empleo", []string{"employer", "job title"}}, {[]string{"llamo", "nombre"}, "llamo nombre", []string{"name"}}, {[]string{"comer", "comida"}, "gusta comida alérgico vegetariano", []string{"diet", "allergy", "likes"}}, {[]string{"plazo", "fecha límite"}, "plazo fecha límite", []string{"deadline"}},
	},
	speech.French: {
		{[]string{"habite", "j'habite", "habitais", "vis", "où"}, "habite déménagé vis", []string{"residence"}}, {[]string{"travaille", "travail", "travaillais"}, "travaille chez emploi entreprise", []string{"employer", "job title"}}, {[]string{"m'appelle", "nom"}, "m'appelle nom", []string{"name"}}, {[]string{"manger", "nourriture"}, "aime mange végétarien allergique", []string{"diet", "allergy", "likes"}}, {[]string{"date limite", "échéance"}, "date limite échéance", []string{"deadline"}},
	},
	speech.Italian: {
		{[]string{"dove abito", "dove vivo", "abito", "vivo", "abitavo"}, "abito vivo trasferito", []string{"residence"}}, {[]string{"lavoro", "lavora"}, "lavoro azienda", []string{"employer", "job title"}}, {[]string{"chiamo", "nome"}, "chiamo nome", []string{"name"}}, {[]string{"scadenza"}, "scadenza", []string{"deadline"}},
	},
	speech.Portuguese: {
		{[]string{"onde moro", "moro", "vivo", "morava"}, "moro vivo mudei", []string{"residence"}}, {[]string{"trabalho", "trabalha"}, "trabalho empresa emprego", []string{"employer", "job title"}}, {[]string{"chamo", "nome"}, "chamo nome", []string{"name"}}, {[]string{"prazo"}, "prazo", []string{"deadline"}},
	},
}

var chineseExpanding = []expansion{
	{[]string{"住", "家在"}, "住在 搬到", []string{"residence"}}, {[]string{"工作", "上班", "公司"}, "在 工作 上班 公司", []string{"employer", "job title"}}, {[]string{"名字", "叫什么"}, "我叫 名字", []string{"name"}}, {[]string{"吃", "喜欢"}, "喜欢 爱 不吃 过敏", []string{"likes", "allergy"}}, {[]string{"截止", "期限"}, "截止日期 期限", []string{"deadline"}},
}

// expansions returns the words and the attributes of the first two expansions
// that apply.
func expansions(lang speech.Lang, text string, words []string) (string, []string) {
	var out, attributes []string
	if lang == speech.Chinese {
		for _, e := range chineseExpanding {
			if containsAny(text, e.signs...) && len(out) < 2 {
				out, attributes = append(out, e.words), append(attributes, e.attributes...)
			}
		}
		return strings.Join(out, " "), attributes
	}
	joined := " " + strings.Join(words, " ") + " "
	for _, e := range expanding[lang] {
		if anyOf(joined, e.signs) && len(out) < 2 {
			out, attributes = append(out, e.words), append(attributes, e.attributes...)
		}
	}
	return strings.Join(out, " "), attributes
}

// capitalStarts are words that begin sentences, or have a capital always.
var capitalStarts = set(`i i'm i've i'd i'll the a an it this that these those there here he she they we you what who where when why how which whose did do does is are was were am can could will would should have has had may
	please tell remind remember hello hi hey thanks and but so if my our your his her its their on in at to for from with about yes no ok monday tuesday wednesday thursday friday saturday sunday january february march april may june
	july august september october november december last next also maybe any some all who's what's where's`)

// names returns the names in a text: runs of words with a capital that do not
// merely begin a sentence. German nouns all have one, so there a name must be
// more than one word, or follow "von", "mit", "für" and the like.
func names(text string, lang speech.Lang, most int) []string {
	if lang == speech.Chinese || lang == speech.Japanese || lang == speech.Korean {
		return latinRuns(text, most)
	}
	var out []string
	for _, s := range speech.Sentences(ends(text)) {
		var run []string
		flush := func() {
			if len(run) > 0 && len(out) < most {
				if n := strings.Join(run, " "); !contains(out, n) {
					out = append(out, n)
				}
			}
			run = nil
		}
		before := ""
		fields := strings.Fields(s.Text)
		for i, f := range fields {
			w := strings.TrimFunc(f, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			w = strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s")
			first, _ := utf8.DecodeRuneInString(w)
			lower := strings.ToLower(w)
			named := unicode.IsUpper(first) && !capitalStarts[lower]
			if i == 0 && !strings.HasSuffix(strings.ToLower(f), "'s") && !strings.HasSuffix(f, "’s") {
				// Every sentence begins with a capital; "Ben works" begins with a name.
				named = named && len(fields) > 1 && afterName[strings.ToLower(strings.Trim(fields[1], ".,!?"))]
			}
			if named && lang == speech.German && len(run) == 0 && !germanBefore[before] {
				named = false
			}
			if named {
				run = append(run, w)
				if strings.ContainsAny(f[len(f)-1:], ",.;:!?)") {
					flush()
				}
			} else {
				flush()
			}
			before = lower
		}
		flush()
	}
	return out
}

var afterName = set(`is was has had will wants likes loves hates lives works moved started got went came said told and plays studies owns needs decided
	ist hat war wohnt arbeitet es vive trabaja tiene est a habite è ha abita é tem mora`)

var germanBefore = set("von mit für bei nach hat arbeitet wohnt heißt wann wo und über")

// isPlace reports whether a name follows a preposition of place in a text.
func isPlace(text, name string) bool {
	switch wordBefore(text, strings.Index(text, name)) {
	case "to", "in", "at", "from", "near", "nach", "aus", "en", "a", "à", "em":
		return true
	}
	return false
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if strings.EqualFold(have, s) {
			return true
		}
	}
	return false
}

// latinRuns are the names in Latin letters inside a text of another script.
func latinRuns(text string, most int) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool { return r >= 0x250 || !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		r, _ := utf8.DecodeRuneInString(w)
		if unicode.IsUpper(r) && len(out) < most && !contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
