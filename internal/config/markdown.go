package config

import (
	"fmt"
	"strings"
)

// Markdown is docs/configuration.md: every setting with its names.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# Configuration

<!-- Generated from internal/config; run: go test ./internal/config -update -->

` + "`lightmem` and `lightmem-worker`" + ` have the same settings. Each comes from the first of these places that has it:

1. a flag: ` + "`--database-url postgres://…`" + `
2. the environment: ` + "`LIGHTMEM_DATABASE_URL=postgres://…`" + ` (an empty variable counts as unset)
3. one YAML file, named by ` + "`--config` or `LIGHTMEM_CONFIG`, else `~/.config/lightmem/lightmem.yaml`" + ` where it exists
4. the running stack (databases, Temporal and model servers only): ` + "`lightmem.env`" + ` in the state folder, written by ` + "`make up`" + `
5. the default

A wrong value is refused at the start with the setting's name and the place that it came from, and so is a key of the
file that names no setting. ` + "`lightmem config show`" + ` prints every setting in force and its origin, secrets masked.

` + "```yaml" + `
database:
  url: postgres://lightmem:secret@db.internal:5432/lightmem
temporal:
  address: temporal.internal:7233
roles:
  plan: {model: "ollama:qwen2.5:1.5b", address: "http://gpu.internal:11434", timeout: 10s}
  select: {model: "ollama:qwen2.5:1.5b", address: "http://gpu.internal:11434"}
  write: {model: "rules:"}
  answer: {model: "openai:gpt-4o-mini", key: "…"}
  embed: {model: "ollama:all-minilm", address: "http://gpu.internal:11434"}
worker:
  queues: [turns, answer]
` + "```" + `
`)
	section := "\x00"
	for _, s := range settings(&Config{}) {
		if role, ok := strings.CutPrefix(sectionOf(s.Name), "roles."); ok { // the five are alike
			if role != "plan" {
				continue
			}
			s.Name = strings.Replace(s.Name, role, "ROLE", 1)
			s.Flag = strings.Replace(s.Flag, role, "ROLE", 1)
			s.Variable = strings.Replace(s.Variable, "PLAN", "ROLE", 1)
		}
		if in := sectionOf(s.Name); in != section {
			section = in
			fmt.Fprintf(&b, "\n## %s\n\n| setting | flag | environment | default | meaning |\n|---|---|---|---|---|\n", title(section))
		}
		name := "`" + s.Name + "`"
		if !s.InFile {
			name = "(not in the file)"
		}
		def := "`" + s.Default + "`"
		if s.Default == "" {
			def = ""
		}
		help := s.Help
		if s.Range != "" {
			help += " Between " + strings.Replace(s.Range, "..", " and ", 1) + "."
		}
		fmt.Fprintf(&b, "| %s | `--%s` | `%s` | %s | %s |\n", name, s.Flag, s.Variable, def, strings.ReplaceAll(help, "|", "\\|"))
	}
	b.WriteString(`
Besides: ` + "`LIGHTMEM_ALLOW_SCRIPTED=1`" + ` admits the provider ` + "`scripted:`" + `, which replies as a test tells it. ` +
		"`NO_COLOR`" + ` switches colours off. The variables of the stack itself (` + "`LIGHTMEM_CACHE`, `LIGHTMEM_MODEL`" + `) are in ` + "`internal/devstack`" + `.
`)
	return b.String()
}

// sectionOf is the part of a name before its last dot.
func sectionOf(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i]
	}
	return ""
}

func title(section string) string {
	if section == "" {
		return "General"
	}
	if section == "roles.ROLE" {
		return "`roles.plan`, `roles.select`, `roles.write`, `roles.answer`, `roles.embed`"
	}
	return "`" + section + "`"
}
