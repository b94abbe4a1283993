package stats

import (
	"maps"
	"math"
	"slices"
)

// A Scale says how far two ratings lie apart.
type Scale string

const (
	// Nominal ratings are the same or not.
	Nominal Scale = "nominal"
	// Ordinal ratings lie as far apart as there are ratings between them.
	Ordinal Scale = "ordinal"
	// Numeric ratings, an interval scale, lie as far apart as their difference.
	Numeric Scale = "interval"
)

// Krippendorff is the reliability α of ratings of which some may be missing
// (Krippendorff 2011): 1 is perfect, 0 is chance, and below 0 lies systematic
// disagreement. A row is an item and holds its ratings, NaN for a missing one;
// rows with fewer than two ratings say nothing and are left out.
//
// α = 1 - Do/De: Do is the mean squared distance of ratings of the same item,
// De that of any two ratings. Without variation it is 1 by convention, and a
// report should say so. With no ratings to compare it is NaN.
func Krippendorff(units [][]float64, scale Scale) float64 {
	counts := map[float64]float64{}
	var rated [][]float64
	var n float64
	for _, unit := range units {
		ratings := slices.DeleteFunc(slices.Clone(unit), math.IsNaN)
		if len(ratings) < 2 {
			continue
		}
		rated = append(rated, ratings)
		n += float64(len(ratings))
		for _, r := range ratings {
			counts[r]++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	values := slices.Sorted(maps.Keys(counts))
	distance := scale.distance(values, counts)

	var observed, expected float64
	for _, ratings := range rated {
		for i, a := range ratings {
			for _, b := range ratings[:i] {
				observed += 2 * distance(a, b) / float64(len(ratings)-1)
			}
		}
	}
	for i, a := range values {
		for _, b := range values[:i] {
			expected += 2 * counts[a] * counts[b] * distance(a, b) / (n - 1)
		}
	}
	if expected == 0 {
		return 1
	}
	return 1 - observed/expected
}

// distance returns the squared distance of two of the values, which are sorted.
func (s Scale) distance(values []float64, counts map[float64]float64) func(a, b float64) float64 {
	switch s {
	case Numeric:
		return func(a, b float64) float64 { return (a - b) * (a - b) }
	case Ordinal:
		// The rank of a value is the middle of the ratings that have it.
		ranks := make(map[float64]float64, len(values))
		var before float64
		for _, v := range values {
			ranks[v] = before + counts[v]/2
			before += counts[v]
		}
		return func(a, b float64) float64 { return (ranks[a] - ranks[b]) * (ranks[a] - ranks[b]) }
	default:
		return func(a, b float64) float64 {
			if a == b {
				return 0
			}
			return 1
		}
	}
}
