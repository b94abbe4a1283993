package stats

import "math"

// FleissKappa is the agreement beyond chance of a full panel (Fleiss 1971), in
// [-1, 1]: a row an item, a column a category, a cell the number of raters that
// chose it. With P the mean share of agreeing pairs of raters and Pe = Σ p_j²,
// p_j being the share of all ratings in category j, it is (P-Pe)/(1-Pe).
//
// It is NaN when everybody always chose the same category, with no items, with
// fewer than two raters, and when not every item has as many ratings:
// [Krippendorff] takes those.
func FleissKappa(counts [][]int) float64 {
	if len(counts) == 0 {
		return math.NaN()
	}
	raters := sum(counts[0])
	perCategory := make([]int, len(counts[0]))
	var pairs float64
	for _, row := range counts {
		if sum(row) != raters || raters < 2 {
			return math.NaN()
		}
		for j, n := range row {
			perCategory[j] += n
			pairs += float64(n) * float64(n-1)
		}
	}
	items, r := float64(len(counts)), float64(raters)
	observed := pairs / (items * r * (r - 1))
	var chance float64
	for _, n := range perCategory {
		share := float64(n) / (items * r)
		chance += share * share
	}
	if 1-chance < 1e-15 {
		return math.NaN()
	}
	return (observed - chance) / (1 - chance)
}

func sum(xs []int) int {
	var total int
	for _, x := range xs {
		total += x
	}
	return total
}
