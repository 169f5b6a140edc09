package write

import (
	"regexp"
	"strings"

	"github.com/lightmem/lightmem/internal/speech"
)

// phrasebook is what is known of the most common attributes in one language. In each
// pattern the group "v" is the value, "a" completes the attribute's name, and
// "s" is the subject where it is not the speaker.
type phrasebook struct {
	patterns []pattern
	// ended tells that a statement ends an earlier one ("nicht mehr").
	ended, denied *regexp.Regexp
}

type pattern struct {
	attribute string
	re        *regexp.Regexp
}

func keyed(attribute, re string) pattern { return pattern{attribute, regexp.MustCompile(re)} }

const (
	place  = `(?P<v>\p{Lu}[\p{L}.'’-]*(?: (?:(?:de|del|la|de la|am|an der|do|di|sur|upon) )?\p{Lu}[\p{L}.'’-]*){0,4})`
	maker  = `(?P<v>[\p{Lu}\d][\p{L}\d&.'’-]*(?: [\p{Lu}\d][\p{L}\d&.'’-]*){0,4})`
	anyone = `(?P<v>[^,.;!?。，！？]{1,60})`
	thing  = `(?P<s>[\p{L}\d][\p{L}\d._-]*(?: \p{Lu}[\p{L}\d._-]*){0,2})`
)

// japanesePlace is a place, without the time that may stand right before it.
const japanesePlace = `(?:先週|先月|昨日|去年|昨年|一昨年|今年|今月|今週|最近|先日|今日|今|\d+[年月日]前?)?(?P<v>[\p{Han}\p{Katakana}ー]{2,12})`

