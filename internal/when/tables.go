package when

import (
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/speech"
)

// unit is a stretch of the calendar.
type unit uint8

const (
	noUnit unit = iota
	uDay
	uWeek
	uWeekend
	uMonth
	uQuarter
	uYear
	uSpring
	uSummer
	uAutumn
	uWinter
)

// rel places a unit relative to now.
type rel uint8

const (
	rNone rel = iota
	rLast
	rThis
	rNext   // the one after this
	rComing // the first that comes
)

// grammar is what is known of one language.
type grammar struct {
	phrases  []phrase // longest first
	units    map[string]unit
	weekdays map[string]time.Weekday
	months   map[string]time.Month
	before   map[string]rel // "last" week
	after    map[string]rel // semana "pasada"
	agoFront [][]string     // "hace" dos semanas
	agoBack  [][]string     // two weeks "ago"
	inFront  [][]string     // "in" two weeks
	inBack   [][]string     // two weeks "from now"
	numbers  map[string]int
	// onDay stand before a day, inMonth before a month or year, also "since".
	onDay, inMonth map[string]bool
	// glue stands between the parts of a date: 3 "de" mayo "de" 2023.
	glue map[string]bool
	// every makes a time repeat.
	every map[string]bool
	// shy months and weekdays are other words, too, and need help.
	shy map[string]bool
	// monthFirst says that 3/5/2026 is the fifth of March.
	monthFirst bool
	starts     map[string][]int // phrases by first word
}

// phrase is a fixed expression and the day, or the unit, that it means.
type phrase struct {
	words []string
	days  int
	unit  unit // noUnit: a day
	shift int  // units from now
}

