package write

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
)

// The reasons for which a sentence is not worth a memory; they stand in the
// turn's receipt.
const (
	reasonQuestion     = "question"
	reasonRequest      = "request"
	reasonSmallTalk    = "small talk"
	reasonExclamation  = "exclamation"
	reasonHypothetical = "hypothetical"
	reasonPrompt       = "prompt text"
	reasonQuotation    = "quotation"
	reasonMaterial     = "material of a request"
	reasonCode         = "code"
	reasonAboutYou     = "about the assistant"
	reasonImpersonal   = "nothing personal"
	reasonFragment     = "not self-contained"
	reasonTooLong      = "too long for a statement"
	reasonAssistant    = "assistant's words"
	reasonTooMany      = "too many statements in one turn"
)

// maxSentenceBytes is how long a sentence of a conversation may be; what is
// longer is a paste. Text handed in to be remembered has no such bound.
const maxSentenceBytes = 2000

// statement is a sentence on its way to a memory.
type statement struct {
	text string
	lang speech.Lang
	// asked says that the user asked for it to be kept ("Remember that …").
	asked bool
	// first says that it speaks in the first person.
	first bool
}

// judge returns what of a sentence is a statement worth keeping, or why it is
// not. handed says that the whole text was handed in to be remembered.
func judge(sentence string, lang speech.Lang, handed bool) (statement, string) {
	s := statement{text: sentence, lang: lang}
	if mayPrompt(sentence) && promptText.MatchString(sentence) {
		return s, reasonPrompt
	}
	if looksLikeCode(sentence) {
		return s, reasonCode
	}
	if len(sentence) > maxSentenceBytes && !handed {
		return s, reasonTooLong
	}
	if inQuotes(sentence) {
		return s, reasonQuotation
	}
	s.text, s.asked = strip(sentence)
	if s.text == "" {
		return s, reasonSmallTalk
	}
	if speech.IsQuestion(s.text, lang) {
		head, ok := beforeQuestion(s.text, lang)
		if !ok {
			return s, reasonQuestion
		}
		s.text = head
	}
	ws := speech.Words(s.text, 0)
	if reason := s.reject(ws, handed); reason != "" {
		return s, reason
	}
	return s, ""
}

var (
	vocative   = regexp.MustCompile(`, (?:\p{Lu}\p{Ll}+|everyone|guys|man|dude|buddy|mate|friend|dear)([!.]*)$`)
	impression = regexp.MustCompile(`(?i)^\S+ (?:sounds|looks|seems|feels|must|should|would|could|might|can|may|will)\b`)
	// generality says what something is like in general.
	generality = regexp.MustCompile(`^(?i:\S+(?: \S+){0,3} (?:is|are|can be|helps|can help|makes)) (?i:(?:\S+ ){0,3}?)(?i:great|good|nice|important|key|awesome|amazing|wonderful|tough|hard|easy|fun|essential|powerful|beautiful|healthy|worth|crucial|cool|interesting|tricky|normal)\b`)
)

// longEnough is from how many words on a sentence that begins with a pronoun is
// likely to tell something; what it begins with may stand elsewhere.
const longEnough = 9

