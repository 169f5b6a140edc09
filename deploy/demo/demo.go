// Package demo plays a conversation of two people over four months through real
// turns, and tells the story of the last ones. Playing it again changes
// nothing: every turn's idempotency key follows from its words and its time, so
// a second run attaches to the turns of the first.
package demo

import (
	"bytes"
	_ "embed"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/lightmem/lightmem/memory"
)

//go:embed conversation.yaml
var source []byte

// Person is one of the two who talk.
type Person struct {
	ID       memory.UserID `yaml:"id"`
	Name     string        `yaml:"name"`
	TimeZone string        `yaml:"time_zone"`
}

// Turn is one turn of the conversation.
type Turn struct {
	Person       memory.UserID         `yaml:"person"`
	Conversation memory.ConversationID `yaml:"conversation"`
	At           time.Time             `yaml:"at"`
	Says         string                `yaml:"says"`
	// Assistant is what the person's assistant said.
	Assistant string `yaml:"assistant"`
	// Ask lets LightMem answer.
	Ask bool `yaml:"ask"`
	// Models lets the configured models serve the turn; the rules otherwise.
	Models bool `yaml:"models"`
}

// Conversation is what is played.
type Conversation struct {
	People   []Person `yaml:"people"`
	Sessions []struct {
		Person       memory.UserID         `yaml:"person"`
		Conversation memory.ConversationID `yaml:"conversation"`
		Turns        []Turn                `yaml:"turns"`
	} `yaml:"sessions"`
	// Finale are the turns whose story is told.
	Finale []Turn `yaml:"finale"`
	// Live is asked on every run and writes nothing.
	Live []Turn `yaml:"live"`
}

// Load reads the embedded conversation.
func Load() (*Conversation, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(source))
	decoder.KnownFields(true)
	var c Conversation
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("read the demo's conversation: %w", err)
	}
	return &c, nil
}

// History are the turns before the finale, of each person in order.
func (c *Conversation) History() map[memory.UserID][]Turn {
	out := map[memory.UserID][]Turn{}
	for _, s := range c.Sessions {
		for _, t := range s.Turns {
			t.Person, t.Conversation = s.Person, s.Conversation
			out[s.Person] = append(out[s.Person], t)
		}
	}
	return out
}

// Request is the turn as a request. suffix sets one playing apart from others;
// empty for the one that is played again and again.
func (t Turn) Request(tenant memory.TenantID, suffix string) memory.Request {
	r := memory.Request{
		Scope:        memory.Scope{Tenant: tenant, User: t.Person + memory.UserID(suffix)},
		Conversation: t.Conversation, Mode: memory.ModeCaller, Text: t.Says, AssistantText: t.Assistant,
		At: t.At, K: memory.DefaultK, Rules: !t.Models, Actor: "demo",
	}
	if t.Ask {
		r.Mode = memory.ModeAnswer
	}
	h := fnv.New128a()
	fmt.Fprintf(h, "%q %q %q %v %v", t.Says, t.Assistant, t.At.UTC().Format(time.RFC3339), t.Ask, t.Models)
	r.IdempotencyKey = "demo-" + hex.EncodeToString(h.Sum(nil))
	return r.Clean()
}
