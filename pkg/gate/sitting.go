package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/compare"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// A sitting puts the rules of a gate to one summary.
type sitting struct {
	s    *eval.Summary
	snap eval.Snapshot
	arms Arms
	// exempt are the cells that are out of the gate, by index.
	exempt map[int]bool
	// pairing is what matched has found: all rules that compare ask for the same.
	pairing *compare.Pairing
}

// newSitting looks at a summary and leaves it as it is.
func newSitting(s eval.Summary, snap eval.Snapshot, arms Arms) *sitting {
	s.Cells = slices.Clone(s.Cells)
	g := &sitting{s: &s, snap: snap, arms: arms}
	g.exemptions()
	return g
}

// decide puts one claim.
func (g *sitting) decide(c claim) eval.RuleResult {
	r := eval.RuleResult{Rule: c.Rule, Title: title(c.Rule), Decision: eval.DecisionInconclusive}
	if c.ByChance() {
		r.Level = c.level
	}
	switch {
	case g.idle(c):
		r.Message = r.Title + ": the run has no such case at all"
	case c.Compares() && g.arms.Base == nil:
		g.missing(&r, cmp.Or(g.why(), "no baseline is named"))
	case c.ByChance() && c.level == 0:
		r.Message = r.Title + ": the run has not come to a round at which it is looked at"
	default:
		g.evaluate(c, &r)
	}
	return r
}

// idle says whether a rule names a tag or a variant that no case of a whole run has,
// in the gate or out of it. Nobody may take that for a pass.
func (g *sitting) idle(c claim) bool {
	rule := g.snap.Gate.Rules[c.index]
	if g.snap.Partial || rule.Tag == "" && len(rule.Axes) == 0 {
		return false
	}
	if !rule.OfLatency() { // those are of each kind that there is
		rule.Kind = c.Kind
	}
	of := claim{Rule: rule}
	for i, cell := range g.s.Cells {
		if of.covers(cell, g.variant(i)) {
			return false
		}
	}
	return true
}

func (g *sitting) evaluate(c claim, r *eval.RuleResult) {
	switch c.Metric {
	case eval.MetricPassRate:
		g.passRate(c, r)
	case eval.MetricPassHatK:
		g.passHatK(c, r)
	case eval.MetricDisagreement:
		g.disagreement(c, r)
	case eval.MetricUnjudged:
		g.unjudged(c, r)
	case eval.MetricRegressions:
		g.regressions(c, r)
	case eval.MetricLatencyP50, eval.MetricLatencyP95, eval.MetricLatencyP99:
		g.latency(c, r)
	case eval.MetricCost:
		g.cost(c, r)
	case eval.MetricCatalog:
		g.listing(c, r)
	case eval.MetricJudgeAgreement:
		g.agreement(c, r)
	}
}

// why says why there is no baseline; empty if nobody has said so.
func (g *sitting) why() string {
	if b := g.snap.Baseline; b != nil && b.Missing != "" {
		return b.Missing
	}
	return ""
}

// missing is what becomes of a rule that has nothing to compare with.
func (g *sitting) missing(r *eval.RuleResult, why string) {
	g.unknown(r, r.Title+": nothing to compare with: "+why)
}

// unknown is what becomes of a rule about what nobody knows.
func (g *sitting) unknown(r *eval.RuleResult, message string) {
	r.Message = message
	r.Details = append(r.Details, "if_missing is "+string(cmp.Or(g.snap.Gate.IfMissing, eval.IfMissingNote)))
	r.Decision = eval.DecisionNone
	if g.snap.Gate.IfMissing == eval.IfMissingInconclusive {
		r.Decision = eval.DecisionInconclusive
	}
}

// cells that a claim is about and that are in the gate, by index.
func (g *sitting) cells(c claim) []int {
	var cells []int
	for i, cell := range g.s.Cells {
		if !g.exempt[i] && c.covers(cell, g.variant(i)) {
			cells = append(cells, i)
		}
	}
	return cells
}

func (g *sitting) variant(cell int) eval.Variant {
	return g.snap.Variants[g.snap.Plan.Cells[cell].Variant]
}

// matched are the cells of the run and of its baseline, paired.
func (g *sitting) matched() compare.Pairing {
	if g.pairing == nil {
		all := compare.Match(*g.arms.Base, eval.NewArm(g.snap, *g.s))
		g.pairing = &all
	}
	return *g.pairing
}

// pairs are the cells of a claim that can be compared with the baseline. What keeps
// others from it is told in the result.
func (g *sitting) pairs(c claim, r *eval.RuleResult) []compare.Pair {
	in := map[string]bool{}
	for _, i := range g.cells(c) {
		in[keyOf(g.s.Cells[i])] = true
	}
	matched := g.matched()
	pairs := matched.Where(func(p compare.Pair) bool { return in[p.Head.Key()] }).Pairs
	r.Details = append(r.Details, fmt.Sprintf("base: run %s, %d cells can be compared, %d cannot, %d are new, %d are gone",
		g.arms.Base.Run, len(pairs), len(matched.Excluded), len(matched.New), len(matched.Removed)))
	for _, d := range matched.Refused() {
		r.Details = append(r.Details, fmt.Sprintf("%s differs: %s there, %s here", d.Condition, cmp.Or(d.Base, "nothing"), cmp.Or(d.Head, "nothing")))
	}
	switch {
	case len(pairs) == 0 && len(matched.Excluded) > 0:
		g.missing(r, fmt.Sprintf("no cell of run %s can be compared, as %s", g.arms.Base.Run, matched.Excluded[0].Why))
	case len(pairs) == 0:
		g.missing(r, fmt.Sprintf("run %s has none of these cells", g.arms.Base.Run))
	case g.snap.Gate.Strict && len(matched.Refused()) > 0:
		r.Message = fmt.Sprintf("%s: strict refuses to compare, since %s differs from run %s", r.Title, matched.Refused()[0].Condition, g.arms.Base.Run)
		return nil
	}
	return pairs
}

// compareWith decides a number by its interval: it must satisfy the rule from one end
// to the other, or not at all.
func compareWith(ci stats.Interval, r eval.Rule) eval.Decision {
	bound := r.Bound
	if strings.HasPrefix(r.Op, "<") {
		ci, bound = stats.Interval{Point: -ci.Point, Low: -ci.High, High: -ci.Low}, -bound
	}
	if !strings.HasSuffix(r.Op, "=") {
		bound = math.Nextafter(bound, math.Inf(1))
	}
	return eval.Decision(stats.DecideRate(ci, bound))
}

// settled is the answer that trials without a verdict could not change, whatever they
// would have shown: by the number as it is, as low and as high as they could make it.
// Open says that it is they who keep it from being one.
func settled(known, low, high eval.Decision) (d eval.Decision, open bool) {
	if low == high {
		return low, false
	}
	return eval.DecisionInconclusive, known != eval.DecisionInconclusive
}

// show puts a number and its interval into a result.
func show(r *eval.RuleResult, ci stats.Interval) {
	number := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	r.Value, r.Low, r.High = number(ci.Point), number(ci.Low), number(ci.High)
}
