package stats

import (
	"math"
	"sort"
)

// A Stability is what the repeats of a case show of it.
type Stability string

const (
	// StablePass and StableFail: shown to pass, or to fail, all but for the
	// tolerance.
	StablePass Stability = "stable_pass"
	StableFail Stability = "stable_fail"
	// Flaky passed and failed.
	Flaky Stability = "flaky"
	// PassUnconfirmed and FailUnconfirmed always did the same, but not often enough
	// to show that they always would.
	PassUnconfirmed Stability = "pass_unconfirmed"
	FailUnconfirmed Stability = "fail_unconfirmed"
	// NoData: there are no repeats.
	NoData Stability = "no_data"
)

// A Class is the stability of a case with what it rests on.
type Class struct {
	Stability
	// Lower and Upper are the one-sided bounds of its pass rate, of [LowerBound] and
	// [UpperBound]: "3/3, p ≥ 0.37".
	Lower, Upper float64
	// Material says that it is flaky and by more than the tolerance either way.
	Material bool
}

// Classify says what c passes in n repeats show. A case is stable when its bound is
// within the tolerance, such as 0.1, of always or never; one that passes less often
// than that is called stable with a chance of at most 1-confidence. A case of which
// some repeats passed and some failed is flaky without any test.
func Classify(c, n int, tolerance, confidence float64) Class {
	class := Class{Lower: LowerBound(c, n, confidence), Upper: UpperBound(c, n, confidence)}
	switch {
	case n == 0:
		class.Stability = NoData
	case class.Lower >= 1-tolerance:
		class.Stability = StablePass
	case class.Upper <= tolerance:
		class.Stability = StableFail
	case c == n:
		class.Stability = PassUnconfirmed
	case c == 0:
		class.Stability = FailUnconfirmed
	default:
		class.Stability = Flaky
	}
	class.Material = 0 < c && c < n && class.Lower > tolerance && class.Upper < 1-tolerance
	return class
}

// RepeatsToConfirm is the smallest number of repeats of which all but so many
// failures must pass to show a pass rate of at least 1-tolerance, so that
// [LowerBound] reaches it: 59 without a failure for 0.05 at 0.95, 29 for 0.1. It is
// found by doubling and halving, because more repeats with as many failures never
// show less. A tolerance of 0 or less takes more than there are: the answer is -1.
func RepeatsToConfirm(failures int, tolerance, confidence float64) int {
	if !(tolerance > 0) {
		return -1
	}
	shown := func(n int) bool {
		return n > failures && binomialAtMost(failures, n, min(tolerance, 1)) <= (1-confidence)*(1+1e-12)
	}
	high := failures + 1
	for !shown(high) && high < math.MaxInt32 {
		high *= 2
	}
	return sort.Search(high, shown)
}
