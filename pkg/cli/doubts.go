package cli

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// doubts refuses a suite with a rule that can never pass at the number of trials that
// a selection gives it, and warns of one that will mostly be inconclusive. When only a
// part of the suite is selected, that is somebody's look at it and no gate: all is a
// warning.
func (c *command) doubts(loaded *suite.Loaded, sel suite.Selection) error {
	of := loaded.Suite
	if of.Repeats.Fit != "" { // as many as the budget can pay for
		of.Repeats.Min = of.Repeats.Max
	}
	matrix, err := suite.Expand(&of, sel)
	if err != nil {
		return nil //nolint:nilerr // creating the run says so
	}
	snap := eval.Snapshot{Gate: of.Gate, Axes: of.Axes, Variants: matrix.Variants, Plan: eval.Plan{Cells: matrix.Cells}}
	for _, cell := range matrix.Cells {
		if cell.Sequential {
			snap.Plan.Looks = of.Repeats.Looks()
		}
	}
	for _, k := range of.Cases {
		snap.Cases = append(snap.Cases, k.Ref(""))
	}
	part := len(sel.Cases)+len(sel.Tags)+len(sel.Axes) > 0
	var refused, warned []strictyaml.Problem
	for _, d := range gate.Doubts(snap) {
		p := loaded.Rules[d.Rule].Problem(d.Message, d.Hint)
		p.Warning = d.Unlikely || part
		if p.Warning {
			warned = append(warned, p)
		} else {
			refused = append(refused, p)
		}
	}
	if len(refused) > 0 {
		return &suite.ProblemsError{Path: suite.Short(c.env.Dir, loaded.Path), Problems: append(refused, warned...)}
	}
	c.problems(warned)
	return nil
}
