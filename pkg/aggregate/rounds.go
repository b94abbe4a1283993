package aggregate

import "github.com/evalfarm/evalfarm/pkg/eval"

// rounds finds the complete rounds of a plan: those in which every cell has its
// trial, from the first one on. A cell is told of a verdict when the round is
// complete; until then it waits, which in the order of ordinals is for a round or
// two.
type rounds struct {
	// missing counts the trials without a result, by round.
	missing  []int
	waiting  [][]settled
	complete int
}

// settled is the verdict of a trial of a cell.
type settled struct {
	cell    *cell
	verdict eval.Verdict
}

func newRounds(p eval.Plan) *rounds {
	r := &rounds{missing: make([]int, p.Rounds()), waiting: make([][]settled, p.Rounds())}
	for _, c := range p.Cells {
		for i := range c.Repeats {
			r.missing[i]++
		}
	}
	return r
}

func (r *rounds) add(c *cell, repeat int, v eval.Verdict) {
	r.missing[repeat-1]--
	r.waiting[repeat-1] = append(r.waiting[repeat-1], settled{c, v})
	for r.complete < len(r.missing) && r.missing[r.complete] == 0 {
		for _, s := range r.waiting[r.complete] {
			s.cell.complete.Add(s.verdict, 1)
		}
		r.waiting[r.complete] = nil
		r.complete++
	}
}
