package stats

import "math"

// Neyman allots a budget to cases, as repeats before they are rounded: in proportion
// to the spread of a case over the root of what a repeat of it costs (Neyman 1934),
// n_i = budget·(sd_i/√cost_i)/Σ sd_j·√cost_j. What cannot vary gets none, and with no
// spread at all nobody does, so give each case a few before.
//
// The spreads must come from earlier runs. Allotted by what a run itself has shown,
// the repeats depend on the outcomes, and its rate is biased.
func Neyman(sd, cost []float64, budget float64) []float64 {
	weights := make([]float64, len(sd))
	repeats := make([]float64, len(sd))
	for i := range sd {
		weights[i] = sd[i] * math.Sqrt(cost[i])
	}
	all := total(weights)
	if all == 0 {
		return repeats
	}
	for i := range sd {
		repeats[i] = budget * sd[i] / math.Sqrt(cost[i]) / all
	}
	return repeats
}
