// Package config holds every setting of LightMem in one struct. A setting comes
// from the first of these places that has it:
//
//	a flag of the command             --database-url
//	the environment                   LIGHTMEM_DATABASE_URL
//	one YAML file                     database: {url: …}
//	the running stack's lightmem.env  written by `make up` into the state folder
//	the default
//
// A wrong value is refused at the start with the setting's name and the place
// that it came from; so is a key of the file that names no setting. An empty
// environment variable counts as unset. docs/configuration.md is generated from
// the struct's tags.
package config

import (
	"time"

	"github.com/lightmem/lightmem/memory"
)

// Config is every setting. Use Load, or a Loader beside a program's own flags:
// both check the values and fill in what follows from others.
type Config struct {
	// File is the YAML file; empty when there is none.
	File string `name:"config" yaml:"-" variable:"LIGHTMEM_CONFIG" placeholder:"FILE" help:"YAML file with settings (default: lightmem/lightmem.yaml in XDG_CONFIG_HOME or ~/.config, when it exists)."`
	// StateDir is where the running stack keeps lightmem.env and where the
	// master key is made.
	StateDir string `name:"state-dir" yaml:"state_dir" variable:"LIGHTMEM_STATE" placeholder:"DIR" help:"Folder of the running stack's addresses and of the master key (default: lightmem in XDG_STATE_HOME or ~/.local/state)."`
	// MasterKeyFile holds the key of pseudonyms and payloads. Every process of
	// an installation needs the same one.
	MasterKeyFile string `name:"master-key-file" yaml:"master_key_file" placeholder:"FILE" help:"File of the key that encrypts payloads and makes pseudonyms; the same for every process; made on first use (default: master.key in the state folder)."`
	// Tenant is the outer wall; only the command line uses this setting.
	Tenant memory.TenantID `name:"tenant" yaml:"tenant" placeholder:"ID" default:"default" help:"Tenant of a command."`
	// User is whose memory a command speaks of; only the command line uses it.
	User memory.UserID `name:"user" yaml:"user" placeholder:"ID" help:"User of a command."`

	Database  Database  `embed:"" prefix:"database-" yaml:"database"`
	Temporal  Temporal  `embed:"" prefix:"temporal-" yaml:"temporal"`
	Models    Models    `embed:"" prefix:"models-" yaml:"models"`
	Roles     Roles     `embed:"" yaml:"roles"`
	Selection Selection `embed:"" prefix:"selection-" yaml:"selection"`
	Memory    Memory    `embed:"" yaml:"memory"`
	Worker    Worker    `embed:"" prefix:"worker-" yaml:"worker"`
	API       API       `embed:"" prefix:"api-" yaml:"api"`
	Log       Log       `embed:"" prefix:"log-" yaml:"log"`
}

// Database says how to reach Postgres.
type Database struct {
	// URL is the connection string of worker and command line.
	URL DSN `name:"url" yaml:"url" variable:"LIGHTMEM_DATABASE_URL" placeholder:"URL" help:"Postgres connection string."`
	// OwnerURL is the one for migrations; URL when empty.
	OwnerURL DSN `name:"owner-url" yaml:"owner_url" placeholder:"URL" help:"Postgres connection string of the role that owns the schema, for migrations (default: database.url)."`
	// Connections bounds the pool of one process.
	Connections int `name:"connections" yaml:"connections" placeholder:"N" default:"16" range:"1..1000" help:"Most connections of one process."`
}

// Temporal says how to reach the Temporal frontend.
type Temporal struct {
	Address   string `name:"address" yaml:"address" variable:"TEMPORAL_ADDRESS" placeholder:"HOST:PORT" default:"127.0.0.1:7233" help:"Temporal frontend."`
	Namespace string `name:"namespace" yaml:"namespace" variable:"TEMPORAL_NAMESPACE" placeholder:"NAME" default:"default" help:"Temporal namespace."`
	// UI is only shown, never called.
	UI string `name:"ui" yaml:"ui" variable:"LIGHTMEM_TEMPORAL_UI" placeholder:"URL" help:"Address of Temporal's web UI, for links."`
}

