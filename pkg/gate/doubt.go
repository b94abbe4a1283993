package gate

import (
	"fmt"
	"math"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// A Doubt is what is wrong with a rule for the number of trials that a plan has.
type Doubt struct {
	// Rule is its index in the gate.
	Rule int
	// Message says what cannot happen, Hint what it takes.
	Message, Hint string
	// Unlikely means that the rule can be decided, and mostly will not be, or that it is
	// about agents and there are none. Otherwise it can never pass, whatever the trials
	// show, or is about nothing that the run has.
	Unlikely bool
}

// assumed is the mean variance within a case of an agent suite such as tau-bench, by
// which the repeats of a comparison are planned.
const assumed = 0.119

// mostTold bounds the numbers that a hint looks for.
const mostTold = 100_000

// Doubts finds the rules of a gate that cannot pass at the number of trials that the
// plan gives them, or that will mostly be inconclusive. A run that may stop when it is
// decided is taken at its last look.
func Doubts(snap eval.Snapshot) []Doubt {
	var all []Doubt
	seen, about := map[int]bool{}, map[int]bool{}
	round := 0
	if looks := Looks(snap); len(looks) > 0 {
		round = looks[len(looks)-1]
	}
	for _, c := range claims(snap, round) {
		var repeats []int
		for _, cell := range snap.Plan.Cells {
			ref := snap.Cases[cell.Case]
			if c.covers(eval.CellStats{Kind: ref.Kind, Tags: ref.Tags}, snap.Variants[cell.Variant]) {
				repeats = append(repeats, cell.Repeats)
			}
		}
		about[c.index] = about[c.index] || len(repeats) > 0
		if len(repeats) == 0 || seen[c.index] {
			continue
		}
		d, ok := c.doubt(repeats)
		if c.OfLatency() && !c.ByChance() && !c.kept(snap) {
			d, ok = Doubt{Message: "the rule can never be decided: " + notKept, Hint: "name one variant with all its axes, or give the rule no tag; per: is an axis too"}, true
		}
		if ok {
			seen[c.index] = true
			d.Rule = c.index
			all = append(all, d)
		}
	}
	return append(all, idle(snap, about)...)
}

// idle are the rules that are about no case at all, which would pass unseen. One that
// names a tag or a variant is refused; a policy for several suites may well have a rule
// on agents for one that has none.
func idle(snap eval.Snapshot, about map[int]bool) []Doubt {
	var all []Doubt
	for i, r := range snap.Gate.Rules {
		if about[i] || judgesKind(r) {
			continue
		}
		all = append(all, Doubt{
			Rule: i, Unlikely: r.Tag == "" && len(r.Axes) == 0,
			Message: "the rule decides nothing: it is about no case that the run has",
			Hint:    "but for latency, rules are about agent cases",
		})
	}
	return all
}

// doubt about a claim on cells with so many repeats.
func (c claim) doubt(repeats []int) (Doubt, bool) {
	cells, trials, fewest := len(repeats), 0, repeats[0]
	for _, n := range repeats {
		trials += n
		fewest = min(fewest, n)
	}
	switch c.Metric {
	case eval.MetricPassRate:
		if !c.Observed {
			return c.reach(cells, trials)
		}
	case eval.MetricPassHatK:
		if fewest < c.K {
			return Doubt{
				Message: fmt.Sprintf("pass^%d is about %d repeats, and a case of %s gets %d", c.K, c.K, c.narrowed(), fewest),
				Hint:    fmt.Sprintf("repeats: %d", c.K),
			}, true
		}
		return c.generalized(repeats, 1)
	case eval.MetricDisagreement:
		if fewest < 2 {
			return Doubt{Message: "one repeat cannot disagree with another", Hint: "repeats: 2, or more"}, true
		}
		return c.generalized(repeats, 0)
	case eval.MetricRegressions:
		d := stats.Design{Cases: cells, Alpha: c.level, Power: 0.8}
		if needed := int(math.Ceil(d.RequiredRepeats(assumed, c.Margin))); needed > fewest {
			return Doubt{
				Unlikely: true,
				Message: fmt.Sprintf("the comparison will mostly be inconclusive: %d cells × %d repeats show a drop of %.2g, and the margin is %g",
					cells, fewest, d.MDE(assumed, assumed, fewest), c.Margin),
				Hint: fmt.Sprintf("repeats: %d, where repeats disagree as those of agents mostly do (variance %g within a case); or a wider margin", needed, assumed),
			}, true
		}
	case eval.MetricLatencyP50, eval.MetricLatencyP95, eval.MetricLatencyP99:
		return c.few(cells, trials)
	case eval.MetricCost:
		if c.Relative && cells < 2 {
			return Doubt{Message: "the ratio of costs has no interval with one case", Hint: "it takes two cases"}, true
		}
	case eval.MetricJudgeAgreement:
		if c.Bound >= 1 {
			return Doubt{Message: "the rule can never pass: no number of reviews shows that a judge always agrees", Hint: `want less, such as ">= 0.8"`}, true
		}
	case eval.MetricUnjudged, eval.MetricCatalog:
	}
	return Doubt{}, false
}

// reach is whether a rate can reach its bound if all trials pass.
func (c claim) reach(cells, trials int) (Doubt, bool) {
	passes := func(n int) bool {
		return compareWith(stats.KornGraubard(1, float64(n), 1-2*c.level), c.Rule) == eval.DecisionPass
	}
	if passes(trials) {
		return Doubt{}, false
	}
	message := fmt.Sprintf("the rule can never pass: when all %s of %s pass, they show at least %.3g",
		plural(trials, "trial"), c.narrowed(), stats.KornGraubard(1, float64(trials), 1-2*c.level).Low)
	needed := int(math.Ceil(math.Log(c.level)/math.Log(c.Bound) - 1e-9))
	if c.Bound >= 1 || needed > mostTold {
		return Doubt{Message: message, Hint: "no number of trials shows that; basis: observed takes the rate as it is"}, true
	}
	return Doubt{Message: message, Hint: fmt.Sprintf("it takes %d trials: repeats: %d; or basis: observed, which takes the rate as it is", needed, (needed+cells-1)/cells)}, true
}

// generalized is whether the mean over cells can satisfy the rule when each cell says
// the best that it can.
func (c claim) generalized(repeats []int, best float64) (Doubt, bool) {
	if c.Observed {
		return Doubt{}, false
	}
	passes := func(cells int) bool {
		cs := make([]stats.Case, cells)
		for i := range cs {
			cs[i] = stats.Case{Repeats: repeats[i%len(repeats)], Mean: best, Variance: math.NaN()}
		}
		return compareWith(stats.Generalize(cs, 1-2*c.level).Interval, c.Rule) == eval.DecisionPass
	}
	if passes(len(repeats)) {
		return Doubt{}, false
	}
	needed := len(repeats) + 1
	for needed < 2000 && !passes(needed) {
		needed++
	}
	d := Doubt{
		Message: fmt.Sprintf("the rule can never pass: %s of %s show too little, whatever comes of them", plural(len(repeats), "cell"), c.narrowed()),
		Hint:    fmt.Sprintf("it takes %d cells", needed),
	}
	if needed == 2000 {
		d.Hint = "no reasonable number of cells shows that"
	}
	return d, true
}

// few is whether there are too few values for the interval of a percentile.
func (c claim) few(cells, trials int) (Doubt, bool) {
	if c.ByChance() {
		enough := func(n int) bool {
			ci, _ := stats.SignedRank(make([]float64, n), 1-2*c.level)
			return !math.IsInf(ci.Low, 0) && !math.IsInf(ci.High, 0)
		}
		return fewer(cells, "cell", enough)
	}
	num := map[eval.Metric]int{eval.MetricLatencyP50: 50, eval.MetricLatencyP95: 95, eval.MetricLatencyP99: 99}[c.Metric]
	if c.Tool != "" {
		return Doubt{}, false // nobody knows how often it will be called
	}
	return fewer(trials, "trial", func(n int) bool {
		low, high, _ := stats.PercentileRanks(n, num, 100, 0.95)
		return low >= 1 && high <= n
	})
}

func fewer(n int, what string, enough func(int) bool) (Doubt, bool) {
	if enough(n) {
		return Doubt{}, false
	}
	needed := n + 1
	for needed < mostTold && !enough(needed) {
		needed++
	}
	return Doubt{
		Message: "the rule can never be decided: there is no interval of " + plural(n, what),
		Hint:    "it takes " + plural(needed, what),
	}, true
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
