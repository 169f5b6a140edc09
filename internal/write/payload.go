package write

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lightmem/lightmem/internal/speech"
)

// material is what a text brings along for a request to work on, or quotes from
// elsewhere: bytes From to To of the text. Whatever it says in the first person
// is not the user's own.
type material struct {
	from, to int
	reason   string
}

// materialIn finds the first material at or after a sentence. It begins where
// the request does, ends with the quotation marks that hold it, and without such
// with the text: nothing tells a pasted letter from what the user adds below.
func materialIn(text string, sentences []speech.Sentence, i int) (material, bool) {
	for ; i < len(sentences); i++ {
		start := sentences[i].Start
		if m, ok := materialAt(text, start); ok {
			return m, true
		}
	}
	return material{}, false
}

// maxLead is how many bytes a request may have before the colon that leads to
// what it is to work on.
const maxLead = 300

func materialAt(text string, start int) (material, bool) {
	rest := text[start:]
	if len(rest) > maxLead {
		cut := maxLead
		for !utf8.RuneStart(rest[cut]) {
			cut--
		}
		rest = rest[:cut]
	}
	line := rest
	if i := strings.IndexAny(rest, "\n\r"); i >= 0 {
		line = rest[:i]
	}
	if !mayBring(line, len(line) < len(rest)) || ownNote.MatchString(line) {
		return material{}, false
	}
	reason, task, story := reasonMaterial, workOn.MatchString(line) || workLater.MatchString(line+"\n") || asksAbout.MatchString(line), false
	if !task {
		switch {
		case roleplay.MatchString(line):
			return material{start, len(text), reason}, true
		case invent.MatchString(line):
			story = true
		case recalls.MatchString(line):
			reason = reasonQuotation
		case brings.MatchString(line):
		default:
			return material{}, false
		}
	}
	at := leadEnd(line)
	switch {
	case at >= 0: // "…: what is to be worked on"
		at += start
	case reason != reasonMaterial || story:
		return material{}, false
	case deictic.MatchString(line) && (len(line) < len(rest) || closed(line) && wordsFollow(line) && language.MatchString(line)):
		at = start + headEnd(line)
	default:
		return material{}, false
	}
	tail := strings.TrimLeftFunc(text[at:], unicode.IsSpace)
	if strings.TrimSpace(tail) == "" {
		return material{}, false // there is none
	}
	at = len(text) - len(tail)
	m := material{from: start, to: len(text), reason: reason}
	if end, ok := quoteEnd(tail); ok {
		m.to = at + end
	} else if reason == reasonQuotation {
		if i := strings.IndexAny(tail, "\n\r"); i >= 0 {
			m.to = at + i
		}
	}
	return m, true
}

// mayBring is a quick look for what every material needs: a colon, a line below,
// or a word of those that need neither.
func mayBring(line string, below bool) bool {
	if below || strings.ContainsAny(line, ":：") {
		return true
	}
	lower := strings.ToLower(line)
	for _, sign := range bringSigns {
		if strings.Contains(lower, sign) {
			return true
		}
	}
	return false
}

var bringSigns = []string{"role", "pretend", "rôle", "rol ", "rollen", "ruolo", "papéis", "ролев", "you are", "you're", "you’re", "you play", "you will", "you'll", "you’ll", "角色", "ロール", "역할", " this", " these", "following", "below"}

// leadEnd is the place behind the colon of a line's first sentence, -1 when it
// has none.
func leadEnd(line string) int {
	for i, r := range line {
		switch r {
		case '：':
			return i + len("：")
		case ':':
			if next := line[i+1:]; next == "" || strings.ContainsAny(next[:1], " \t\"'*") || !isASCII(next) {
				return i + 1
			}
		case '.', '!', '?', '。', '！', '？':
			next, _ := utf8.DecodeRuneInString(line[i+utf8.RuneLen(r):])
			if next == ' ' || next == utf8.RuneError || r > 0x7f {
				return -1
			}
		}
	}
	return -1
}

func isASCII(s string) bool { r, _ := utf8.DecodeRuneInString(s); return r < utf8.RuneSelf }

// headEnd is the end of a line's first sentence.
func headEnd(line string) int {
	if m := sentenceEnd.FindStringIndex(line); m != nil {
		return m[1]
	}
	return len(line)
}

func closed(line string) bool { return sentenceEnd.MatchString(line) }

func wordsFollow(line string) bool { return len(speech.Words(line[headEnd(line):], 2)) == 2 }

var sentenceEnd = regexp.MustCompile(`[.!?] +|[。！？]`)