// Models is what the roles' settings default to: the servers that are there.
type Models struct {
	OllamaAddress string `name:"ollama-address" yaml:"ollama_address" variable:"OLLAMA_HOST" placeholder:"URL" help:"Ollama server of ollama: roles without an address of their own (when a role uses one: http://127.0.0.1:11434)."`
	OpenAIAddress string `name:"openai-address" yaml:"openai_address" variable:"LIGHTMEM_OPENAI_BASE_URL" placeholder:"URL" help:"OpenAI-compatible endpoint of openai: roles without an address of their own (when a role uses one: https://api.openai.com/v1)."`
	// OpenAIEmbedAddress is for servers that embed in another process.
	OpenAIEmbedAddress string `name:"openai-embed-address" yaml:"openai_embed_address" variable:"LIGHTMEM_OPENAI_EMBED_BASE_URL" placeholder:"URL" help:"The same for the embed role (default: models.openai_address)."`
	OpenAIKey          Secret `name:"openai-key" yaml:"openai_key" variable:"OPENAI_API_KEY" placeholder:"KEY" help:"API key of openai: roles without one of their own."`
	Chat               string `name:"chat" yaml:"chat" variable:"LIGHTMEM_CHAT_MODEL" placeholder:"NAME" help:"Small model of roles plan, select, write and answer where they name none and a server is set; rules serve where this is empty."`
	Embed              string `name:"embed" yaml:"embed" variable:"LIGHTMEM_EMBED_MODEL" placeholder:"NAME" default:"all-minilm" help:"Embedding model where the embed role names none and a server is set."`
}

// Roles are the five tasks that models perform, each configured on its own.
type Roles struct {
	Plan   Role `embed:"" prefix:"plan-" yaml:"plan" role:"plan"`
	Select Role `embed:"" prefix:"select-" yaml:"select" role:"select"`
	Write  Role `embed:"" prefix:"write-" yaml:"write" role:"write"`
	Answer Role `embed:"" prefix:"answer-" yaml:"answer" role:"answer"`
	Embed  Role `embed:"" prefix:"embed-" yaml:"embed" role:"embed"`
}

// Of returns the settings of a role; the zero Role for an unknown one.
func (r Roles) Of(role memory.Role) Role {
	switch role {
	case memory.RolePlan:
		return r.Plan
	case memory.RoleSelect:
		return r.Select
	case memory.RoleWrite:
		return r.Write
	case memory.RoleAnswer:
		return r.Answer
	case memory.RoleEmbed:
		return r.Embed
	}
	return Role{}
}

// Role says who performs one task. After Load, Spec is always set, and Address
// and Key are set where the provider has one.
type Role struct {
	// Spec is provider and model, for example ollama:qwen2.5:1.5b.
	Spec    Spec   `name:"model" yaml:"model" placeholder:"PROVIDER:MODEL" help:"Who serves the role: ollama:MODEL, openai:MODEL or rules: (embed: none: instead of rules:). Default: models.chat or models.embed on the server that is set, else rules (embed: none)."`
	Address string `name:"address" yaml:"address" placeholder:"URL" help:"Server of the role (default: the one in models)."`
	Key     Secret `name:"key" yaml:"key" placeholder:"KEY" help:"API key of the role (default: models.openai_key, unless the role has an address of its own)."`
	// Timeout bounds one call. Zero means the provider's default for the role.
	Timeout time.Duration `name:"timeout" yaml:"timeout" placeholder:"DURATION" range:"100ms..10m" help:"Bound of one call (default: plan and select 15s, write 30s, answer 2m, embed 10s)."`
	// ContextLength is how many tokens prompt and reply may have together.
	// Zero means what the server says, or the provider's default.
	ContextLength int `name:"context-length" yaml:"context_length" placeholder:"TOKENS" range:"256..10000000" help:"Tokens that prompt and reply may have together (default: ollama 4096, openai 16384)."`
}

// Ways in which a model selects.
const (
	// SelectionPointwise asks yes or no about each candidate and ranks by the
	// log-probability of yes.
	SelectionPointwise = "pointwise"
	// SelectionListwise asks once for a list of ids; for tuned or larger models.
	SelectionListwise = "listwise"
)

