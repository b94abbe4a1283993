package stats

import (
	"math"
	"slices"
)

// HodgesLehmann is the pseudo-median of a sample, the median of the means of all
// pairs of its values, each paired with itself too (Hodges and Lehmann 1963). Of the
// [LogRatios] of cases it is a ratio of latencies that one slow case does not move.
// Values must be finite. Without any it is NaN.
func HodgesLehmann(xs []float64) float64 {
	w := walsh(xs)
	return w.median()
}

// Shift is how much larger the values of the head are than those of the base, the
// median of all differences (Hodges and Lehmann 1963), for two samples that are not
// paired: the repeats of one case in two arms. Without values in one of them it is
// NaN.
func Shift(base, head []float64) float64 {
	less := make([]float64, len(base))
	for i, x := range base {
		less[i] = -x
	}
	return (&pairwise{xs: slices.Sorted(slices.Values(less)), ys: slices.Sorted(slices.Values(head)), scale: 1}).median()
}

// signedRankExact is up to how many values the distribution of the signed rank sum
// is added up; beyond, it is as good as normal.
const signedRankExact = 300

// SignedRank is [HodgesLehmann] with the interval that belongs to the signed-rank
// test of Wilcoxon (1945), and the confidence that it really has, which is at least
// the one that was asked for: its bounds are means of pairs, the k-th from either
// end, with the largest k for which the sum of signed ranks is below k with a chance of
// at most (1-confidence)/2. Where there are too few values for that the bounds are
// infinite.
//
// Up to 300 values it is exact, if they lie symmetrically; with ties it is a little
// too wide. Beyond, the sum is taken to be normal.
func SignedRank(xs []float64, confidence float64) (ci Interval, coverage float64) {
	w := walsh(xs)
	ci = Interval{Point: w.median(), Low: math.Inf(-1), High: math.Inf(1)}
	n := len(xs)
	k, coverage := 0, 1.0
	if n <= signedRankExact {
		var below float64
		for _, chance := range signedRanks(n) {
			if below += chance; below > (1-confidence)/2 {
				break
			}
			k++
			coverage = 1 - 2*below
		}
	} else {
		m := float64(n)
		k = int(m*(m+1)/4 - normal(confidence)*math.Sqrt(m*(m+1)*(2*m+1)/24) + 0.5)
		coverage = confidence
	}
	if k > 0 {
		ci.Low, ci.High = w.smallest(k), w.smallest(w.size()-k+1)
	}
	return ci, coverage
}

// signedRanks are the chances of the sums of the ranks 1 to n, each taken or not by
// the throw of a coin.
func signedRanks(n int) []float64 {
	chances := make([]float64, n*(n+1)/2+1)
	chances[0] = 1
	for rank := 1; rank <= n; rank++ {
		for s := rank * (rank + 1) / 2; s >= 0; s-- {
			chances[s] /= 2
			if s >= rank {
				chances[s] += chances[s-rank] / 2
			}
		}
	}
	return chances
}

// pairwise is the multiset of the sums of two sorted lists, which is never written
// down: of ten thousand cases it has fifty million.
type pairwise struct {
	xs, ys []float64
	scale  float64 // what a sum is multiplied by
	walsh  bool    // ys is xs, and each pair counts once
}

// walsh are the means of all pairs of a sample.
func walsh(xs []float64) *pairwise {
	sorted := slices.Sorted(slices.Values(xs))
	return &pairwise{xs: sorted, ys: sorted, scale: 0.5, walsh: true}
}

func (p *pairwise) size() int {
	if p.walsh {
		return len(p.xs) * (len(p.xs) + 1) / 2
	}
	return len(p.xs) * len(p.ys)
}

func (p *pairwise) at(i, j int) float64 { return (p.xs[i] + p.ys[j]) * p.scale }

// atMost counts the sums that are at most v: as x grows, fewer y will do.
func (p *pairwise) atMost(v float64) int {
	count, diagonal := 0, 0
	j := len(p.ys)
	for i := range p.xs {
		for j > 0 && p.at(i, j-1) > v {
			j--
		}
		count += j
		if i < j {
			diagonal++
		}
	}
	if p.walsh {
		return (count + diagonal) / 2
	}
	return count
}

// smallest is the k-th smallest sum: the smallest number that k sums do not exceed.
// It is found by halving all numbers there are between the least and the largest.
func (p *pairwise) smallest(k int) float64 {
	low, high := ordinal(p.at(0, 0)), ordinal(p.at(len(p.xs)-1, len(p.ys)-1))
	for low < high {
		middle := low&high + (low^high)>>1 // rounded down, without overflow
		if p.atMost(number64(middle)) >= k {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return number64(low) + 0 // 0 and not -0
}

func (p *pairwise) median() float64 {
	n := p.size()
	if n == 0 {
		return math.NaN()
	}
	if n%2 == 1 {
		return p.smallest(n/2 + 1)
	}
	return (p.smallest(n/2) + p.smallest(n/2+1)) / 2
}

// ordinal numbers the floats in their order, and number64 is its inverse.
func ordinal(x float64) int64 {
	bits := int64(math.Float64bits(x)) //nolint:gosec // the same bits
	if bits < 0 {
		bits ^= math.MaxInt64
	}
	return bits
}

func number64(ordinal int64) float64 {
	if ordinal < 0 {
		ordinal ^= math.MaxInt64
	}
	return math.Float64frombits(uint64(ordinal)) //nolint:gosec // the same bits
}
