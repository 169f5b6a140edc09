package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Setting is one field of a Config with its names.
type Setting struct {
	// Name is the dotted path in the YAML file: "roles.plan.timeout". The two
	// settings that the file cannot hold (config) have their flag's name.
	Name string
	// Flag is the flag without its dashes: "plan-timeout".
	Flag string
	// Variable is the environment variable.
	Variable string
	// Default is the default's text; empty when there is none or Help says it.
	Default string
	// Help is one or two sentences.
	Help string
	// Choices are the allowed values where there are few.
	Choices []string
	// Range is "low..high", both included, for numbers, sizes and durations.
	Range string
	// InFile says that the YAML file may hold it.
	InFile bool

	field reflect.Value
}

// settings lists the settings of c in the order of the struct.
func settings(c *Config) []Setting {
	var list []Setting
	var walk func(v reflect.Value, flag, path string)
	walk = func(v reflect.Value, flag, path string) {
		for i := range v.NumField() {
			f := v.Type().Field(i)
			key := f.Tag.Get("yaml")
			if _, ok := f.Tag.Lookup("embed"); ok {
				walk(v.Field(i), flag+f.Tag.Get("prefix"), join(path, key))
				continue
			}
			s := Setting{
				Name: join(path, key), Flag: flag + f.Tag.Get("name"), Variable: f.Tag.Get("variable"),
				Default: f.Tag.Get("default"), Help: f.Tag.Get("help"), Range: f.Tag.Get("range"),
				InFile: key != "-", field: v.Field(i),
			}
			if !s.InFile {
				s.Name = s.Flag
			}
			if s.Variable == "" {
				s.Variable = variable(s.Name)
			}
			if choices := f.Tag.Get("choices"); choices != "" {
				s.Choices = strings.Split(choices, ",")
			}
			list = append(list, s)
		}
	}
	walk(reflect.ValueOf(c).Elem(), "", "")
	return list
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// variable is the environment variable of a setting that has no better-known
// one: LIGHTMEM_ and its path.
func variable(name string) string {
	return "LIGHTMEM_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// text is the setting's value as text, secrets masked.
func (s Setting) text() string {
	if s.Default == "" && s.field.IsZero() { // not set: whoever uses it has its own default
		return ""
	}
	switch v := s.field.Interface().(type) {
	case []string:
		return strings.Join(v, ",")
	case fmt.Stringer: // Secret and DSN mask themselves
		return v.String()
	default:
		return fmt.Sprint(v)
	}
}