// Selection says how a model selects.
type Selection struct {
	Mode string `name:"mode" yaml:"mode" placeholder:"MODE" default:"pointwise" choices:"pointwise,listwise" help:"pointwise (yes or no about each candidate, by log-probability) or listwise (one call that lists ids; for tuned or larger models)."`
}

// Memory bounds what is kept and what is shown to a model.
type Memory struct {
	// Capacity is B.
	Capacity int `name:"capacity" yaml:"capacity" placeholder:"N" default:"10000" range:"1..1000000" help:"B: most live memories of one user; beyond, redundant ones are merged and the least useful evicted."`
	// K is how many memories a turn selects when the request does not say.
	K int `name:"default-k" yaml:"k" variable:"LIGHTMEM_K" placeholder:"N" default:"5" range:"1..50" help:"K: how many memories a turn selects at most when the request does not say; 2K candidates are retrieved."`
	// ContextTokens is the budget of C_t.
	ContextTokens int `name:"context-tokens" yaml:"context_tokens" placeholder:"N" default:"1024" range:"0..1000000" help:"Budget of the short-term context: the conversation's last messages that a turn sees."`
	// CacheBytes bounds the search indexes that a worker keeps.
	CacheBytes Bytes `name:"cache-bytes" yaml:"cache_bytes" placeholder:"SIZE" default:"1GiB" range:"0..1TiB" help:"Memory for the search indexes of the users served last; 0 keeps none between turns."`
}

// Worker says what a lightmem-worker process serves.
type Worker struct {
	Queues      []string `name:"queues" yaml:"queues" placeholder:"QUEUE,…" default:"turns,gpu,answer" choices:"turns,gpu,answer" help:"Task queues of the process: turns (workflows and database steps), gpu (small models), answer (answer model)."`
	TurnSlots   int      `name:"turn-slots" yaml:"turn_slots" placeholder:"N" default:"64" range:"1..10000" help:"Database steps at once."`
	GPUSlots    int      `name:"gpu-slots" yaml:"gpu_slots" placeholder:"N" default:"2" range:"1..1000" help:"Calls to small models at once: what the model server takes in parallel."`
	AnswerSlots int      `name:"answer-slots" yaml:"answer_slots" placeholder:"N" default:"64" range:"1..10000" help:"Answers awaited at once."`
	// StopTimeout is how long a stopping worker lets running steps finish.
	StopTimeout time.Duration `name:"stop-timeout" yaml:"stop_timeout" placeholder:"DURATION" default:"30s" range:"0s..10m" help:"How long a stopping worker lets running steps finish."`
	// Deployment and BuildID switch worker versioning on.
	Deployment string `name:"deployment" yaml:"deployment" placeholder:"NAME" help:"Deployment name for worker versioning; empty: unversioned."`
	// MakeCurrent is for the step of a rollout that turns to a new build.
	MakeCurrent bool   `name:"make-current" yaml:"make_current" help:"Route new turns to this build even when another one is current; without it only when none is."`
	BuildID     string `name:"build-id" yaml:"build_id" placeholder:"ID" help:"Build id for worker versioning; a turn stays with the build that began it."`
	// HealthAddress serves /health/live and /health/ready; empty serves none.
	HealthAddress string `name:"health-address" yaml:"health_address" placeholder:"HOST:PORT" help:"Where the worker serves /health/live and /health/ready (default: nowhere)."`
}

// API says how `lightmem serve` listens.
type API struct {
	Address string `name:"address" yaml:"address" placeholder:"HOST:PORT" default:"127.0.0.1:8080" help:"Where the HTTP gateway listens."`
	// Token authorises calls for Config.Tenant. The gateway does not start
	// without one.
	Token Secret `name:"token" yaml:"token" placeholder:"TOKEN" help:"Bearer token that callers of the gateway present; at least 16 characters; there is no open access. It gives access to the tenant of the setting tenant."`
}

// Log says what is logged; never text of people, never a secret.
type Log struct {
	Level  string `name:"level" yaml:"level" placeholder:"LEVEL" default:"info" choices:"debug,info,warn,error" help:"debug, info, warn or error."`
	Format string `name:"format" yaml:"format" placeholder:"FORMAT" default:"text" choices:"text,json" help:"text or json."`
}