func (s *statement) reject(ws []string, handed bool) string {
	long := utf8.RuneCountInString(s.text)
	core := vocative.ReplaceAllString(s.text, "$1") // "Take it easy, Evan!"
	if strings.TrimSpace(core) == "" {
		core = s.text
	}
	spaceless := unspacedScript(s.text)
	switch {
	case len(ws) == 0:
		return reasonSmallTalk
	case isSmallTalk(core, speech.Words(core, 0), s.lang):
		return reasonSmallTalk
	case !s.asked && isRequest(s.text, ws, s.lang):
		return reasonRequest
	case isExclamation(core, speech.Words(core, 0), s.lang):
		return reasonExclamation
	case isHypothetical(s.text, ws, s.lang):
		return reasonHypothetical
	}
	if s.lang == speech.English && !s.asked {
		if text, ok := withSubject(s.text, ws); ok {
			s.text, ws = text, append([]string{"i"}, ws...)
		}
	}
	s.first = isFirstPerson(s.text, ws, s.lang)
	switch {
	case strings.HasSuffix(s.text, ":") || strings.HasSuffix(s.text, "："): // what it leads to is elsewhere
		return reasonFragment
	case !spaceless && len(ws) < 2 || spaceless && long < 3:
		return reasonFragment
	case s.asked || handed || s.first:
		return ""
	case aboutYou(s.text, ws, s.lang):
		return reasonAboutYou
	case weather(ws):
		return reasonSmallTalk
	case len(ws) < 3 && !spaceless:
		return reasonFragment
	case dangling(ws, s.lang) && (len(ws) < longEnough || generality.MatchString(s.text) || impression.MatchString(s.text)):
		return reasonFragment
	case s.lang == speech.English && generality.MatchString(s.text), len(ws) < longEnough && !aboutSomebody(core, speech.Words(core, 0), s.lang),
		len(ws) >= longEnough && !aboutSomebody(core, speech.Words(core, 0), s.lang) && !startsWithPronoun(s.text):
		return reasonImpersonal
	}
	return ""
}

var promptText = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|preceding|all|your)\b.{0,30}\b(?:instructions?|prompts?|rules|messages|directions)\b`,
	`\byou(?: are|'re|’re) (?:now )?(?:a|an|the|my)\b.{0,60}\b(?:assistant|ai|model|chatbot|bot|agent|expert|system|copilot|language model)\b`,
	`\byou are now\b`, `\bact as (?:a|an|the|my|if)\b`, `\bpretend (?:to be|that you|you)\b`, `\bsystem (?:prompt|message)\b`, `\bas an ai\b`, `\bdeveloper mode\b`,
	`^\s*(?:system|assistant|human|ai|developer|user)\s*:`, `<\|[a-z_]+\|>`, `\[/?INST\]`, `<</?SYS>>`, `^\s*#{2,} ?(?:instruction|system|response|task)`, `</?(?:system|instructions?|data|memory|memories|context)>`,
	`^\s*your (?:task|job|role|goal|instructions?|output|response|answer) (?:is|are|must|should)\b`, `\b(?:respond|reply|answer) (?:only|strictly|exclusively) (?:in|with|as)\b`,
	`\b(?:review|summari[sz]e|compact|compress) the (?:above )?conversation\b`, `\bconversation (?:so far|above|history)\b.{0,20}\b(?:summary|summari[sz]e)`,
	`^\s*(?:knowledge cut-?off|current (?:date|time)|today['’]s date|model|temperature)\s*:`, `\bdo not (?:reveal|mention|disclose)\b`, `\bmust always (?:obey|answer|respond)\b`, `\b(?:memory|memories) (?:context|block|retrieved)\b`, `\brelevant memories\b`,
	`\bignorier\w*\b.{0,40}\b(?:anweisungen|anweisung|regeln)\b`, `\bignora\b.{0,40}\b(?:instrucciones|istruzioni|instruções)\b`, `\bignore[zs]?\b.{0,40}\b(?:instructions|consignes)\b`,
	`忽略.{0,12}(?:指令|指示|提示)`, `你是一(?:个|名).{0,12}(?:助手|模型|机器人|AI)`,
}, `|`))

// promptSigns: each alternative of promptText needs one of them. Looking for them
// first makes the rule twice as fast.
var promptSigns = []string{
	"ignor", "disregard", "forget", "overrid", "you are", "you're", "you’re", "act as", "pretend", "system", "as an ai", "developer", "assistant", "human", "user", "ai:", "ai :", "<", "inst]", "##",
	"your ", "respond", "reply", "answer", "conversation", "do not", "cutoff", "cut-off", "current", "today", "model", "temperature", "must always", "memor", "忽略", "你是",
}

func mayPrompt(sentence string) bool {
	lower := strings.ToLower(sentence)
	for _, sign := range promptSigns {
		if strings.Contains(lower, sign) {
			return true
		}
	}
	return false
}

