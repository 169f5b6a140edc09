package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/lightmem/lightmem/memory"
)

// given is a setting's text and the place that it came from.
type given struct{ text, origin string }

// environment is the last value of each variable that is not empty.
func environment(environ []string) map[string]string {
	out := make(map[string]string, len(environ))
	for _, line := range environ {
		if key, value, ok := strings.Cut(line, "="); ok && value != "" {
			out[key] = value
		}
	}
	return out
}

// maxFile bounds a settings file: a large one is a mistake.
const maxFile = 1 << 20

// fromFile reads the settings of a YAML file by their names. A missing file is
// an error only when somebody named it.
func fromFile(path string, named bool, known []Setting) (map[string]given, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return nil, nil
	}
	if err != nil {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "config", Message: "cannot read the settings file " + path, Cause: err}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil || len(text) > maxFile {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "config", Message: fmt.Sprintf("cannot read the settings file %s (at most %d bytes)", path, maxFile), Cause: err}
	}
	return parseFile(path, text, known)
}

func parseFile(path string, text []byte, known []Setting) (map[string]given, error) {
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	var doc, second yaml.Node
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "config", Message: path + " is no YAML: " + strings.TrimPrefix(err.Error(), "yaml: "), Cause: err}
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return nil, memory.Invalid("config", "%s holds more than one YAML document", path)
	}
	names := make(map[string]bool, len(known))
	sections := map[string]bool{"": true}
	for _, s := range known {
		if !s.InFile {
			continue
		}
		names[s.Name] = true
		for i, r := range s.Name {
			if r == '.' {
				sections[s.Name[:i]] = true
			}
		}
	}
	out := map[string]given{}
	return out, flatten(doc.Content[0], "", path, names, sections, out)
}

// flatten walks a mapping and collects its scalars and lists of scalars.
func flatten(n *yaml.Node, prefix, path string, names, sections map[string]bool, out map[string]given) error {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" { // an empty section
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return memory.Invalid(orConfig(prefix), "is a section and needs keys (%s:%d)", path, n.Line)
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := join(prefix, key.Value)
		switch {
		case seen[name]:
			return memory.Invalid(name, "is set twice (%s:%d)", path, key.Line)
		case sections[name]:
			if err := flatten(value, name, path, names, sections, out); err != nil {
				return err
			}
		case !names[name]:
			return memory.Invalid(name, "is no setting (%s:%d)%s", path, key.Line, suggest(name, names, sections))
		default:
			text, set, err := scalar(value)
			if err != nil {
				return memory.Invalid(name, "%s (%s:%d)", err.Error(), path, value.Line)
			}
			if set {
				out[name] = given{text: text, origin: fmt.Sprintf("%s:%d", path, value.Line)}
			}
		}
		seen[name] = true
	}
	return nil
}

func orConfig(name string) string {
	if name == "" {
		return "config"
	}
	return name
}

// scalar is the text of a value: a scalar as it is written, a list joined by
// commas, null as unset.
func scalar(n *yaml.Node) (text string, set bool, err error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return "", false, nil
	case n.Kind == yaml.ScalarNode:
		return n.Value, true, nil
	case n.Kind == yaml.SequenceNode:
		var items []string
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || strings.Contains(item.Value, ",") {
				return "", false, errors.New("is a list of plain values")
			}
			items = append(items, item.Value)
		}
		return strings.Join(items, ","), true, nil
	default:
		return "", false, errors.New("needs a plain value")
	}
}

// suggest names the settings that end like the unknown one or share its section.
func suggest(name string, names, sections map[string]bool) string {
	section, last := "", name
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		section, last = name[:i], name[i+1:]
	}
	var close, siblings []string
	for other := range names {
		if strings.HasSuffix(other, "."+last) {
			close = append(close, other)
		}
		if rest, ok := strings.CutPrefix(other, section+"."); ok && section != "" && sections[section] && !strings.Contains(rest, ".") {
			siblings = append(siblings, rest)
		}
	}
	slices.Sort(close)
	slices.Sort(siblings)
	switch {
	case len(close) > 0:
		return "; did you mean " + strings.Join(close, " or ") + "?"
	case len(siblings) > 0:
		return "; " + section + " has " + strings.Join(siblings, ", ")
	}
	return ""
}

// stackFile is where the running stack writes its addresses.
func stackFile(stateDir string) string { return filepath.Join(stateDir, "lightmem.env") }

// fromStack reads the addresses of the running stack: KEY=value lines.
func fromStack(stateDir string) (map[string]string, error) {
	text, err := os.ReadFile(stackFile(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &memory.Error{Code: memory.CodeInvalid, Field: "state_dir", Message: "cannot read " + stackFile(stateDir), Cause: err}
	}
	return environment(strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")), nil
}

// below returns dir/name, "" when dir is empty or relative (the XDG rules say
// to ignore a relative one).
func below(dir string, names ...string) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(append([]string{dir}, names...)...)
}
