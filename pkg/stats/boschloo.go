package stats

import "math"

// Boschloo is the exact unconditional test of Boschloo (1970) on one case, one-sided
// for harm: the chance that [Fisher] says as little or less, at the pass rate of
// both arms that makes it largest. It is never more than Fisher's and mostly much
// less, because it does not take the number of passes as given. NaN where an arm was
// not tried.
//
// The largest chance is looked for on a grid of rates, and then more closely around
// the best of them.
func Boschloo(p Pair) float64 {
	if !p.tested() {
		return math.NaN()
	}
	seen, _ := Fisher(p)
	// extreme[b] is the largest number of the head's passes that says as little, when
	// the base has b; -1 if none does.
	extreme := make([]int, p.Base.Trials+1)
	for b := range extreme {
		extreme[b] = -1
		for h := range p.Head.Trials + 1 {
			if harm, _ := Fisher(Pair{Base: Count{b, p.Base.Trials}, Head: Count{h, p.Head.Trials}}); harm <= seen*(1+tie) {
				extreme[b] = h
			}
		}
	}
	chance := func(rate float64) float64 {
		bases, heads := binomials(p.Base.Trials, rate), binomials(p.Head.Trials, rate)
		var below float64 // the chance of at most extreme[b] passes of the head
		next := 0
		var sum float64
		for b, h := range extreme {
			// More passes of the base never say less.
			for ; next <= h; next++ {
				below += heads[next]
			}
			sum += bases[b] * below
		}
		return sum
	}
	const steps = 200
	low, high := 0.0, 1.0
	var largest float64
	for high-low > 1e-9 {
		best := low
		for i := range steps + 1 {
			rate := low + (high-low)*float64(i)/steps
			if c := chance(rate); c > largest {
				largest, best = c, rate
			}
		}
		step := (high - low) / steps
		low, high = max(0, best-step), min(1, best+step)
	}
	return min(1, largest)
}