// strip cuts greetings, interjections and "remember that" from the front.
func strip(s string) (rest string, asked bool) {
	for range 4 {
		before := s
		if m := keepThis.FindStringSubmatchIndex(s); m != nil {
			end := m[1]
			if own := 2 * keepThis.SubexpIndex("own"); m[own] >= 0 {
				end = m[own] // that is the statement's first word
			}
			s, asked = s[end:], true
		} else if m := interjection.FindStringIndex(s); m != nil && m[1] > 0 {
			s = s[m[1]:]
		}
		s = strings.TrimLeft(s, " ,;:-–—!.…\t，、：；！")
		if s == before {
			break
		}
	}
	return s, asked
}

// keepThis asks for a statement to be kept; "remember when" and "remember to"
// do not introduce one.
var keepThis = regexp.MustCompile(`(?i)^(?:please |pls |can you |could you )?(?:` +
	`(?:remember|note|keep in mind|bear in mind|don['’]t forget|do not forget|make a note|take note|save|store)(?: (?:for me|this|the fact))?(?:,? that\b|:|(?P<own> (?:my|our|i|we|i['’](?:m|ve|ll|d)|we['’](?:re|ve|ll)|the)\b))|` +
	`for (?:the record|your information)\b|fyi\b|just so you know\b|so you know\b|merk dir(?: bitte)?[,:]?(?: dass\b)?|recuerda que\b|souviens-toi que\b|retiens que\b|ricorda che\b|lembre-se (?:de )?que\b|(?:请)?(?:记住|记得|记下)[：:，,]?)`)

// interjection stands before a statement and says nothing.
var interjection = regexp.MustCompile(`(?i)^(?:` +
	`(?:hi|hello|hey|hiya|good (?:morning|afternoon|evening)|greetings|dear)(?: (?:there|everyone|all|again|assistant|\p{Lu}[\p{L}]+))?[,!.:]+|` +
	`(?:oh|ah|well|wow|yes|yeah|yep|no|nope|nah|sure|ok|okay|so|also|anyway|anyways|btw|by the way|actually|honestly|thanks|thank you|thx|great|cool|nice|right|hmm+|haha+|lol|alright|interesting|perfect|fine|awesome|of course|in fact|basically|listen|look|guess what|good news|bad news|update)(?: so much| a lot)?[,!.:…–—-]+|` +
	`(?:oh|also|btw|by the way|and|but|so|plus|ps|p\.s\.?) |` +
	`let me explain[:,.] ?|check this out[:,.!] ?|(?:as|like) (?:i|i['’]ve|i have)(?: (?:just|already|have|once))? (?:said|mentioned|told you|wrote|explained|noted)(?: (?:before|earlier|already|above|yesterday|last time))?[,:] ?|` +
	`(?:hallo|hi|guten (?:morgen|tag|abend)|servus|moin|übrigens|also|ja|nein|danke|na ja|ach)[,!.:]+|(?:hola|buenos días|buenas(?: tardes| noches)?|por cierto|sí|no|gracias|bueno)[,!.:]+|` +
	`(?:bonjour|bonsoir|salut|coucou|au fait|oui|non|merci|bon|alors)[,!.:]+|(?:ciao|buongiorno|buonasera|salve|a proposito|sì|no|grazie|allora)[,!.:]+|(?:olá|oi|bom dia|boa tarde|boa noite|a propósito|sim|não|obrigad[oa])[,!.:]+|` +
	`(?:你好|您好|嗨|哈喽|早上好|晚上好|大家好|对了|顺便说一下|谢谢|嗯|哦|好的|是的)[，,！!。、：:]+)`)

