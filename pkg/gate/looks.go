package gate

import "github.com/evalfarm/evalfarm/pkg/eval"

// Looks are the rounds after which a run may stop because its gate is decided, in
// order, up to its last round. Empty: it is looked at once, at its end.
func Looks(snap eval.Snapshot) []int { return snap.Plan.Looks }

// Decided says whether the gate of the agents is decided after a round, by a summary
// of the rounds so far: every rule that chance has a part in passes or fails at the
// level of that look, whatever the trials without a verdict would have shown. It is not
// at a round that is no look, nor without such a rule.
func Decided(s eval.Summary, snap eval.Snapshot, arms Arms, round int) bool {
	g := newSitting(s, snap, arms)
	decided := false
	for _, c := range claims(snap, round) {
		if !c.ByChance() || c.Kind != eval.KindAgent {
			continue
		}
		r := g.decide(c)
		if r.Decision == eval.DecisionInconclusive && !g.waived(r) {
			return false
		}
		decided = decided || r.Decision == eval.DecisionPass || r.Decision == eval.DecisionFail
	}
	return decided
}
