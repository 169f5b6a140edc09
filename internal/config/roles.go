package config

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/lightmem/lightmem/memory"
)

// Addresses of servers that no setting names.
const (
	ollamaAddressDefault = "http://127.0.0.1:11434"
	openAIAddressDefault = "https://api.openai.com/v1"
	// openAIAnswerDefault answers when a key is all that is set; the paper's
	// answer model.
	openAIAnswerDefault = "gpt-4o-mini"
)

// finishRoles decides who serves each role that no setting names, and gives
// each its server.
func (l *Loader) finishRoles() error {
	m := &l.cfg.Models
	for _, a := range []struct {
		name    string
		address *string
		port    string
	}{
		{"models.ollama_address", &m.OllamaAddress, ollamaPort},
		{"models.openai_address", &m.OpenAIAddress, ""},
		{"models.openai_embed_address", &m.OpenAIEmbedAddress, ""},
	} {
		if *a.address == "" {
			continue
		}
		fixed, ok := address(*a.address, a.port)
		if !ok {
			return memory.Invalid(a.name, "is no server's address; it looks like http://127.0.0.1:11434")
		}
		*a.address = fixed
	}
	roles := &l.cfg.Roles
	for _, r := range []struct {
		role memory.Role
		at   *Role
	}{
		{memory.RolePlan, &roles.Plan},
		{memory.RoleSelect, &roles.Select},
		{memory.RoleWrite, &roles.Write},
		{memory.RoleAnswer, &roles.Answer},
		{memory.RoleEmbed, &roles.Embed},
	} {
		if err := l.finishRole(r.role, r.at); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loader) finishRole(role memory.Role, r *Role) error {
	name := "roles." + string(role)
	if r.Spec.IsZero() {
		r.Spec = l.cfg.Models.spec(role)
	}
	m := l.cfg.Models
	switch r.Spec.Provider {
	case ProviderRules:
		if role == memory.RoleEmbed {
			return memory.Invalid(name+".model", "there is no rule for embedding; none: searches by words alone")
		}
	case ProviderNone:
		if role != memory.RoleEmbed {
			return memory.Invalid(name+".model", "only embed can be none:; rules: serves without a model")
		}
	case ProviderScripted:
		if l.environ["LIGHTMEM_ALLOW_SCRIPTED"] != "1" {
			return memory.Invalid(name+".model", "scripted: is for tests; it needs LIGHTMEM_ALLOW_SCRIPTED=1")
		}
	case ProviderOllama:
		r.Address = cmp.Or(r.Address, m.OllamaAddress, ollamaAddressDefault)
	case ProviderOpenAI:
		if r.Address != "" {
			break // a server of its own never gets the others' key
		}
		from := "models.openai_address"
		if role == memory.RoleEmbed && m.OpenAIEmbedAddress != "" {
			r.Address, from = m.OpenAIEmbedAddress, "models.openai_embed_address"
		}
		r.Address = cmp.Or(r.Address, m.OpenAIAddress, openAIAddressDefault)
		if l.origins[from] != originStack { // nor does a server that nobody named
			r.Key = cmp.Or(r.Key, m.OpenAIKey)
		}
	}
	if r.Address == "" {
		return nil
	}
	port := ""
	if r.Spec.Provider == ProviderOllama {
		port = ollamaPort
	}
	fixed, ok := address(r.Address, port)
	if !ok {
		return memory.Invalid(name+".address", "is no server's address; it looks like http://127.0.0.1:11434")
	}
	r.Address = fixed
	return nil
}

// spec is who serves a role by the servers that are there.
func (m Models) spec(role memory.Role) Spec {
	if role == memory.RoleEmbed {
		switch {
		case m.OllamaAddress != "":
			return Spec{ProviderOllama, m.Embed}
		case m.OpenAIEmbedAddress != "":
			return Spec{ProviderOpenAI, m.Embed}
		}
		return Spec{Provider: ProviderNone}
	}
	switch {
	case m.Chat != "" && m.OllamaAddress != "":
		return Spec{ProviderOllama, m.Chat}
	case m.Chat != "" && m.OpenAIAddress != "":
		return Spec{ProviderOpenAI, m.Chat}
	case role == memory.RoleAnswer && m.OpenAIKey != "" && m.OpenAIAddress == "":
		return Spec{ProviderOpenAI, openAIAnswerDefault}
	}
	return Spec{Provider: ProviderRules}
}

// ollamaPort is the port that OLLAMA_HOST may leave out.
const ollamaPort = "11434"

// address completes what OLLAMA_HOST may leave out, a scheme and the port, and
// turns the address on which a server listens everywhere into one to call.
func address(text, portDefault string) (string, bool) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return "", false
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsUnspecified() {
		port := u.Port()
		u.Host = "127.0.0.1"
		if port != "" {
			u.Host = net.JoinHostPort("127.0.0.1", port)
		}
	}
	if u.Port() == "" && portDefault != "" && u.Scheme == "http" {
		u.Host = net.JoinHostPort(u.Hostname(), portDefault)
	}
	return strings.TrimRight(u.String(), "/"), true
}