// beforeQuestion returns the statement in front of a question in one sentence:
// "I just moved to Berlin, any tips?"
func beforeQuestion(s string, lang speech.Lang) (string, bool) {
	if lang != speech.English {
		return "", false
	}
	for _, sep := range []string{" — ", " – ", " - ", "; ", ", so ", ", and ", ", but ", ", "} {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			continue
		}
		head, tail := s[:i], s[i+len(sep):]
		hw, tw := speech.Words(head, 0), speech.Words(tail, 3)
		if len(hw) < 4 || len(tw) < 2 || !firstWords[hw[0]] || speech.IsQuestion(head, lang) || hypotheticalStart[hw[0]] {
			continue
		}
		if speech.IsQuestion(strings.TrimRight(tail, "?"), lang) || tw[0] == "any" || tw[0] == "what" || tw[0] == "how" || tw[0] == "where" {
			return head, true
		}
	}
	return "", false
}

// withSubject puts the "I" that people leave out: "Moved to Bergen", "Can't stand
// cilantro".
func withSubject(s string, ws []string) (string, bool) {
	if len(ws) < 3 || !subjectless[ws[0]] || ws[1] == "you" {
		return s, false
	}
	r, size := utf8.DecodeRuneInString(s)
	s = string(unicode.ToLower(r)) + s[size:]
	switch {
	case ws[0] == "been":
		return "I have " + s, true
	case strings.HasSuffix(ws[0], "ing"):
		// "Working out helps": there the word is the subject.
		return "I am " + s, !finite.MatchString(s)
	}
	return "I " + s, true
}

var finite = regexp.MustCompile(`\b(?:is|are|was|were|can|could|will|would|helps?|takes?|makes?|gives?|feels?|has|have|requires?|means?|keeps?)\b`)

// subjectless are verbs that begin a sentence without its "I".
var subjectless = words("moved went got bought been met visited finished started had lost found quit sold adopted booked decided applied graduated can't cannot couldn't didn't haven't won't finally recently trying planning working thinking learning training hoping considering")

func inQuotes(s string) bool {
	s = strings.TrimRight(strings.TrimSpace(s), ".!?")
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	pairs := map[rune]rune{'"': '"', '“': '”', '„': '“', '«': '»', '「': '」', '『': '』'}
	return len(s) > 2 && pairs[first] != 0 && pairs[first] == last && strings.Count(s, string(first)) <= 2
}

func looksLikeCode(s string) bool {
	if strings.HasPrefix(s, "```") {
		return true
	}
	if machine.MatchString(s) {
		return true
	}
	signs := 0
	for _, r := range s {
		if strings.ContainsRune("{}<>=;[]\\|_`$#", r) {
			signs++
		}
	}
	return signs > 3 && signs*8 > len(s)
}

// machine is what programs print: traces, rows of tables, records.
var machine = regexp.MustCompile(`^\s*(?:` + strings.Join([]string{
	`at [\w$.<>/]+(?:\(| \()`, `Traceback \(`, `File "[^"]+", line \d+`, `(?:[a-z][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Warning)\b(?::|$)`, `(?:Caused by|panic|fatal error|goroutine \d+)\b.*[:\[]`, `[\w./\\-]+\.\w{1,4}:\d+(?::\d+)?\b`,
	`\|.*\|\s*$`, `[{\[]\s*["{\[].*[:,\]}]`, `"[\w -]+"\s*:\s*[\[{"\d]`, `[}\]],?\s*$`, `\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S*\]? +\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b`, `<\?xml\b`, `</?[a-z][\w-]*(?: [^>]*)?>`,
}, `|`) + `)`)

func isSmallTalk(s string, ws []string, lang speech.Lang) bool {
	if joined := strings.Join(ws, " "); smallTalk.MatchString(joined) && (strings.HasPrefix(joined, "thank") || !tells(ws)) {
		return true
	}
	if lang == speech.Chinese || lang == speech.Japanese || lang == speech.Korean || lang == speech.Russian {
		return foreignTalk.MatchString(strings.Trim(s, " ！!。.~～，,"))
	}
	idle := true
	for _, w := range ws {
		if !idleWords[w] {
			idle = false
			break
		}
	}
	if idle {
		return true
	}
	// "I'm so tired", "Ich bin müde": how one feels at the moment.
	if lang == speech.English && (ws[0] == "i'm" || ws[0] == "im" || ws[0] == "i" && len(ws) > 1 && (ws[1] == "am" || ws[1] == "feel")) {
		rest := ws[1:]
		if ws[0] == "i" {
			rest = ws[2:]
		}
		return len(rest) > 0 && !slices.ContainsFunc(rest, func(w string) bool { return !moodWords[w] })
	}
	return false
}

