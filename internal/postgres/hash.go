package postgres

import (
	"crypto/sha256"
	"time"

	"github.com/lightmem/lightmem/internal/write"
)

// ContentHash identifies a statement within a user: the same normalised words
// (write.NormalizeText), and the same interval where it says that it ended. So
// one fact that was true twice is two memories (graphiti#1865).
func ContentHash(text string, validFrom, validTo time.Time) []byte {
	h := sha256.New()
	normal := write.NormalizeText(text)
	if normal == "" { // nothing but punctuation
		normal = text
	}
	h.Write([]byte(normal))
	if !validTo.IsZero() {
		h.Write([]byte{0})
		h.Write([]byte(validFrom.UTC().Format(time.RFC3339) + "/" + validTo.UTC().Format(time.RFC3339)))
	}
	return h.Sum(nil)[:16]
}
