package postgres

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/lightmem/lightmem/internal/lexical"
	"github.com/lightmem/lightmem/internal/postgres/query"
	"github.com/lightmem/lightmem/memory"
)

// toMemory returns the memory that a row holds. Evidence and access counts are
// in other tables.
func toMemory(r query.Memory) (memory.Memory, error) {
	m := memory.Memory{
		Scope:        memory.Scope{Tenant: memory.TenantID(r.Tenant), User: memory.UserID(r.UserID)},
		ID:           memory.ID(r.ID),
		Text:         r.Text,
		Kind:         memory.Kind(r.Kind),
		Status:       memory.Status(r.Status),
		Speaker:      r.Speaker,
		Conversation: memory.ConversationID(r.Conversation),
		Subject:      r.Subject,
		Attribute:    r.Attribute,
		Value:        r.Value,
		Source:       memory.Source(r.Source),
		EventAt:      r.EventAt.UTC(),
		ValidFrom:    r.ValidFrom.UTC(),
		ValidTo:      fromNull(r.ValidTo),
		RecordedAt:   r.RecordedAt.UTC(),
		ExpiredAt:    fromNull(r.ExpiredAt),
		Strength:     int(r.Strength),
		LastSeen:     r.LastSeen.UTC(),
		Pinned:       r.Pinned,
		Version:      int(r.Version),
	}
	if r.SupersededBy != nil {
		m.SupersededBy = memory.ID(*r.SupersededBy)
	}
	if len(r.Metadata) > 2 { // not "{}"
		if err := json.Unmarshal(r.Metadata, &m.Metadata); err != nil {
			return memory.Memory{}, memory.Wrap(memory.CodeInternal, err, "read the metadata of a memory")
		}
	}
	return m, nil
}

// packTerms is the stored form of analysed terms.
func packTerms(terms []int32) []byte {
	b := make([]byte, 0, 4*len(terms))
	for _, t := range terms {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return b
}

// unpackTerms returns stored terms, nil when another version of the analysis
// made them.
func unpackTerms(analyzer int16, b []byte) []int32 {
	if int(analyzer) != lexical.Version || len(b)%4 != 0 {
		return nil
	}
	terms := make([]int32, len(b)/4)
	for i := range terms {
		terms[i] = int32(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return terms
}

// toNull returns nil for the zero time, which stands for an open end.
func toNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func fromNull(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func toNullID(id memory.ID) *string {
	if id == "" {
		return nil
	}
	s := string(id)
	return &s
}

// encode returns v as JSON, "[]" or "{}" for empty lists and maps as the caller
// says by none.
func encode(v any, none string) []byte {
	b, err := json.Marshal(v)
	if err != nil || string(b) == "null" { // our own types always encode
		return []byte(none)
	}
	return b
}
