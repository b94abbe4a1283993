package gate

import (
	"cmp"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// defaultErrorRate is the share of agent trials that may end in an error before
// the run proves nothing.
const defaultErrorRate = 0.05

// a decision is what the rules for one kind say, sentence by sentence.
type decision struct{ failed, broken, open, notes []string }

// decideAgents decides the gate of agent cases. A rate passes when the lower end
// of its interval satisfies the rule and fails when the upper one does not; in
// between, too little is known. The interval is Wilson's with 5 % on each side,
// which takes trials for independent. Trials without a pass or a fail are counted
// both ways: only an answer that they could not change is one.
func decideAgents(s eval.Summary, snap eval.Snapshot) decision {
	var d decision
	c := s.Kinds[eval.KindAgent].Counts
	total := c.Total()
	if total == 0 {
		return d
	}
	if most := errorRate(snap.Validity); c.Error > 0 {
		share := float64(c.Error) / float64(total)
		said := fmt.Sprintf("agent: %d of %d ended in an error (%.3g, at most %.3g allowed)%s", c.Error, total, share, most, because(s, eval.KindAgent, eval.Error))
		if share > most {
			d.broken = append(d.broken, said)
		} else {
			d.notes = append(d.notes, said)
		}
	}
	rule, gated := passRate(snap.Gate, eval.KindAgent)
	if !gated {
		if c.Fail+c.Unjudged > 0 {
			d.notes = append(d.notes, fmt.Sprintf("NO GATE: agent: %d of %d failed, %d unjudged%s; to decide on it, write gate: {pass_rate: {agent: \">= 0.9\"}}",
				c.Fail, total, c.Unjudged, because(s, eval.KindAgent, eval.Unjudged)))
		}
		return d
	}
	missing := total - c.Pass - c.Fail - c.Skipped
	low := stats.Wilson(c.Pass, c.Pass+c.Fail+missing, 0.9).Low
	high := stats.Wilson(c.Pass+missing, c.Pass+c.Fail+missing, 0.9).High
	said := fmt.Sprintf("agent: pass_rate %d/%d, between %.3g and %.3g, want %s %g", c.Pass, c.Pass+c.Fail, low, high, rule.Op, rule.Bound)
	switch {
	case holds(low, rule):
		d.notes = append(d.notes, said)
	case !holds(high, rule):
		d.failed = append(d.failed, said)
	default:
		d.open = append(d.open, said+": too little is known")
	}
	return d
}

func errorRate(v eval.Validity) float64 { return *cmp.Or(v.MaxErrorRate, new(defaultErrorRate)) }
