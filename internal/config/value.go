package config

import (
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lightmem/lightmem/memory"
)

// Providers of a role.
const (
	ProviderOllama = "ollama"
	ProviderOpenAI = "openai"
	// ProviderRules is the deterministic rule of a role; embed has none.
	ProviderRules = "rules"
	// ProviderNone switches embed off: retrieval goes by words alone.
	ProviderNone = "none"
	// ProviderScripted replies as told; tests only.
	ProviderScripted = "scripted"
)

// Spec is who serves a role: a provider and, where it has several, a model. Its
// text is "provider:model". The zero value means "not set".
type Spec struct {
	Provider string
	// Model is empty for rules: and none:. It may itself hold colons.
	Model string
}

// UnmarshalText reads "provider:model".
func (s *Spec) UnmarshalText(text []byte) error {
	provider, model, ok := strings.Cut(string(text), ":")
	switch {
	case len(text) == 0:
		*s = Spec{}
		return nil
	case !ok:
		return fmt.Errorf("%q has no colon; it looks like rules: or ollama:qwen2.5:1.5b", text)
	}
	switch provider {
	case ProviderOllama, ProviderOpenAI, ProviderScripted:
		if strings.TrimSpace(model) == "" {
			return fmt.Errorf("%s: needs a model, for example %s", provider, map[string]string{
				ProviderOllama: "ollama:qwen2.5:1.5b", ProviderOpenAI: "openai:gpt-4o-mini", ProviderScripted: "scripted:instant",
			}[provider])
		}
	case ProviderRules, ProviderNone:
		if model != "" {
			return fmt.Errorf("%s: takes no model", provider)
		}
	default:
		return fmt.Errorf("knows no provider %q; there are ollama, openai and rules", provider)
	}
	*s = Spec{Provider: provider, Model: model}
	return nil
}

// MarshalText returns the same form.
func (s Spec) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String returns "provider:model", "" for the zero value.
func (s Spec) String() string {
	if s.Provider == "" {
		return ""
	}
	return s.Provider + ":" + s.Model
}

// IsZero reports whether nothing is set.
func (s Spec) IsZero() bool { return s.Provider == "" }

// masked is what stands for a secret.
const masked = "********"

// Secret is a value that is never shown; Reveal gives it out.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns a mask, "" when there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return masked
}

// GoString keeps %#v from showing the secret.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue keeps logs from showing the secret.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps encodings from showing the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// DSN is a database's connection string; its password is never shown.
type DSN string

// Reveal returns the connection string with its password.
func (d DSN) Reveal() string { return string(d) }

var passwordWord = regexp.MustCompile(`(?i)\b(password|passfile|sslpassword)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)`)

// harmless are the parameters of a URL whose values may be shown.
var harmless = []string{"sslmode", "application_name", "connect_timeout", "host", "port", "dbname", "user", "pool_max_conns", "target_session_attrs"}

// String returns the connection string with its password masked.
func (d DSN) String() string {
	u, err := url.Parse(string(d))
	if err != nil || u.Scheme == "" {
		if strings.Contains(string(d), "://") { // a broken URL may hold anything anywhere
			return masked
		}
		return passwordWord.ReplaceAllString(string(d), "${1}="+masked)
	}
	if u.User != nil {
		if _, ok := u.User.Password(); ok {
			u.User = url.UserPassword(u.User.Username(), masked)
		}
	}
	if u.RawQuery != "" {
		var kept []string
		for _, pair := range strings.Split(u.RawQuery, "&") {
			if key, _, _ := strings.Cut(pair, "="); !slices.Contains(harmless, key) {
				pair = masked
			}
			kept = append(kept, pair)
		}
		u.RawQuery = strings.Join(kept, "&")
	}
	return strings.ReplaceAll(u.String(), url.QueryEscape(masked), masked)
}

// GoString keeps %#v from showing the password.
func (d DSN) GoString() string { return strconv.Quote(d.String()) }

// LogValue keeps logs from showing the password.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText keeps encodings from showing the password.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// check refuses what is no connection string. The message never holds it.
func (d DSN) check() error {
	if !strings.Contains(string(d), "://") {
		if d == "" || strings.Contains(string(d), "=") {
			return nil
		}
		return memory.Errorf(memory.CodeInvalid, "is no connection string; it looks like postgres://user:password@host:5432/lightmem")
	}
	u, err := url.Parse(string(d))
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return memory.Errorf(memory.CodeInvalid, "is no Postgres address; it looks like postgres://user:password@host:5432/lightmem")
	}
	return nil
}

// Bytes is a number of bytes. Its text is a whole number with an optional unit:
// B, KiB, MiB, GiB or TiB (also kB, MB, GB and TB, which are powers of 1,000).
type Bytes int64

var units = []struct {
	suffix string
	size   int64
}{ // longest first where one ends another
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// UnmarshalText reads "1GiB".
func (b *Bytes) UnmarshalText(text []byte) error {
	s, size := strings.TrimSpace(string(text)), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(s, u.suffix); ok {
			s, size = strings.TrimSpace(rest), u.size
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/size {
		return fmt.Errorf("%q is no size; it looks like 512MiB", text)
	}
	*b = Bytes(n * size)
	return nil
}

// MarshalText returns the same form.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// String returns the number with the largest binary unit that divides it.
func (b Bytes) String() string {
	for i := 3; i >= 0; i-- {
		if u := units[i]; b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
