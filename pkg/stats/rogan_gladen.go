package stats

import "math"

// A Calibration is what a judge was worth on items that humans had labelled.
type Calibration struct {
	// Specificity is the share of the failing items that it failed, Sensitivity
	// the share of the passing ones that it passed.
	Specificity, Sensitivity float64
	// Failing and Passing are how many items of each the humans found.
	Failing, Passing int
}

// Youden is J = specificity + sensitivity - 1 (Youden 1950): 1 for a judge that
// is always right, 0 for one that says nothing, in [-1, 1].
func (c Calibration) Youden() float64 { return c.Specificity + c.Sensitivity - 1 }

// RoganGladen corrects the pass rate that a judge gave n trials for what it gets
// wrong: θ = (rate + specificity - 1)/J, clipped to [0, 1] (Rogan and Gladen
// 1978). N may be an effective sample size, where trials come in clusters.
//
// The interval is the adjusted one of Lee et al. (2025, arXiv 2511.21140), which
// counts the uncertainty of the calibration too, clipped to [0, 1]. It need not
// lie around the clipped point. The judge must be calibrated on other items
// than the trials; for a sample of the trials themselves see [PPIMean].
//
// When J is not above 0 the judge is of no use: the point is NaN and the
// interval [0, 1].
func RoganGladen(rate, n float64, c Calibration, confidence float64) Interval {
	unknown := Interval{Point: math.NaN(), Low: 0, High: 1}
	if !(c.Youden() > 0) || !(n > 0) {
		return unknown
	}
	z := normal(confidence)
	size := n + z*z
	p := (n*rate + z*z/2) / size
	failing, passing := float64(c.Failing+2), float64(c.Passing+2)
	adjusted := Calibration{
		Specificity: (float64(c.Failing)*c.Specificity + 1) / failing,
		Sensitivity: (float64(c.Passing)*c.Sensitivity + 1) / passing,
	}
	point := unit((rate + c.Specificity - 1) / c.Youden())
	j := adjusted.Youden()
	if !(j > 0) {
		return Interval{Point: point, Low: 0, High: 1}
	}
	theta := (p + adjusted.Specificity - 1) / j
	v0 := adjusted.Specificity * (1 - adjusted.Specificity) / failing
	v1 := adjusted.Sensitivity * (1 - adjusted.Sensitivity) / passing
	shift := 2 * z * z * (theta*v1 - (1-theta)*v0)
	se := math.Sqrt(p*(1-p)/size+(1-theta)*(1-theta)*v0+theta*theta*v1) / j
	return Interval{Point: point, Low: unit(theta + shift - z*se), High: unit(theta + shift + z*se)}
}

// unit clips to [0, 1].
func unit(x float64) float64 { return min(max(x, 0), 1) }
