package aggregate

import (
	"errors"
	"math"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// A Labelled is one item that a human and a judge have both looked at.
type Labelled struct{ Human, Judge bool }

// ErrUseless is returned for a judge that passes bad work as readily as good.
var ErrUseless = errors.New("the judge tells good from bad no better than a coin")

// fewLabels is how many items of each kind a calibration wants.
const fewLabels = 50

// Calibrate says what a judge is worth on labelled items, and corrects the share
// of passes, passed of judged, that it gave. The corrected rate is that of Rogan
// and Gladen with the interval of Lee et al.; it takes the labelled items for
// others than the judged ones, or for a small part of them.
func Calibrate(items []Labelled, passed, judged int) (eval.Calibration, error) {
	// Rows are what humans said, columns what the judge did: fail, pass.
	var t [2][2]int
	for _, item := range items {
		t[index(item.Human)][index(item.Judge)]++
	}
	const confidence = 0.95
	c := eval.Calibration{
		Items: len(items), TrueFail: t[0][0], FalsePass: t[0][1], FalseFail: t[1][0], TruePass: t[1][1],
		Sensitivity: interval(stats.Wilson(t[1][1], t[1][0]+t[1][1], confidence)),
		Specificity: interval(stats.Wilson(t[0][0], t[0][0]+t[0][1], confidence)),
		Judged:      judged,
	}
	agreement := stats.Agree([][]int{t[0][:], t[1][:]}, confidence)
	c.Agreement, c.Kappa, c.AC1 = interval(agreement.Raw), interval(agreement.Kappa), interval(agreement.AC1)
	c.PassRate = interval(stats.Wilson(passed, judged, confidence))
	if min(t[0][0]+t[0][1], t[1][0]+t[1][1]) < fewLabels {
		c.Warnings = append(c.Warnings, "fewer than 50 items of each kind are labelled; the intervals are wide")
	}
	worth := stats.Calibration{
		Specificity: share(t[0][0], t[0][0]+t[0][1]), Sensitivity: share(t[1][1], t[1][0]+t[1][1]),
		Failing: t[0][0] + t[0][1], Passing: t[1][0] + t[1][1],
	}
	switch j := worth.Youden(); {
	case math.IsNaN(j):
		return c, errors.New("a calibration wants items that humans passed and items that they failed")
	case j <= 0:
		return c, ErrUseless
	case j < 0.6:
		c.Warnings = append(c.Warnings, "the judge is weak: sensitivity + specificity - 1 is below 0.6")
	}
	c.Corrected = interval(stats.RoganGladen(share(passed, judged), float64(judged), worth, confidence))
	return c, nil
}

func index(pass bool) int {
	if pass {
		return 1
	}
	return 0
}

// share is NaN of nothing.
func share(c, n int) float64 { return float64(c) / float64(n) }

// interval is one that JSON can hold: what is not a number is left out.
func interval(i stats.Interval) eval.Estimate {
	number := func(x float64) *float64 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil
		}
		return &x
	}
	return eval.Estimate{Value: number(i.Point), Low: number(i.Low), High: number(i.High)}
}
