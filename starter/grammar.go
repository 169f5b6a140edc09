package main

import (
	"strings"
	"time"

	"github.com/lightmem/lightmem/internal/config"
	"github.com/lightmem/lightmem/memory"
)

const description = `LightMem gives an assistant a memory that can be audited: every turn is a durable workflow that plans, retrieves, selects, answers and remembers, and every change to memory says why.

Every setting is a flag of every command, too: lightmem config show, docs/configuration.md.

` + exitCodesHelp

// grammar is the command line.
type grammar struct {
	Settings config.Config  `embed:""`
	JSON     bool           `name:"json" help:"Print exactly one JSON document; errors as JSON on standard error."`
	Timeout  *time.Duration `name:"timeout" placeholder:"DURATION" help:"Give up waiting after this time; the turn itself goes on (default: 5m; chat, eval, demo and serve: none)."`

	Chat     chatCommand     `cmd:"" help:"Talk; shows what is remembered after each turn."`
	Ask      askCommand      `cmd:"" help:"One turn: recall, answer, remember."`
	Recall   recallCommand   `cmd:"" help:"What would an answer be given? Writes nothing to memory."`
	Remember rememberCommand `cmd:"" help:"Remember what a text says."`
	Turn     turnCommand     `cmd:"" help:"A turn that the caller answers."`
	Answer   answerCommand   `cmd:"" help:"Hand in the caller's answer of such a turn, later."`
	Memories memoriesCommand `cmd:"" help:"List, show, search, forget and pin memories."`
	Trace    traceCommand    `cmd:"" help:"The whole story of one turn."`
	History  historyCommand  `cmd:"" help:"Every change to a user's memory, with its cause."`
	User     userCommand     `cmd:"" help:"What is known about a user apart from memories."`
	Audit    auditCommand    `cmd:"" help:"Check the chain of audit events."`
	Eval     evalCommand     `cmd:"" help:"Measure how well it finds what it should."`
	Migrate  migrateCommand  `cmd:"" help:"Bring the database's schema up or down."`
	Serve    serveCommand    `cmd:"" help:"The HTTP gateway."`
	Config   configCommand   `cmd:"" help:"Show every setting in force and where it comes from."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
	Demo     demoCommand     `cmd:"" hidden:"" help:"Play the demo conversation and tell the last turns."`
}

// moment is a time that a caller gives.
type moment struct{ time.Time }

// UnmarshalText reads RFC 3339.
func (m *moment) UnmarshalText(text []byte) (err error) {
	// kong names the flag before the message; the field here is never shown.
	if m.Time, err = memory.ParseTime("", string(text)); err != nil {
		return errText(strings.TrimPrefix(err.Error(), ": "))
	}
	return nil
}

// errText is an error that is only its message.
type errText string

func (e errText) Error() string { return string(e) }

// example is a command's detailed help.
func example(lines ...string) string {
	return "Example:\n\n    " + strings.Join(lines, "\n    ")
}
