package compare

import (
	"fmt"
	"math"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// decide judges the agent cases by the difference of the rates, and by the cells: a pass
// may hide cases that broke, if they are few. What trials without a verdict could
// change is not decided, and a head that did not come to its end passes nothing.
func decide(k *eval.KindComparison, all Pairing, difference stats.Interval, o Options) {
	regressed := k.Changes[eval.ChangeRegressed]
	k.Decision = eval.Decision(stats.Decide(difference, o.Margin))
	seen := fmt.Sprintf("%s → %s, %s", percent(k.Base.Value), percent(k.Head.Value), Points(k.Difference))
	switch best, worst := all.filled(true), all.filled(false); {
	case k.Decision == eval.DecisionFail && best.decided(o) != stats.Fail,
		k.Decision != eval.DecisionFail && regressed > 0 && best.regressed(o) == 0,
		k.Decision == eval.DecisionPass && regressed == 0 && worst.decided(o) != stats.Pass:
		k.Decision = eval.DecisionInconclusive
		k.Message = fmt.Sprintf("not decided: %s, and the %s without a verdict could change the answer", seen, trials(k.Base.Open+k.Head.Open))
	case k.Decision == eval.DecisionFail:
		k.Message = "worse: " + seen
	case regressed > 0:
		k.Decision = eval.DecisionFail
		k.Message = fmt.Sprintf("%s regressed, whatever the rate: %s", count(regressed, "cell"), seen)
	case k.Decision == eval.DecisionPass && k.Head.Unfinished > 0:
		k.Decision = eval.DecisionInconclusive
		k.Message = fmt.Sprintf("not decided: %s, and %s of the head did not come to their end", seen, trials(k.Head.Unfinished))
	case k.Decision == eval.DecisionPass && difference.High < 0:
		k.Message = fmt.Sprintf("significantly worse but within tolerance, which is %s: %s", margin(o), seen)
	case k.Decision == eval.DecisionPass && difference.Low > 0:
		k.Message = "better: " + seen
	case k.Decision == eval.DecisionPass:
		k.Message = fmt.Sprintf("not worse by more than %s: %s", margin(o), seen)
	default:
		k.Message = "not decided: " + seen
		if k.Repeats > 0 {
			k.Message += fmt.Sprintf("; a drop of %s would be found by about %d repeats of each cell", margin(o), k.Repeats)
		}
	}
	k.Notes = suspects(*k, all, o)
}

// decideCertain judges script and catalog cases: a cell that always passed and fails now
// is a regression.
func decideCertain(k *eval.KindComparison, all Pairing) {
	lost := 0 // cells that passed in the base, and have no verdict now
	for _, p := range all.Pairs {
		c := p.Counts()
		now := p.Head.Counts
		if c.Base.Trials > 0 && c.Base.Passed == c.Base.Trials && now.Fail == 0 && (open(p.Head) > 0 || now.Total() < p.Head.Planned) {
			lost++
		}
	}
	seen := fmt.Sprintf("%s → %s", percent(k.Base.Value), percent(k.Head.Value))
	switch regressed := k.Changes[eval.ChangeRegressed]; {
	case regressed > 0:
		k.Decision, k.Message = eval.DecisionFail, fmt.Sprintf("%s regressed: %s", count(regressed, "cell"), seen)
	case lost > 0:
		k.Decision, k.Message = eval.DecisionInconclusive, fmt.Sprintf("not decided: %s that passed came to no verdict in all trials: %s", count(lost, "cell"), seen)
	default:
		k.Decision, k.Message = eval.DecisionPass, "no cell regressed: "+seen
	}
}

// filled gives the trials of complete rounds that have no verdict one: what is best for
// the head, or what is worst.
func (p Pairing) filled(best bool) Pairing {
	fill := func(c eval.ArmCell, pass bool) eval.ArmCell {
		n := open(c)
		c.Counts.Error, c.Counts.Unjudged, c.Counts.Unfinished = 0, 0, 0
		if pass {
			c.Counts.Pass += n
		} else {
			c.Counts.Fail += n
		}
		return c
	}
	pairs := p.Pairs
	p.Pairs = make([]Pair, len(pairs))
	for i, pair := range pairs {
		p.Pairs[i] = Pair{Base: fill(pair.Base, !best), Head: fill(pair.Head, best)}
	}
	return p
}

func (p Pairing) decided(o Options) stats.Decision {
	base, head := p.Cases()
	return stats.Decide(stats.Difference(base, head, o.Alpha), o.Margin)
}

func (p Pairing) regressed(o Options) int {
	n := 0
	for _, c := range changes(p.Pairs, o.Alpha) {
		if c.Change == eval.ChangeRegressed {
			n++
		}
	}
	return n
}

// suspects says what it would take to show that a cell regressed that only looks worse.
func suspects(k eval.KindComparison, all Pairing, o Options) []string {
	n := k.Changes[eval.ChangeWorse]
	if n == 0 {
		return nil
	}
	least := 0 // repeats of any cell, in either arm
	for _, p := range all.Pairs {
		c := p.Counts()
		if m := min(c.Base.Trials, c.Head.Trials); m > 0 && (least == 0 || m < least) {
			least = m
		}
	}
	note := are(n) + " worse, which is not shown: "
	limit := stats.FisherLimit(least, o.Alpha)
	if limit >= k.Cells {
		return []string{note + "fresh repeats of the suspects alone can tell"}
	}
	return []string{
		note + fmt.Sprintf("with %s in each arm, a cell that broke altogether can be found among %d at most, and here are %d", count(least, "repeat"), limit, k.Cells),
		fmt.Sprintf("to show it: %d repeats of every cell, or %d fresh ones of the suspects alone, for a cell that broke altogether", repeatsFor(k.Cells, o.Alpha), repeatsFor(n, o.Alpha)),
	}
}

// repeatsFor is the fewest repeats with which a cell that broke altogether is found among
// so many.
func repeatsFor(cells int, alpha float64) int {
	n := 1
	for stats.FisherLimit(n, alpha) < cells {
		n++
	}
	return n
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func are(n int) string {
	if n == 1 {
		return "1 cell looks"
	}
	return fmt.Sprintf("%d cells look", n)
}

func trials(n int) string { return count(n, "trial") }

func margin(o Options) string {
	return fmt.Sprintf("%g points", math.Round(o.Margin*1e4)/100)
}

func percent(rate *float64) string {
	if rate == nil {
		return "no rate"
	}
	return fmt.Sprintf("%.1f %%", 100**rate)
}

// Points is a difference of rates in words, with its bounds.
func Points(e eval.Estimate) string {
	if e.Value == nil {
		return "no difference that can be told"
	}
	if e.Low == nil || e.High == nil {
		return fmt.Sprintf("%+.1f points", 100**e.Value)
	}
	return fmt.Sprintf("%+.1f points [%+.1f, %+.1f]", 100**e.Value, 100**e.Low, 100**e.High)
}
