package gate

import (
	"fmt"
	"math"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// tally of a cell in complete rounds: passes among the trials with a verdict, and the
// trials without one.
type tally struct{ passed, judged, missing int }

// A guess is what trials without a verdict are taken to have come to.
type guess int

const (
	leftOut guess = iota
	allFail
	allPass
)

// as is the count of a cell under a guess.
func (t tally) as(how guess) stats.Count {
	switch how {
	case allFail:
		return stats.Count{Passed: t.passed, Trials: t.judged + t.missing}
	case allPass:
		return stats.Count{Passed: t.passed + t.missing, Trials: t.judged + t.missing}
	case leftOut:
	}
	return stats.Count{Passed: t.passed, Trials: t.judged}
}

func tallyOf(c eval.VerdictCounts) tally {
	return tally{passed: c.Pass, judged: c.Pass + c.Fail, missing: c.Error + c.Unjudged + c.Unfinished}
}

// tallies of the cells of a claim, and their sum.
func (g *sitting) tallies(c claim) (all []tally, sum tally) {
	for _, i := range g.cells(c) {
		t := tallyOf(g.s.Cells[i].Settled())
		all = append(all, t)
		sum.passed += t.passed
		sum.judged += t.judged
		sum.missing += t.missing
	}
	return all, sum
}

// passRate decides whether these cases pass as often as they must, each counting the
// same.
func (g *sitting) passRate(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, formula(c, "Korn-Graubard interval at the effective number of trials of Repeatability", "the share itself (basis: observed)"))
	g.rate(c, r, func(t []tally, how guess) stats.Interval {
		est := stats.Repeatability(cases(t, how), 1-2*c.level)
		if how == leftOut {
			r.Details = append(r.Details, fmt.Sprintf("%d cells, %.4g effective trials", len(t), est.EffectiveN))
		}
		return stats.KornGraubard(est.Point, est.EffectiveN, 1-2*c.level)
	})
}

func cases(ts []tally, how guess) []stats.Case {
	var cs []stats.Case
	for _, t := range ts {
		n := t.as(how)
		cs = append(cs, stats.Passed(n.Passed, n.Trials))
	}
	return cs
}

// passHatK decides how likely all of k repeats pass.
func (g *sitting) passHatK(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, formula(c, "mean of pass^k over cells, with the interval of Generalize", "the mean itself (basis: observed)"))
	g.rate(c, r, func(ts []tally, how guess) stats.Interval {
		return generalize(ts, c.level, func(t tally) float64 {
			n := t.as(how)
			return stats.PassHatK(n.Passed, n.Trials, c.K)
		})
	})
}

// generalize is the mean of what the repeats of each cell say of it.
func generalize(ts []tally, level float64, of func(tally) float64) stats.Interval {
	var cs []stats.Case
	for _, t := range ts {
		cs = append(cs, stats.Case{Repeats: t.judged + t.missing, Mean: of(t), Variance: math.NaN()})
	}
	return stats.Generalize(cs, 1-2*level).Interval
}

// disagreement decides how often two repeats of a cell may come out differently. What
// missing trials could make of it lies between the least and the most that any split of
// them into passes and fails gives.
func (g *sitting) disagreement(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, formula(c, "mean disagreement over cells, with the interval of Generalize", "the mean itself (basis: observed)"))
	g.rate(c, r, func(ts []tally, how guess) stats.Interval {
		return generalize(ts, c.level, func(t tally) float64 {
			n := t.as(leftOut)
			d := stats.Disagreement(n.Passed, n.Trials)
			if how == leftOut {
				return d
			}
			all := t.judged + t.missing
			d = stats.Disagreement(t.passed, all)
			for p := t.passed + 1; p <= t.passed+t.missing; p++ {
				if other := stats.Disagreement(p, all); (how == allPass) == (other > d) {
					d = other
				}
			}
			return d
		})
	})
}

// rate decides a rule on a share, by its interval or by itself, under every guess.
func (g *sitting) rate(c claim, r *eval.RuleResult, of func([]tally, guess) stats.Interval) {
	ts, sum := g.tallies(c)
	r.N = sum.judged
	switch {
	case len(ts) == 0:
		r.Decision, r.Message = eval.DecisionNone, r.Title+": the run has no such case in the gate"
		return
	case sum.judged+sum.missing == 0:
		r.Message = r.Title + ": no round is complete"
		return
	}
	var decisions [3]eval.Decision
	for _, how := range []guess{leftOut, allFail, allPass} {
		ci := of(ts, how)
		if c.Observed {
			ci.Low, ci.High = ci.Point, ci.Point
		}
		if how == leftOut {
			show(r, ci)
		}
		if sum.missing > 0 && how != leftOut {
			r.Details = append(r.Details, fmt.Sprintf("with the %d without a verdict at one extreme: %.4g [%.4g, %.4g]", sum.missing, ci.Point, ci.Low, ci.High))
		}
		decisions[how] = compareWith(ci, c.Rule)
	}
	var open bool
	r.Decision, open = settled(decisions[leftOut], decisions[allFail], decisions[allPass])
	said := fmt.Sprintf("%s: %s", c.narrowed(), shortName(c.Rule))
	if c.Metric == eval.MetricPassRate {
		said += fmt.Sprintf(" %d/%d", sum.passed, sum.judged)
	} else if r.Value != nil {
		said += " " + amount(c.Rule, *r.Value)
	}
	if !c.Observed {
		said += between(r)
	}
	said += ", want " + want(c.Rule)
	switch {
	case open:
		said += fmt.Sprintf(": %d trials without a verdict could decide it either way", sum.missing)
	case r.Decision == eval.DecisionInconclusive:
		said += ": too little is known"
	}
	r.Message = said
}

func shortName(r eval.Rule) string {
	if r.Metric == eval.MetricPassHatK {
		return fmt.Sprintf("pass^%d", r.K)
	}
	return string(r.Metric)
}

// formula says by what a claim is decided.
func formula(c claim, chance, observed string) string {
	if c.Observed {
		return observed
	}
	return fmt.Sprintf("%s, one-sided level %.4g", chance, c.level)
}

// unjudged decides what share of the trials that came to an end may be without a
// verdict of their judge. It is a share as it is: chance has no part in it.
func (g *sitting) unjudged(c claim, r *eval.RuleResult) {
	r.Details = append(r.Details, "the share itself, of the trials that passed, failed or were not judged")
	open, all := 0, 0
	cells := g.cells(c)
	for _, i := range cells {
		n := g.s.Cells[i].Settled()
		open += n.Unjudged
		all += n.Pass + n.Fail + n.Unjudged
	}
	r.N = all
	switch {
	case len(cells) == 0:
		r.Decision, r.Message = eval.DecisionNone, r.Title+": the run has no such case in the gate"
		return
	case all == 0:
		r.Message = r.Title + ": no trial came to its end"
		return
	}
	share := float64(open) / float64(all)
	ci := stats.Interval{Point: share, Low: share, High: share}
	show(r, ci)
	r.Decision = compareWith(ci, c.Rule)
	r.Message = fmt.Sprintf("%s: unjudged %d/%d, want %s", c.narrowed(), open, all, want(c.Rule))
}
