package audit_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/internal/audit"
	"github.com/lightmem/lightmem/memory"
)

// Tampering with a real chain is tested in package postgres.

func TestAnchorsAreTextAndBack(t *testing.T) {
	t.Parallel()
	a := audit.Anchor{Seq: 42, Hash: [32]byte{1, 2, 255}}
	var back audit.Anchor
	require.NoError(t, back.UnmarshalText([]byte(a.String())))
	require.Equal(t, a, back)
	for _, bad := range []string{"", ":", "1", "1:", "1:zz", "-1:" + strings.Repeat("00", 32), "1:" + strings.Repeat("00", 31), "x:" + strings.Repeat("00", 32)} {
		require.Equal(t, memory.CodeInvalid, memory.CodeOf(back.UnmarshalText([]byte(bad))), bad)
	}
}

func FuzzAnchor(f *testing.F) {
	f.Add([]byte("1:" + strings.Repeat("0f", 32)))
	f.Fuzz(func(t *testing.T, text []byte) {
		var a, b audit.Anchor
		if a.UnmarshalText(text) == nil {
			require.NoError(t, b.UnmarshalText([]byte(a.String())))
			require.Equal(t, a, b)
		}
	})
}

// broken cannot be read.
type broken struct{ audit.View }

func (broken) Snapshot(_ context.Context, _ memory.TenantID, f func(audit.View) error) error {
	return f(broken{})
}

func (broken) Head(context.Context) (audit.Anchor, bool, error) {
	return audit.Anchor{}, false, memory.Errorf(memory.CodeUnavailable, "gone")
}

func TestChainThatCannotBeReadIsAnErrorNotAFinding(t *testing.T) {
	t.Parallel()
	report, err := audit.Verify(t.Context(), broken{}, "acme", audit.Options{})
	require.Equal(t, memory.CodeUnavailable, memory.CodeOf(err))
	require.Empty(t, report.Faults)
	_, err = audit.Verify(t.Context(), broken{}, "", audit.Options{})
	require.Equal(t, memory.CodeInvalid, memory.CodeOf(err))
}
