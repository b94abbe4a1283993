package stats

import (
	"math/rand/v2"
	"testing"
)

// A large comparison: ten thousand cases, ten repeats in both arms.
func largeComparison() []Pair {
	random := rand.New(rand.NewPCG(1, 1))
	var pairs []Pair
	for range 10_000 {
		p := random.Float64()
		pairs = append(pairs, Pair{Base: Count{passes(random, 10, p), 10}, Head: Count{passes(random, 10, p), 10}})
	}
	return pairs
}

func BenchmarkStratifiedTest(b *testing.B) {
	pairs := largeComparison()
	for b.Loop() {
		StratifiedTest(pairs)
	}
}

func BenchmarkDifference(b *testing.B) {
	base, head := arms(largeComparison())
	for b.Loop() {
		Difference(base, head, 0.05)
	}
}

func BenchmarkWangTsiatis(b *testing.B) {
	for b.Loop() {
		WangTsiatis(0.05, 10, []int{2, 3, 4, 5, 6, 7, 8, 9, 10}, WangTsiatisShape)
	}
}

func BenchmarkSignedRank(b *testing.B) {
	base, head := arms(largeComparison())
	xs := make([]float64, len(base))
	for i := range xs {
		xs[i] = head[i].Mean - base[i].Mean
	}
	for b.Loop() {
		SignedRank(xs, 0.9)
	}
}
