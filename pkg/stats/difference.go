package stats

import "math"

// Difference estimates how much more often the head passes than the base, over the
// same cases: base[i] and head[i] are one case. Cases that say nothing in one of the
// arms are left out of both. The bounds are one-sided at α each.
//
// With (P, l, u) the [Repeatability] of an arm, they are
// Δ - √((P_B-l_B)² + (u_A-P_A)²) and Δ + √((u_B-P_B)² + (P_A-l_A)²): the method of
// variance estimates recovery (Newcombe 1998; Tang 2021, arXiv 2110.12636), which
// keeps a width where all passes. With one case it is Newcombe's hybrid score
// interval. Where every case was tried once in each arm, passed or failed, and all
// weigh the same, chance within cases cannot be seen, and [BonettPrice] is used.
//
// The interval lies in [-1, 1]; without cases the point is NaN.
func Difference(base, head []Case, alpha float64) Interval {
	if len(base) != len(head) {
		return Interval{Point: math.NaN(), Low: -1, High: 1}
	}
	var a, b []Case
	for i := range base {
		if base[i].known() && head[i].known() {
			a, b = append(a, base[i]), append(b, head[i])
		}
	}
	if regressions, improvements, once := triedOnce(a, b); once {
		return BonettPrice(regressions, improvements, len(a), alpha)
	}
	from, to := Repeatability(a, 1-2*alpha), Repeatability(b, 1-2*alpha)
	if len(a) == 0 {
		return Interval{Point: math.NaN(), Low: -1, High: 1}
	}
	delta := to.Point - from.Point
	return Interval{
		Point: delta,
		Low:   delta - math.Hypot(to.Point-to.Low, from.High-from.Point),
		High:  delta + math.Hypot(to.High-to.Point, from.Point-from.Low),
	}
}

// triedOnce counts the cases that changed where each arm is a single verdict.
func triedOnce(base, head []Case) (regressions, improvements int, once bool) {
	for i, a := range base {
		b := head[i]
		verdict := func(c Case) bool { return c.Repeats == 1 && (c.Mean == 0 || c.Mean == 1) }
		if !verdict(a) || !verdict(b) || a.weight() != base[0].weight() || b.weight() != base[0].weight() {
			return 0, 0, false
		}
		switch {
		case a.Mean > b.Mean:
			regressions++
		case a.Mean < b.Mean:
			improvements++
		}
	}
	return regressions, improvements, len(base) > 0
}

// BonettPrice estimates the difference of two paired rates, head less base, from how
// many of some pairs went from pass to fail and how many from fail to pass, with the
// adjusted Wald interval of Bonett and Price (2012), one-sided at α each: one pair is
// added to either count, p = (count+1)/(pairs+2), and the bounds are
// (p₂₁-p₁₂) ± z√((p₁₂+p₂₁-(p₂₁-p₁₂)²)/(pairs+2)), in [-1, 1]. The point is the
// difference that was seen, which need not be the middle. Without pairs it is NaN.
func BonettPrice(regressions, improvements, pairs int, alpha float64) Interval {
	n := float64(pairs)
	worse, better := float64(regressions+1)/(n+2), float64(improvements+1)/(n+2)
	d := better - worse
	ci := around(d, math.Sqrt((worse+better-d*d)/(n+2)), 1-2*alpha, -1, 1)
	ci.Point = float64(improvements-regressions) / n
	return ci
}
