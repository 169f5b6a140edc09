package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// schema is the part of JSON Schema that our prompts use.
type schema struct {
	Type       string            `json:"type"`
	Enum       []any             `json:"enum"`
	Required   []string          `json:"required"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
	Minimum    *float64          `json:"minimum"`
	Maximum    *float64          `json:"maximum"`
	MinItems   int               `json:"minItems"`
	MaxItems   *int              `json:"maxItems"`
}

// fit returns v as the schema wants it, or an error that says what is wrong,
// without the value. It is lenient where the meaning is plain (hindsight#2240):
// a single value where a list is expected, a number written as text, an enum's
// word in other letters, a number beyond its bounds, a list that is too long,
// fields that nobody asked for. Items of a list that are no value of their enum
// are dropped (graphiti#939, mem0#4674: invented ids). A missing field, or a
// value of another nature, is an error.
func (s schema) fit(v any, path string) (any, error) {
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s is no object", path)
		}
		out := make(map[string]any, len(s.Properties))
		for name, p := range s.Properties {
			f, ok := m[name]
			if !ok {
				continue
			}
			var err error
			if out[name], err = p.fit(f, path+"."+name); err != nil {
				return nil, err
			}
		}
		for _, name := range s.Required {
			if _, ok := out[name]; !ok {
				return nil, fmt.Errorf("%s.%s is missing", path, name)
			}
		}
		return out, nil
	case "array":
		return s.fitArray(v, path)
	case "string":
		return s.fitString(v, path)
	case "integer", "number":
		return s.fitNumber(v, path)
	case "boolean":
		switch b := v.(type) {
		case bool:
			return b, nil
		case string:
			switch strings.ToLower(strings.TrimSpace(b)) {
			case "true", "yes":
				return true, nil
			case "false", "no", "":
				return false, nil
			}
		case nil:
			return false, nil
		}
		return nil, fmt.Errorf("%s is no boolean", path)
	}
	return v, nil
}

func (s schema) fitArray(v any, path string) (any, error) {
	var in []any
	switch a := v.(type) {
	case []any:
		in = a
	case nil:
	default:
		in = []any{a}
	}
	out := make([]any, 0, len(in))
	for i, item := range in {
		if s.Items != nil {
			fitted, err := s.Items.fit(item, path+"["+strconv.Itoa(i)+"]")
			if err != nil {
				if s.Items.Enum != nil {
					continue
				}
				return nil, err
			}
			item = fitted
		}
		out = append(out, item)
	}
	if s.MaxItems != nil && len(out) > *s.MaxItems {
		out = out[:*s.MaxItems]
	}
	if len(out) < s.MinItems {
		return nil, fmt.Errorf("%s has %d items, needs %d", path, len(out), s.MinItems)
	}
	return out, nil
}

func (s schema) fitString(v any, path string) (any, error) {
	var text string
	switch t := v.(type) {
	case string:
		text = t
	case float64:
		text = strconv.FormatFloat(t, 'f', -1, 64)
	case bool:
		text = strconv.FormatBool(t)
	default:
		return nil, fmt.Errorf("%s is no text", path)
	}
	if s.Enum == nil {
		return text, nil
	}
	for _, e := range s.Enum {
		if word, ok := e.(string); ok && strings.EqualFold(word, strings.TrimSpace(text)) {
			return word, nil
		}
	}
	return nil, fmt.Errorf("%s is none of the words allowed", path)
}

func (s schema) fitNumber(v any, path string) (any, error) {
	var n float64
	switch t := v.(type) {
	case float64:
		n = t
	case string:
		f, err := strconv.ParseFloat(strings.TrimSpace(t), 64)
		if err != nil {
			return nil, fmt.Errorf("%s is no number", path)
		}
		n = f
	default:
		return nil, fmt.Errorf("%s is no number", path)
	}
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, fmt.Errorf("%s is no finite number", path)
	}
	if s.Type == "integer" {
		n = math.Round(n)
	}
	if s.Enum != nil {
		for _, e := range s.Enum {
			if f, ok := e.(float64); ok && f == n {
				return n, nil
			}
		}
		return nil, fmt.Errorf("%s is none of the numbers allowed", path)
	}
	if s.Minimum != nil {
		n = max(n, *s.Minimum)
	}
	if s.Maximum != nil {
		n = min(n, *s.Maximum)
	}
	return n, nil
}

func parseSchema(raw json.RawMessage) (schema, error) {
	var s schema
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&s); err != nil {
		return schema{}, fmt.Errorf("parse schema: %w", err)
	}
	return s, nil
}
