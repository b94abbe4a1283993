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

// A Sample is what a judge said in a run: of the items that humans have labelled,
// and of the others, each with its votes.
type Sample struct {
	Labelled   []Labelled
	Unlabelled []bool
	Votes      [][]eval.Vote
}

// Calibrate says what a judge is worth on labelled items, and corrects the share
// of passes that it gave in two ways: by Rogan and Gladen, with the interval of
// Lee et al., which is for labels of other items than the judged ones; and by
// PPI++, which is for labels of a random sample of them. Both take the items for
// independent.
func Calibrate(s Sample) (eval.Calibration, error) {
	items, judged, passed := s.Labelled, len(s.Labelled)+len(s.Unlabelled), 0
	for _, item := range items {
		passed += index(item.Judge)
	}
	for _, pass := range s.Unlabelled {
		passed += index(pass)
	}
	t := confusion(items)
	c := eval.Calibration{
		Items: len(items), TrueFail: t[0][0], FalsePass: t[0][1], FalseFail: t[1][0], TruePass: t[1][1],
		Sensitivity: interval(stats.Wilson(t[1][1], t[1][0]+t[1][1], confidence)),
		Specificity: interval(stats.Wilson(t[0][0], t[0][0]+t[0][1], confidence)),
		Judged:      judged,
	}
	agreement := agree(t)
	c.Agreement, c.Kappa, c.AC1 = interval(agreement.Raw), interval(agreement.Kappa), interval(agreement.AC1)
	c.PassRate = interval(stats.Wilson(passed, judged, confidence))
	c.Audited = interval(audit(s))
	c.VoteAlpha, c.VoteDisagreement = votes(s.Votes)
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

// audit is the pass rate by PPI++.
func audit(s Sample) stats.Interval {
	var labels, judged, others []float64
	for _, item := range s.Labelled {
		labels, judged = append(labels, float64(index(item.Human))), append(judged, float64(index(item.Judge)))
	}
	for _, pass := range s.Unlabelled {
		others = append(others, float64(index(pass)))
	}
	return stats.PPIMean(labels, judged, others, confidence).Interval
}

// votes is how reliable several votes on the same item are.
func votes(items [][]eval.Vote) (alpha, disagreement *float64) {
	var units [][]float64
	var sum float64
	for _, vs := range items {
		var unit []float64
		passed := 0
		for _, v := range vs {
			if v.Pass != nil {
				unit = append(unit, float64(index(*v.Pass)))
				passed += index(*v.Pass)
			}
		}
		if len(unit) > 1 {
			units = append(units, unit)
			sum += stats.Disagreement(passed, len(unit))
		}
	}
	if len(units) == 0 {
		return nil, nil
	}
	return new(stats.Krippendorff(units, stats.Nominal)), new(sum / float64(len(units)))
}

func index(pass bool) int {
	if pass {
		return 1
	}
	return 0
}

// share is NaN of nothing.
func share(c, n int) float64 { return float64(c) / float64(n) }

// number is one that JSON can hold: nil of what is none.
func number(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

func interval(i stats.Interval) eval.Estimate {
	return eval.Estimate{Value: number(i.Point), Low: number(i.Low), High: number(i.High)}
}
