package aggregate

import (
	"errors"
	"math"
	"testing"
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

// The corrected rate is one of the worked examples of reading a judge: 80 % of
// 200 passed by a judge of sensitivity 0.9 and specificity 0.85, each measured on
// 100 items.
func TestCalibrate(t *testing.T) {
	c, err := Calibrate(labelled(90, 10, 15, 85), 160, 200)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name      string
		got       *float64
		want, tol float64
	}{
		{"sensitivity", c.Sensitivity.Value, 0.9, 1e-12},
		{"specificity", c.Specificity.Value, 0.85, 1e-12},
		{"agreement", c.Agreement.Value, 0.875, 1e-12},
		{"kappa", c.Kappa.Value, 0.75, 1e-12},
		{"corrected", c.Corrected.Value, 0.8666666666666666, 1e-10},
		{"corrected, low", c.Corrected.Low, 0.7675576936014236, 1e-10},
		{"corrected, high", c.Corrected.High, 0.9763135520951128, 1e-10},
	} {
		if tt.got == nil || math.Abs(*tt.got-tt.want) > tt.tol {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
	if len(c.Warnings) != 0 {
		t.Errorf("got warnings %q, want none", c.Warnings)
	}
}

func TestCalibrateRefuses(t *testing.T) {
	if _, err := Calibrate(labelled(5, 5, 5, 5), 1, 2); !errors.Is(err, ErrUseless) {
		t.Errorf("a coin: got %v, want ErrUseless", err)
	}
	if _, err := Calibrate(labelled(5, 5, 0, 0), 1, 2); err == nil || errors.Is(err, ErrUseless) {
		t.Errorf("only good items: got %v, want to hear of it", err)
	}
	c, err := Calibrate(labelled(8, 2, 4, 6), 1, 2)
	if err != nil || len(c.Warnings) != 2 {
		t.Errorf("a weak judge on few items: got %v and warnings %q, want two", err, c.Warnings)
	}
}
