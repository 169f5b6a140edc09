package write_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/write"
	"github.com/lightmem/lightmem/memory"
)

var update = flag.Bool("update", false, "write the golden files anew")

type labelled struct {
	lang, date, topic, text string
	keep                    bool
}

func corpus(t testing.TB) []labelled {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "corpus.txt"))
	require.NoError(t, err)
	var out []labelled
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.SplitN(line, " | ", 5)
		require.Len(t, f, 5, line)
		require.Contains(t, []string{"keep", "drop"}, f[1], line)
		out = append(out, labelled{lang: f[0], keep: f[1] == "keep", date: f[2], topic: f[3], text: f[4]})
	}
	require.GreaterOrEqual(t, len(out), 150)
	return out
}

func said(text string) memory.Answered {
	var a memory.Answered
	a.Mode, a.Text, a.Profile = memory.ModeAnswer, text, memory.Profile{Name: "Nora", TimeZone: "Europe/Berlin"}
	a.At = time.Date(2026, 5, 6, 9, 0, 0, 0, time.UTC)
	return a
}

// tally counts hits and misses of one judgement.
type tally struct{ right, wrong, missed int }

func (c tally) String() string {
	pct := func(a, b int) string {
		if b == 0 {
			return "    -"
		}
		return fmt.Sprintf("%5.3f", float64(a)/float64(b))
	}
	return fmt.Sprintf("precision %s  recall %s  (%d right, %d wrong, %d missed)", pct(c.right, c.right+c.wrong), pct(c.right, c.right+c.missed), c.right, c.wrong, c.missed)
}

// TestQuality measures the rule on a labelled corpus; a change of quality is a
// change of the golden file.
func TestQuality(t *testing.T) {
	t.Parallel()
	kept, dates, topics := map[string]*tally{}, &tally{}, &tally{}
	var misses []string
	miss := func(format string, args ...any) { misses = append(misses, fmt.Sprintf(format, args...)) }
	for _, l := range corpus(t) {
		out, err := write.Rule{}.Draft(context.Background(), said(l.text))
		require.NoError(t, err)
		k := kept[l.lang]
		if k == nil {
			k = &tally{}
			kept[l.lang] = k
		}
		switch got := len(out.Drafts) > 0; {
		case got && l.keep:
			k.right++
		case got:
			k.wrong++
			miss("kept     %s: %s", l.lang, l.text)
			continue
		case l.keep:
			k.missed++
			miss("dropped  %s: %s (%s)", l.lang, l.text, out.Refused[0].Reason)
			continue
		default:
			require.NotEmpty(t, out.Refused, l.text)
			require.NotEmpty(t, out.Refused[0].Reason)
			continue
		}
		d := out.Drafts[0]
		score(dates, l.date, dateOf(d), func(got string) { miss("date     %s: %s: %s, not %s", l.lang, l.text, got, l.date) })
		score(topics, l.topic, topicOf(d), func(got string) { miss("topic    %s: %s: %s, not %s", l.lang, l.text, got, l.topic) })
	}
	var b strings.Builder
	total := tally{}
	langs := make([]string, 0, len(kept))
	for lang := range kept {
		langs = append(langs, lang)
	}
	slices.Sort(langs)
	for _, lang := range langs {
		k := *kept[lang]
		fmt.Fprintf(&b, "keep %s    %s\n", lang, k)
		total = tally{total.right + k.right, total.wrong + k.wrong, total.missed + k.missed}
	}
	fmt.Fprintf(&b, "keep all   %s\ndate       %s\ntopic      %s\n\n", total, dates, topics)
	b.WriteString(strings.Join(misses, "\n") + "\n")
	golden := filepath.Join("testdata", "quality.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run with -update and look at the difference")
}

func score(c *tally, want, got string, miss func(string)) {
	switch {
	case want == got && want != "-":
		c.right++
	case want == got:
	case want == "-":
		c.wrong++
		miss(got)
	case got == "-":
		c.missed++
		miss(got)
	default:
		c.wrong++
		c.missed++
		miss(got)
	}
}

// dateOf is the date that the draft's text has in brackets, or its event's day.
func dateOf(d memory.Draft) string {
	if i := strings.IndexByte(d.Text, '('); i >= 0 && !d.EventAt.IsZero() {
		if j := strings.IndexByte(d.Text[i:], ')'); j > 0 && strings.ContainsAny(d.Text[i:i+j], "0123456789") {
			return d.Text[i+1 : i+j]
		}
	}
	berlin, _ := time.LoadLocation("Europe/Berlin")
	at := d.EventAt.In(berlin)
	switch {
	case at.Format(time.DateOnly) == "2026-05-06":
		return "-"
	case at.Month() == time.January && at.Day() == 1:
		return at.Format("2006")
	}
	return at.Format(time.DateOnly)
}

func topicOf(d memory.Draft) string {
	if d.Attribute == "" {
		if d.Negates {
			return "!-/-=-"
		}
		return "-"
	}
	s := d.Subject + "/" + d.Attribute + "=" + d.Value
	if d.Negates {
		s = "!" + s
	}
	return s
}
