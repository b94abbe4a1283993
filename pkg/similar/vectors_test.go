package similar

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

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
	decodeInto(t, raw, &file)
	found := slices.DeleteFunc(file.Vectors, func(v vector) bool { return v.Family != family })
	if len(found) == 0 {
		t.Fatalf("testdata/vectors.json has no vector of family %q", family)
	}
	return found
}

func decodeInto(t *testing.T, raw []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

// vectorCalls are calls as vectors have them.
type vectorCalls []struct {
	Tool string
	Args eval.JSON
}

func (calls vectorCalls) calls() []Call {
	var out []Call
	for _, c := range calls {
		out = append(out, Call{Tool: c.Tool, Arguments: c.Args})
	}
	return out
}

func TestArgumentVectors(t *testing.T) {
	for _, v := range vectors(t, "arg_similarity") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ A, B eval.JSON }
			var want struct{ Seed, V2 float64 }
			decodeInto(t, v.Inputs, &in)
			decodeInto(t, v.Expected, &want)
			for _, order := range [][2]eval.JSON{{in.A, in.B}, {in.B, in.A}} {
				got := compare(t, []Call{{"t", order[0]}}, []Call{{"t", order[1]}}, Options{})
				near(t, "seed", got.Positional, want.Seed, v.Tol)
				near(t, "v2", got.Ordered.F1, want.V2, v.Tol)
			}
		})
	}
}

func TestTrajectoryVectors(t *testing.T) {
	for _, v := range vectors(t, "trajectory") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Expected, Actual vectorCalls }
			var want struct {
				Seed        float64
				Recall      any     `json:"ordered_recall"`
				Precision   any     `json:"ordered_precision"`
				F1          float64 `json:"ordered_f1"`
				UnorderedF1 float64 `json:"unordered_f1"`
				Strict      bool
				Unordered   bool
				Superset    bool
				Subset      bool
				InOrder     bool `json:"in_order"`
			}
			decodeInto(t, v.Inputs, &in)
			decodeInto(t, v.Expected, &want)
			got := compare(t, in.Expected.calls(), in.Actual.calls(), Options{})
			near(t, "seed", got.Positional, want.Seed, v.Tol)
			near(t, "recall", got.Ordered.Recall, orNaN(want.Recall), v.Tol)
			near(t, "precision", got.Ordered.Precision, orNaN(want.Precision), v.Tol)
			near(t, "F1", got.Ordered.F1, want.F1, v.Tol)
			near(t, "unordered F1", got.Unordered.F1, want.UnorderedF1, v.Tol)
			modes := [5]bool{got.Exact, got.AnyOrder, got.Superset, got.Subset, got.InOrder}
			if wanted := [5]bool{want.Strict, want.Unordered, want.Superset, want.Subset, want.InOrder}; modes != wanted {
				t.Errorf("exact, any order, superset, subset, in order: got %v, want %v", modes, wanted)
			}
		})
	}
}

func TestSupersetVectors(t *testing.T) {
	for _, v := range vectors(t, "superset_matching") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Expected, Actual vectorCalls }
			var want struct {
				MaximumMatching bool `json:"maximum_matching"`
			}
			decodeInto(t, v.Inputs, &in)
			decodeInto(t, v.Expected, &want)
			if got := compare(t, in.Expected.calls(), in.Actual.calls(), Options{}); got.Superset != want.MaximumMatching {
				t.Errorf("superset: got %v, want %v", got.Superset, want.MaximumMatching)
			}
		})
	}
}

func compare(t interface {
	Helper()
	Fatalf(string, ...any)
}, expected, actual []Call, o Options,
) Comparison {
	t.Helper()
	got, err := Compare(expected, actual, o)
	if err != nil {
		t.Fatalf("compare: %v", err)
	}
	return got
}

func near(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > tol {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func orNaN(v any) float64 {
	if x, ok := v.(float64); ok {
		return x
	}
	return math.NaN()
}
