package prompts

import (
	"math"
	"strings"
)

// YesNo reads a yes-or-no reply of one token. Its score is the log-probability
// of yes minus that of no: 0 means undecided, 2.2 that yes is nine times as
// likely. When the server sent no log-probabilities, the written word decides,
// the score is ±1 and weighed is false. ok is false when the reply is neither.
//
// A word that is not among the likeliest tokens is taken to be as likely as the
// least likely of those, which is the most that it can be.
func YesNo(r Response) (score float64, weighed, ok bool) {
	if len(r.Tokens) > 0 && len(r.Tokens[0].Top) > 0 {
		yes, no, least := math.Inf(-1), math.Inf(-1), math.Inf(1)
		for _, a := range r.Tokens[0].Top {
			if math.IsNaN(a.Logprob) || math.IsInf(a.Logprob, 0) {
				continue
			}
			least = min(least, a.Logprob)
			switch word(a.Text) {
			case "yes":
				yes = logSum(yes, a.Logprob)
			case "no":
				no = logSum(no, a.Logprob)
			}
		}
		if math.IsInf(yes, -1) && math.IsInf(no, -1) {
			return 0, false, false
		}
		return max(yes, least) - max(no, least), true, true
	}
	switch word(r.Text) {
	case "yes":
		return 1, false, true
	case "no":
		return -1, false, true
	}
	return 0, false, false
}

// word is the first word of a token or a reply, lower case, without what small
// models put around it ("**Yes**", " yes,", `"no"`).
func word(s string) string {
	fields := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return r < 'a' || r > 'z'
	})
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// logSum is log(exp(a) + exp(b)).
func logSum(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
