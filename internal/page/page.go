// Package page lays text out for people at a terminal: paragraphs wrapped to
// its width, lists and tables, emphasis where there are colours. Text of people
// is shown without the power to steer the terminal.
package page

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// WidthDefault is the width where none is known, for example in a pipe.
const WidthDefault = 100

// widthMin is the narrowest text column; narrower terminals get overlong lines.
const widthMin = 24

// Page is where text goes. Errors of the writer are kept; see Err.
type Page struct {
	out   io.Writer
	width int
	color bool
	err   error
}

// New returns a page over w. Width is WidthDefault when it is not positive.
func New(w io.Writer, width int, color bool) *Page {
	if width <= 0 {
		width = WidthDefault
	}
	return &Page{out: w, width: width, color: color}
}

// Err is the first error of the writer.
func (p *Page) Err() error { return p.err }

// Width is the page's width in columns.
func (p *Page) Width() int { return p.width }

func (p *Page) write(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.out, s)
	}
}

// Printf writes formatted text as it is. Its arguments are to be safe: made by
// us, or passed through Safe.
func (p *Page) Printf(format string, args ...any) { p.write(fmt.Sprintf(format, args...)) }

// Line writes s and a line's end.
func (p *Page) Line(s string) { p.write(s + "\n") }

// Bold emphasises a heading.
func (p *Page) Bold(s string) string { return p.paint("1", s) }

// Dim plays down what is secondary.
func (p *Page) Dim(s string) string { return p.paint("2", s) }

// Good, Warn and Bad colour an outcome.
func (p *Page) Good(s string) string { return p.paint("32", s) }

// Warn colours what needs attention.
func (p *Page) Warn(s string) string { return p.paint("33", s) }

// Bad colours what failed or was refused.
func (p *Page) Bad(s string) string { return p.paint("31", s) }

func (p *Page) paint(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Entry writes a label in a column of the given width and the text beside it,
// wrapped. The label may be painted; its width is counted without the paint.
func (p *Page) Entry(indent, column int, label, text string) {
	room := max(p.width-indent-column, widthMin)
	lines := Wrap(Safe(text), room)
	if len(lines) == 0 {
		lines = []string{""}
	}
	pad := strings.Repeat(" ", indent)
	for i, line := range lines {
		if i == 0 {
			fill := max(column-visible(label), 0)
			p.Line(strings.TrimRight(pad+label+strings.Repeat(" ", fill)+line, " "))
			continue
		}
		p.Line(strings.TrimRight(pad+strings.Repeat(" ", column)+line, " "))
	}
}

// Table writes rows whose last cell is free text, wrapped beside the others.
// Cells may be painted; the last one must not be.
func (p *Page) Table(indent int, rows [][]string) {
	var columns []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(columns) {
				columns = append(columns, 0)
			}
			columns[i] = max(columns[i], visible(cell)+2)
		}
	}
	for _, row := range rows {
		var label strings.Builder
		total := 0
		for i, cell := range row[:len(row)-1] {
			label.WriteString(cell + strings.Repeat(" ", columns[i]-visible(cell)))
			total += columns[i]
		}
		p.Entry(indent, total, label.String(), row[len(row)-1])
	}
}

// visible is the width of s without escape sequences of paint.
func visible(s string) int {
	for {
		start := strings.Index(s, "\x1b[")
		if start < 0 {
			return runewidth.StringWidth(s)
		}
		end := strings.IndexByte(s[start:], 'm')
		if end < 0 {
			return runewidth.StringWidth(s)
		}
		s = s[:start] + s[start+end+1:]
	}
}

// Safe makes text harmless for a terminal: control characters (escape
// sequences, bells, carriage returns) and those that reorder what surrounds
// them become visible escapes. Line ends and tabs stay.
func Safe(s string) string {
	clean := func(r rune) bool {
		return r == '\n' || r == '\t' || !unicode.IsControl(r) && !reorders(r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !clean(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case clean(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// reorders reports whether r is one of Unicode's explicit directional
// characters. Right-to-left text needs none of them.
func reorders(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// Wrap breaks text into lines of at most width columns, at spaces where there
// are some, else between characters (CJK text has no spaces). Line ends in the
// text stay, blank lines at the end go.
func Wrap(text string, width int) []string {
	width = max(width, 2)
	var out []string
	for line := range strings.SplitSeq(strings.TrimRight(text, " \t\n"), "\n") {
		out = append(out, wrapLine(line, width)...)
	}
	return out
}

func wrapLine(line string, width int) []string {
	var out []string
	var b strings.Builder
	used := 0
	flush := func() {
		out = append(out, strings.TrimRight(b.String(), " "))
		b.Reset()
		used = 0
	}
	for word := range strings.FieldsSeq(line) {
		w := runewidth.StringWidth(word)
		switch {
		case used > 0 && used+1+w <= width:
			b.WriteByte(' ')
			b.WriteString(word)
			used += 1 + w
			continue
		case used > 0 && w <= width:
			flush()
		case used > 0:
			if used+2 > width {
				flush()
			} else {
				b.WriteByte(' ')
				used++
			}
		}
		for _, r := range word {
			rw := runewidth.RuneWidth(r)
			if used+rw > width && used > 0 {
				flush()
			}
			b.WriteRune(r)
			used += rw
		}
	}
	if used > 0 || len(out) == 0 {
		flush()
	}
	return out
}
