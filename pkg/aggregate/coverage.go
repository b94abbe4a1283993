package aggregate

import (
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A coverage finds how far a run came, and what it cost.
type coverage struct {
	// unpriced says that a trial asked a model whose price nobody knows.
	unpriced bool
	// judged says that the cost of some judging is known.
	judged bool
	// unanswered is the cost of calls whose answer was lost.
	unanswered int64
}

// add counts a standing result, of an attempt that took so many tokens: those of
// calls that brought no answer too, of which its usage knows nothing.
func (c *coverage) add(r eval.Result, tokens int64) {
	judges := r.JudgeUsage.Total()
	agents := max(tokens, int64(r.Usage.Total()+r.UserUsage.Total()))
	c.unanswered += r.UnansweredMicroUSD
	c.judged = c.judged || r.JudgeCostMicroUSD != nil
	c.unpriced = c.unpriced || agents > 0 && r.CostMicroUSD == nil || judges > 0 && r.JudgeCostMicroUSD == nil
}

// finish gives the cost, and the coverage of a run that has caps or did not come to
// its end.
func (c *coverage) finish(run eval.Run, snap eval.Snapshot, l eval.Ledger, in *rounds) (eval.Cost, *eval.Coverage) {
	known := l.Spent.MicroUSD + l.Charged.MicroUSD
	cost := eval.Cost{
		KnownMicroUSD: known, JudgeMicroUSD: l.Judges.MicroUSD, UncountedMicroUSD: l.Uncounted.MicroUSD,
		ChargedMicroUSD: l.Charged.MicroUSD, UnansweredMicroUSD: c.unanswered, Prices: snap.Prices,
	}
	var unpriced []string
	for _, name := range slices.Sorted(maps.Keys(snap.Models)) {
		if m := snap.Models[name]; m.Price == nil && !m.Free() {
			unpriced = append(unpriced, name)
		}
	}
	// Judges that brought no verdict have left no usage, but tokens.
	mute := len(unpriced) > 0 && l.Judges.Tokens > 0 && l.Judges.MicroUSD == 0 && !c.judged
	if c.unpriced || mute {
		cost.Unpriced = unpriced
	} else {
		cost.MicroUSD = &known
	}
	if !run.Capped() && run.Budget.Time == 0 && in.complete == len(in.missing) {
		return cost, nil
	}
	covered := &eval.Coverage{
		Budget: run.Budget, DayMicroUSD: run.DayMicroUSD, ScheduleMicroUSD: run.ScheduleMicroUSD, Short: run.Short,
		CompleteRounds: in.complete, Rounds: len(in.missing),
	}
	taken := l.Total()
	if run.Budget.MicroUSD > 0 {
		covered.LeftMicroUSD = max(0, run.Budget.MicroUSD-run.Reserve.MicroUSD-taken.MicroUSD)
	}
	if run.Budget.Tokens > 0 {
		covered.LeftTokens = max(0, run.Budget.Tokens-run.Reserve.Tokens-taken.Tokens)
	}
	return cost, covered
}
