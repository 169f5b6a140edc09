package postgres

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lightmem/lightmem/memory"
)

// maxDimensions is what fits into one page of memory_vector.
const maxDimensions = 3900

// halfvecCodec reads and writes pgvector's type halfvec in its binary format: the
// number of dimensions and two unused bytes, as big-endian uint16s, then that
// many big-endian IEEE 754 half-precision numbers. In Go it is memory.Vector;
// NULL is the nil vector.
type halfvecCodec struct{}

// registerHalfvec makes the connection know halfvec. The type's number is the
// same for all connections to one database, so it is looked up once.
func registerHalfvec(ctx context.Context, conn *pgx.Conn, known *atomic.Uint32) error {
	oid := known.Load()
	if oid == 0 {
		if err := conn.QueryRow(ctx, "SELECT 'public.halfvec'::regtype::oid").Scan(&oid); err != nil {
			return fmt.Errorf("look up the type halfvec: %w", err)
		}
		known.Store(oid)
	}
	conn.TypeMap().RegisterType(&pgtype.Type{Name: "halfvec", OID: oid, Codec: halfvecCodec{}})
	conn.TypeMap().RegisterDefaultPgType(memory.Vector{}, "halfvec")
	return nil
}

// FormatSupported implements pgtype.Codec.
func (halfvecCodec) FormatSupported(format int16) bool { return format == pgtype.BinaryFormatCode }

// PreferredFormat implements pgtype.Codec.
func (halfvecCodec) PreferredFormat() int16 { return pgtype.BinaryFormatCode }

// PlanEncode implements pgtype.Codec.
func (halfvecCodec) PlanEncode(_ *pgtype.Map, _ uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(memory.Vector); !ok || format != pgtype.BinaryFormatCode {
		return nil
	}
	return encodeHalfvec{}
}

// PlanScan implements pgtype.Codec.
func (halfvecCodec) PlanScan(_ *pgtype.Map, _ uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*memory.Vector); !ok || format != pgtype.BinaryFormatCode {
		return nil
	}
	return scanHalfvec{}
}

// DecodeDatabaseSQLValue implements pgtype.Codec.
func (c halfvecCodec) DecodeDatabaseSQLValue(m *pgtype.Map, oid uint32, format int16, src []byte) (driver.Value, error) {
	return c.DecodeValue(m, oid, format, src)
}

// DecodeValue implements pgtype.Codec.
func (halfvecCodec) DecodeValue(_ *pgtype.Map, _ uint32, _ int16, src []byte) (any, error) {
	return decodeHalfvec(src)
}

type encodeHalfvec struct{}

// Encode implements pgtype.EncodePlan.
func (encodeHalfvec) Encode(value any, buf []byte) ([]byte, error) {
	v := value.(memory.Vector) //nolint:forcetypeassert // PlanEncode has looked
	if v == nil {
		return nil, nil
	}
	if len(v) == 0 || len(v) > maxDimensions {
		return nil, fmt.Errorf("encode halfvec: %d dimensions, must be between 1 and %d", len(v), maxDimensions)
	}
	buf = binary.BigEndian.AppendUint16(buf, uint16(len(v)))
	buf = append(buf, 0, 0)
	for i, f := range v {
		h := toHalf(f)
		if h&0x7c00 == 0x7c00 {
			return nil, fmt.Errorf("encode halfvec: element %d is not a finite half-precision number", i)
		}
		buf = binary.BigEndian.AppendUint16(buf, h)
	}
	return buf, nil
}

type scanHalfvec struct{}

// Scan implements pgtype.ScanPlan.
func (scanHalfvec) Scan(src []byte, target any) (err error) {
	*target.(*memory.Vector), err = decodeHalfvec(src) //nolint:forcetypeassert // PlanScan has looked
	return err
}

// decodeHalfvec decodes the binary format; nil is NULL.
func decodeHalfvec(src []byte) (memory.Vector, error) {
	if src == nil {
		return nil, nil
	}
	if len(src) < 4 {
		return nil, fmt.Errorf("decode halfvec: %d bytes are too few", len(src))
	}
	n := int(binary.BigEndian.Uint16(src))
	if len(src) != 4+2*n {
		return nil, fmt.Errorf("decode halfvec: %d bytes for %d dimensions", len(src), n)
	}
	out := make(memory.Vector, n)
	src = src[4:]
	for i := range out {
		out[i] = fromHalf(uint16(src[2*i])<<8 | uint16(src[2*i+1]))
	}
	return out, nil
}

// toHalf rounds to the nearest half-precision number, ties to even.
func toHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	exp := int(b>>23) & 0xff
	frac := b & 0x7fffff
	if exp == 0xff { // infinite, or not a number
		if frac != 0 {
			return sign | 0x7e00
		}
		return sign | 0x7c00
	}
	e := exp - 127 + 15
	if e >= 0x1f {
		return sign | 0x7c00
	}
	shift := uint32(13)
	if e <= 0 { // subnormal, or nothing
		if e < -10 {
			return sign
		}
		frac |= 0x800000
		shift = uint32(14 - e)
		e = 0
	}
	half := frac >> shift
	rest := frac & (1<<shift - 1)
	middle := uint32(1) << (shift - 1)
	if rest > middle || rest == middle && half&1 == 1 {
		half++ // may carry into the exponent, which is then right
	}
	return sign | uint16(uint32(e)<<10+half)
}

// fromHalf is exact. Shifted into a float32's place, a half's exponent is 112
// too small; the multiplication mends that, for subnormals as well.
func fromHalf(h uint16) float32 {
	bits := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 { // infinite, or not a number
		bits |= 0x7f800000
	} else {
		bits = math.Float32bits(math.Float32frombits(bits) * 0x1p112)
	}
	return math.Float32frombits(bits | uint32(h&0x8000)<<16)
}
