package compare

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// OfKind holds of the pairs of one kind. Numbers are never made of several kinds.
func OfKind(k eval.Kind) func(Pair) bool {
	return func(p Pair) bool { return p.Head.Kind == k }
}

// Counts says how many trials passed, of those that passed or failed.
func (p Pair) Counts() stats.Pair {
	return stats.Pair{Base: count(p.Base), Head: count(p.Head)}
}

func count(c eval.ArmCell) stats.Count {
	return stats.Count{Passed: c.Counts.Pass, Trials: c.Counts.Pass + c.Counts.Fail}
}

// Cases are the pairs as the arms of [stats.Difference]: base[i] and head[i] are one
// cell.
func (p Pairing) Cases() (base, head []stats.Case) {
	for _, pair := range p.Pairs {
		c := pair.Counts()
		base = append(base, stats.Passed(c.Base.Passed, c.Base.Trials))
		head = append(head, stats.Passed(c.Head.Passed, c.Head.Trials))
	}
	return base, head
}

// Counts are the pairs as [stats.StratifiedTest] has them.
func (p Pairing) Counts() []stats.Pair {
	counts := make([]stats.Pair, len(p.Pairs))
	for i, pair := range p.Pairs {
		counts[i] = pair.Counts()
	}
	return counts
}
