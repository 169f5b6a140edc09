package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest identifies what a request asks, apart from who calls: two requests
// with one idempotency key are the same request when their digests agree. It
// is taken before defaults that depend on the clock are filled in.
func (r Request) Digest() string {
	r.Actor = ""
	b, err := json.Marshal(r)
	if err != nil { // strings, numbers and times in range: cannot happen after Validate
		b = []byte(err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
