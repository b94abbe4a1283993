package aggregate

import (
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

const (
	// kept is how many values a sample keeps as they are: 64 KiB.
	kept = 8192
	// within is the relative error of a sample that has more.
	within stats.LogBuckets = 0.005
)

// A sample is a set of numbers, none below 0, of which percentiles are asked in the
// end. It keeps up to a number of values and counts more than that by their size, so
// its memory has a bound. Which of the two it does depends on how many there are and
// not on their order.
type sample struct {
	n      int
	max    float64
	values []float64
	// buckets counts values by their bucket; nil while values has them all.
	buckets map[int]int
}

func (s *sample) add(v float64) {
	s.n++
	s.max = max(s.max, v)
	if s.buckets == nil && len(s.values) < kept {
		s.values = append(s.values, v)
		return
	}
	s.count()
	s.buckets[bucket(v)]++
}

// count goes over to buckets.
func (s *sample) count() {
	if s.buckets != nil {
		return
	}
	s.buckets = map[int]int{}
	for _, v := range s.values {
		s.buckets[bucket(v)]++
	}
	s.values = nil
}

// nothing is the bucket of 0, which has no logarithm.
const nothing = math.MinInt

func bucket(v float64) int {
	if v <= 0 {
		return nothing
	}
	return within.Index(v)
}

// merged is the sample of all values of some. It is exact if they are, however many
// there are, since they hold as much already.
func merged(samples []*sample) *sample {
	all := &sample{}
	counted := slices.ContainsFunc(samples, func(s *sample) bool { return s.buckets != nil })
	if counted {
		all.buckets = map[int]int{}
	}
	for _, s := range samples {
		all.n += s.n
		all.max = max(all.max, s.max)
		switch {
		case !counted:
			all.values = append(all.values, s.values...)
		case s.buckets == nil:
			for _, v := range s.values {
				all.buckets[bucket(v)]++
			}
		default:
			for b, n := range s.buckets {
				all.buckets[b] += n
			}
		}
	}
	return all
}

// percents are those of a [eval.Percentiles].
func percents() [3]int { return [...]int{50, 95, 99} }

// ranks remembers, for a number of values, between which of them each of percents
// lies. Most cells have as many as the next one, and it takes a while to find.
type ranks map[int][3][2]int

func (r ranks) of(n int) [3][2]int {
	found, ok := r[n]
	if !ok {
		for i, p := range percents() {
			found[i][0], found[i][1], _ = stats.PercentileRanks(n, p, 100, confidence)
		}
		r[n] = found
	}
	return found
}

// percentiles sorts the values.
func (s *sample) percentiles(r ranks) eval.Percentiles {
	if s.n == 0 {
		return eval.Percentiles{}
	}
	at := s.at()
	p := eval.Percentiles{N: s.n, Max: s.max}
	points := [...]*float64{&p.P50, &p.P95, &p.P99}
	bounds := [...]**eval.Bounds{&p.P50CI, &p.P95CI, &p.P99CI}
	between := r.of(s.n)
	for i, percent := range percents() {
		*points[i] = at(stats.PercentileRank(s.n, percent, 100))
		if low, high := between[i][0], between[i][1]; low >= 1 && high <= s.n {
			*bounds[i] = &eval.Bounds{Low: at(low), High: at(high)}
		}
	}
	if s.buckets != nil {
		p.Within = float64(within)
	}
	return p
}

// at gives the value at a rank, counted from 1.
func (s *sample) at() func(rank int) float64 {
	if s.buckets == nil {
		slices.Sort(s.values)
		return func(rank int) float64 { return s.values[rank-1] }
	}
	order := slices.Sorted(maps.Keys(s.buckets))
	upTo := make([]int, len(order)) // values in this bucket and those before
	sum := 0
	for i, b := range order {
		sum += s.buckets[b]
		upTo[i] = sum
	}
	return func(rank int) float64 {
		b := order[sort.SearchInts(upTo, rank)]
		if b == nothing {
			return 0
		}
		return min(within.Value(b), s.max)
	}
}
