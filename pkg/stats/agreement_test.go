package stats

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestAgreementVectors(t *testing.T) {
	for _, v := range vectors(t, "agreement_2") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Table [][]int }
			var want struct {
				Agreement number
				Kappa     number `json:"cohen_kappa"`
				AC1       number `json:"gwet_ac1"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Agree(in.Table, 0.95)
			near(t, "agreement", got.Raw.Point, want.Agreement, v.Tol)
			near(t, "kappa", got.Kappa.Point, want.Kappa, v.Tol)
			near(t, "AC1", got.AC1.Point, want.AC1, v.Tol)
		})
	}
}

func TestAgreementEdges(t *testing.T) {
	nan := math.NaN()
	for name, row := range map[string]struct {
		table [][]int
		want  Agreement
	}{
		"no items":      {[][]int{{0, 0}, {0, 0}}, Agreement{Interval{nan, 0, 1}, Interval{nan, -1, 1}, Interval{nan, -1, 1}}},
		"no categories": {nil, Agreement{Interval{nan, 0, 1}, Interval{nan, -1, 1}, Interval{nan, -1, 1}}},
		"one category":  {[][]int{{5}}, Agreement{Wilson(5, 5, 0.95), Interval{nan, -1, 1}, Interval{nan, -1, 1}}},
		// Chance is 1/2 for both, so that agreement a becomes 2a-1.
		"all agree": {[][]int{{10, 0}, {0, 10}}, Agreement{
			Wilson(20, 20, 0.95),
			Interval{1, 2*Wilson(20, 20, 0.95).Low - 1, 1},
			Interval{1, 2*Wilson(20, 20, 0.95).Low - 1, 1},
		}},
		"none agrees": {[][]int{{0, 10}, {10, 0}}, Agreement{
			Wilson(0, 20, 0.95),
			Interval{-1, -1, 2*Wilson(0, 20, 0.95).High - 1},
			Interval{-1, -1, 2*Wilson(0, 20, 0.95).High - 1},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Agree(row.table, 0.95)
			for what, pair := range map[string][2]Interval{"raw": {got.Raw, row.want.Raw}, "kappa": {got.Kappa, row.want.Kappa}, "AC1": {got.AC1, row.want.AC1}} {
				near(t, what, pair[0].Point, number(pair[1].Point), 1e-12)
				near(t, what+" low", pair[0].Low, number(pair[1].Low), 1e-12)
				near(t, what+" high", pair[0].High, number(pair[1].High), 1e-12)
			}
		})
	}
}

// TestAgreementErrors finds the standard errors again, by the delta method: the
// variance of a multinomial table carried through slopes taken numerically.
func TestAgreementErrors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.IntRange(2, 4).Draw(t, "q")
		table := make([][]int, q)
		var n int
		for i := range table {
			table[i] = rapid.SliceOfN(rapid.IntRange(1, 30), q, q).Draw(t, "row")
			n += sum(table[i])
		}
		s := sharesOf(table, n)
		for what, m := range map[string]struct {
			chance func(shares) float64
			se     func(po, pe float64) float64
		}{
			"kappa": {shares.kappaChance, s.kappaError},
			"AC1":   {shares.ac1Chance, s.ac1Error},
		} {
			got := m.se(diagonal(s), m.chance(s))
			want := deltaError(s, func(s shares) float64 {
				return (diagonal(s) - m.chance(s)) / (1 - m.chance(s))
			})
			if math.Abs(got-want) > 1e-6 {
				t.Fatalf("standard error of %s of %v: got %v, want %v", what, table, got, want)
			}
		}
	})
}

func diagonal(s shares) float64 {
	var po float64
	for i := range s.cells {
		po += s.cells[i][i]
	}
	return po
}

func deltaError(s shares, measure func(shares) float64) float64 {
	const h = 1e-6
	var square, mean float64
	for i := range s.cells {
		for j, p := range s.cells[i] {
			slope := (measure(moved(s, i, j, h)) - measure(moved(s, i, j, -h))) / (2 * h)
			square += p * slope * slope
			mean += p * slope
		}
	}
	return math.Sqrt((square - mean*mean) / s.n)
}

// moved is a table with a little more in one cell.
func moved(s shares, i, j int, h float64) shares {
	out := sharesOf(make([][]int, len(s.cells)), 1)
	for a, row := range s.cells {
		out.cells[a] = append([]float64(nil), row...)
		for b, p := range row {
			if a == i && b == j {
				p += h
			}
			out.cells[a][b] = p
			out.rows[a] += p
			out.columns[b] += p
		}
	}
	return out
}

func TestAgreementProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.IntRange(2, 4).Draw(t, "q")
		table, turned := make([][]int, q), make([][]int, q)
		for i := range table {
			table[i] = rapid.SliceOfN(rapid.IntRange(0, 30), q, q).Draw(t, "row")
		}
		for i := range turned {
			for j := range table {
				turned[i] = append(turned[i], table[j][i])
			}
		}
		a, b := Agree(table, 0.95), Agree(turned, 0.95)
		for what, pair := range map[string][2]Interval{"kappa": {a.Kappa, b.Kappa}, "AC1": {a.AC1, b.AC1}} {
			x, y := pair[0], pair[1]
			if math.IsNaN(x.Point) != math.IsNaN(y.Point) || math.Abs(x.Point-y.Point) > 1e-9 || math.Abs(x.Low-y.Low) > 1e-9 {
				t.Fatalf("%s of %v: got %+v, and %+v with the raters exchanged", what, table, x, y)
			}
			if x.Low < -1 || x.High > 1 || x.Point < x.Low || x.Point > x.High {
				t.Fatalf("%s of %v: bounds out of order: %+v", what, table, x)
			}
		}
	})
}
