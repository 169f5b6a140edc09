// Package speech looks at what people write as speech: which language it is in,
// where its sentences end, which of them ask. The rules of the stages share it.
package speech

import (
	"strings"
	"unicode"
)

// Lang is a language by its ISO 639-1 code.
type Lang string

// The languages that rules know something of.
const (
	English    Lang = "en"
	German     Lang = "de"
	Spanish    Lang = "es"
	French     Lang = "fr"
	Italian    Lang = "it"
	Portuguese Lang = "pt"
	Chinese    Lang = "zh"
	Japanese   Lang = "ja"
	Korean     Lang = "ko"
	Russian    Lang = "ru"
	// Other is a language that the rules know nothing of.
	Other Lang = ""
)

// maxLanguageBytes bounds how much of a text decides about its language.
const maxLanguageBytes = 2 << 10

// latin lists words that are common in one language; words that two of them
// share are left out, or tell little. The order decides between equals.
var latin = []struct {
	lang  Lang
	words map[string]bool
}{
	{English, set(`me tell show call called please name love live lives lived like likes work works moved has into about because but not now need want think remember if by who the and is are was were i i'm i've i'll you he she it we they my your his her our their of to for with from at on that this what when where who how
		do does did have has had will would can could not don't didn't isn't am be been about at there just really any some yesterday`)},
	{German, set(`vorgestern letzte letzten letztes letzter nächste nächsten woche monat jahr freitag montag dienstag kam ging meiner lebe liebe mein name der die das und ist sind war waren ich du er sie wir ihr mein meine meinen meinem meiner dein deine nicht kein keine ein eine einen einem einer mit von zu zum zur
		im am auf für den dem des was wann wo wer wie habe hat haben hatte bin bist wird werde auch noch gestern heute morgen mag heiße wohne arbeite nach bei seit mich mir dich dir uns`)},
	{Spanish, set(`semanas meses días años mudé la semana pasada pasado año mes hace viernes lunes mi nombre cumpleaños favorito favorita gusta vivimos tenemos somos soy fui hermana hermano hija hijo trabajo prefiero el los las y es son era fue yo tú él ella nosotros mi mis tu su sus no una uno del al con por para en que qué cuándo cuando dónde donde quién cómo
		he ha han tengo tiene estoy está soy me te lo muy ayer hoy mañana vivo trabajo llamo gusta pero ya hace como`)},
	{French, set(`la semaine dernière dernier mois année il y étais j'étais j'adore préféré préférée frère soeur sœur fille fils vendredi mon nom est l'année le les et est sont était je j'ai j'habite j'aime tu il elle nous vous mon ma mes ton ta tes son sa ses ne pas un une des du au aux avec pour dans sur que quoi quand où qui
		comment ai ont suis es êtes hier aujourd'hui demain habite travaille m'appelle c'est mais très chez depuis ce cette qu'est-ce`)},
	{Italian, set(`la settimana scorsa scorso mese anno fa ero sorella fratello figlia figlio preferito preferita mi chiamo venerdì il lo gli e è sono era io tu lui lei noi mio mia miei mie tuo tua suo sua non un uno una del della dei delle al alla con per di da che cosa quando dove chi come
		ho hai ha hanno sto sta ieri oggi domani abito vivo lavoro chiamo piace ma molto nel nella mi ti si anche`)},
	{Portuguese, set(`há semana semanas passada passado ano mês mudei mudei-me irmã irmão filha filho favorito favorita favorita nome gosto é sexta o os as e é são era eu tu ele ela nós você meu minha meus minhas seu sua não um uma do da dos das no na nos nas ao à com por para em que quando onde quem como
		tenho tem estou está sou ontem hoje amanhã moro trabalho chamo gosto mas muito me foi também`)},
}

func set(list string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}

// Language guesses the language of a text. Text in Latin script is English
// unless another language has more of its common words in it.
func Language(text string) Lang {
	if len(text) > maxLanguageBytes {
		text = strings.ToValidUTF8(text[:maxLanguageBytes], "")
	}
	var han, kana, hangul, cyrillic, roman, letters int
	for _, r := range text {
		if !unicode.IsLetter(r) {
			continue
		}
		letters++
		switch {
		case r < 0x250:
			roman++
		case unicode.Is(unicode.Han, r):
			han++
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			kana++
		case unicode.Is(unicode.Hangul, r):
			hangul++
		case unicode.Is(unicode.Cyrillic, r):
			cyrillic++
		}
	}
	switch {
	case letters == 0:
		return Other
	case kana > 0 && kana+han >= roman/3:
		return Japanese
	case han > 0 && han >= roman/4:
		return Chinese
	case hangul > roman/3:
		return Korean
	case cyrillic > roman:
		return Russian
	case roman*2 < letters:
		return Other
	}
	return latinLanguage(text)
}

func latinLanguage(text string) Lang {
	text = strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	var count [6]int
	for w := range strings.FieldsFuncSeq(text, func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\'' && r != '-'
	}) {
		for i := range latin {
			if latin[i].words[w] {
				count[i]++
			}
		}
	}
	best := 0
	for i := range latin {
		if count[i] > count[best] {
			best = i
		}
	}
	if strings.ContainsAny(text, "¿¡ñ") && count[1] <= count[2] && count[2] >= count[best] {
		best = 2
	}
	return latin[best].lang
}
