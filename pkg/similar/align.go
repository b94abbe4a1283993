package similar

import "slices"

// A pair is an expected call and a call that was made, by their indices.
type pair struct{ want, got int }

// step says where the best alignment of two beginnings comes from.
type step byte

const (
	skipGot step = iota
	skipWant
	together
)

// best is the worth of an alignment: what its calls have in common and, to tell
// equal ones apart, how many calls of the same tool stand side by side.
type best struct {
	common float64
	pairs  int
}

func (b best) less(other best) bool {
	return b.common < other.common || b.common == other.common && b.pairs < other.pairs
}

// align finds the alignment that keeps the order of both lists and has most in
// common (Needleman and Wunsch 1970, gaps cost nothing). Of equally good ones it
// takes the one with more calls of the same tool side by side, then the one with
// the earlier calls. The pairs are in order; calls of a pair are of the same
// tool, and may have nothing else in common.
func align(t *table) (float64, []pair) {
	n, m := len(t.want), len(t.got)
	steps := make([]step, n*m)
	above := make([]best, m+1)
	row := make([]best, m+1)
	for i := range n {
		for j := range m {
			choice, from := row[j], skipGot
			if choice.less(above[j+1]) {
				choice, from = above[j+1], skipWant
			}
			if t.want[i].tool == t.got[j].tool {
				both := best{above[j].common + t.grade(i, j), above[j].pairs + 1}
				if choice.less(both) {
					choice, from = both, together
				}
			}
			row[j+1] = choice
			steps[t.at(i, j)] = from
		}
		row, above = above, row
	}
	return above[m].common, walk(t, steps)
}

// walk goes the steps of an alignment back from its end.
func walk(t *table, steps []step) []pair {
	var pairs []pair
	for i, j := len(t.want)-1, len(t.got)-1; i >= 0 && j >= 0; {
		switch steps[t.at(i, j)] {
		case skipGot:
			j--
		case skipWant:
			i--
		case together:
			pairs = append(pairs, pair{i, j})
			i, j = i-1, j-1
		}
	}
	slices.Reverse(pairs)
	return pairs
}
