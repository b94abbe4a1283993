package stats

// A Decision is what a comparison comes to.
type Decision string

const (
	// Pass and Fail are shown, each with an error of at most α.
	Pass Decision = "pass"
	Fail Decision = "fail"
	// Inconclusive: neither is shown. It is no failure, and no reason to look again
	// at the same data; see [Boundary] for how to go on.
	Inconclusive Decision = "inconclusive"
)

// Decide judges a difference of rates, head less base, with its interval at one-sided
// α. It passes if the head is shown to be worse by less than the margin, fails if it is
// shown to be worse at all and not to be within the margin, and is inconclusive
// otherwise, or where a bound is NaN. A margin of 0 can pass an improvement only.
//
// A head that is as good as the base fails with a chance of at most α, and one that
// is worse by the margin passes with at most α. A pass may hide cases that broke, if
// they are few: [Screen] for those.
func Decide(difference Interval, margin float64) Decision {
	switch {
	case difference.Low > -margin:
		return Pass
	case difference.High < 0:
		return Fail
	default:
		return Inconclusive
	}
}

// DecideRate judges the rate of one arm against the least that it must be, with its
// interval: it passes if the lower bound reaches that, fails if the upper bound does
// not, and is inconclusive otherwise, or where a bound is NaN. The interval must be one
// to decide by: [KornGraubard], at the level of the look where there are several.
func DecideRate(rate Interval, least float64) Decision {
	switch {
	case rate.Low >= least:
		return Pass
	case rate.High < least:
		return Fail
	default:
		return Inconclusive
	}
}

// DecideRatio judges a ratio of latencies or costs, head over base, with its interval:
// it passes if the ratio is shown to be below 1+tolerance, fails if it is shown to
// be above 1 and not to be below that, and is inconclusive otherwise, or where a
// bound is NaN.
func DecideRatio(ratio Interval, tolerance float64) Decision {
	switch {
	case ratio.High < 1+tolerance:
		return Pass
	case ratio.Low > 1:
		return Fail
	default:
		return Inconclusive
	}
}
