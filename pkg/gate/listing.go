package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// listing decides whether the servers list the tools that they should: those of a
// fingerprint, or those that they listed in the baseline.
func (g *sitting) listing(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, "the fingerprints of the tool listings as the servers told them")
	before := map[string]string{}
	if c.Fingerprint == "" {
		for _, cell := range g.arms.Base.Cells {
			before[cell.Key()] = cell.Conditions[eval.ConditionListing]
		}
	}
	var other []string
	for _, i := range g.cells(c) {
		cell := g.s.Cells[i]
		now := strings.Join(cell.Listings, ", ")
		want := c.Fingerprint
		if want == "" {
			want = before[keyOf(cell)]
		}
		if now == "" || want == "" {
			continue
		}
		r.N++
		if now != want {
			other = append(other, cell.Case)
			r.Details = append(r.Details, fmt.Sprintf("%s [%s]: %s, want %s", cell.Case, cell.Variant, now, want))
		}
	}
	switch {
	case r.N == 0 && c.Fingerprint == "":
		g.missing(r, "no cell has a tool listing in both runs")
	case r.N == 0:
		r.Message = r.Title + ": no server has told its tools"
	case len(other) > 0:
		r.Decision = eval.DecisionFail
		r.Message = fmt.Sprintf("%s: the tools differ in %d of %d cells, first in %s", r.Title, len(other), r.N, slices.Min(other))
	default:
		r.Decision = eval.DecisionPass
		r.Message = fmt.Sprintf("%s: the tools are the same in %d cells", r.Title, r.N)
	}
}
