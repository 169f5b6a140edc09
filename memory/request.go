package memory

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of a request apart from those in memory.go.
const (
	// MaxMetadataKeyBytes and MaxMetadataValueBytes bound one metadata entry.
	MaxMetadataKeyBytes   = 128
	MaxMetadataValueBytes = 4 << 10
	// MinYear and MaxYear bound every time that a caller may send, inclusive.
	MinYear = 1900
	MaxYear = 2200
)

// reservedMetadata are the keys that say whose a memory is, or what it is:
// metadata never does (mem0#6656: metadata.user_id moved a memory to another
// user). They are compared without case.
var reservedMetadata = map[string]bool{
	"tenant": true, "tenant_id": true, "user": true, "user_id": true, "id": true, "memory_id": true, "conversation": true, "turn_id": true, "actor": true,
}

// Clean returns the request as it may be stored. Texts (text, assistant_text,
// metadata values) are kept as said but for what no store can hold or show:
// each run of bytes that are not UTF-8, among them halves of surrogate pairs
// (letta#9323, hindsight#1891), and each control character other than tab and
// the line ends, among them NUL (letta#8147), becomes one U+FFFD, so that the
// repair can be seen. A byte order mark in front is dropped. Nothing else is
// touched: emoji, right-to-left marks, "<|endoftext|>" stay. Ids and names are
// never altered; Validate refuses what is wrong with them. Times lose their
// monotonic clock reading and become UTC.
func (r Request) Clean() Request {
	r.Text = cleanText(r.Text)
	r.AssistantText = cleanText(r.AssistantText)
	if r.Metadata != nil {
		r.Metadata = maps.Clone(r.Metadata)
		for k, v := range r.Metadata {
			r.Metadata[k] = cleanText(v)
		}
	}
	for _, t := range []*time.Time{&r.At, &r.AsOf} {
		if !t.IsZero() {
			*t = t.UTC().Round(0)
		}
	}
	return r
}

func cleanText(s string) string {
	if len(s) > MaxTextBytes { // Validate refuses it; do not copy megabytes
		return s
	}
	s = strings.TrimPrefix(s, "\ufeff")
	if utf8.ValidString(s) && strings.IndexFunc(s, isGarbage) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isGarbage(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
}

func isGarbage(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
}

// Validate checks a cleaned request before any model or store sees it. It
// returns nil, or a CodeInvalid error that names the field at fault:
//
//   - text: blank (mem0#5545), over MaxTextBytes, or not cleaned;
//   - tenant, user_id: blank (mem0#5992), too long, not UTF-8, with control
//     characters, or with white space at an end (mem0#5735). Everything else is
//     allowed and kept exactly: "/", "&", ":", "=" (mem0#6892). conversation and
//     idempotency_key are the same, but may be empty when there is none;
//   - k: zero, negative or over MaxK. The edge fills in DefaultK when the caller
//     says nothing, so zero means that somebody asked for zero. ModeRemember
//     selects nothing and does not look at k;
//   - at, as_of: outside MinYear..MaxYear; the zero time means "now";
//   - time_zone: not a name of the IANA database;
//   - metadata: too many or too large entries, or a key that says whose a
//     memory is;
//   - mode: unknown; verbatim and assistant_text: not of this mode.
func (r Request) Validate() error {
	for _, err := range []*Error{
		r.checkMode(),
		checkID("tenant", string(r.Tenant), true),
		checkID("user_id", string(r.User), true),
		checkID("conversation", string(r.Conversation), false),
		checkID("idempotency_key", r.IdempotencyKey, false),
		checkText("text", r.Text, true),
		checkText("assistant_text", r.AssistantText, false),
		r.checkK(),
		checkTime("at", r.At),
		checkTime("as_of", r.AsOf),
		checkZone(r.TimeZone),
		checkID("speaker", r.Speaker, false),
		checkID("actor", r.Actor, false),
		checkMetadata(r.Metadata),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r Request) checkMode() *Error {
	switch r.Mode {
	case ModeAnswer, ModeRecall, ModeCaller, ModeRemember:
	default:
		return Invalid("mode", "is not one of %s, %s, %s, %s", ModeAnswer, ModeRecall, ModeCaller, ModeRemember)
	}
	if r.Verbatim && r.Mode != ModeRemember {
		return Invalid("verbatim", "applies to mode %s only", ModeRemember)
	}
	if r.AssistantText != "" && r.Mode != ModeCaller {
		return Invalid("assistant_text", "applies to mode %s only", ModeCaller)
	}
	return nil
}

func (r Request) checkK() *Error {
	if r.Mode == ModeRemember && r.K == 0 {
		return nil
	}
	if r.K < 1 || r.K > MaxK {
		return Invalid("k", "is %d; it must be between 1 and %d", r.K, MaxK)
	}
	return nil
}

func checkText(field, s string, required bool) *Error {
	switch {
	case len(s) > MaxTextBytes:
		return Invalid(field, "has %d bytes; at most %d are allowed", len(s), MaxTextBytes)
	case required && blank(s):
		return Invalid(field, "is empty")
	case !utf8.ValidString(s):
		return Invalid(field, "is not UTF-8")
	case strings.IndexFunc(s, isGarbage) >= 0:
		return Invalid(field, "has control characters")
	}
	return nil
}

func checkID(field, s string, required bool) *Error {
	switch {
	case s == "" && !required:
		return nil
	case s == "":
		return Invalid(field, "is empty")
	case len(s) > MaxIDBytes:
		return Invalid(field, "has %d bytes; at most %d are allowed", len(s), MaxIDBytes)
	case !utf8.ValidString(s):
		return Invalid(field, "is not UTF-8")
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return Invalid(field, "has control characters")
	case blank(s):
		return Invalid(field, "is blank")
	case strings.TrimSpace(s) != s:
		return Invalid(field, "begins or ends with white space")
	}
	return nil
}

// blank reports whether nothing of s can be seen: white space, invisible format
// characters, and what Clean put in the place of garbage.
func blank(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r != utf8.RuneError && !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf)
	}) < 0
}

