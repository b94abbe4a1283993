package flake

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A Run is what is remembered of one.
type Run struct {
	ID    string
	Cells []Outcome
	// Storm is true if the infrastructure failed, of which no cell is to blame: the share
	// of errors among the trials of a kind is above what the suite calls valid.
	Storm bool
}

// An Outcome is what a cell came to in one run.
type Outcome struct {
	Case, Variant string
	Kind          eval.Kind
	// Conditions of the cell's own: what was asked, and what had to hold.
	Conditions map[string]string
	Counts     eval.VerdictCounts
	// MicroUSD is what a trial cost on average, nil if nobody knows.
	MicroUSD *float64
}

// conditions after a change of which a cell is another one.
func conditions() []string { return []string{eval.ConditionCase, eval.ConditionChecks} }

// Of makes what is remembered of a run.
func Of(snap eval.Snapshot, s eval.Summary) Run {
	r := Run{ID: s.Run}
	arm := eval.NewArm(snap, s)
	for i, c := range s.Cells {
		r.Cells = append(r.Cells, Outcome{
			Case: c.Case, Variant: c.Variant, Kind: c.Kind, Conditions: map[string]string{}, Counts: c.Counts, MicroUSD: c.CostMean,
		})
		for _, name := range conditions() {
			r.Cells[i].Conditions[name] = arm.Cells[i].Conditions[name]
		}
	}
	most := snap.Validity.ErrorRate()
	for _, of := range s.Kinds {
		if ran := of.Counts.Total() - of.Counts.Skipped; ran > 0 && float64(of.Counts.Error) > most*float64(ran) {
			r.Storm = true
		}
	}
	return r
}
