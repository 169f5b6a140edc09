package page_test

import (
	"errors"
	"strings"
	"testing"

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
	require.Equal(t, `\u202eabc`, page.Safe("\u202eabc"))
	require.Equal(t, "שלום, العربية 👩‍👩‍👧 ok\n\t", page.Safe("שלום, العربية 👩‍👩‍👧 ok\n\t"))
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
