package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxObjects bounds how many objects in a reply's prose are tried.
const maxObjects = 32

// decode finds the JSON value that satisfies the schema in a model's reply and
// returns it in canonical form. Servers that enforce the schema send it alone;
// the rest is for those that do not, or not always. In this order:
//
//  1. the reply as it is (hindsight#2563: parse before stripping anything);
//  2. without the reasoning block at its front (graphiti#627; hindsight#3426:
//     only there, never inside a value);
//  3. without the code fence around it;
//  4. the first object or list in its prose that fits (mem0#4526).
func decode(reply string, s schema) (json.RawMessage, error) {
	text := strings.TrimSpace(strings.TrimPrefix(reply, "\ufeff"))
	if text == "" {
		return nil, errors.New("the reply is empty") // mem0#3391
	}
	out, first := fitText(text, s)
	if first == nil {
		return out, nil
	}
	text, thought := withoutReasoning(text)
	if text == "" {
		return nil, errors.New("the reply is nothing but reasoning")
	}
	if thought {
		if out, err := fitText(text, s); err == nil {
			return out, nil
		}
	}
	if inner, ok := withoutFence(text); ok {
		if out, err := fitText(inner, s); err == nil {
			return out, nil
		}
	}
	err := first
	for rest, tries := text, 0; tries < maxObjects; tries++ {
		start := strings.IndexAny(rest, "{[")
		if start < 0 {
			break
		}
		rest = rest[start:]
		var v any
		dec := json.NewDecoder(strings.NewReader(rest))
		if dec.Decode(&v) != nil {
			rest = rest[1:]
			continue
		}
		out, fitErr := fitValue(v, s)
		if fitErr == nil {
			return out, nil
		}
		err = fitErr
		rest = rest[dec.InputOffset():]
	}
	return nil, err
}

func fitText(text string, s schema) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return nil, errors.New("the reply is not JSON")
	}
	return fitValue(v, s)
}

func fitValue(v any, s schema) (json.RawMessage, error) {
	v, err := s.fit(v, "reply")
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode reply: %w", err)
	}
	return out, nil
}

// withoutReasoning removes the block in which a reasoning model thinks, when
// the reply begins with one. Some chat templates open the block themselves, so
// that the reply holds its end only; what stands before that end is reasoning
// unless it holds the beginning of a value.
func withoutReasoning(text string) (rest string, found bool) {
	for _, tag := range []string{"think", "thinking", "reasoning"} {
		open, end := "<"+tag+">", "</"+tag+">"
		if strings.HasPrefix(text, open) {
			if _, after, ok := strings.Cut(text, end); ok {
				return strings.TrimSpace(after), true
			}
			return "", true // never came to an end
		}
		before, after, ok := strings.Cut(text, end)
		if ok && !strings.Contains(before, open) && !strings.ContainsAny(before[:min(1, len(before))], "{[\"`") {
			return strings.TrimSpace(after), true
		}
	}
	return text, false
}

// withoutFence removes the code fence around the whole reply, and no other.
func withoutFence(text string) (string, bool) {
	if !strings.HasPrefix(text, "```") || !strings.HasSuffix(text, "```") || len(text) < 6 {
		return text, false
	}
	_, inner, ok := strings.Cut(text, "\n")
	if !ok {
		return text, false
	}
	return strings.TrimSpace(strings.TrimSuffix(inner, "```")), true
}