var foreign = map[speech.Lang]phrasebook{
	speech.German: {
		ended: regexp.MustCompile(`(?i)\bnicht mehr\b|\bkeine?n? .{1,30} mehr\b`), denied: regexp.MustCompile(`(?i)\b(?:nicht|keine?n?)\b`),
		patterns: []pattern{
			keyed(Residence, `(?i:\bich|\bwir|^)(?: .{0,40}?)? ?(?i:wohne|lebe|wohnen|leben) (?:.{0,40}? )?in `+place),
			keyed(Residence, `(?i:\bich|\bwir) .{0,40}?(?i:nach) `+place+` (?i:um)?gezogen`),
			keyed(Residence, `(?i:\bin|nach) `+place+` (?i:wohne|lebe|umgezogen|gezogen)`),
			keyed(Residence, `(?i)^(?:.{0,30} )?(?:wohne|lebe) ich (?:.{0,40}? )?in `+strings.Replace(place, `(?P<v>`, `(?P<v>(?-i)`, 1)),
			keyed(Employer, `(?i:\barbeite) (?:.{0,40}? )?(?i:bei|für) (?i:der |dem )?`+maker),
			keyed(Name, `(?i:ich heiße|mein name ist|ich bin der|ich bin die|nenn mich) (?P<v>\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)?)`),
			keyed("favourite:", `(?i:mein|meine) (?i:absolutes? |neues? )?(?i:lieblings)-?(?P<a>\p{L}+) (?i:ist|sind) `+anyone),
			keyed("deadline", `(?i:^die) (?i:frist|deadline|abgabefrist) (?i:von|für) (?i:das |den |dem |die )?`+thing+` (?i:ist|wurde auf) (?i:der |am |den )?(?P<v>[^;!?]{1,60})`),
		},
	},
	speech.Spanish: {
		ended: regexp.MustCompile(`(?i)\bya no\b`), denied: regexp.MustCompile(`(?i)\bno\b`),
		patterns: []pattern{
			keyed(Residence, `(?i:\bvivo|\bvivimos|\bresido) (?:.{0,30}? )?(?i:en) `+place),
			keyed(Residence, `(?i:\bme mudé|\bnos mudamos|\bme he mudado) (?:.{0,40}? )?(?i:a) `+place),
			keyed(Employer, `(?i:\btrabajo) (?:.{0,30}? )?(?i:en|para) `+maker),
			keyed(Name, `(?i:me llamo|mi nombre es) (?P<v>\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)?)`),
			keyed("favourite:", `(?i:\bmi) (?P<a>\p{L}+) (?i:favorit[oa]|preferid[oa]) (?i:es) `+anyone),
			keyed("deadline", `(?i:^la fecha límite|^el plazo|^la fecha de entrega) (?i:de|del|para) (?i:proyecto )?`+thing+` (?i:es)(?i: el)? (?P<v>[^;!?]{1,60})`),
		},
	},
	speech.French: {
		ended: regexp.MustCompile(`(?i)\b(?:ne|n['’]).{1,30}\bplus\b`), denied: regexp.MustCompile(`(?i)\bpas\b`),
		patterns: []pattern{
			keyed(Residence, `(?i:j['’]habite|je vis|nous habitons|nous vivons|j['’]ai déménagé|nous avons déménagé|j['’]habite maintenant|je n['’]habite plus|je ne vis plus) (?:.{0,40}? )?(?i:à|en|au|aux) `+place),
			keyed(Employer, `(?i:je travaille|je ne travaille plus) (?:.{0,30}? )?(?i:chez|pour|à) `+maker),
			keyed(Name, `(?i:je m['’]appelle|mon nom est|mon prénom est) (?P<v>\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)?)`),
			keyed("favourite:", `(?i:\bmon|\bma) (?P<a>\p{L}+) (?i:préférée?|favorite?) (?i:est) `+anyone),
			keyed("deadline", `(?i:^la date limite|^l['’]échéance) (?i:de |d['’]|du |pour )(?i:projet )?`+thing+` (?i:est) (?i:le )?(?P<v>[^;!?]{1,60})`),
		},
	},
	speech.Italian: {
		ended: regexp.MustCompile(`(?i)\bnon .{1,30}\bpiù\b`), denied: regexp.MustCompile(`(?i)\bnon\b`),
		patterns: []pattern{
			keyed(Residence, `(?i:\bvivo|\babito|\bviviamo|\babitiamo) (?:.{0,30}? )?(?i:a|in) `+place),
			keyed(Residence, `(?i:mi sono trasferit[oa]|ci siamo trasferit[ie]) (?:.{0,40}? )?(?i:a|in) `+place),
			keyed(Employer, `(?i:\blavoro) (?:.{0,30}? )?(?i:per|presso|da|in|alla|a) `+maker),
			keyed(Name, `(?i:mi chiamo|il mio nome è) (?P<v>\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)?)`),
			keyed("favourite:", `(?i:\bil mio|\bla mia) (?P<a>\p{L}+) (?i:preferit[oa]) (?i:è) `+anyone),
			keyed("deadline", `(?i:^la scadenza) (?i:di|del|per) (?i:progetto )?`+thing+` (?i:è)(?i: il)? (?P<v>[^;!?]{1,60})`),
		},
	},
	speech.Portuguese: {
		ended: regexp.MustCompile(`(?i)\bjá não\b|\bnão .{1,30}\bmais\b`), denied: regexp.MustCompile(`(?i)\bnão\b`),
		patterns: []pattern{
			keyed(Residence, `(?i:\bmoro|\bvivo|\bmoramos|\bvivemos) (?:.{0,30}? )?(?i:em|no|na) `+place),
			keyed(Residence, `(?i:me mudei|mudei-me|mudei|nos mudamos) (?:.{0,40}? )?(?i:para) (?i:o |a )?`+place),
			keyed(Employer, `(?i:\btrabalho) (?:.{0,30}? )?(?i:na|no|em|para a|para o|para) `+maker),
			keyed(Name, `(?i:me chamo|chamo-me|meu nome é) (?P<v>\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)?)`),
			keyed("favourite:", `(?i:\bmeu|\bminha) (?P<a>\p{L}+) (?i:favorit[oa]|preferid[oa]) (?i:é) `+anyone),
			keyed("deadline", `(?i:^o prazo|^a data limite) (?i:de|do|da|para) (?i:projeto )?`+thing+` (?i:é) (?i:o dia |dia )?(?P<v>[^;!?]{1,60})`),
		},
	},
	speech.Russian: {
		ended: regexp.MustCompile(`(?i)больше не `), denied: regexp.MustCompile(`(?i)(?:^| )не `),
		patterns: []pattern{
			keyed(Residence, `(?i:переехал[аи]?|перебрал(?:ся|ась|ись)) (?:.{0,40}? )?(?i:в|во|на) `+place),
			keyed(Residence, `(?i:живу|живем|живём|проживаю) (?:.{0,40}? )?(?i:в|во|на) `+place),
			keyed(Employer, `(?i:работаю) (?:.{0,30}? )?(?i:в|во|на) `+maker),
			keyed(Name, `(?i:меня зовут|моё имя|мое имя) (?P<v>\p{Lu}[\p{L}-]+(?: \p{Lu}[\p{L}-]+)?)`),
		},
	},
	speech.Japanese: {
		ended: regexp.MustCompile(`もう.{0,20}(?:ません|ない)`), denied: regexp.MustCompile(`(?:ません|ない|いなかった)`),
		patterns: []pattern{
			keyed(Residence, japanesePlace+`[にへ](?:引っ越し|引越し|移住し|転居し)(?:ました|た|て)`),
			keyed(Residence, japanesePlace+`に(?:住んで(?:いま|い|る|ま)|暮らして)`),
			keyed(Employer, `(?P<v>[\p{Han}\p{Katakana}ーA-Za-z0-9]{2,24})(?:で働いて|に勤めて|に勤務)`),
		},
	},
	speech.Chinese: {
		ended: regexp.MustCompile(`不再|已经不|已經不|再也不`), denied: regexp.MustCompile(`不|没有`),
		patterns: []pattern{
			keyed(Residence, `我(?:们)?[^，。]{0,12}(?:住在|定居在|搬到了?|搬去了?|搬家到了?)(?:了)?(?P<v>[\p{Han}A-Za-z ]{1,20})`),
			keyed(Employer, `我[^，。]{0,8}在(?P<v>[\p{Han}A-Za-z0-9 ]{1,24}?)(?:工作|上班|任职)`),
			keyed(Name, `我(?:的名字)?(?:叫|是叫|名叫)(?P<v>[\p{Han}A-Za-z ·]{1,20})`),
			keyed("favourite:", `我最喜欢的(?P<a>[\p{Han}]{1,8})是(?P<v>[\p{Han}A-Za-z0-9 ]{1,30})`),
			keyed("deadline", `(?P<s>[\p{Han}A-Za-z0-9_-]{1,24}?)的?(?:截止日期|截止时间|期限|deadline)(?:是|改到了?|改为|定在)(?P<v>[^，。！？]{1,30})`),
			keyed(Likes, `我(?:很|非常|特别|也|不再|不|已经不|再也不)*(?:喜欢|爱|讨厌)(?P<v>[\p{Han}A-Za-z]{1,20})`),
		},
	},
}