// maxTalkWords is how long small talk is.
const maxTalkWords = 14

// tells reports whether words that begin like small talk go on to tell something:
// "Sorry to tell you this, but my dad died two days ago".
func tells(ws []string) bool {
	return len(ws) > maxTalkWords || slices.ContainsFunc(ws, func(w string) bool {
		return w == "my" || w == "our" || w == "ago" || w == "yesterday" || strings.ContainsAny(w, "0123456789")
	})
}

var smallTalk = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`(?:how are|how's|hows|how is) .*`, `(?:nice|good|great|lovely|pleased|glad) to (?:meet|see|hear from|talk to|chat with) you.*`, `good (?:morning|afternoon|evening|night|luck|bye|job|idea|point|question)(?: .{0,15})?`,
	`have (?:a|an) (?:nice|good|great|lovely|wonderful).*`, `(?:see|talk to|catch) you.*`, `(?:i (?:think|guess|bet|suppose|hope) )?(?:that's|thats|that is|that was|it's|its|it is|it was|this is|that|sounds|sound|looks|look) (?:so |very |really |pretty |quite |absolutely |just |all )*(?:great|good|nice|cool|awesome|amazing|wonderful|fantastic|perfect|fine|ok|okay|interesting|funny|lovely|helpful|true|right|correct|sad|bad|terrible|crazy|fun|beautiful|exciting|all|it|wrong)(?: to (?:hear|know|me)(?: that)?| of you| idea| news| point| job)?`,
	`i (?:totally |completely |fully |really |also )*(?:agree|see|understand|get it|hope so|think so|guess so|guess|know|knew it|suppose|appreciate (?:it|that|your .*|the .*)|like (?:it|that|this|the idea|your .*)|love (?:it|that|this|the idea|your .*)|hate (?:it|that|this)|hope you .*|hope (?:it|that) (?:helps|works)|can't wait|cannot wait|can imagine|bet|wish you .*|don't know|do not know|dunno|have no idea|didn't know(?: that)?|see what you mean|know what you mean|know right|meant .*|was (?:just )?(?:thinking|wondering|joking|kidding).*|.*\b(?:what you (?:said|mean|wrote)|you (?:said|mentioned|suggested)|your (?:answer|suggestion|response|advice|reply|explanation))\b.*|(?:would|'d) rather not.*)`,
	`i(?:'ll| will) (?:try|do|check|take|use|look at|have a look at|think about) (?:that|it|this|them|one)(?: .*)?`, `i'd rather not.*`, `no i meant .*`,
	`i(?:'ll| will) (?:definitely |be sure to |try to )?(?:keep|let|see|talk to|show|help|send|tell|catch up with|give|be there for|get back to|check in with|miss|support|join) you.*`, `i(?:'ll| will) (?:definitely )?(?:let you know|give it a (?:go|try|shot)|check it out|look into it|keep (?:that|it) in mind).*`,
	`i (?:can't|cannot) wait .*`, `i (?:hope|wish|know|think|bet|trust|see|believe|am sure|'m sure) (?:that )?(?:you|your|you're|you'll|you've|it|that)\b.*`, `i(?:'m| am) (?:always |so |really |very )*(?:here for|rooting for|sure|proud of|happy for|glad|pleased|sorry|thankful|grateful|honou?red) ?(?:that |to |for |about |of )?(?:you|your|hear|see|help|know|it|that).*`, `i(?:'d| would) (?:be glad|love|be happy|like) to (?:help|hear|see it|see that|know).*`, `i need to (?:talk to|ask|tell) you.*`, `i (?:just )?(?:wanted to say|have a (?:quick )?question|have another question|have a request|need your help|need help|am back|was wondering|was just wondering)(?: .*)?`, `i(?:'m| am) (?:so |very |really )*(?:sorry|glad|happy|excited|proud|pleased)(?: (?:to hear|for you|you|that you|about that|about it|of you).*)?`,
	`(?:thank|thanks|thx|cheers|bye|goodbye|ciao|congrats|congratulations|welcome|lol|haha|hello|hi|hey)(?: .{0,24})?`, `(?:you're|you are|your) (?:welcome|right|so right|the best|great|amazing|awesome|funny|kind|so kind|very kind).*`, `let me (?:know|think|see).*`, `let's .*`, `let us .*`, `(?:so )?(?:sorry|glad|happy|great|good|nice|sad|awesome|wonderful|lovely) (?:to|about|for|that|hearing|seeing|talking|chatting|catching)\b.*`, `(?:appreciate|enjoy|congrats|congratulations|kudos|props) .*`, `(?:long time|take it easy|hang in there|keep (?:it|me|up|going|at it|pushing|me)|have fun|good for you|go for it|no (?:worries|problem|need|rush)|will do|can't wait).*`,
	`(?:no|not) (?:problem|worries|at all|really|yet|bad)`, `(?:got|makes) (?:it|sense).*`, `(?:take care|keep it up|well done|same here|me too|me neither|never mind|nevermind|one moment|just a (?:second|moment)|what a .*|how (?:nice|lovely|cool|sweet|sad|funny|wonderful|exciting).*|of course|for sure|no way|i'm (?:just )?kidding|just kidding|i'm listening|i'm all ears|i'm here)`,
	`(?:hallo|hi|guten (?:morgen|tag|abend)|gute nacht|vielen dank|danke|danke schön|tschüss|bis (?:bald|morgen|später)|wie geht.*|mir geht.*|alles klar|das (?:ist|klingt|war) (?:sehr |echt |so )*(?:toll|gut|super|schön|schade|lustig|interessant|prima)|freut mich.*|gern geschehen|kein problem|stimmt|genau)(?: .{0,20})?`,
	`(?:hola|buenos días|buenas(?: tardes| noches)?|muchas gracias|gracias|de nada|adiós|hasta (?:luego|mañana|pronto)|cómo estás.*|qué tal.*|(?:eso )?(?:está|es|suena) (?:muy )?(?:bien|genial|bueno|interesante)|encantad[oa].*|mucho gusto.*|vale|claro|perfecto)(?: .{0,20})?`,
	`(?:bonjour|bonsoir|salut|merci(?: beaucoup)?|de rien|au revoir|à (?:bientôt|demain|plus)|ça va.*|comment (?:vas|allez).*|c'est (?:très |vraiment )?(?:bien|super|génial|cool|intéressant|drôle|dommage)|enchantée?.*|d'accord|parfait)(?: .{0,20})?`,
	`(?:ciao|buongiorno|buonasera|buonanotte|grazie(?: mille)?|prego|arrivederci|a (?:presto|domani|dopo)|come (?:stai|va).*|(?:è|sembra) (?:molto )?(?:bello|fantastico|interessante|ottimo)|piacere.*|va bene|perfetto|certo)(?: .{0,20})?`,
	`(?:olá|oi|bom dia|boa (?:tarde|noite)|muito obrigad[oa]|obrigad[oa]|de nada|tchau|até (?:logo|amanhã|já)|tudo bem.*|como (?:vai|está|estás).*|(?:isso )?é (?:muito )?(?:bom|ótimo|legal|interessante|fixe)|prazer.*|certo|perfeito|claro)(?: .{0,20})?`,
}, `|`) + `)$`)

