package similar

import (
	"math"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Value is the graded measure of a match, from 0 to 1: the ordered F1 of
// aligned and exact, the ordered recall of in_order, the unordered F1 of
// any_order, the unordered precision of subset, the unordered recall of
// superset, and the positional score. A share of nothing is 1: where no call
// was expected, none is missing.
func (c Comparison) Value(m eval.Match) float64 {
	switch m {
	case eval.MatchPositional:
		return c.Positional
	case eval.MatchInOrder:
		return share(c.Ordered.Recall)
	case eval.MatchAnyOrder:
		return c.Unordered.F1
	case eval.MatchSubset:
		return share(c.Unordered.Precision)
	case eval.MatchSuperset:
		return share(c.Unordered.Recall)
	default:
		return c.Ordered.F1
	}
}

// Holds says whether a mode of yes or no holds. The two that have grades only,
// aligned and positional, never do.
func (c Comparison) Holds(m eval.Match) bool {
	switch m {
	case eval.MatchExact:
		return c.Exact
	case eval.MatchInOrder:
		return c.InOrder
	case eval.MatchAnyOrder:
		return c.AnyOrder
	case eval.MatchSubset:
		return c.Subset
	case eval.MatchSuperset:
		return c.Superset
	default:
		return false
	}
}

func share(x float64) float64 {
	if math.IsNaN(x) {
		return 1
	}
	return x
}
