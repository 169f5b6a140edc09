// Package readme plays the commands of a document, so that what README.md says
// happens is what happens. A block that begins with ```console holds lines with
// "$ " and a command of lightmem, each followed by its output.
//
// Ids, hashes, decimal fractions, times of this run and how lines are wrapped
// differ from run to run and are not compared. In a command, t_… stands for the
// last turn's id in the output so far.
package readme

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Example is one command of a document with the output that it shows.
type Example struct {
	// Line is where the command stands, from 1.
	Line    int
	Command string
	Want    []string

	first, last int // the output's lines, from 0, last not included
}

// Examples finds the commands of a document.
func Examples(document string) []Example {
	var list []Example
	inside := false
	for i, line := range strings.Split(document, "\n") {
		switch {
		case !inside:
			inside = line == "```console"
		case line == "```":
			inside = false
		case strings.HasPrefix(line, "$ "):
			list = append(list, Example{Line: i + 1, Command: line[2:], first: i + 1, last: i + 1})
		case len(list) > 0:
			e := &list[len(list)-1]
			e.Want = append(e.Want, line)
			e.last = i + 1
		}
	}
	return list
}

// Play runs the commands in order. run gets a command's words and returns what
// it printed. The result is the document with the outputs of this run, and an
// error for each output that differs from the one that the document shows.
func Play(document string, run func(words []string) string) (fresh string, err error) {
	lines := strings.Split(document, "\n")
	var out []string
	var problems []error
	turn, copied := "", 0
	for _, e := range Examples(document) {
		words, err := Words(strings.ReplaceAll(e.Command, "t_…", turn))
		if err != nil {
			return document, fmt.Errorf("line %d: %w", e.Line, err)
		}
		got := strings.TrimRight(run(words), "\n")
		if ids := turnID.FindAllString(got, -1); ids != nil {
			turn = ids[len(ids)-1]
		}
		if want := strings.Join(e.Want, "\n"); plain(want) != plain(got) {
			problems = append(problems, fmt.Errorf("line %d: $ %s\nshows:\n%s\nprinted:\n%s", e.Line, e.Command, want, got))
		}
		out = append(out, lines[copied:e.first]...)
		if got != "" {
			out = append(out, strings.Split(got, "\n")...)
		}
		copied = e.last
	}
	return strings.Join(append(out, lines[copied:]...), "\n"), errors.Join(problems...)
}

var (
	turnID = regexp.MustCompile(`\bt_[0-9a-z]{26}\b`)
	// varying is what differs from run to run.
	varying = []struct {
		pattern *regexp.Regexp
		with    string
	}{
		{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "RUN"},
		{regexp.MustCompile(`\b[a-z]_[0-9a-z]{8,}…?`), "ID"},
		{regexp.MustCompile(`\b[0-9a-f]{10,}…?`), "HASH"},
		{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d [A-Z]+`), "TIME"},
		{regexp.MustCompile(`-?\d+\.\d+`), "N"},
		{regexp.MustCompile(`\bby cli(:\S+)?`), "by WHOM"},
		{regexp.MustCompile(`\s+`), " "},
	}
)

// plain takes out what differs from run to run.
func plain(s string) string {
	for _, v := range varying {
		s = v.pattern.ReplaceAllString(s, v.with)
	}
	return strings.TrimSpace(s)
}

// Words splits a command into words as a shell does, with single and double
// quotes and nothing else of a shell.
func Words(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, started := rune(0), false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ':
			if started {
				words = append(words, word.String())
				word.Reset()
				started = false
			}
		case strings.ContainsRune("|&;<>$`\\(){}*", r):
			return nil, fmt.Errorf("%q needs a shell", command)
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has an open quote", command)
	}
	if started {
		words = append(words, word.String())
	}
	return words, nil
}