func checkTime(field string, t time.Time) *Error {
	if t.IsZero() {
		return nil
	}
	if y := t.UTC().Year(); y < MinYear || y > MaxYear {
		return Invalid(field, "is in the year %d; it must be between %d and %d", y, MinYear, MaxYear)
	}
	return nil
}

// ParseTime reads a time that a caller sent (RFC 3339) for the named field. It
// also refuses 0001-01-01T00:00:00Z, which as a time.Time would mean "not said".
func ParseTime(field, s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, Invalid(field, "is not a time like 2026-05-03T12:00:00Z")
	}
	if t.IsZero() {
		return time.Time{}, Invalid(field, "is in the year 1; it must be between %d and %d", MinYear, MaxYear)
	}
	if err := checkTime(field, t); err != nil {
		return time.Time{}, err
	}
	return t.UTC(), nil
}

func checkZone(name string) *Error {
	if name == "" {
		return nil
	}
	if len(name) <= MaxIDBytes && name != "Local" {
		if _, err := time.LoadLocation(name); err == nil {
			return nil
		}
	}
	return Invalid("time_zone", "is not a name of the IANA time zone database, such as Europe/Berlin")
}

func checkMetadata(m map[string]string) *Error {
	if len(m) > MaxMetadata {
		return Invalid("metadata", "has %d entries; at most %d are allowed", len(m), MaxMetadata)
	}
	for _, k := range slices.Sorted(maps.Keys(m)) { // the same error each time
		switch v := m[k]; {
		case blank(k):
			return Invalid("metadata", "has an empty key")
		case len(k) > MaxMetadataKeyBytes:
			return Invalid("metadata", "has a key of %d bytes; at most %d are allowed", len(k), MaxMetadataKeyBytes)
		case !utf8.ValidString(k) || strings.IndexFunc(k, unicode.IsControl) >= 0:
			return Invalid("metadata", "has a key with control characters or bytes that are not UTF-8")
		case reservedMetadata[strings.ToLower(strings.TrimSpace(k))]:
			return Invalid("metadata."+strings.ToLower(strings.TrimSpace(k)), "is reserved")
		case len(v) > MaxMetadataValueBytes:
			return Invalid("metadata", "has a value of %d bytes; at most %d are allowed", len(v), MaxMetadataValueBytes)
		case !utf8.ValidString(v) || strings.IndexFunc(v, isGarbage) >= 0:
			return Invalid("metadata", "has a value with control characters or bytes that are not UTF-8")
		}
	}
	return nil
}
