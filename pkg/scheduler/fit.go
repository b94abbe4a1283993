package scheduler

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// fit gives the agent cells of a plan as many repeats as the budget affords, before
// anything is begun: a run that ends as planned is complete. rounds says how many
// that is; 0 means as many as the holds of all trials allow.
func fit(snap *eval.Snapshot, of eval.Suite, b eval.Budget, rounds int) error {
	if rounds == 0 {
		rounds = affordable(*snap, b, of.Repeats.Max)
	}
	rounds = min(rounds, of.Repeats.Max)
	if rounds < of.Repeats.Min {
		return &BudgetError{[]string{fmt.Sprintf("it affords %d repeats, and the suite wants at least %d", rounds, of.Repeats.Min)}}
	}
	for i := range snap.Plan.Cells {
		cell := &snap.Plan.Cells[i]
		ref := snap.Cases[cell.Case]
		if _, own := of.CaseRepeats[ref.ID]; ref.Kind == eval.KindAgent && !own {
			cell.Repeats = rounds
		}
	}
	return nil
}

// affordable is how many rounds a budget can hold for, all of them at once, at most
// so many.
func affordable(snap eval.Snapshot, b eval.Budget, most int) int {
	var round eval.Amount
	for _, cell := range snap.Plan.Cells {
		round = round.Add(cell.Hold)
	}
	rounds := most
	if b.MicroUSD > 0 && round.MicroUSD > 0 {
		rounds = min(rounds, int(b.MicroUSD/round.MicroUSD))
	}
	if b.Tokens > 0 && round.Tokens > 0 {
		rounds = min(rounds, int(b.Tokens/round.Tokens))
	}
	return rounds
}
