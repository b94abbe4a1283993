package stats

// Manski is the share passed of the trials that have a verdict, with the bounds
// that the missing ones leave open (Manski 1989): all of them fail, or all pass.
// It is no confidence interval, since it says nothing of chance. Without a verdict
// the point is NaN; without any trial the bounds are 0 and 1.
func Manski(passed, judged, missing int) Interval {
	bounds := Interval{Point: float64(passed) / float64(judged), Low: 0, High: 1}
	if n := judged + missing; n > 0 {
		bounds.Low = float64(passed) / float64(n)
		bounds.High = float64(passed+missing) / float64(n)
	}
	return bounds
}
