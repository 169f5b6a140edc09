package prompts

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"
	"time"
)

//go:embed *.tmpl *.schema.json
var files embed.FS

// Names of the prompts in use, each with its version. A change of wording makes
// a new version, so that a record says which words led to it.
const (
	Plan       = "plan.v1"
	Select     = "select.v1"
	SelectList = "selectlist.v1"
	Answer     = "answer.v1"
	Write      = "write.v1"
	Who        = "who.v1"
)

// Set is a parsed set of templates. Build it with Load.
type Set struct {
	prompts map[string]prompt
}

type prompt struct {
	sections []section
	schema   json.RawMessage
}

type section struct {
	role Role
	tmpl *template.Template
}

// Load parses the embedded templates. It fails only when the program was built
// with a broken one.
func Load() (*Set, error) {
	entries, err := fs.Glob(files, "*.tmpl")
	if err != nil {
		return nil, fmt.Errorf("list prompts: %w", err)
	}
	s := &Set{prompts: make(map[string]prompt, len(entries))}
	for _, file := range entries {
		src, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, fmt.Errorf("read prompt %s: %w", file, err)
		}
		name := strings.TrimSuffix(path.Base(file), ".tmpl")
		p, err := parse(name, string(src))
		if err != nil {
			return nil, fmt.Errorf("parse prompt %s: %w", file, err)
		}
		if schema, err := fs.ReadFile(files, name+".schema.json"); err == nil {
			if !json.Valid(schema) {
				return nil, fmt.Errorf("parse schema of prompt %s: not JSON", name)
			}
			p.schema = schema
		}
		s.prompts[name] = p
	}
	return s, nil
}

// Names returns the names of all prompts, unordered.
func (s *Set) Names() []string {
	out := make([]string, 0, len(s.prompts))
	for name := range s.prompts {
		out = append(out, name)
	}
	return out
}

// Render fills the prompt with data and returns the messages and the schema of
// the request; the rest of the request is the caller's. Data's text goes through
// the templates' functions data and line, which every template applies to each
// text of people.
func (s *Set) Render(name string, data any) (Request, error) {
	p, ok := s.prompts[name]
	if !ok {
		return Request{}, fmt.Errorf("render prompt: no prompt is called %q", name)
	}
	r := Request{Prompt: name, Schema: p.schema, Messages: make([]Message, 0, len(p.sections))}
	for _, sec := range p.sections {
		var b strings.Builder
		if err := sec.tmpl.Execute(&b, data); err != nil {
			return Request{}, fmt.Errorf("render prompt %s: %w", name, err)
		}
		r.Messages = append(r.Messages, Message{Role: sec.role, Text: strings.TrimSpace(b.String())})
	}
	return r, nil
}

// parse splits a template's source into its messages. The split happens before
// any data is filled in, so that no data can make a message of its own.
func parse(name, src string) (prompt, error) {
	var p prompt
	var role Role
	var body strings.Builder
	end := func() error {
		if role == "" {
			if strings.TrimSpace(body.String()) != "" {
				return fmt.Errorf("text before the first section")
			}
			return nil
		}
		t, err := template.New(name).Option("missingkey=error").Funcs(functions).Parse(body.String())
		if err != nil {
			return err
		}
		p.sections = append(p.sections, section{role: role, tmpl: t})
		body.Reset()
		return nil
	}
	for line := range strings.Lines(src) {
		if head, ok := strings.CutPrefix(strings.TrimSpace(line), "=== "); ok {
			if err := end(); err != nil {
				return prompt{}, err
			}
			switch role = Role(head); role {
			case System, User, Assistant:
			default:
				return prompt{}, fmt.Errorf("unknown section %q", head)
			}
			continue
		}
		body.WriteString(line)
	}
	if err := end(); err != nil {
		return prompt{}, err
	}
	if len(p.sections) == 0 {
		return prompt{}, fmt.Errorf("no section")
	}
	return p, nil
}

// functions are what templates may call.
var functions = template.FuncMap{
	"data": Data,
	"line": Line,
	"add":  func(a, b int) int { return a + b },
	// day shows a time in its own zone; the caller sets the zone.
	"day": func(t time.Time) string {
		if t.IsZero() {
			return "date unknown"
		}
		return t.Format("Monday, 2 January 2006")
	},
	"date": func(t time.Time) string {
		if t.IsZero() {
			return "date unknown"
		}
		return t.Format("2 January 2006")
	},
}
