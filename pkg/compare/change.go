package compare

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// A drop of two thirds of the pass rate makes a cell a suspect whatever its repeats.
const (
	dropNum = 2
	dropDen = 3
)

// changes says of each pair of one kind what became of it.
//
// A cell of an agent case looks worse if it dropped by two thirds, or if Fisher's test
// by itself finds a drop at α. It regressed if the test still does so after it was
// adjusted for all cells that were looked at (Holm): with three repeats no cell among
// several can. In script and catalog cases a fail is one: no chance is in it.
func changes(pairs []Pair, alpha float64) []eval.CellComparison {
	counts := Pairing{Pairs: pairs}.Counts()
	mirrored := make([]stats.Pair, len(counts))
	harm, improve, seen := make([]float64, len(counts)), make([]float64, len(counts)), make([]float64, len(counts))
	for i, c := range counts {
		mirrored[i] = stats.Pair{Base: c.Head, Head: c.Base}
		harm[i], _ = stats.Fisher(c)
		improve[i], _ = stats.Fisher(mirrored[i])
		seen[i] = min(harm[i], improve[i])
	}
	shownHarm, shownImprove, q := stats.Holm(harm), stats.Holm(improve), stats.BenjaminiHochberg(seen)
	worse, better := set(stats.Screen(counts, dropNum, dropDen)), set(stats.Screen(mirrored, dropNum, dropDen))
	cells := make([]eval.CellComparison, len(pairs))
	for i, p := range pairs {
		c := eval.CellComparison{
			Case: p.Head.Case, Variant: p.Head.Variant, Kind: p.Head.Kind, Base: &pairs[i].Base.Counts, Head: &pairs[i].Head.Counts,
			P: known(seen[i]), Q: known(q[i]),
		}
		base, head := counts[i].Base, counts[i].Head
		switch {
		case base.Trials == 0 || head.Trials == 0:
			c.Change, c.Why = eval.ChangeIncomparable, silent(base, head)
		case p.Head.Kind != eval.KindAgent:
			c.Change, c.P, c.Q = certain(base, head), nil, nil
		case shownHarm[i] <= alpha:
			c.Change = eval.ChangeRegressed
		case shownImprove[i] <= alpha:
			c.Change = eval.ChangeImproved
		case worse[i] || harm[i] <= alpha:
			c.Change = eval.ChangeWorse
		case better[i] || improve[i] <= alpha:
			c.Change = eval.ChangeBetter
		case mixed(base) != mixed(head):
			c.Change = eval.ChangeFlaky
		default:
			c.Change = eval.ChangeUnchanged
		}
		cells[i] = c
	}
	return cells
}

// certain is what became of a cell in which no chance is.
func certain(base, head stats.Count) eval.Change {
	failed, fails := base.Passed < base.Trials, head.Passed < head.Trials
	switch {
	case !failed && fails:
		return eval.ChangeRegressed
	case failed && !fails:
		return eval.ChangeImproved
	case mixed(base) != mixed(head):
		return eval.ChangeFlaky
	}
	return eval.ChangeUnchanged
}

func silent(base, head stats.Count) string {
	switch {
	case base.Trials == 0 && head.Trials == 0:
		return "no trial passed or failed in either arm"
	case base.Trials == 0:
		return "no trial of the base passed or failed"
	}
	return "no trial of the head passed or failed"
}

func mixed(c stats.Count) bool { return 0 < c.Passed && c.Passed < c.Trials }

func set(indexes []int) map[int]bool {
	m := map[int]bool{}
	for _, i := range indexes {
		m[i] = true
	}
	return m
}
