package workflows

import (
	"strings"

	"go.temporal.io/sdk/temporal"
)

// Task queues. A worker runs the ones that it is told to.
const (
	// QueueTurns runs the turn workflows and their short database steps.
	QueueTurns = "turns"
	// QueueGPU runs the activities that need the small models.
	QueueGPU = "gpu"
	// QueueAnswer runs the calls to the answer model: network-bound, many slots.
	QueueAnswer = "answer"
)

// Workflow types, updates and queries.
const (
	// TypeTurn is the type of the turn workflow.
	TypeTurn = "Turn"
	// TypeEmbed is the type of the workflow that fills in missing vectors.
	TypeEmbed = "Embed"
	// UpdateReply waits for and returns the turn's memory.Reply. Its argument
	// is an Ask.
	UpdateReply = "reply"
	// UpdateCallerAnswer hands in the caller's own answer of a ModeCaller
	// turn. Its argument is a CallerAnswer.
	UpdateCallerAnswer = "caller-answer"
	// QueryPhase returns the phase in which a turn is, as a string.
	QueryPhase = "phase"
)

// Search attributes. Their values are never encrypted: pseudonyms and
// enumerated words only, never an id of the caller's or text of people.
var (
	AttributeTenant       = temporal.NewSearchAttributeKeyKeyword("MemTenant")
	AttributeUser         = temporal.NewSearchAttributeKeyKeyword("MemUser")
	AttributeConversation = temporal.NewSearchAttributeKeyKeyword("MemConversation")
	AttributePhase        = temporal.NewSearchAttributeKeyKeyword("MemPhase")
	AttributeOutcome      = temporal.NewSearchAttributeKeyKeyword("MemOutcome")
)

// TurnWorkflowID is the id of a turn's workflow. All parts are pseudonyms:
// workflow ids are never encrypted. A request that is sent again has the same
// id and so attaches to the same turn.
func TurnWorkflowID(tenant, user, conversation, key string) string {
	return strings.Join([]string{"turn", tenant, user, conversation, key}, "/")
}

// embedWorkflowID is the id of the backfill of the user to whom the turn with
// the given workflow id belongs: at most one runs for a user.
func embedWorkflowID(turnWorkflowID string) string {
	parts := strings.Split(turnWorkflowID, "/")
	if len(parts) < 3 {
		return "embed/" + turnWorkflowID
	}
	return strings.Join([]string{"embed", parts[1], parts[2]}, "/")
}
