package gate

import "github.com/evalfarm/evalfarm/pkg/eval"

// Decided says whether the gate of the agents is decided after a round, by a summary
// that knows as much: every rule passes or fails at the level of that look, so that
// more repeats would change nothing. It is not at a round that is no look, nor without
// a rule about agents.
func Decided(s eval.Summary, snap eval.Snapshot, arms Arms, round int) bool {
	return false
}
