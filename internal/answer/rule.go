package answer

import (
	"context"
	"strings"

	"github.com/lightmem/lightmem/internal/speech"
	"github.com/lightmem/lightmem/memory"
	"github.com/lightmem/lightmem/prompts"
)

// RuleVersion names the rule in an answer.
const RuleVersion = "rule.answer.v1"

// phrases are the fixed words of an answer in one language.
type phrases struct {
	remember string // before what was selected
	none     string // a question, and nothing is known
	heard    string // a statement, and nothing earlier is known
	until    string // before the day on which a statement ended
	disputed string // after a contested statement
}

var fixed = map[speech.Lang]phrases{
	speech.English:    {"I remember:", "I have no memory about that.", "All right. I have no earlier memory about that.", "until", "contradicted by another memory"},
	speech.German:     {"Ich erinnere mich:", "Dazu habe ich keine Erinnerung.", "In Ordnung. Dazu habe ich keine frühere Erinnerung.", "bis", "eine andere Erinnerung widerspricht"},
	speech.Spanish:    {"Recuerdo:", "No tengo ningún recuerdo sobre eso.", "De acuerdo. No tengo recuerdos anteriores sobre eso.", "hasta", "otro recuerdo lo contradice"},
	speech.French:     {"Je me souviens :", "Je n'ai aucun souvenir à ce sujet.", "D'accord. Je n'ai pas de souvenir antérieur à ce sujet.", "jusqu'au", "contredit par un autre souvenir"},
	speech.Italian:    {"Ricordo:", "Non ho ricordi a riguardo.", "Va bene. Non ho ricordi precedenti a riguardo.", "fino al", "un altro ricordo lo contraddice"},
	speech.Portuguese: {"Lembro-me:", "Não tenho nenhuma memória sobre isso.", "Certo. Não tenho memórias anteriores sobre isso.", "até", "outra memória o contradiz"},
	speech.Chinese:    {"我记得：", "关于这件事我没有记忆。", "好的。关于这件事我之前没有记忆。", "直到", "与另一条记忆矛盾"},
}

// Rule answers by quoting the selected memories with their dates, and says
// plainly when there are none. It adds nothing of its own and does not repeat
// the question. The fixed words are in the language of the input where the rule
// knows it, otherwise in English.
type Rule struct{}

// Answer implements activities.Answerer.
func (Rule) Answer(_ context.Context, s memory.Selected, emit func(piece string)) (memory.Answer, error) {
	lang := speech.Language(s.Text)
	say, ok := fixed[lang]
	if !ok {
		say = fixed[speech.English]
	}
	var b strings.Builder
	write := func(piece string) {
		b.WriteString(piece)
		if emit != nil {
			emit(piece)
		}
	}
	chosen := quotable(s)
	if len(chosen) == 0 {
		if asks(s.Text, lang) {
			write(say.none)
		} else {
			write(say.heard)
		}
		return memory.Answer{Text: b.String(), Version: RuleVersion}, nil
	}
	write(say.remember)
	for _, c := range chosen {
		if len(chosen) == 1 {
			write(" " + quote(s, c, say))
		} else {
			write("\n- " + quote(s, c, say))
		}
	}
	return memory.Answer{Text: b.String(), Version: RuleVersion}, nil
}

// quotable are the selected memories that bear on the input by themselves. What
// a selector took along by its score alone (Reason "score") is context for a
// model; quoted to a person it would only distract. When all are such, the
// first is quoted.
func quotable(s memory.Selected) []memory.Candidate {
	var out []memory.Candidate
	all := s.Memories()
	for i, c := range all {
		if s.Selection.Chosen[i].Reason != "score" {
			out = append(out, c)
		}
	}
	if len(out) == 0 && len(all) > 0 {
		return all[:1]
	}
	return out
}

// quote is one memory with when it happened, unless its text says so already.
func quote(s memory.Selected, c memory.Candidate, say phrases) string {
	const day = "2006-01-02"
	text := strings.Join(strings.Fields(prompts.Cut(c.Memory, maxMemoryBytes)), " ")
	var notes []string
	if !c.EventAt.IsZero() {
		if d := c.EventAt.In(s.Location()).Format(day); !strings.Contains(text, d) {
			notes = append(notes, d)
		}
	}
	if !c.ValidTo.IsZero() && (s.At.IsZero() || !c.ValidTo.After(s.At)) {
		notes = append(notes, say.until+" "+c.ValidTo.In(s.Location()).Format(day))
	}
	if c.Status == memory.StatusContested {
		notes = append(notes, say.disputed)
	}
	if len(notes) == 0 {
		return text
	}
	return text + " [" + strings.Join(notes, "; ") + "]"
}

// asks reports whether some sentence of the input asks.
func asks(text string, lang speech.Lang) bool {
	for _, s := range speech.Sentences(text) {
		if speech.IsQuestion(s.Text, lang) {
			return true
		}
	}
	return false
}
