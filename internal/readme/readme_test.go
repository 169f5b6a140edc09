package readme_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/readme"
)

const document = "# x\n\n```console\n$ lightmem remember \"a  b\" 'c'\nadded  m_06h33dbd…  0.25\n$ lightmem trace t_…\nturn t_06h33dbd…\n```\n\n```sh\n$ make demo\n```\nend\n"

func TestPlaysTheCommandsOfADocument(t *testing.T) {
	t.Parallel()
	var ran [][]string
	fresh, err := readme.Play(document, func(words []string) string {
		ran = append(ran, words)
		if words[1] == "trace" {
			return "turn " + words[2] + "\n"
		}
		return "added  m_99h33dbd00000000000000001x\n  0.75  t_77h33dbd00000000000000001x\n"
	})
	require.ErrorContains(t, err, "line 4: $ lightmem remember")
	require.Equal(t, [][]string{{"lightmem", "remember", "a  b", "c"}, {"lightmem", "trace", "t_77h33dbd00000000000000001x"}}, ran)
	require.Contains(t, fresh, "added  m_99h33dbd00000000000000001x\n  0.75  t_77h33dbd00000000000000001x\n$ lightmem trace t_…\nturn t_77h33dbd00000000000000001x\n```")
	require.True(t, strings.HasSuffix(fresh, "end\n"))
}

func TestWhatVariesIsNotCompared(t *testing.T) {
	t.Parallel()
	_, err := readme.Play("```console\n$ lightmem x\nadded m_06h33dbd… 0.25 (new)\n2026-12-01 13:05 UTC · by cli:op head 5:a133268751…\nrun 01a231c1-f710-7c5e-b285-ab0207fe3d7b\n```", func([]string) string {
		return "added m_11h33dbd00000000000000001x 7.5\n(new)\n2027-01-01 00:00 CET · by cli head 5:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\nrun 01a231cd-542d-7d3a-83bc-30f12a976d22\n"
	})
	require.NoError(t, err)
	_, err = readme.Play("```console\n$ lightmem x\nadded\n```", func([]string) string { return "refused" })
	require.ErrorContains(t, err, "line 2")
}

func TestRefusesWhatNeedsAShell(t *testing.T) {
	t.Parallel()
	for _, c := range []string{"a | b", "a $(b)", "a > b", `a "b`, "a; b"} {
		_, err := readme.Words(c)
		require.Error(t, err, c)
	}
}

// The commands of README.md can be read by a test; package e2e runs them.
func TestTheReadmeHasCommands(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	examples := readme.Examples(string(text))
	require.NotEmpty(t, examples)
	for _, e := range examples {
		words, err := readme.Words(e.Command)
		require.NoError(t, err)
		require.Equal(t, "lightmem", words[0])
	}
}
