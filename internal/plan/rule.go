package plan

import (
	"context"

	"github.com/lightmem/lightmem/memory"
)

// RuleVersion names the rule in a plan.
const RuleVersion = "rule.plan.v1"

// Rule plans without a model.
type Rule struct{}

// Plan implements activities.Planner.
func (Rule) Plan(_ context.Context, t memory.Turn) (memory.Plan, error) {
	return memory.Plan{
		Queries:  []memory.Query{{Text: t.Text, Tier: memory.TierMTM, Origin: "input"}},
		Personal: 0.5,
		Version:  RuleVersion,
	}, nil
}
