package postgres

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/lightmem/lightmem/internal/retrieve"
	"github.com/lightmem/lightmem/memory"
)

// itemReader reads the rows of the queries of items straight from the wire: a
// first load has ten thousand of them with two dozen columns, and the general
// way takes as long as the query.
type itemReader struct {
	scope memory.Scope
	// Values that most rows share are kept once.
	kind, status, source, conversation, speaker, subject, attribute string
}

// itemFormats are the columns' formats: what is not text must be binary.
const itemFormats = "tbbbbtttbbbbbbttttttt" + "bbb"

// itemSizes are the lengths of the columns that have one and are never NULL.
var itemSizes = [len(itemFormats)]int{1: 8, 2: 4, 3: 4, 4: 1, 8: 8, 9: 8, 11: 8, 13: 8, 21: 2}

// read appends the rows to items.
func (r *itemReader) read(rows pgx.Rows, items []retrieve.Item) ([]retrieve.Item, error) {
	fields := rows.FieldDescriptions()
	if len(fields) != len(itemFormats) {
		return nil, fmt.Errorf("read items: %d columns, want %d", len(fields), len(itemFormats))
	}
	for i, f := range fields {
		if itemFormats[i] == 'b' && f.Format != pgtype.BinaryFormatCode {
			return nil, fmt.Errorf("read items: column %s is not binary", f.Name)
		}
	}
	for rows.Next() {
		item, err := r.item(rows.RawValues())
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, rows.Err()
}

// item decodes one row; the values are the connection's, and copied.
func (r *itemReader) item(v [][]byte) (retrieve.Item, error) {
	for i, size := range itemSizes {
		if size > 0 && len(v[i]) != size {
			return retrieve.Item{}, fmt.Errorf("read items: column %d has %d bytes, want %d", i, len(v[i]), size)
		}
	}
	analyzer := int16(binary.BigEndian.Uint16(v[21]))
	item := retrieve.Item{
		Memory: memory.Memory{
			Scope: r.scope, ID: memory.ID(v[0]), Version: int(int4(v[2])), Strength: int(int4(v[3])), Pinned: v[4][0] != 0,
			Kind: memory.Kind(same(&r.kind, v[5])), Status: memory.Status(same(&r.status, v[6])), Source: memory.Source(same(&r.source, v[7])),
			EventAt: instant(v[8]), ValidFrom: instant(v[9]), ValidTo: instant(v[10]), RecordedAt: instant(v[11]), ExpiredAt: instant(v[12]),
			LastSeen: instant(v[13]), Conversation: memory.ConversationID(same(&r.conversation, v[14])), SupersededBy: memory.ID(v[15]),
			Speaker: same(&r.speaker, v[16]), Subject: same(&r.subject, v[17]), Attribute: same(&r.attribute, v[18]), Value: string(v[19]), Text: string(v[20]),
		},
		Seq:   int64(binary.BigEndian.Uint64(v[1])),
		Terms: unpackTerms(analyzer, v[22]),
	}
	var err error
	item.Vector, err = decodeHalfvec(v[23])
	return item, err
}

func int4(b []byte) int32 { return int32(binary.BigEndian.Uint32(b)) }

// same returns b as a string, the last one's where they are equal.
func same(last *string, b []byte) string {
	if *last != string(b) {
		*last = string(b)
	}
	return *last
}

// epoch is the zero of Postgres's binary timestamps, which count microseconds.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// instant decodes a timestamptz; NULL is the zero time.
func instant(b []byte) time.Time {
	if len(b) != 8 {
		return time.Time{}
	}
	us := int64(binary.BigEndian.Uint64(b))
	return time.Unix(epoch.Unix()+us/1e6, us%1e6*1000).UTC()
}