// quoteEnd is the end of the quotation that a text begins with.
func quoteEnd(s string) (int, bool) {
	if inner, ok := strings.CutPrefix(s, "```"); ok {
		if i := strings.Index(inner, "```"); i >= 0 {
			return i + 6, true
		}
		return 0, false
	}
	open, size := utf8.DecodeRuneInString(s)
	closing := map[rune]string{'"': "\"", '“': "”", '„': "“”", '«': "»", '»': "«", '「': "」", '『': "』", '\'': "'", '‘': "’", '`': "`"}[open]
	if closing == "" {
		return 0, false
	}
	for i, r := range s[size:] {
		if !strings.ContainsRune(closing, r) {
			continue
		}
		end := size + i + utf8.RuneLen(r)
		if next, _ := utf8.DecodeRuneInString(s[end:]); (r == '\'' || r == '’') && unicode.IsLetter(next) {
			continue // an apostrophe
		}
		return end, true
	}
	return 0, false
}

const (
	politely = `^[¿¡]?(?:(?:hi|hello|hey|hallo|hola|bonjour|salut|ciao|olá|ok|okay|please|pls|kindly|now|then|also|and|so|just|next|thanks|can you|could you|would you|will you|i need you to|i want you to|i['’]d like you to|i would like you to|help me(?: to| with)?|your task|task|` +
		`bitte|kannst du|könntest du|können sie|könnten sie|hilf mir|mir|s['’]il (?:te|vous) pla[iî]t|peux-tu|pouvez-vous|pourrais-tu|pourriez-vous|aide-moi à|merci de|por favor|me puedes|me podrías|puedes|podrías|puede|me|ayúdame a|per favore|puoi|potresti|mi|você pode|pode|podes|poderia|пожалуйста|можешь|помоги(?:те)?)[ ,!:.]+){0,4}`
	worked = `proof-?read|translate|summari[sz]e|sum up|rewrite|re-write|rephrase|paraphrase|reword|fix|explain|analy[sz]e|tl;?dr|` +
		`übersetz(?:e|en)?|korrigier(?:e|en)?|lies|lektorier(?:e|en)?|fass(?:e|en)?|überarbeite(?:n)?|verbesser(?:e|n)?|formulier(?:e|en)?|erklär(?:e|en)?|kürz(?:e|en)?|prüf(?:e|en)?|schreib(?:e)? (?:das|den|die|diesen?|dies|mein\p{L}*|folgenden?|folgendes)|` +
		`tradui(?:s|sez|re)|corrig(?:e|ez|er)|résum(?:e|ez|er)|réécri(?:s|vez|re)|reformul(?:e|ez|er)|améliore[zr]?|expliqu(?:e|ez|er)|relis(?:ez)?|` +
		`traduce|traduzca|traducir|traducirme|corrige|corregir|corrija|resume|resumir|resuma|reescrib(?:e|a|ir)|revisa|mejora|explica|explícame|` +
		`traduci|tradurre|correggi|correggere|riassumi|riassumere|riscrivi|riformula|migliora|spiega|spiegami|` +
		`traduz(?:a|ir)?|corrigir|resumir|reescrev(?:a|er)|revis[ea]|melhore|explique|` +
		`перевед(?:и|ите)|переводи|исправ(?:ь|ьте)|проверь(?:те)?|перескаж(?:и|ите)|сократи(?:те)?|перепиши(?:те)?|отредактируй(?:те)?|объясни(?:те)?|перевести|исправить`
	// reworked are requests only where they name what they are for: "Edit: …" and
	// "Check this out: …" are people's own words.
	reworked = `edit|correct|improve|polish|shorten|simplify|review|check|grade|critique|format|classify|extract|convert|continue|complete|reply to|respond to|answer|turn|make|read`
	textNoun = `text|e-?mail|mail|letter|essay|paragraph|sentences?|message|article|story|poem|cv|resume|résumé|cover letter|bio|biography|draft|note|post|tweet|blog|statement|abstract|speech|report|code|error|transcript|conversation|dialog(?:ue)?|review|passage|excerpt|quote|document|` +
		`satz|sätze|brief|aufsatz|absatz|nachricht|artikel|lebenslauf|texte|lettre|phrases?|courriel|texto|carta|frases?|correo|mensaje|testo|lettera|frase|mensagem|текст|письмо|предложение`
)

