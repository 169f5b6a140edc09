package speech

import "strings"

// Tense is roughly when a sentence takes place.
type Tense uint8

// The tenses.
const (
	Unknown Tense = iota // a present, or not told
	Past
	Future
)

var futureCues = map[Lang]map[string]bool{
	English:    set(`will won't i'll we'll he'll she'll they'll it'll gonna shall tomorrow upcoming plan plans planning intend hope hoping expecting due deadline scheduled soon next`),
	German:     set(`werde wird werden wirst morgen übermorgen plane planen möchte nächste nächsten nächstes kommende kommenden frist abgabefrist deadline fällig`),
	Spanish:    set(`voy vas va vamos van mañana próximo próxima planeo quiero será iré plazo límite`),
	French:     set(`vais va allons vont demain prochain prochaine prévois serai sera irai échéance limite`),
	Italian:    set(`domani prossimo prossima andrò sarò sarà farò`),
	Portuguese: set(`vou vai vamos vão amanhã próximo próxima irei será prazo`),
	Russian:    set(`буду будет завтра поеду`),
}

var pastCues = map[Lang]map[string]bool{
	English:    set(`was were wasn't weren't did didn't had ago yesterday used`),
	German:     set(`war waren hatte hatten habe hat haben bin ist gestern vorgestern wurde wurden kam ging zog kaufte machte`),
	Spanish:    set(`fui fue fueron era eran hice hizo compré mudé tuve estuve empecé conocí ayer anoche hace he ha hemos`),
	French:     set(`ai as a avons ont suis était étais hier j'ai acheté fait allé déménagé`),
	Italian:    set(`ho hai ha abbiamo hanno ero era ieri fa stato stata sono`),
	Portuguese: set(`fui foi era fiz fez comprei mudei tive estive comecei conheci ontem há mudou`),
	Russian:    set(`был была были вчера назад купил купила переехал переехала`),
}

// notPast are English words in -ed that are no past tense.
var notPast = set(`need bed red hundred indeed speed seed feed exceed shed sled breed weed greed creed fred ted alfred jared wicked naked sacred wed united`)

// IrregularPast are the English verbs whose past does not end in -ed.
var irregularPast = set(`went met got saw took bought made came gave found lost began begun broke brought built caught chose cut drank drove ate fell felt flew forgot grew heard held kept
	knew led left lent lay met paid ran rode rose said sang sat sent sold slept spent spoke stood stole swam taught thought told threw understood woke wore won wrote became became hit hurt
	dreamt learnt quit shot sank shook stuck struck swore tore drew dug fought fed fled hid hung kneeled laid lit meant read sought shrank spun spread sprang stung swept swung withdrew bit bled blew bred
	bound dealt dove froze ground rang set shone slid`)

// TenseOf guesses the tense of a sentence from its words. A word for the future
// outweighs one for the past: "I booked a flight for tomorrow".
func TenseOf(sentence string, lang Lang) Tense {
	if lang == Chinese {
		return chineseTense(sentence)
	}
	words := Words(sentence, 0)
	past := false
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1]
		}
		switch {
		case futureCues[lang][w]:
			next := ""
			if i+1 < len(words) {
				next = words[i+1]
			}
			switch {
			case lang == English && w == "next" && next == "to", // the church
				lang == English && (w == "plan" || w == "plans") && next != "to" && next != "on",
				lang == English && w == "due" && next == "to",
				(w == "mañana" || w == "morgen") && daytime[before]: // in the morning
				continue
			}
			return Future
		case lang == English && w == "going" && i+2 < len(words) && words[i+1] == "to" && !nounAfter[words[i+2]]:
			return Future
		case lang == English && strings.HasSuffix(w, "ing") && before != "" && (strings.HasSuffix(before, "'m") || strings.HasSuffix(before, "'re") || before == "am") && motion[w]:
			return Future
		case pastCues[lang][w]:
			past = true
		case lang == English && (irregularPast[w] && (!ambiguousPast[w] || subjects[before] && onlyPast[w]) || isEd(w) && !copula[before]):
			past = true
		}
	}
	if past {
		return Past
	}
	return Unknown
}

// nounAfter follow "going to" where it is a movement.
var (
	nounAfter = set(`the a an my our school work church university college bed`)
	daytime   = set(`la una cada esta por am guten jeden heute gestern den dem`)
	// motion verbs speak of the future in the progressive.
	motion = set(`flying leaving moving starting meeting travelling traveling visiting arriving getting having joining`)
	// ambiguousPast may be a present, too.
	ambiguousPast = set(`read set cut hit hurt quit spread left lead bound ground felt found shot lay saw`)
	// onlyPast are those of them that after a subject cannot be one.
	onlyPast = set(`saw left felt found shot`)
	subjects = set(`i we he she they you who`)
	copula   = set(`am i'm is are be been was were being he's she's it's we're they're you're so very really feel feels felt get getting too not named called`)
)

func isEd(w string) bool { return len(w) > 3 && strings.HasSuffix(w, "ed") && !notPast[w] }

func chineseTense(s string) Tense {
	for _, sign := range []string{"截止", "期限", "明天", "后天", "打算", "计划", "将要", "将于", "下周", "下个月", "明年", "准备"} {
		if strings.Contains(s, sign) {
			return Future
		}
	}
	for _, sign := range []string{"了", "过", "昨天", "前天", "上周", "上个月", "去年", "曾"} {
		if strings.Contains(s, sign) {
			return Past
		}
	}
	return Unknown
}
