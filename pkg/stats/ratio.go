package stats

import "math"

// RatioOfMeans estimates a ratio of totals over paired cases, Σhead/Σbase, as of
// costs: what the whole suite costs, and not what a case in the middle does. Its
// interval is that of t with C-1 degrees of freedom for the logarithm, with the
// linearised error √(Σr²/((C-1)C))/mean(base) of r = head - ratio·base, divided by
// the ratio.
//
// With one case, totals that are not above 0, or lists of unequal length, the bounds
// are NaN; the ratio is NaN without cases.
func RatioOfMeans(base, head []float64, confidence float64) Interval {
	n := float64(len(base))
	ratio := total(head) / total(base)
	ci := Interval{Point: ratio, Low: math.NaN(), High: math.NaN()}
	if len(base) < 2 || len(head) != len(base) || !(ratio > 0) || math.IsInf(ratio, 0) {
		return ci
	}
	squares := make([]float64, len(base))
	for i := range base {
		r := head[i] - ratio*base[i]
		squares[i] = r * r
	}
	se := withoutResidue(math.Sqrt(total(squares)/((n-1)*n)) / mean(base) / ratio)
	return exponential(Interval{Point: math.Log(ratio), Low: math.Log(ratio), High: math.Log(ratio)}, student(confidence, len(base)-1)*se)
}

// GeoMeanRatio estimates the ratio of paired values, head over base, as the geometric
// mean over the cases, with the interval of t on the logarithms: for thirty cases
// and more that have no long tails; otherwise see [HodgesLehmann]. With one case,
// values that are not above 0, or lists of unequal length, the bounds are NaN; the
// ratio is NaN without cases.
func GeoMeanRatio(base, head []float64, confidence float64) Interval {
	logs := LogRatios(base, head)
	m := mean(logs)
	ci := Interval{Point: m, Low: m, High: m}
	if len(logs) < 2 {
		return exponential(ci, math.NaN())
	}
	return exponential(ci, student(confidence, len(logs)-1)*standardError(logs))
}

// LogRatios are ln head - ln base of each case: what [SignedRank] makes an interval
// of. The exponentials of its bounds are those of a ratio. With lists of unequal
// length there are none.
func LogRatios(base, head []float64) []float64 {
	if len(base) != len(head) {
		return nil
	}
	logs := make([]float64, len(base))
	for i := range base {
		logs[i] = math.Log(head[i]) - math.Log(base[i])
	}
	return logs
}

// Exp is the interval of the exponential: of a ratio, from that of its logarithm.
func (i Interval) Exp() Interval {
	return Interval{Point: math.Exp(i.Point), Low: math.Exp(i.Low), High: math.Exp(i.High)}
}

// exponential widens the interval of a logarithm by half a width on both sides.
func exponential(logs Interval, half float64) Interval {
	return Interval{Point: logs.Point, Low: logs.Low - half, High: logs.High + half}.Exp()
}