var foreignTalk = regexp.MustCompile(`^(?:你好|您好|嗨|哈喽|早上好|早安|晚安|晚上好|谢谢(?:你|您|了)?|多谢|非常感谢|不客气|再见|拜拜|明天见|好的?(?:吧|啊|呀)?|嗯+|哈哈+|是的|对(?:的|啊)?|没问题|没关系|太(?:好|棒|有趣)了(?:吧)?|真(?:好|棒|不错|有意思)(?:啊)?|不错|我(?:知道|明白|同意|懂)了?|辛苦了|你(?:真|很)好|今天天气.*|こんにちは|おはよう(?:ございます)?|こんばんは|ありがとう(?:ございます)?|はい|いいえ|さようなら|またね|안녕(?:하세요|히 가세요)?|감사합니다|고마워요?|네|아니요|привет|здравствуйте|спасибо(?: большое)?|пока|да|нет|хорошо|доброе утро|добрый (?:день|вечер))$`)

func isRequest(s string, ws []string, lang speech.Lang) bool {
	if callMe.MatchString(s) {
		return false
	}
	switch lang {
	case speech.Chinese:
		return foreignRequest.MatchString(s)
	case speech.German, speech.Spanish, speech.French, speech.Italian, speech.Portuguese:
		return latinRequest.MatchString(strings.Join(ws, " "))
	}
	if lang != speech.English {
		return false
	}
	joined := strings.Join(ws, " ")
	if wishForHelp.MatchString(joined) || ws[len(ws)-1] == "please" {
		return true
	}
	first := 0
	for first < len(ws)-1 && politeWords[ws[first]] {
		first++
	}
	if ws[0] == "please" && first > 0 {
		return true
	}
	w := ws[first]
	if (w == "do" || w == "don't" || w == "never" || w == "always") && first+1 < len(ws) && imperatives[ws[first+1]] {
		return true
	}
	if commands[w] {
		return true
	}
	if !imperatives[w] {
		return false
	}
	return first+1 >= len(ws) || objectStart[ws[first+1]] || len(ws)-first <= 2 && !strings.ContainsFunc(ws[first+1], unicode.IsDigit)
}