func words(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

func table[T any](pairs map[string]T) map[string]T {
	m := make(map[string]T)
	for list, v := range pairs {
		for w := range strings.FieldsSeq(list) {
			m[w] = v
		}
	}
	return m
}

func sequences(list ...string) [][]string {
	out := make([][]string, len(list))
	for i, s := range list {
		out[i] = strings.Fields(s)
	}
	return out
}

// days makes phrases of "words=offset in days".
func days(pairs map[string]int) []phrase {
	var out []phrase
	for s, n := range pairs {
		out = append(out, phrase{words: strings.Fields(s), days: n})
	}
	return out
}

func week(pairs map[string]int, u unit) []phrase {
	var out []phrase
	for s, n := range pairs {
		out = append(out, phrase{words: strings.Fields(s), unit: u, shift: n})
	}
	return out
}

func join(lists ...[]phrase) []phrase {
	var out []phrase
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

func weekdayTable(list ...string) map[string]time.Weekday {
	m := make(map[string]time.Weekday)
	for i, names := range list { // from Sunday
		for w := range strings.FieldsSeq(names) {
			m[w] = time.Weekday(i)
		}
	}
	return m
}

func monthTable(list ...string) map[string]time.Month {
	m := make(map[string]time.Month)
	for i, names := range list {
		for w := range strings.FieldsSeq(names) {
			m[w] = time.Month(i + 1)
		}
	}
	return m
}

func numberTable(list string) map[string]int {
	m := make(map[string]int)
	for i, names := range strings.Fields(list) {
		for w := range strings.SplitSeq(names, "/") {
			m[w] = i + 1
		}
	}
	return m
}

var grammars = prepare(map[speech.Lang]*grammar{
	speech.English: {
		phrases: join(days(map[string]int{
			"yesterday": -1, "day before yesterday": -2, "yesterday morning": -1, "yesterday afternoon": -1, "yesterday evening": -1, "last night": -1, "yesterday night": -1,
			"today": 0, "tonight": 0, "this morning": 0, "this afternoon": 0, "this evening": 0, "tomorrow": 1, "tomorrow morning": 1, "tomorrow evening": 1, "tomorrow night": 1, "day after tomorrow": 2,
		}), week(map[string]int{"week before last": -2, "week after next": 2}, uWeek), week(map[string]int{"weekend before last": -2, "weekend after next": 2}, uWeekend),
			week(map[string]int{"month before last": -2, "month after next": 2}, uMonth), week(map[string]int{"year before last": -2, "year after next": 2}, uYear)),
		units: table(map[string]unit{
			"day days": uDay, "week weeks": uWeek, "weekend weekends": uWeekend, "month months": uMonth, "quarter": uQuarter, "year years yr yrs": uYear,
			"spring": uSpring, "summer": uSummer, "autumn fall": uAutumn, "winter": uWinter,
		}),
		weekdays: weekdayTable("sunday", "monday", "tuesday tues", "wednesday", "thursday thurs", "friday", "saturday"),
		months: monthTable("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug", "september sept sep", "october oct",
			"november nov", "december dec"),
		before:     table(map[string]rel{"last past previous": rLast, "this current": rThis, "next following": rNext, "coming upcoming": rComing}),
		agoBack:    sequences("ago", "back", "earlier"),
		inFront:    sequences("in", "within"),
		inBack:     sequences("from now", "from today"),
		numbers:    numberTable("one/a/an two/couple three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"),
		onDay:      words("on by until till before after since from for of through"),
		inMonth:    words("in since until till by from during of late early mid before after around back through to between end beginning middle start"),
		glue:       words("of the de"),
		every:      words("every each any per a another some most"),
		shy:        words("may march mar jan jun dec sun sat mon fall spring second"),
		monthFirst: true,
	},
	speech.German: {
		phrases: join(days(map[string]int{
			"gestern": -1, "vorgestern": -2, "gestern abend": -1, "gestern nacht": -1, "letzte nacht": -1, "heute": 0, "heute abend": 0, "heute morgen": 0, "heute früh": 0,
			"morgen": 1, "morgen früh": 1, "morgen abend": 1, "übermorgen": 2,
		})),
		units: table(map[string]unit{
			"tag tage tagen": uDay, "woche wochen": uWeek, "wochenende wochenenden": uWeekend, "monat monate monaten monats": uMonth, "quartal": uQuarter,
			"jahr jahre jahren jahres": uYear, "frühling frühjahr": uSpring, "sommer": uSummer, "herbst": uAutumn, "winter": uWinter,
		}),
		weekdays: weekdayTable("sonntag", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag sonnabend"),
		months:   monthTable("januar jänner", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "dezember"),
		before: table(map[string]rel{
			"letzte letzten letzter letztes letztem vergangene vergangenen vergangenes vorige vorigen voriges": rLast,
			"diese diesen dieser dieses diesem": rThis, "nächste nächsten nächster nächstes nächstem": rNext, "kommende kommenden kommender kommendes": rComing,
		}),
		agoFront: sequences("vor"),
		inFront:  sequences("in"),
		numbers:  numberTable("ein/eine/einem/einen/einer/eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf"),
		onDay:    words("am bis ab seit vom zum den der vor nach"),
		inMonth:  words("im in seit bis ab anfang mitte ende jahr jahre vom von um"),
		glue:     words("der den"),
		every:    words("jeden jede jedes jeder immer"),
		shy:      words("morgen"),
	},
	speech.Spanish: {
		phrases: join(days(map[string]int{"ayer": -1, "anteayer": -2, "antes de ayer": -2, "anoche": -1, "hoy": 0, "esta mañana": 0, "esta tarde": 0, "esta noche": 0, "mañana": 1, "pasado mañana": 2})),
		units: table(map[string]unit{
			"día días dia dias": uDay, "semana semanas": uWeek, "fin": uWeekend, "mes meses": uMonth, "trimestre": uQuarter, "año años": uYear, "primavera": uSpring, "verano": uSummer,
			"otoño": uAutumn, "invierno": uWinter,
		}),
		weekdays: weekdayTable("domingo", "lunes", "martes", "miércoles miercoles", "jueves", "viernes", "sábado sabado"),
		months:   monthTable("enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre setiembre", "octubre", "noviembre", "diciembre"),
		before:   table(map[string]rel{"pasado pasada último última": rLast, "este esta": rThis, "próximo próxima proximo proxima": rComing}),
		after:    table(map[string]rel{"pasado pasada": rLast, "próximo próxima que\u00a0viene": rComing}),
		agoFront: sequences("hace"),
		inFront:  sequences("en", "dentro de"),
		numbers:  numberTable("un/una/uno dos tres cuatro cinco seis siete ocho nueve diez once doce"),
		onDay:    words("el los desde hasta del al para"),
		inMonth:  words("en de desde hasta del durante para"),
		glue:     words("de del"),
		every:    words("cada todos todas los"),
		shy:      words("fin"),
	},
	speech.French: {
		phrases: join(days(map[string]int{"hier": -1, "avant hier": -2, "hier soir": -1, "aujourd'hui": 0, "ce matin": 0, "ce soir": 0, "cet après midi": 0, "demain": 1, "après demain": 2})),
		units: table(map[string]unit{
			"jour jours": uDay, "semaine semaines": uWeek, "weekend": uWeekend, "mois": uMonth, "trimestre": uQuarter, "an ans année années": uYear, "printemps": uSpring, "été": uSummer,
			"automne": uAutumn, "hiver": uWinter,
		}),
		weekdays: weekdayTable("dimanche", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"),
		months:   monthTable("janvier", "février fevrier", "mars", "avril", "mai", "juin", "juillet", "août aout", "septembre", "octobre", "novembre", "décembre decembre"),
		before:   table(map[string]rel{"ce cette cet": rThis}),
		after:    table(map[string]rel{"dernier dernière derniere passé passée": rLast, "prochain prochaine": rComing}),
		agoFront: sequences("il y a", "y a"),
		inFront:  sequences("dans"),
		numbers:  numberTable("un/une deux trois quatre cinq six sept huit neuf dix onze douze"),
		onDay:    words("le depuis jusqu'au du au avant après dès"),
		inMonth:  words("en de depuis jusqu'en début fin mi d'ici avant après"),
		glue:     words("de"),
		every:    words("chaque tous toutes les"),
		shy:      words("été mars"),
	},
	speech.Italian: {
		phrases: join(days(map[string]int{"ieri": -1, "l'altro ieri": -2, "ieri sera": -1, "oggi": 0, "stamattina": 0, "stasera": 0, "domani": 1, "dopodomani": 2})),
		units: table(map[string]unit{
			"giorno giorni": uDay, "settimana settimane": uWeek, "weekend": uWeekend, "mese mesi": uMonth, "trimestre": uQuarter, "anno anni": uYear, "primavera": uSpring, "estate": uSummer,
			"autunno": uAutumn, "inverno": uWinter,
		}),
		weekdays: weekdayTable("domenica", "lunedì", "martedì", "mercoledì", "giovedì", "venerdì", "sabato"),
		months:   monthTable("gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno", "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre"),
		before:   table(map[string]rel{"scorso scorsa": rLast, "questo questa quest'anno": rThis, "prossimo prossima": rComing}),
		after:    table(map[string]rel{"scorso scorsa passato passata": rLast, "prossimo prossima": rComing}),
		agoBack:  sequences("fa"),
		inFront:  sequences("tra", "fra"),
		numbers:  numberTable("un/una/uno due tre quattro cinque sei sette otto nove dieci undici dodici"),
		onDay:    words("il da dal fino al entro"),
		inMonth:  words("in a nel dal di da fino entro"),
		glue:     words("di del"),
		every:    words("ogni tutti tutte i"),
		shy:      words("estate"),
	},
	speech.Portuguese: {
		phrases: join(days(map[string]int{"ontem": -1, "anteontem": -2, "ontem à noite": -1, "hoje": 0, "esta manhã": 0, "amanhã": 1, "depois de amanhã": 2})),
		units: table(map[string]unit{
			"dia dias": uDay, "semana semanas": uWeek, "mês mes meses": uMonth, "trimestre": uQuarter, "ano anos": uYear, "primavera": uSpring, "verão": uSummer, "outono": uAutumn,
			"inverno": uWinter,
		}),
		weekdays: weekdayTable("domingo", "segunda", "terça", "quarta", "quinta", "sexta", "sábado sabado"),
		months:   monthTable("janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"),
		before:   table(map[string]rel{"passado passada último última": rLast, "este esta neste nesta": rThis, "próximo próxima": rComing}),
		after:    table(map[string]rel{"passado passada": rLast, "próximo próxima": rComing}),
		agoFront: sequences("há", "ha"),
		agoBack:  sequences("atrás"),
		inFront:  sequences("em", "daqui a", "dentro de"),
		numbers:  numberTable("um/uma dois/duas três/tres quatro cinco seis sete oito nove dez onze doze"),
		onDay:    words("no na em desde até de"),
		inMonth:  words("em de desde até do durante"),
		glue:     words("de do"),
		every:    words("cada todo toda todos todas"),
		shy:      words("segunda terça quarta quinta sexta"),
	},
	speech.Russian: {
		phrases: join(days(map[string]int{"вчера": -1, "позавчера": -2, "сегодня": 0, "завтра": 1, "послезавтра": 2})),
		units: table(map[string]unit{
			"день дня дней": uDay, "неделя неделе неделю недели недель": uWeek, "выходные": uWeekend, "месяц месяце месяца месяцев": uMonth,
			"год году года лет": uYear,
		}),
		weekdays: weekdayTable("воскресенье", "понедельник", "вторник", "среду среда", "четверг", "пятницу пятница", "субботу суббота"),
		months:   monthTable("январе января", "феврале февраля", "марте марта", "апреле апреля", "мае мая", "июне июня", "июле июля", "августе августа", "сентябре сентября", "октябре октября", "ноябре ноября", "декабре декабря"),
		before:   table(map[string]rel{"прошлой прошлом прошлую прошлый прошлое": rLast, "этой этом эту этот": rThis, "следующей следующем следующую следующий": rNext}),
		agoBack:  sequences("назад"),
		inFront:  sequences("через"),
		numbers:  numberTable("один/одну два/две три четыре пять шесть семь восемь девять десять"),
		onDay:    words("в во с до"),
		inMonth:  words("в с до"),
		every:    words("каждый каждую каждое"),
		shy:      words(""),
	},
})

// prepare orders the phrases of each language and indexes them.
func prepare(all map[speech.Lang]*grammar) map[speech.Lang]*grammar {
	for _, g := range all {
		g.starts = make(map[string][]int)
		for i, p := range g.phrases {
			g.starts[p.words[0]] = append(g.starts[p.words[0]], i)
		}
		if g.after == nil {
			g.after = map[string]rel{}
		}
	}
	return all
}

// countNouns after a four-digit number make it a count.
var countNouns = words("people users words meters metres kilometers kilometres km miles steps calories dollars euros pounds times items rows pages lines points mb gb kb ms tokens hours minutes seconds euro dollar")

// holidays are days by name, without possessive endings.
var holidays = map[string][2]int{
	"christmas": {12, 25}, "christmas day": {12, 25}, "christmas eve": {12, 24}, "halloween": {10, 31}, "valentine day": {2, 14}, "valentines day": {2, 14},
	"new year eve": {12, 31}, "new years eve": {12, 31}, "new year day": {1, 1}, "new years day": {1, 1}, "weihnachten": {12, 25}, "silvester": {12, 31}, "navidad": {12, 25}, "noël": {12, 25}, "natale": {12, 25}, "natal": {12, 25},
}

// holidayStarts says how many words the longest holiday with a first word has.
var holidayStarts = func() map[string]int {
	m := make(map[string]int)
	for name := range holidays {
		parts := strings.Fields(name)
		m[parts[0]] = max(m[parts[0]], len(parts))
	}
	return m
}()
