package gate

import (
	"cmp"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Decide sets the verdict of a run, its exit code and the reasons for it.
//
// Script and catalog cases must all pass. A fail is [eval.ExitGateFailed], an
// error [eval.ExitInfra], an unjudged or unfinished trial
// [eval.ExitInconclusive]; when several apply, the first of these three. A
// pass_rate rule for the kind loosens this for fails: they are accepted while
// the observed share of passes satisfies the rule.
//
// Agent cases are decided by a pass_rate of their own; without one they fail
// nothing. More errors among them than validity allows are [eval.ExitInfra].
//
// An interrupt by a signal is not decided here: the process that got it knows.
func Decide(s *eval.Summary, snap eval.Snapshot, arms Arms) {
	var failed, broken, open, notes []string
	s.Tolerated = nil
	for _, kind := range []eval.Kind{eval.KindScript, eval.KindCatalog} {
		c := s.Kinds[kind].Counts
		if c.Fail > 0 {
			said := fmt.Sprintf("%s: %d of %d failed", kind, c.Fail, c.Total())
			rule, loose := passRate(snap.Gate, kind)
			switch share := float64(c.Pass) / float64(c.Pass+c.Fail); {
			case !loose:
				failed = append(failed, said)
			case holds(share, rule):
				s.Tolerated = append(s.Tolerated, kind)
				notes = append(notes, fmt.Sprintf("%s; pass_rate %.4g satisfies %s %g", said, share, rule.Op, rule.Bound))
			default:
				failed = append(failed, fmt.Sprintf("%s; pass_rate %.4g, want %s %g", said, share, rule.Op, rule.Bound))
			}
		}
		if c.Error > 0 {
			broken = append(broken, fmt.Sprintf("%s: %d of %d ended in an error, without a verdict%s", kind, c.Error, c.Total(), because(*s, kind, eval.Error)))
		}
		if c.Unjudged > 0 {
			open = append(open, fmt.Sprintf("%s: %d of %d unjudged", kind, c.Unjudged, c.Total()))
		}
	}
	agents := s.Kinds[eval.KindAgent].Counts
	agent := decideAgents(*s, snap)
	if agents.Fail > 0 && len(agent.failed) == 0 {
		s.Tolerated = append(s.Tolerated, eval.KindAgent)
	}
	broken = append(broken, agent.broken...)
	open = append(open, agent.open...)
	notes = append(notes, agent.notes...)
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
	case len(failed) > 0:
		verdict, code = eval.RunFail, eval.ExitGateFailed
	case len(broken) > 0:
		verdict, code = eval.RunError, eval.ExitInfra
	case len(agent.failed) > 0:
		verdict, code = eval.RunFail, eval.ExitGateFailed
	case len(open) > 0:
		verdict, code = eval.RunInconclusive, eval.ExitInconclusive
	}
	s.Verdict, s.ExitCode, s.Reasons = verdict, int(code), nil
	for _, list := range [][]string{failed, broken, agent.failed, open, notes} {
		s.Reasons = append(s.Reasons, list...)
	}
}

// holds says whether a number satisfies a rule. The loader lets no other
// operator through; one that came all the same would never be satisfied.
func holds(x float64, r eval.Rule) bool {
	switch r.Op {
	case ">=":
		return x >= r.Bound
	case ">":
		return x > r.Bound
	case "<=":
		return x <= r.Bound
	case "<":
		return x < r.Bound
	default:
		return false
	}
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
