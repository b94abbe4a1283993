package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// A PairedT is the mean of paired differences with what Student's t says of it.
type PairedT struct {
	Interval
	// SE is the standard error, T the mean over it, Harm the one-sided p-value that
	// the mean is below 0.
	SE, T, Harm float64
}

// PairedTest is Student's t test (1908) on the differences of paired cases, head less
// base. It speaks of other cases like these, as context, and no gate may rest on it:
// it takes "2 of 20 cases broke" for noise, and passes what small suites cannot show.
//
// Where all differences are the same, T and Harm are NaN, and the interval has no
// width: that is no significance. With fewer than two, all but the mean are NaN.
func PairedTest(differences []float64, confidence float64) PairedT {
	nan := math.NaN()
	m := mean(differences)
	se := standardError(differences)
	t := PairedT{Interval: Interval{Point: m, Low: nan, High: nan}, SE: se, T: nan, Harm: nan}
	if math.IsNaN(se) {
		return t
	}
	degrees := len(differences) - 1
	half := student(confidence, degrees) * se
	t.Low, t.High = m-half, m+half
	if se > 0 {
		t.T = m / se
		t.Harm = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(degrees)}.CDF(t.T)
	}
	return t
}
