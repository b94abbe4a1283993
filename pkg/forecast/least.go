package forecast

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
)

// TooLittle says, for people, which trials of a plan could not even make their first
// call, because that may take more than they may spend. The cases are those of the
// snapshot, in its order.
func TooLittle(run eval.Run, snap eval.Snapshot, cases []eval.Case) []string {
	var problems []string
	for _, c := range cellsOf(snap, cases) {
		most := run.Hold(c.hold)
		most.MicroUSD = cmp.Or(most.MicroUSD, c.kase.Limits.CostMicroUSD) // a limit without a budget holds too
		for _, m := range c.asked {
			if p := tooLittle(c.kase, m, most); p != "" && !slices.Contains(problems, p) {
				problems = append(problems, p)
			}
		}
	}
	return problems
}

func tooLittle(c eval.Case, m eval.Model, most eval.Amount) string {
	least, output := meter.Least(m.Sampling, m.Price), llm.Request{Sampling: m.Sampling}.MaxOutput()
	switch {
	case most.MicroUSD > 0 && least.MicroUSD > most.MicroUSD:
		return fmt.Sprintf("a trial of %s may cost %s, and a call to %s may cost %s, since it may say %d tokens: raise the trial's limits, or lower max_output_tokens",
			c.ID, eval.USD(most.MicroUSD), nameOf(m), eval.USD(least.MicroUSD), output)
	case most.Tokens > 0 && least.Tokens > most.Tokens:
		return fmt.Sprintf("a trial of %s may take %d tokens, and a call to %s may take %d, of which it may say %d: raise the trial's limits.tokens, or lower max_output_tokens",
			c.ID, most.Tokens, nameOf(m), least.Tokens, output)
	default:
		return ""
	}
}
