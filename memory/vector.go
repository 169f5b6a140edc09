package memory

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
)

// MarshalJSON implements json.Marshaler.
func (v Vector) MarshalJSON() ([]byte, error) {
	b := make([]byte, 4*len(v))
	for i, f := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(f))
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

// UnmarshalJSON implements json.Unmarshaler. It refuses lengths that are no
// whole number of float32s, and values that are not finite.
func (v *Vector) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return Wrap(CodeInvalid, err, "decode vector")
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return Wrap(CodeInvalid, err, "decode vector")
	}
	if len(b)%4 != 0 {
		return Errorf(CodeInvalid, "decode vector: %d bytes are no whole number of float32s", len(b))
	}
	if len(b) == 0 {
		*v = nil
		return nil
	}
	out := make(Vector, len(b)/4)
	for i := range out {
		f := math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		if math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
			return Errorf(CodeInvalid, "decode vector: element %d is not finite", i)
		}
		out[i] = f
	}
	*v = out
	return nil
}

// Normalize scales v to unit length in place and reports whether it could: a
// zero or non-finite vector cannot.
func (v Vector) Normalize() bool {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if sum == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return false
	}
	n := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= n
	}
	return true
}
