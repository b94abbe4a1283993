package stats

import (
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

func TestPercentileRanksVectors(t *testing.T) {
	for _, v := range vectors(t, "percentile_ci_ranks") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				N    int
				Num  int `json:"p_num"`
				Den  int `json:"p_den"`
				Conf float64
			}
			var want struct {
				Low      int `json:"lo_rank"`
				High     int `json:"hi_rank"`
				Coverage number
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			low, high, coverage := PercentileRanks(in.N, in.Num, in.Den, in.Conf)
			if low != want.Low || high != want.High {
				t.Errorf("ranks: got %d and %d, want %d and %d", low, high, want.Low, want.High)
			}
			near(t, "coverage", coverage, want.Coverage, v.Tol)
		})
	}
}

func TestValuesForPercentileVectors(t *testing.T) {
	for _, v := range vectors(t, "percentile_min_n") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ P, Conf float64 }
			var want struct{ N int }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			if got := ValuesForPercentile(int(math.Round(100*in.P)), 100, in.Conf); got != want.N {
				t.Errorf("got %d, want %d", got, want.N)
			}
		})
	}
}

func TestPercentileIntervalOfLittle(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, row := range map[string]struct {
		sorted []float64
		want   Interval
	}{
		"nothing":    {nil, Interval{nan, -inf, inf}},
		"only NaN":   {[]float64{nan}, Interval{nan, -inf, inf}},
		"five":       {[]float64{1, 2, 3, 4, 5}, Interval{3, -inf, inf}},
		"NaN and 10": {[]float64{nan, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Interval{5, 2, 9}},
	} {
		t.Run(name, func(t *testing.T) {
			got := PercentileInterval(row.sorted, 50, 100, 0.95)
			for what, pair := range map[string][2]float64{"median": {got.Point, row.want.Point}, "low": {got.Low, row.want.Low}, "high": {got.High, row.want.High}} {
				if pair[0] != pair[1] && !(math.IsNaN(pair[0]) && math.IsNaN(pair[1])) {
					t.Errorf("%s: got %v, want %v", what, pair[0], pair[1])
				}
			}
		})
	}
}

// TestPercentileRanksCoverage adds up the chances that the ranks hold the
// percentile, and finds that no narrower ranks would do.
func TestPercentileRanksCoverage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		num := rapid.IntRange(1, 99).Draw(t, "num")
		low, high, coverage := PercentileRanks(n, num, 100, 0.95)
		p := float64(num) / 100
		var below, atLow, within, atHigh, above float64
		for k := range n + 1 {
			chance := binomial(k, n, p)
			switch {
			case k < low:
				below += chance
			case k < high:
				within += chance
			default:
				above += chance
			}
			if k == low {
				atLow = chance
			}
			if k == high-1 {
				atHigh = chance
			}
		}
		if math.Abs(within-coverage) > 1e-9 || below > 0.025+1e-9 || above > 0.025+1e-9 {
			t.Fatalf("ranks %d and %d of %d: %v below, %v within (said %v), %v above", low, high, n, below, within, coverage, above)
		}
		if below+atLow < 0.025-1e-9 || above+atHigh < 0.025-1e-9 {
			t.Fatalf("ranks %d and %d of %d could be narrower: %v below, %v above", low, high, n, below, above)
		}
	})
}

// TestValuesForPercentileIsTheFirst: with one value fewer there is no upper bound.
func TestValuesForPercentileIsTheFirst(t *testing.T) {
	for _, num := range []int{1, 10, 50, 90, 95, 99} {
		n := ValuesForPercentile(num, 100, 0.95)
		// A one-sided bound at 0.95 is that of a two-sided interval at 0.9.
		if _, high, _ := PercentileRanks(n, num, 100, 0.9); high > n {
			t.Errorf("p%d: %d values have no upper bound", num, n)
		}
		if _, high, _ := PercentileRanks(n-1, num, 100, 0.9); high <= n-1 {
			t.Errorf("p%d: %d values have an upper bound already", num, n-1)
		}
	}
}

func TestHyndmanFanVectors(t *testing.T) {
	for _, v := range vectors(t, "percentile_types") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				X data
				P float64
			}
			var want map[string]number
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			if len(want) != 9 {
				t.Fatalf("got %d types, want 9", len(want))
			}
			for kind := 1; kind <= 9; kind++ {
				got := HyndmanFan(in.X, int(math.Round(100*in.P)), 100, kind)
				near(t, "type "+strconv.Itoa(kind), got, want["type"+strconv.Itoa(kind)], v.Tol)
			}
		})
	}
	if got := HyndmanFan([]float64{1}, 1, 2, 10); !math.IsNaN(got) {
		t.Errorf("type 10: got %v, want NaN", got)
	}
	if got := HyndmanFan(nil, 1, 2, 7); !math.IsNaN(got) {
		t.Errorf("of nothing: got %v, want NaN", got)
	}
}

// TestHyndmanFanMirror: types 2 and 5 to 9 know no direction, so that the
// percentile of the negated values is the negated opposite percentile; all types lie
// between the values on both sides of the first.
func TestHyndmanFanMirror(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		xs := rapid.SliceOfN(rapid.Float64Range(-50, 50), 1, 60).Draw(t, "xs")
		num := rapid.IntRange(0, 100).Draw(t, "num")
		slices.Sort(xs)
		var turned []float64
		for _, x := range slices.Backward(xs) {
			turned = append(turned, -x)
		}
		for _, kind := range []int{2, 5, 6, 7, 8, 9} {
			got, want := HyndmanFan(xs, num, 100, kind), -HyndmanFan(turned, 100-num, 100, kind)
			if math.Abs(got-want) > 1e-9 {
				t.Fatalf("type %d: got %v, want %v", kind, got, want)
			}
		}
		rank := max(1, (num*len(xs)+99)/100)
		for kind := 1; kind <= 9; kind++ {
			got := HyndmanFan(xs, num, 100, kind)
			if got < xs[max(rank-2, 0)]-1e-9 || got > xs[min(rank, len(xs)-1)]+1e-9 {
				t.Fatalf("type %d: %v lies away from rank %d of %v", kind, got, rank, xs)
			}
		}
	})
}

func TestLogBucketsVectors(t *testing.T) {
	for _, v := range vectors(t, "ddsketch_bucket") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Value, Alpha float64 }
			var want struct {
				Index          int
				Representative number
				RelError       number `json:"rel_error"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			b := LogBuckets(in.Alpha)
			if got := b.Index(in.Value); got != want.Index {
				t.Errorf("index: got %d, want %d", got, want.Index)
			}
			got := b.Value(want.Index)
			near(t, "value", got, want.Representative, v.Tol)
			near(t, "relative error", got/in.Value-1, want.RelError, v.Tol)
		})
	}
}

func TestLogBucketsAreAccurate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := LogBuckets(rapid.Float64Range(0.001, 0.2).Draw(t, "accuracy"))
		x := math.Exp(rapid.Float64Range(-50, 50).Draw(t, "log"))
		if got := b.Value(b.Index(x)); math.Abs(got/x-1) > float64(b)*(1+1e-9) {
			t.Fatalf("%v is kept as %v, %v off", x, got, got/x-1)
		}
	})
}
