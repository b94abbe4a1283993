package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// A Bootstrap is the distribution of a statistic over resamples of a sample (Efron
// 1979), in order of size.
type Bootstrap struct {
	Values []float64
	// Exact says that all resamples are in it, rather than some by chance.
	Exact bool
}

// Resample draws resamples of a sample, as large as it and with repetition, and takes
// a statistic of each. It is for what has no closed form, such as a ratio of medians;
// sample cases and not trials. It must not be used for a pass rate, of which it says
// that nothing could vary when all pass; nor where [SignedRank] or [RatioOfMeans]
// answers. The statistic may change the slice that it is given, and must not keep it.
//
// When there are no more than count resamples (2,000 is usual) it takes all of them
// and no chance. Otherwise the seed decides, which a report must show; the same seed
// and sample in the same order make the same bits.
func Resample[T any](sample []T, statistic func([]T) float64, count int, seed uint64) Bootstrap {
	n := len(sample)
	if n == 0 || count < 1 {
		return Bootstrap{}
	}
	b := Bootstrap{Exact: math.Pow(float64(n), float64(n)) <= float64(count)}
	if b.Exact {
		count = int(math.Round(math.Pow(float64(n), float64(n))))
	}
	random := rand.New(rand.NewPCG(seed, 0))
	resample := make([]T, n)
	for r := range count {
		digits := r // to the base n they say who is drawn
		for i := range resample {
			if b.Exact {
				resample[i], digits = sample[digits%n], digits/n
			} else {
				resample[i] = sample[random.IntN(n)]
			}
		}
		b.Values = append(b.Values, statistic(resample))
	}
	slices.Sort(b.Values)
	return b
}

// SE is the standard deviation of the statistic; NaN without resamples.
func (b Bootstrap) SE() float64 {
	m := mean(b.Values)
	squares := make([]float64, len(b.Values))
	for i, v := range b.Values {
		squares[i] = (v - m) * (v - m)
	}
	return math.Sqrt(mean(squares))
}

// Interval holds the statistic of the middle share of the resamples, by nearest rank
// (the percentile method), with their median for a point. Without resamples it is NaN.
func (b Bootstrap) Interval(confidence float64) Interval {
	n := len(b.Values)
	if n == 0 {
		return Interval{Point: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	cut := int(float64(n) * (1 - confidence) / 2)
	return Interval{Point: Percentile(b.Values, 1, 2), Low: b.Values[cut], High: b.Values[n-1-cut]}
}