var (
	callMe         = regexp.MustCompile(`^(?i:please )?(?i:call me) \p{Lu}`)
	wishForHelp    = regexp.MustCompile(`^(?:so |and |then |now )?(?:i (?:want|need|would like|'d like|wish)|i'd like|i'd love|we need|i'd appreciate|i would love) (?:for )?(?:you|your|help|some help|advice|some advice|ideas|some ideas|suggestions|recommendations|to (?:know|ask|hear|understand|find out)|an? (?:answer|explanation|summary|list|recipe|recommendation|suggestion|idea)|information|some information)\b|^i (?:wonder|was wondering|am wondering|'m wondering|'m curious|am curious)\b|^i'm (?:wondering|curious|looking for (?:advice|ideas|an? (?:recipe|word|way|tool|synonym|recommendation|good)|suggestions|recommendations|tips|help))\b|^(?:can|could|would|will) you\b|^(?:any|some) (?:ideas|tips|advice|suggestions|recommendations)\b|^what about\b|^how about\b`)
	latinRequest   = regexp.MustCompile(`^(?:bitte\b|sag mir|sagen sie mir|erzähl mir|zeig mir|zeigen sie|gib mir|hilf mir|helfen sie|schreib (?:mir|eine|einen|ein)|erkläre?(?: mir)?|kannst du|können sie|könntest du|nenne mir|fass(?:e)? |übersetze? |empfiehl |such(?:e)? mir|por favor\b|dime|cuéntame|muéstrame|ayúdame|explícame|puedes|podrías|escribe (?:un|una)|recomiéndame|traduce |busca |dis-moi|dites-moi|montre(?:z)?-moi|aide(?:z)?-moi|explique(?:z)?-moi|peux-tu|pouvez-vous|pourrais-tu|écris |recommande|traduis |s'il (?:te|vous) plaît|dimmi|mostrami|aiutami|spiegami|puoi|potresti|scrivi |consigliami|traduci |per favore|diga-me|me diga|diz-me|mostre-me|me mostre|ajude-me|me ajude|me ajuda|explique|você pode|pode me|podes|escreva |recomende|traduza )|(?:bitte|por favor|s'il (?:te|vous) plaît|per favore)$`)
	foreignRequest = regexp.MustCompile(`^(?:请(?:问|你|帮|给|告|写|介|解|推|翻|总)|帮我|帮忙|告诉我|给我(?:讲|写|推荐|介绍|一|列)|推荐|介绍一下|解释|翻译|总结|写一|能不能|可不可以|你能|你可以|麻烦)`)
	politeWords    = words("please just now then ok okay so and also kindly maybe")
	// commands begin nothing but requests.
	commands    = words("tell translate summarize summarise explain rewrite generate recommend suggest remind describe calculate convert compare proofread rephrase paraphrase shorten simplify elaborate give show write analyze analyse compute")
	imperatives = words(`tell show give help write explain summarize summarise translate list find make create generate suggest recommend remind describe search book send play open add set schedule draft fix check
		compare calculate let stop start continue rewrite answer look think imagine forget repeat say try use run go keep call define convert format read update delete remove cancel order buy plan prepare review
		proofread correct improve shorten expand note ignore wait be come provide pick choose name teach analyze analyse compute count guess ask follow turn put do share sing respond reply talk walk`)
	objectStart = words(`me us a an the my our your this that it these those some for to up out in about how what when where why who if all any with him her them on at down again more another one two three five ten every
		something everything nothing sure please`)
)

