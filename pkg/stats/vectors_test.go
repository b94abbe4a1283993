package stats

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"
)

// number is a float64 that may be written "NaN", "Infinity" or "-Infinity".
type number float64

func (n *number) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case `"NaN"`:
		*n = number(math.NaN())
	case `"Infinity"`:
		*n = number(math.Inf(1))
	case `"-Infinity"`:
		*n = number(math.Inf(-1))
	default:
		return json.Unmarshal(raw, (*float64)(n))
	}
	return nil
}

// data is a list of numbers, or {"range": [a, b]} for a..b.
type data []float64

func (d *data) UnmarshalJSON(raw []byte) error {
	var r struct{ Range []int }
	if json.Unmarshal(raw, &r) == nil {
		for x := r.Range[0]; x <= r.Range[1]; x++ {
			*d = append(*d, float64(x))
		}
		return nil
	}
	var xs []number
	if err := json.Unmarshal(raw, &xs); err != nil {
		return err
	}
	for _, x := range xs {
		*d = append(*d, float64(x))
	}
	return nil
}

type vector struct {
	ID, Family       string
	Inputs, Expected json.RawMessage
	Tol              float64
}

// vectors returns those of one family and fails when there are none.
func vectors(t *testing.T, family string) []vector {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Vectors []vector }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	found := slices.DeleteFunc(file.Vectors, func(v vector) bool { return v.Family != family })
	if len(found) == 0 {
		t.Fatalf("testdata/vectors.json has no vector of family %q", family)
	}
	return found
}

func decode(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func near(t *testing.T, what string, got float64, want number, tol float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(float64(want)) || math.Abs(got-float64(want)) > tol {
		t.Errorf("%s: got %v, want %v", what, got, float64(want))
	}
}
