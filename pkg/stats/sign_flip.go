package stats

import (
	"math"
	"slices"
)

// SignFlip is the exact test of Fisher (1935) on the differences of paired cases,
// head less base: if the arms were alike, every difference would have its sign by
// chance. It speaks of other cases like these, as context; what a gate asks is
// [StratifiedTest]. Harm is one-sided: the chance of a sum as small or smaller. Two
// is that of a sum as far from 0. Without differences, or when all are 0, both are
// 1.
//
// Sums of differences that have a common unit, as those of pass rates do, coincide
// and are counted together. Where more than a million of them stay apart, which
// takes more than 20 differences without a unit, both are NaN.
func SignFlip(differences []float64) (harm, two float64) {
	var sizes []float64
	var reach float64
	for _, d := range differences {
		if d != 0 {
			sizes = append(sizes, math.Abs(d))
		}
	}
	slices.Sort(sizes)
	reach = total(sizes)
	near := reach * 1e-12 // what rounding may set apart
	sums := []outcome{{0, 1}}
	for _, size := range sizes {
		if sums = flip(sums, size, near); len(sums) > 1<<20 {
			return math.NaN(), math.NaN()
		}
	}
	seen := total(differences)
	var below, beyond []float64
	for _, s := range sums {
		if s.sum <= seen+near {
			below = append(below, s.chance)
		}
		if math.Abs(s.sum) >= math.Abs(seen)-near {
			beyond = append(beyond, s.chance)
		}
	}
	return min(1, total(below)), min(1, total(beyond))
}

// An outcome is a sum of differences and its chance.
type outcome struct{ sum, chance float64 }

// flip adds a difference with either sign to all sums, which are in order, and
// makes one of sums that are nearly the same.
func flip(sums []outcome, size, near float64) []outcome {
	out := make([]outcome, 0, 2*len(sums))
	add := func(o outcome) {
		if last := len(out) - 1; last >= 0 && o.sum-out[last].sum <= near {
			out[last].chance += o.chance
			return
		}
		out = append(out, o)
	}
	minus, plus := 0, 0
	for plus < len(sums) {
		if minus < len(sums) && sums[minus].sum-size <= sums[plus].sum+size {
			add(outcome{sums[minus].sum - size, sums[minus].chance / 2})
			minus++
		} else {
			add(outcome{sums[plus].sum + size, sums[plus].chance / 2})
			plus++
		}
	}
	return out
}
