package scheduler

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// fit gives the agent cells of a plan as many repeats as the budget affords, before
// anything is begun: a run that ends as planned is complete. rounds says how many
// that is; 0 means as many as the holds of all trials allow.
func fit(snap *eval.Snapshot, of eval.Suite, b eval.Budget, rounds int) error {
	fits := func(cell eval.Cell) bool {
		ref := snap.Cases[cell.Case]
		_, own := of.CaseRepeats[ref.ID]
		return ref.Kind == eval.KindAgent && !own
	}
	if rounds == 0 {
		rounds = affordable(snap.Plan, fits, b, of.Repeats.Max)
	}
	rounds = min(rounds, of.Repeats.Max)
	if rounds < of.Repeats.Min {
		return &BudgetError{[]string{fmt.Sprintf("it affords %d repeats, and the suite wants at least %d", rounds, of.Repeats.Min)}}
	}
	for i := range snap.Plan.Cells {
		if cell := &snap.Plan.Cells[i]; fits(*cell) {
			cell.Repeats = rounds
		}
	}
	return nil
}

// affordable is how many rounds of the cells that fit a budget can hold for, all of
// them at once and beside those that have repeats of their own, at most so many.
func affordable(p eval.Plan, fits func(eval.Cell) bool, b eval.Budget, most int) int {
	var round, own eval.Amount
	for _, cell := range p.Cells {
		if fits(cell) {
			round = round.Add(cell.Hold)
			continue
		}
		for range cell.Repeats {
			own = own.Add(cell.Hold)
		}
	}
	rounds := most
	if b.MicroUSD > 0 && round.MicroUSD > 0 {
		rounds = min(rounds, int(max(0, b.MicroUSD-own.MicroUSD)/round.MicroUSD))
	}
	if b.Tokens > 0 && round.Tokens > 0 {
		rounds = min(rounds, int(max(0, b.Tokens-own.Tokens)/round.Tokens))
	}
	return rounds
}