var (
	foreignStop = regexp.MustCompile(` (?i:und|weil|seit|mit|aber|y|pero|desde|con|porque|et|mais|depuis|avec|parce|e|ma|da|dal|perché|mas|desde|com|porque|hace|il y a)(?: |$).*$`)
	hateSigns   = regexp.MustCompile(`讨厌`)
)

// foreignTopic is topicOf for other languages than English.
func foreignTopic(text string, lang speech.Lang) topic {
	known, ok := foreign[lang]
	if !ok {
		return topic{}
	}
	ended := known.ended.MatchString(text)
	for _, x := range known.patterns {
		m := x.re.FindStringSubmatch(text)
		if m == nil {
			continue
		}
		group := func(name string) string {
			if i := x.re.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		t := topic{subject: Self, attribute: x.attribute, value: group("v")}
		if s := group("s"); s != "" {
			t.subject = canonical(s)
		}
		if a := group("a"); a != "" {
			t.attribute += strings.ToLower(a)
		}
		t.value = strings.TrimSpace(foreignStop.ReplaceAllString(t.value, ""))
		if lang == speech.Chinese {
			t.value = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSpace(t.value), "了"), "人")
		}
		t.negates = ended || known.denied.MatchString(text) || x.attribute == Likes && hateSigns.MatchString(text)
		if t = t.clean(); t.attribute != "" {
			return t
		}
	}
	if ended {
		return topic{negates: true}
	}
	return topic{}
}
