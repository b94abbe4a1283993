package stats

import "math"

// LogBuckets is a relative accuracy, such as 0.01, and the buckets that keep it:
// each is (1+α)/(1-α) times as wide as the one before, so that whatever falls in
// it lies within α of the value that stands for it (DDSketch; Masson, Rim and Lee
// 2019). Counts of buckets add up in any order. They are for live numbers; reports
// have all values and use [Percentile].
type LogBuckets float64

func (b LogBuckets) gamma() float64 { return (1 + float64(b)) / (1 - float64(b)) }

// Index is the bucket of a value above 0: ⌈log_γ value⌉.
func (b LogBuckets) Index(value float64) int {
	return int(math.Ceil(math.Log(value) / math.Log(b.gamma())))
}

// Value stands for all values of a bucket: 2γ^index/(γ+1). The power is taken by
// its logarithm, since math.Pow multiplies and gathers an error with each step.
func (b LogBuckets) Value(index int) float64 {
	return 2 * math.Exp(float64(index)*math.Log(b.gamma())) / (b.gamma() + 1)
}
