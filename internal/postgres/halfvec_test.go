package postgres

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/lightmem/lightmem/memory"
)

func TestHalfPrecisionIsExactBackAndRoundedForth(t *testing.T) {
	t.Parallel()
	for h := range 1 << 16 { // every half there is
		f := fromHalf(uint16(h))
		if f != f {
			require.Equal(t, uint16(0x7c00), uint16(h)&0x7c00)
			continue
		}
		require.Equal(t, uint16(h), toHalf(f), "%#04x", h)
		exp, frac := int(h>>10)&0x1f, float64(h&0x3ff)
		want := math.Ldexp(1024+frac, exp-25)
		switch exp {
		case 0:
			want = math.Ldexp(frac, -24)
		case 0x1f:
			want = math.Inf(1)
		}
		if h&0x8000 != 0 {
			want = -want
		}
		require.Equal(t, float32(want), f, "%#04x", h)
	}
	for f, want := range map[float32]uint16{
		1: 0x3c00, 1 + 1.0/2048: 0x3c00, 1 + 3.0/2048: 0x3c02, 65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, // ties go to even
		0x1p-24: 1, 0x1p-25: 0, 0x1.8p-25: 1, 0x1p-30: 0, float32(math.Inf(-1)): 0xfc00,
	} {
		require.Equal(t, want, toHalf(f), "%v", f)
	}
}

func TestVectorsThatPostgresWouldNotTakeAreErrors(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]memory.Vector{
		"empty": {}, "too long": make(memory.Vector, maxDimensions+1), "infinite": {float32(math.Inf(1))},
		"no number": {float32(math.NaN())}, "too large": {1e6},
	} {
		_, err := encodeHalfvec{}.Encode(v, nil)
		require.Error(t, err, name)
	}
}

func FuzzDecodeHalfvec(f *testing.F) {
	good, err := encodeHalfvec{}.Encode(memory.Vector{1, -0.5, 0}, nil)
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte{})
	f.Add([]byte{0, 3, 0, 0, 1})
	f.Add([]byte{255, 255, 0, 0})
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := decodeHalfvec(src)
		if err != nil || v == nil {
			return
		}
		require.Len(t, src, 4+2*len(v))
		if again, err := (encodeHalfvec{}).Encode(v, nil); err == nil {
			binary.BigEndian.PutUint16(src[2:], 0) // unused
			require.Equal(t, src, again)
		}
	})
}

// FuzzItems feeds rows that no server would send.
func FuzzItems(f *testing.F) {
	f.Add([]byte("id"), []byte{0, 0, 0, 1}, []byte{0, 0, 0, 0, 0, 0, 0, 1}, []byte{1})
	f.Fuzz(func(t *testing.T, a, b, c, d []byte) {
		values := make([][]byte, len(itemFormats))
		for i := range values {
			values[i] = [][]byte{a, b, c, d}[i%4]
		}
		_, _ = (&itemReader{}).item(values) // must not panic
		for i, n := range itemSizes {
			if n > 0 {
				values[i] = append(make([]byte, n), a...)[:n]
			}
		}
		values[23] = nil
		item, err := (&itemReader{}).item(values)
		require.NoError(t, err)
		require.Equal(t, string(values[20]), item.Text)
	})
}

// The codec must work however pgx is told to send a query, except as plain text.
func TestVectorsTravelInEveryModeOfExecution(t *testing.T) {
	t.Parallel()
	conn := vectorConn(t)
	v := memory.Vector{0.5, -1, 0.25}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec} {
		var got, null memory.Vector
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT $1::halfvec, NULL::halfvec", mode, v).Scan(&got, &null), mode)
		require.Equal(t, v, got)
		require.Nil(t, null)
	}
}
