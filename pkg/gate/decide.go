package gate

import (
	"cmp"
	"fmt"
	"math"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// Decide sets the verdict of a run, its exit code and the reasons for it, what each
// rule came to, and what waivers and quarantines did.
//
// Script and catalog cases must all pass. A fail is [eval.ExitGateFailed], an
// error [eval.ExitInfra], an unjudged or unfinished trial
// [eval.ExitInconclusive]; when several apply, the first of these three. A
// pass_rate rule for the kind loosens this for fails: they are accepted while
// the observed share of passes satisfies the rule.
//
// Agent cases are decided by the rules of the gate; without one about them they fail
// nothing. More errors among them than validity allows are [eval.ExitInfra], which
// comes before a rule that fails, and a rule that fails before one that is open.
//
// An interrupt by a signal is not decided here: the process that got it knows.
func Decide(s *eval.Summary, snap eval.Snapshot, arms Arms) {
	g := &sitting{s: s, snap: snap, arms: arms}
	g.exemptions()
	s.Tolerated, s.Rules, s.Baseline = nil, nil, snap.Baseline
	must := g.musts()
	agent := g.agents()
	open, notes := append(must.open, agent.open...), append(must.notes, agent.notes...)
	broken := append(must.broken, agent.broken...)
	if s.Incomparable != "" {
		notes = append(notes, s.Incomparable)
	}
	if fewest := s.Repeats(eval.KindAgent); fewest > 0 && fewest < snap.MinRepeats {
		notes = append(notes, fmt.Sprintf("%d repeats, of at least %d that the suite asks for: nothing may be claimed about the choice of tools", fewest, snap.MinRepeats))
	}
	if n := s.Counts.Unfinished; n > 0 {
		how := "is " + string(s.Outcome)
		if s.Outcome == "" {
			how = "is not done"
		}
		open = append(open, fmt.Sprintf("the run %s, with %d of %d trials unfinished", how, n, s.Trials))
	}
	if s.Outcome == eval.OutcomeBudgetExhausted && s.Counts.Unfinished == 0 {
		open = append(open, fmt.Sprintf("the run is %s, with %d of %d trials unjudged", s.Outcome, s.Counts.Unjudged, s.Trials))
	}
	if s.Trials == 0 {
		open = append(open, "the run has no trials")
	}

	verdict, code := eval.RunPass, eval.ExitOK
	switch {
	case len(must.failed) > 0:
		verdict, code = eval.RunFail, eval.ExitGateFailed
	case len(broken) > 0:
		verdict, code = eval.RunError, eval.ExitInfra
	case len(agent.failed) > 0:
		verdict, code = eval.RunFail, eval.ExitGateFailed
	case len(open) > 0:
		verdict, code = eval.RunInconclusive, eval.ExitInconclusive
	}
	s.Verdict, s.ExitCode, s.Reasons = verdict, int(code), nil
	for _, list := range [][]string{must.failed, broken, agent.failed, open, notes} {
		s.Reasons = append(s.Reasons, list...)
	}
}

// a decision is what the rules for some cases say, sentence by sentence.
type decision struct{ failed, broken, open, notes []string }

// counts of the cells of a kind that are in the gate.
func (g *sitting) counts(k eval.Kind) eval.VerdictCounts {
	var sum eval.VerdictCounts
	for i, c := range g.s.Cells {
		if c.Kind == k && !g.exempt[i] {
			sum = sum.Plus(c.Counts)
		}
	}
	return sum
}

// musts decides the cases that must pass, whatever the gate says: those of scripts and
// catalogs.
func (g *sitting) musts() decision {
	var d decision
	for _, kind := range []eval.Kind{eval.KindScript, eval.KindCatalog} {
		c := g.counts(kind)
		if c.Fail > 0 {
			said := fmt.Sprintf("%s: %d of %d failed", kind, c.Fail, c.Total())
			rule, loose := passRate(g.snap.Gate, kind)
			switch share := float64(c.Pass) / float64(c.Pass+c.Fail); {
			case !loose:
				d.failed = append(d.failed, said)
			case compareWith(stats.Interval{Point: share, Low: share, High: share}, rule) == eval.DecisionPass:
				g.s.Tolerated = append(g.s.Tolerated, kind)
				d.notes = append(d.notes, fmt.Sprintf("%s; pass_rate %.4g satisfies %s %g", said, share, rule.Op, rule.Bound))
			default:
				d.failed = append(d.failed, fmt.Sprintf("%s; pass_rate %.4g, want %s %g", said, share, rule.Op, rule.Bound))
			}
		}
		if rule, loose := passRate(g.snap.Gate, kind); loose && c.Total() > 0 {
			g.s.Rules = append(g.s.Rules, loosened(rule, c))
		}
		if c.Error > 0 {
			d.broken = append(d.broken, fmt.Sprintf("%s: %d of %d ended in an error, without a verdict%s", kind, c.Error, c.Total(), because(*g.s, kind, eval.Error)))
		}
		if c.Unjudged > 0 {
			d.open = append(d.open, fmt.Sprintf("%s: %d of %d unjudged", kind, c.Unjudged, c.Total()))
		}
	}
	return d
}

// loosened is what a rule on script or catalog cases came to: it decides by the share
// that was observed.
func loosened(rule eval.Rule, c eval.VerdictCounts) eval.RuleResult {
	share := math.NaN()
	if n := c.Pass + c.Fail; n > 0 {
		share = float64(c.Pass) / float64(n)
	}
	ci := stats.Interval{Point: share, Low: share, High: share}
	r := eval.RuleResult{
		Rule: rule, Title: title(rule), Decision: compareWith(ci, rule), N: c.Pass + c.Fail,
		Message: fmt.Sprintf("%s: %d of %d passed, want %s", rule.Kind, c.Pass, c.Pass+c.Fail, want(rule)),
		Details: []string{"the share itself of the trials that passed or failed; errors are decided apart"},
	}
	show(&r, ci)
	return r
}

// agents decides the gate. All agent trials are counted for validity, those of cases
// out of the gate too: it is about the evidence.
func (g *sitting) agents() decision {
	var d decision
	s := g.s
	all, c := s.Kinds[eval.KindAgent].Counts, g.counts(eval.KindAgent)
	if c := all; c.Error > 0 {
		most := g.snap.Validity.ErrorRate()
		share := float64(c.Error) / float64(c.Total())
		said := fmt.Sprintf("agent: %d of %d ended in an error (%.3g, at most %.3g allowed)%s", c.Error, c.Total(), share, most, because(*s, eval.KindAgent, eval.Error))
		if share > most {
			d.broken = append(d.broken, said)
		} else {
			d.notes = append(d.notes, said)
		}
	}
	round := 0
	if s.Sequential != nil {
		round = s.Sequential.Rounds
	}
	gated := false
	for _, claim := range claims(g.snap, round) {
		gated = gated || claim.Kind == eval.KindAgent
		r := g.decide(claim)
		r.Waived = g.waived(r)
		s.Rules = append(s.Rules, r)
		switch {
		case r.Waived:
			d.notes = append(d.notes, "waived: "+r.Message)
		case r.Decision == eval.DecisionFail:
			d.failed = append(d.failed, r.Message)
		case r.Decision == eval.DecisionInconclusive:
			d.open = append(d.open, r.Message)
		default:
			d.notes = append(d.notes, r.Message)
		}
	}
	if !gated && c.Fail+c.Unjudged > 0 {
		d.notes = append(d.notes, fmt.Sprintf("NO GATE: agent: %d of %d failed, %d unjudged%s; to decide on it, write gate: {pass_rate: {agent: \">= 0.9\"}}",
			c.Fail, c.Total(), c.Unjudged, because(*s, eval.KindAgent, eval.Unjudged)))
	}
	if all.Fail > 0 && len(d.failed) == 0 {
		s.Tolerated = append(s.Tolerated, eval.KindAgent)
	}
	return d
}

// passRate is the rule on the pass rate of all cases of a kind, if there is one.
func passRate(g eval.Gate, k eval.Kind) (eval.Rule, bool) {
	for _, r := range g.Rules {
		if r.Metric == eval.MetricPassRate && cmp.Or(r.Kind, eval.KindAgent) == k && r.Tag == "" && len(r.Axes) == 0 {
			return r, true
		}
	}
	return eval.Rule{}, false
}
