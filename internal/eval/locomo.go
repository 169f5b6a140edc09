// Package eval measures the product on public data sets.
package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/lightmem/lightmem/memory"
)

// Limits of a LoCoMo file. The published one has 2.8 MB, 10 conversations, 32
// sessions and 700 turns each at most.
const (
	maxFileBytes = 256 << 20
	maxSessions  = 1_000
)

// Conversation is one conversation of LoCoMo (Maharana et al., ACL 2024): two
// people who talk over many sessions, and questions about it.
type Conversation struct {
	ID        string
	Sessions  []Session
	Questions []Question
}

// Session is what was said on one occasion.
type Session struct {
	Number int
	// At is when it began, in UTC: the data name no time zone.
	At         time.Time
	Utterances []Utterance
}

// Utterance is one turn of speech.
type Utterance struct {
	// Dialogue is its id in the data, such as "D3:12".
	Dialogue string
	Speaker  string
	Text     string
	// Caption describes a photo that was shared; empty without one.
	Caption string
}

// Memory returns the utterance as the self-contained text that is remembered.
func (u Utterance) Memory() string {
	s := u.Speaker + ": " + u.Text
	if u.Caption != "" {
		s += " [shares a photo of " + u.Caption + "]"
	}
	return s
}

// Question is one question with the utterances that hold its answer.
type Question struct {
	Text string
	// Category is LoCoMo's number: 1 multi-hop, 2 temporal, 3 open-domain, 4
	// single-hop, 5 adversarial.
	Category int
	// Evidence are the dialogue ids that exist in the conversation, each once.
	Evidence []string
}

// rawConversation is the file's layout. Sessions are keys "session_N" with
// "session_N_date_time" beside them.
type rawConversation struct {
	ID           string                     `json:"sample_id"`
	Conversation map[string]json.RawMessage `json:"conversation"`
	Questions    []struct {
		Question string   `json:"question"`
		Category int      `json:"category"`
		Evidence []string `json:"evidence"`
	} `json:"qa"`
}

type rawUtterance struct {
	Speaker  string `json:"speaker"`
	Dialogue string `json:"dia_id"`
	Text     string `json:"text"`
	Caption  string `json:"blip_caption"`
}

// ParseLoCoMo reads LoCoMo's JSON. Errors are CodeInvalid and name the
// conversation and the field.
func ParseLoCoMo(r io.Reader) ([]Conversation, error) {
	limited := &io.LimitedReader{R: r, N: maxFileBytes + 1}
	var raw []rawConversation
	d := json.NewDecoder(limited)
	if err := d.Decode(&raw); err != nil {
		if limited.N <= 0 {
			return nil, memory.Invalid("data", "is larger than %d MB", maxFileBytes>>20)
		}
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "data", Message: "is no LoCoMo file: a JSON list of conversations is expected", Cause: err}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, memory.Invalid("data", "has something after the list of conversations")
	}
	if len(raw) == 0 {
		return nil, memory.Invalid("data", "has no conversation")
	}
	out := make([]Conversation, len(raw))
	seen := map[string]bool{}
	for i, c := range raw {
		if c.ID == "" || seen[c.ID] {
			return nil, memory.Invalid(fmt.Sprintf("data[%d].sample_id", i), "is missing or comes twice")
		}
		seen[c.ID] = true
		var err error
		if out[i], err = c.parse(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c rawConversation) parse() (Conversation, error) {
	out := Conversation{ID: c.ID}
	known := map[string]bool{}
	for n := 1; n <= maxSessions; n++ {
		body, ok := c.Conversation[fmt.Sprintf("session_%d", n)]
		if !ok {
			continue
		}
		s, err := c.session(n, body)
		if err != nil {
			return Conversation{}, err
		}
		for _, u := range s.Utterances {
			if known[u.Dialogue] {
				return Conversation{}, memory.Invalid(fmt.Sprintf("%s.session_%d", c.ID, n), "has a dialogue id twice")
			}
			known[u.Dialogue] = true
		}
		if len(s.Utterances) > 0 {
			out.Sessions = append(out.Sessions, s)
		}
	}
	if len(out.Sessions) == 0 {
		return Conversation{}, memory.Invalid(c.ID+".conversation", "has no session")
	}
	for i, q := range c.Questions {
		if strings.TrimSpace(q.Question) == "" {
			return Conversation{}, memory.Invalid(fmt.Sprintf("%s.qa[%d].question", c.ID, i), "is empty")
		}
		out.Questions = append(out.Questions, Question{Text: q.Question, Category: q.Category, Evidence: evidence(q.Evidence, known)})
	}
	return out, nil
}

func (c rawConversation) session(n int, body json.RawMessage) (Session, error) {
	field := fmt.Sprintf("%s.session_%d", c.ID, n)
	var raw []rawUtterance
	if err := json.Unmarshal(body, &raw); err != nil {
		return Session{}, &memory.Error{Code: memory.CodeInvalid, Field: field, Message: "is no list of utterances", Cause: err}
	}
	var date string
	if err := json.Unmarshal(c.Conversation[fmt.Sprintf("session_%d_date_time", n)], &date); err != nil {
		return Session{}, memory.Invalid(field+"_date_time", "is missing or no text")
	}
	at, err := time.ParseInLocation("3:04 pm on 2 January, 2006", date, time.UTC)
	if err != nil {
		return Session{}, &memory.Error{Code: memory.CodeInvalid, Field: field + "_date_time", Message: `is not of the form "2:07 pm on 9 June, 2024"`, Cause: err}
	}
	s := Session{Number: n, At: at}
	for i, u := range raw {
		if u.Dialogue == "" || u.Speaker == "" {
			return Session{}, memory.Invalid(fmt.Sprintf("%s[%d]", field, i), "lacks its speaker or dia_id")
		}
		s.Utterances = append(s.Utterances, u.utterance())
	}
	return s, nil
}

func (u rawUtterance) utterance() Utterance {
	return Utterance{Dialogue: u.Dialogue, Speaker: u.Speaker, Text: u.Text, Caption: u.Caption}
}

// dialogueID finds ids also where the data put several into one text
// ("D8:6; D9:17").
var dialogueID = regexp.MustCompile(`D\d+:\d+`)

func evidence(raw []string, known map[string]bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, r := range raw {
		for _, id := range dialogueID.FindAllString(r, -1) {
			if known[id] && !seen[id] {
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	return out
}
