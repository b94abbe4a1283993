package similar

import "math"

// assign finds which calls belong together whatever their order, so that they
// have most in common. Calls of different tools have nothing in common, so every
// tool is a problem of its own.
func assign(t *table, want, got []int) (float64, []pair) {
	rows, columns := byTool(t.want, want), byTool(t.got, got)
	var pairs []pair
	for _, i := range want {
		tool := t.want[i].tool
		if rows[tool][0] == i {
			pairs = append(pairs, hungarian(t, rows[tool], columns[tool])...)
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
// in common (Kuhn 1955, in the form with potentials of Jonker and Volgenant
// 1987). It takes O(n²m) time, n being the fewer.
func hungarian(t *table, want, got []int) []pair {
	grade := func(i, j int) float64 { return t.grade(want[i], got[j]) }
	n, m := len(want), len(got)
	swapped := n > m
	if swapped {
		n, m = m, n
		grade = func(i, j int) float64 { return t.grade(want[j], got[i]) }
	}
	owner := solve(n, m, grade)
	var pairs []pair
	for j, i := range owner {
		if i < 0 || grade(i, j) == 0 {
			continue
		}
		if swapped {
			pairs = append(pairs, pair{want[j], got[i]})
		} else {
			pairs = append(pairs, pair{want[i], got[j]})
		}
	}
	return pairs
}

// solve assigns each of n rows to one of m columns, n ≤ m, so that the sum of
// the weights is largest. It returns the row of each column, or -1.
func solve(n, m int, weight func(i, j int) float64) []int {
	// Column m is the start of every search: the row to place owns it.
	rows, columns := make([]float64, n), make([]float64, m+1)
	owner := make([]int, m+1)
	for j := range owner {
		owner[j] = -1
	}
	cheapest, from, done := make([]float64, m), make([]int, m), make([]bool, m+1)
	for i := range n {
		for j := range m {
			cheapest[j], done[j] = math.Inf(1), false
		}
		done[m] = false
		owner[m] = i
		at := m
		for owner[at] >= 0 {
			done[at] = true
			row, next, least := owner[at], -1, math.Inf(1)
			for j := range m {
				if done[j] {
					continue
				}
				if cost := -weight(row, j) - rows[row] - columns[j]; cost < cheapest[j] {
					cheapest[j], from[j] = cost, at
				}
				if cheapest[j] < least {
					least, next = cheapest[j], j
				}
			}
			for j := range m + 1 {
				if done[j] {
					rows[owner[j]] += least
					columns[j] -= least
				} else {
					cheapest[j] -= least
				}
			}
			at = next
		}
		for at != m {
			owner[at], at = owner[from[at]], from[at]
		}
	}
	return owner[:m]
}
