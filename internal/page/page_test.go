package page_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/page"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"at spaces":             {"one two three four", []string{"one two", "three four"}},
		"keeps line ends":       {"one\n\ntwo\n", []string{"one", "", "two"}},
		"a long word is broken": {"abcdefghijklmnop", []string{"abcdefghij", "klmnop"}},
		"CJK has no spaces":     {"私は東京に住んで", []string{"私は東京に", "住んで"}},
		"nothing":               {"", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, page.Wrap(c.text, 10))
		})
	}
}

func TestSafeTakesThePowerFromControlCharacters(t *testing.T) {
	t.Parallel()
	require.Equal(t, `\x1b[31mred\x07\x0d`, page.Safe("\x1b[31mred\a\r"))
	for r := rune(0); r < 0x3000; r++ { // the explicit directional characters, and no others
		reorders := r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		if want := fmt.Sprintf(`a\u%04xb`, r); reorders {
			require.Equal(t, want, page.Safe("a"+string(r)+"b"))
		} else if !unicode.IsControl(r) {
			require.Equal(t, "a"+string(r)+"b", page.Safe("a"+string(r)+"b"))
		}
	}
	require.Equal(t, "שלום, العربية 👩‍👩‍👧 ok\n\t", page.Safe("שלום, العربية 👩‍👩‍👧 ok\n\t"))
}

func TestStoredTextCannotReorderALine(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(p *page.Page, text string){
		"entry": func(p *page.Page, text string) { p.Entry(2, 8, "memory", text) },
		"table": func(p *page.Page, text string) { p.Table(0, [][]string{{"m_1", "active", text}}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			write(page.New(&b, 60, true), "pay \u202enna\u202c, not \u2067bob\u2069")
			require.Contains(t, b.String(), `pay \u202enna\u202c, not \u2067bob\u2069`)
		})
	}
}

func TestTableWrapsItsLastColumn(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	p := page.New(&b, 40, false)
	p.Table(2, [][]string{
		{"id", "status", "memory"},
		{"m_1", "active", "a text that is longer than the line has room for"},
	})
	require.NoError(t, p.Err())
	require.Equal(t, `  id   status  memory
  m_1  active  a text that is longer
               than the line has room
               for
`, b.String())
}

func TestColoursOnlyWhereTheyAre(t *testing.T) {
	t.Parallel()
	require.Equal(t, "x", page.New(nil, 0, false).Good("x"))
	require.Equal(t, "\x1b[32mx\x1b[0m", page.New(nil, 0, true).Good("x"))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestKeepsTheWritersError(t *testing.T) {
	t.Parallel()
	p := page.New(broken{}, 0, false)
	p.Line("x")
	require.EqualError(t, p.Err(), "broken pipe")
}

func FuzzWrap(f *testing.F) {
	f.Add("one two", 3)
	f.Add("\xff\x00私", 2)
	f.Fuzz(func(t *testing.T, text string, width int) {
		width = min(max(width, 2), 200)
		for _, line := range page.Wrap(page.Safe(text), width) {
			require.LessOrEqual(t, runewidth.StringWidth(line), max(width, 2)+1) // a combined emoji may count differently
		}
	})
}
