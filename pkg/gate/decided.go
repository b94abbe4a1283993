package gate

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// Decided says whether the gate of the agents is decided after a round, by a summary
// that knows as much: every rule passes or fails at the level of that look, so that
// more repeats would change nothing. It is not at a round that is no look, nor without
// a rule about agents.
func Decided(s eval.Summary, snap eval.Snapshot, arms Arms, round int) bool {
	rule, gated := passRate(snap.Gate, eval.KindAgent)
	looks := snap.Plan.Looks
	if !gated || len(looks) == 0 {
		return false
	}
	level, planned := stats.WangTsiatis(0.05, looks[len(looks)-1], looks, stats.WangTsiatisShape).Level(round)
	if !planned {
		return false
	}
	c := s.Kinds[eval.KindAgent].Counts
	missing := c.Total() - c.Pass - c.Fail - c.Skipped
	n := c.Pass + c.Fail + missing
	return holds(stats.Wilson(c.Pass, n, 1-2*level).Low, rule) || !holds(stats.Wilson(c.Pass+missing, n, 1-2*level).High, rule)
}
