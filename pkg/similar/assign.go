package similar

import "math"

// cellsPerStep is how many weights are looked at in the time of a step.
const cellsPerStep = 16

// assign finds which calls belong together whatever their order, so that they
// have most in common. Calls of different tools have nothing in common, so every
// tool is a problem of its own.
func (c *comparer) assign(t *table, want, got []int) (float64, []pair) {
	rows, columns := byTool(t.want, want), byTool(t.got, got)
	var pairs []pair
	for _, i := range want {
		tool := t.want[i].tool
		if rows[tool][0] == i {
			pairs = append(pairs, c.hungarian(t, rows[tool], columns[tool])...)
		}
	}
	var common float64
	for _, p := range pairs {
		common += t.grade(p.want, p.got)
	}
	return common, pairs
}

func byTool(calls []call, indices []int) map[string][]int {
	groups := map[string][]int{}
	for _, i := range indices {
		groups[calls[i].tool] = append(groups[calls[i].tool], i)
	}
	return groups
}

// hungarian returns the pairs of the assignment with most in common between
// some expected calls and some that were made, without pairs that have nothing
// in common.
func (c *comparer) hungarian(t *table, want, got []int) []pair {
	swapped := len(want) > len(got)
	rows, columns := want, got
	if swapped {
		rows, columns = got, want
	}
	of := func(row, column int) pair {
		if swapped {
			return pair{columns[column], rows[row]}
		}
		return pair{rows[row], columns[column]}
	}
	weights := make([][]float64, len(rows))
	for i := range weights {
		weights[i] = make([]float64, len(columns))
		for j := range weights[i] {
			p := of(i, j)
			weights[i][j] = t.grade(p.want, p.got)
		}
	}
	var pairs []pair
	for j, i := range c.solve(weights, len(columns)) {
		if i >= 0 && weights[i][j] > 0 {
			pairs = append(pairs, of(i, j))
		}
	}
	return pairs
}

// solve gives each row a column of its own, of which there are m and no fewer
// than rows, so that the sum of the weights is largest. It returns the row of
// each column, or -1. Rows that there is no work left for get none.
//
// It is the method of Kuhn (1955) with the potentials and shortest paths of
// Jonker and Volgenant (1987), and takes O(n²m) time. Of columns that are as
// near it takes a free one: the end of a search.
func (c *comparer) solve(weights [][]float64, m int) []int {
	// Column m is the start of every search: the row to place owns it.
	rows, columns := make([]float64, len(weights)), make([]float64, m+1)
	owner := make([]int, m+1)
	for j := range owner {
		owner[j] = -1
	}
	cheapest, from, done := make([]float64, m), make([]int, m), make([]bool, m+1)
	for i := range weights {
		for j := range m {
			cheapest[j], done[j] = math.Inf(1), false
		}
		done[m] = false
		owner[m] = i
		at := m
		for owner[at] >= 0 {
			if !c.spend(1 + m/cellsPerStep) {
				return owner[:m]
			}
			done[at] = true
			row, next, least := owner[at], -1, math.Inf(1)
			for j, weight := range weights[row] {
				if done[j] {
					continue
				}
				if cost := -weight - rows[row] - columns[j]; cost < cheapest[j] {
					cheapest[j], from[j] = cost, at
				}
				if cheapest[j] < least || cheapest[j] == least && owner[j] < 0 && owner[next] >= 0 {
					least, next = cheapest[j], j
				}
			}
			for j := range m {
				if done[j] {
					rows[owner[j]] += least
					columns[j] -= least
				} else {
					cheapest[j] -= least
				}
			}
			rows[i] += least
			at = next
		}
		for at != m {
			owner[at], at = owner[from[at]], from[at]
		}
	}
	return owner[:m]
}