var (
	workOn    = regexp.MustCompile(`(?i)` + politely + `(?:` + worked + `)(?:[^\p{L}]|$)|^(?:请|請|帮我|幫我|麻烦|把|能不能|你能|可以)?[^。！？!?]{0,30}(?:翻译|翻譯|校对|校對|润色|潤色|总结|總結|概括|改写|改寫|修改|解释|纠正)|^[^。！？!?]{0,40}(?:翻訳|校正|要約|添削|書き直|訂正|直)(?:して|しろ|をお願い)|^[^.!?]{0,40}(?:번역|교정|요약|수정|설명)(?:해|하)`)
	workLater = regexp.MustCompile(`(?i)` + politely + `(?:` + reworked + `) [^.!?:]{0,60}\b(?:` + textNoun + `|grammar|spelling|wording|tone|punctuation|(?:this|these|the following)(?: (?:for me|please|better|more|into|to|in|sound|shorter|as)\b[^.!?:]*)?[:\n])|^(?:bitte )?(?:kannst du|könntest du|können sie|könnten sie) [^.!?:]{1,60}(?:übersetzen|korrigieren|zusammenfassen|überarbeiten|verbessern|umschreiben|umformulieren|kürzen|erklären|prüfen|korrekturlesen)`)
	ownNote   = regexp.MustCompile(`(?i)\b(?:make|take|write|add|save) (?:a |this )?note|\bthis out\b|\b(?:about|of) (?:me|myself)\b`)
	// asksAbout asks what words mean, or whether they are right.
	asksAbout = regexp.MustCompile(`(?i)^(?:and |so |ok |hi )?(?:what|how|why|who|is|are|does|do|can|could|which|was|wie|ist|qué|cómo|es|que|comment|est-ce|cosa|come)[^\p{L}][^.!?:]{0,60}\b(?:this|these|the following|below|mean|correct|grammatical|right|das|folgende\p{L}*|esto|ceci|cela|questo|isto)\b[^.!?:]{0,40}:`)
	roleplay  = regexp.MustCompile(`(?i)` + politely + `(?:(?:let['’]s |do |play |start |we )?(?:a )?role-? ?play|pretend (?:that )?(?:i|you|we)|rollenspiel|jeu de rôles?|juego de rol|gioco di ruolo|jogo de papéis|ролевая игра)(?:[^\p{L}]|$)|^(?:let['’]s [^.!?:]{1,40}[:,.] ?)?(?:in this (?:game|story|scene), )?you(?: are|['’]re| play| will be|['’]ll be) (?:a|an|the|my) [^.!?]{1,60}(?:,|\band\b|\.) ?i(?: am|['’]m| play| will be|['’]ll be)\b|^(?:角色扮演|ロールプレイ|역할극)`)
	invent    = regexp.MustCompile(`(?i)` + politely + `(?:write|compose|draft|create|make up|tell|invent|generate|schreib(?:e|en)?|erzähl(?:e|en)?|écri(?:s|vez)|raconte|escribe|escriba|inventa|cuenta|scrivi|racconta|escrev(?:a|e)|conte|напиши(?:те)?|сочини(?:те)?)(?:[^\p{L}].*)?[^\p{L}](?:stor(?:y|ies)|poem|song|novel|tale|dialog(?:ue)?|script|scene|play|letter|e-?mail|speech|monologue|essay|lyrics|diary|character|` +
		`geschichte|gedicht|brief|lied|histoire|poème|conte|lettre|chanson|historia|cuento|poema|carta|storia|racconto|poesia|lettera|história|conto|рассказ|историю|стих\p{L}*|письмо)(?:[^\p{L}]|$)|^(?:请|帮我)?写(?:一|个|篇).{0,20}(?:故事|诗|信|小说|对话)`)
	// recalls introduces what a memory, or the assistant, said.
	recalls = regexp.MustCompile(`(?i)^(?:here(?: is|['’]s| are)|this is|that is|these are) (?:what|the (?:things|facts|memories|notes))[^.:]{0,30}\b(?:you|the assistant)\b[^.:]{0,40}:|^(?:you|the assistant|your (?:memory|memories|notes?|answer|last answer|reply)) (?:(?:just|once|already|had|have) )*(?:recall(?:ed)?|remember(?:ed)?|said|says?|wrote|told me|answered|replied|stored|noted|returned|claimed?)\b[^.:]{0,40}:`)
	// brings shows a text that is not speech.
	brings  = regexp.MustCompile(`(?i)^(?:(?:so|ok|okay|and|hi|hello)[ ,]+)?(?:here(?: is|['’]s| are)|below is|hier ist|voici|aquí (?:está|tienes)|ecco|aqui está|вот) (?:[\p{L}'’]+ ){0,4}(?:text|e-?mail|letter|essay|paragraph|article|poem|draft|excerpt|passage|transcript|conversation|dialog(?:ue)?|abstract|quote|code|error|brief|aufsatz|absatz|texte|lettre|courriel|texto|carta|correo|testo|lettera|текст|письмо)(?:[^\p{L}].{0,60})?$`)
	deictic = regexp.MustCompile(`(?i)(?:^|[^\p{L}])(?:this|these|the following|following|below|dies\p{L}*|folgend\p{L}*|das|ce|cet|cette|ces|ceci|suivant\p{L}*|est[eoa]s?|siguientes?|quest[oaie]|seguent[ei]|seguintes?|это\p{L}*|следующ\p{L}*|下面|以下|这|次の|これ|다음|이|` + textNoun + `)(?:[^\p{L}]|$)`)
	// language are the requests that need words to work on, which then follow even
	// where no colon announces them.
	language = regexp.MustCompile(`(?i)\b(?:proof-?read|translate|rephrase|paraphrase|reword|rewrite|summari[sz]e|correct|edit|polish)\b.{0,20}\b(?:this|these|following|below)\b(?: (?:` + textNoun + `))?(?: (?:please|for me|to|into|in) ?(?:\p{L}+)?)?[.!?] `)
)
