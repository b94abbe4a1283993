package stats

import (
	"math"
	"slices"
)

// WangTsiatisShape is the shape of [WangTsiatis] that is used for gates: between
// Pocock's ½, with the same level at all looks, and O'Brien and Fleming's 0, which
// hardly ever stops early.
const WangTsiatisShape = 0.25

// A Boundary says how sure one must be to stop at each look, so that all looks
// together err no more often than a single one would.
type Boundary struct {
	// Looks are the rounds after which one looks, in order.
	Looks []int
	// Constant is the critical value at the last round.
	Constant float64
	// Critical values, of a standard normal statistic, one for each look, and Levels,
	// the one-sided error of each: what [Difference] takes for α at that look.
	Critical, Levels []float64
}

// Level is the one-sided level of the look after a round, and whether there is a look.
func (b Boundary) Level(round int) (float64, bool) {
	i := slices.Index(b.Looks, round)
	if i < 0 {
		return 0, false
	}
	return b.Levels[i], true
}

// WangTsiatis finds the levels of a group-sequential test at one-sided α, with looks
// planned before the first of them, in order, and at most so many rounds (Wang and
// Tsiatis 1987): the critical value at a look is C·t^(shape-½), t being the share of
// the rounds that are done, and C is such that a walk of independent steps, seen at the
// looks, crosses with a chance of α (Armitage, McPherson and Rowe 1969). It is right
// to about 2e-5.
//
// A round is one repeat of every case in both arms, and only complete rounds count.
// At a look, compare by [Difference] at the level of the look; stop at a [Pass] or a
// [Fail]; after the last look, what is undecided is inconclusive. A budget that ends
// is not a look. Never add a look or a round after seeing data: begin anew, or use
// [Bets]. A difference at which one stopped early is exaggerated; report its
// interval. With fewer than ten cases use a fixed number of repeats.
func WangTsiatis(alpha float64, rounds int, looks []int, shape float64) Boundary {
	b := Boundary{Looks: slices.Clone(looks)}
	if len(looks) == 0 {
		return b
	}
	times := make([]float64, len(looks))
	for i, look := range looks {
		times[i] = float64(look) / float64(rounds)
	}
	critical := func(c float64) []float64 {
		values := make([]float64, len(times))
		for i, t := range times {
			values[i] = c * math.Pow(t, shape-0.5)
		}
		return values
	}
	// One look at α alone crosses too often, all looks at α/K each too rarely.
	low := normal(1-2*alpha) * math.Pow(times[0], 0.5-shape)
	high := normal(1 - 2*alpha/float64(len(looks)))
	// The logarithm of the chance is nearly straight, so that a few steps find it.
	b.Constant = root(low, high, func(c float64) float64 { return math.Log(crossing(critical(c), times) / alpha) })
	b.Critical = critical(b.Constant)
	for _, c := range b.Critical {
		b.Levels = append(b.Levels, normalTail(c))
	}
	return b
}

// crossing is the chance that a Brownian motion, seen at some times, exceeds its
// critical value at any of them. The density of the walks that have not crossed yet is
// carried from look to look on a grid.
func crossing(critical, times []float64) float64 {
	const intervals = 400
	const reach = 8 // standard deviations, beyond which nothing is
	var chance float64
	var grid, mass []float64
	for k, t := range times {
		bound := critical[k] * math.Sqrt(t)
		step := math.Sqrt(t)
		if k > 0 {
			step = math.Sqrt(t - times[k-1])
		}
		density := func(s float64) float64 { return normalDensity(s/step) / step }
		if k == 0 {
			chance = normalTail(critical[0])
		} else {
			for i, from := range grid {
				chance += mass[i] * normalTail((bound-from)/step)
			}
		}
		if k == len(times)-1 {
			break
		}
		low := -reach * math.Sqrt(t)
		width := (bound - low) / intervals
		next, nextMass := make([]float64, intervals+1), make([]float64, intervals+1)
		for i := range next {
			next[i] = low + float64(i)*width
			var d float64
			if k == 0 {
				d = density(next[i])
			}
			for j, from := range grid {
				if math.Abs(next[i]-from) < reach*step {
					d += mass[j] * density(next[i]-from)
				}
			}
			nextMass[i] = d * width / 3 * simpson(i, intervals)
		}
		grid, mass = next, nextMass
	}
	return chance
}

// simpson are the weights 1, 4, 2, 4, …, 4, 1 of Simpson's rule.
func simpson(i, intervals int) float64 {
	switch {
	case i == 0 || i == intervals:
		return 1
	case i%2 == 1:
		return 4
	default:
		return 2
	}
}

func normalDensity(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }

// root finds where f is 0 between two places at which it has different signs, by
// false position (the Illinois rule: an end that stays counts half).
func root(low, high float64, f func(float64) float64) float64 {
	atLow, atHigh := f(low), f(high)
	for range 200 {
		if atLow == atHigh || high-low < 1e-14 {
			break
		}
		x := (low*atHigh - high*atLow) / (atHigh - atLow)
		y := f(x)
		if math.Abs(y) < 1e-9 {
			return x
		}
		if (y > 0) == (atHigh > 0) {
			high, atHigh, atLow = x, y, atLow/2
		} else {
			low, atLow, atHigh = x, y, atHigh/2
		}
	}
	return (low + high) / 2
}