func isExclamation(s string, ws []string, lang speech.Lang) bool {
	s = strings.TrimRight(s, " \"'”’)")
	if !strings.HasSuffix(s, "!") && !strings.HasSuffix(s, "！") {
		return false
	}
	if lang == speech.English && len(ws) > 1 && (ws[0] == "what" && (ws[1] == "a" || ws[1] == "an") || ws[0] == "how" || ws[0] == "such") {
		return true
	}
	if lang == speech.English {
		return len(ws) <= 3 && !firstWords[ws[0]]
	}
	return len(ws) <= 2 && !unspacedScript(s)
}

func isHypothetical(s string, ws []string, lang speech.Lang) bool {
	joined := " " + strings.Join(ws, " ") + " "
	switch lang {
	case speech.English:
		if ws[0] == "suppose" || ws[0] == "imagine" || ws[0] == "assuming" || ws[0] == "hypothetically" || ws[0] == "pretend" || strings.HasPrefix(joined, " let's say ") || strings.HasPrefix(joined, " what if ") || strings.HasPrefix(joined, " say i ") {
			return true
		}
		if strings.HasPrefix(joined, " i wish i ") || strings.HasPrefix(joined, " i wish we ") || strings.HasPrefix(joined, " if only ") {
			return true
		}
		return (strings.HasPrefix(joined, " if ") || strings.Contains(joined, " if i ") || strings.Contains(joined, " if we ") || strings.Contains(joined, " if you ")) && would.MatchString(joined)
	case speech.German:
		return strings.Contains(joined, " wenn ") && (strings.Contains(joined, " wäre ") || strings.Contains(joined, " hätte ") || strings.Contains(joined, " würde ")) || strings.HasPrefix(joined, " angenommen ")
	case speech.Spanish:
		return strings.Contains(joined, " si ") && subjunctive.MatchString(joined)
	case speech.French:
		return strings.HasPrefix(joined, " si ") || strings.HasPrefix(joined, " supposons ")
	case speech.Italian, speech.Portuguese:
		return strings.Contains(joined, " se ") && subjunctive.MatchString(joined)
	case speech.Chinese:
		return strings.HasPrefix(s, "如果") || strings.HasPrefix(s, "假如") || strings.HasPrefix(s, "要是") || strings.HasPrefix(s, "假设")
	}
	return false
}

var (
	would       = regexp.MustCompile(`(?: would | wouldn't | could | might |'d | were )`)
	subjunctive = regexp.MustCompile(` (?:fuera|viviera|tuviera|pudiera|fuese|fosse|fossi|avessi|vivesse|tivesse|pudesse|potessi|fosse) `)
)
