package aggregate

import (
	"errors"
	"math"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// labelled makes items of a confusion table.
func labelled(truePass, falseFail, falsePass, trueFail int) []Labelled {
	var items []Labelled
	for _, cell := range []struct {
		n    int
		item Labelled
	}{{truePass, Labelled{true, true}}, {falseFail, Labelled{true, false}}, {falsePass, Labelled{false, true}}, {trueFail, Labelled{false, false}}} {
		for range cell.n {
			items = append(items, cell.item)
		}
	}
	return items
}

func TestCalibrate(t *testing.T) {
	s := Sample{Labelled: labelled(90, 10, 15, 85)}
	for i := range 200 {
		s.Unlabelled = append(s.Unlabelled, i < 155) // with the labelled ones, 260 of 400 pass
	}
	pass := func(votes ...bool) []eval.Vote {
		var vs []eval.Vote
		for _, v := range votes {
			vs = append(vs, eval.Vote{Pass: &v})
		}
		return vs
	}
	s.Votes = [][]eval.Vote{pass(true, true, false), pass(false, false, false), append(pass(true), eval.Vote{}), pass(true)}
	c, err := Calibrate(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"sensitivity", c.Sensitivity.Value, 0.9},
		{"specificity", c.Specificity.Value, 0.85},
		{"agreement", c.Agreement.Value, 0.875},
		{"kappa", c.Kappa.Value, 0.75},
		{"pass rate", c.PassRate.Value, 0.65},
		{"corrected", c.Corrected.Value, (0.65 + 0.85 - 1) / 0.75},
		{"disagreement of votes", c.VoteDisagreement, (2.0/3 + 0) / 2},
	} {
		if tt.got == nil || math.Abs(*tt.got-tt.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if c.VoteAlpha == nil || len(c.Warnings) != 0 {
		t.Errorf("got alpha %v and warnings %q, want an alpha and no warnings", c.VoteAlpha, c.Warnings)
	}
}

// The audited rate is PPI++: a published vector of it.
func TestAuditedPassRate(t *testing.T) {
	labels, judged := []bool{true, true, false, true, false, true, true, false, true, true, false, true}, []bool{true, true, false, true, true, true, true, false, false, true, false, true}
	s := Sample{Unlabelled: []bool{true, false, false, false, false, false, true, true, false, true, false, true, true, true, true, true, true, true, true, false, false, true, false, true, true, true, true, false, true, true, false, false, true, false, true, true, true, false, true, false, false, true, true, true, true, true, true, true, true, true, true, true, false, true, true, true, false, true, false, true}}
	for i := range labels {
		s.Labelled = append(s.Labelled, Labelled{Human: labels[i], Judge: judged[i]})
	}
	c, err := Calibrate(s)
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]float64{
		"rate": {*c.Audited.Value, 0.6666666666666666}, "low": {*c.Audited.Low, 0.4382859340411936}, "high": {*c.Audited.High, 0.8950473992921397},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-9 {
			t.Errorf("%s: got %v, want %v", name, pair[0], pair[1])
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	if _, err := Calibrate(Sample{Labelled: labelled(5, 5, 5, 5)}); !errors.Is(err, ErrUseless) {
		t.Errorf("a coin: got %v, want ErrUseless", err)
	}
	if _, err := Calibrate(Sample{Labelled: labelled(5, 5, 0, 0)}); err == nil || errors.Is(err, ErrUseless) {
		t.Errorf("only good items: got %v, want to hear of it", err)
	}
	c, err := Calibrate(Sample{Labelled: labelled(8, 2, 4, 6)})
	if err != nil || len(c.Warnings) != 2 {
		t.Errorf("a weak judge on few items: got %v and warnings %q, want two", err, c.Warnings)
	}
}
