package stats

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestStratifiedTestVectors(t *testing.T) {
	for _, v := range vectors(t, "strat_exact") { //nolint:misspell // the name of the family
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ CA, NA, CB, NB []int }
			var want struct {
				S       int
				Harm    number `json:"p_harm"`
				Improve number `json:"p_improve"`
				HarmMid number `json:"p_harm_mid"`
				Two     number `json:"p_two"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			var pairs []Pair
			for i := range in.CA {
				pairs = append(pairs, Pair{Base: Count{in.CA[i], in.NA[i]}, Head: Count{in.CB[i], in.NB[i]}})
			}
			if got := sum(in.CB); got != want.S {
				t.Errorf("passes of the head: got %d, want %d", got, want.S)
			}
			got := StratifiedTest(pairs)
			near(t, "harm", got.Harm, want.Harm, v.Tol)
			near(t, "improve", got.Improve, want.Improve, v.Tol)
			near(t, "mid", got.HarmMid, want.HarmMid, v.Tol)
			near(t, "two-sided", got.Two, want.Two, v.Tol)
		})
	}
}

func TestMcNemarVectors(t *testing.T) {
	for _, v := range vectors(t, "mcnemar_exact") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ Regressions, Improvements int }
			var want struct {
				Harm    number `json:"p_harm"`
				Two     number `json:"p_two"`
				HarmMid number `json:"p_harm_mid"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := McNemar(in.Regressions, in.Improvements)
			near(t, "harm", got.Harm, want.Harm, v.Tol)
			near(t, "two-sided", got.Two, want.Two, v.Tol)
			near(t, "mid", got.HarmMid, want.HarmMid, v.Tol)
		})
	}
}

func drawPairs(t *rapid.T, cases, trials int) []Pair {
	count := func(name string) Count {
		n := rapid.IntRange(0, trials).Draw(t, name)
		return Count{rapid.IntRange(0, n).Draw(t, name+" passed"), n}
	}
	var pairs []Pair
	for range rapid.IntRange(0, cases).Draw(t, "cases") {
		pairs = append(pairs, Pair{Base: count("base"), Head: count("head")})
	}
	return pairs
}

// TestStratifiedTestOfOneTrialIsMcNemar, and that of one case is Fisher's.
func TestStratifiedTestOfOneTrialIsMcNemar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var regressions, improvements int
		var pairs []Pair
		for range rapid.IntRange(0, 60).Draw(t, "cases") {
			p := Pair{Base: Count{rapid.IntRange(0, 1).Draw(t, "base"), 1}, Head: Count{rapid.IntRange(0, 1).Draw(t, "head"), 1}}
			switch p.Base.Passed - p.Head.Passed {
			case 1:
				regressions++
			case -1:
				improvements++
			}
			pairs = append(pairs, p)
		}
		got, want := StratifiedTest(pairs), McNemar(regressions, improvements)
		if regressions+improvements == 0 {
			want.HarmMid = 0.5 // half of a chance of 1, which McNemar's test does not take
		}
		if !samePValues(got, want) {
			t.Fatalf("%d regressions, %d improvements: got %+v, want %+v", regressions, improvements, got, want)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		pairs := drawPairs(t, 1, 30)
		if len(pairs) == 0 || !pairs[0].tested() {
			t.Skip("no trials")
		}
		harm, _ := Fisher(pairs[0])
		if got := StratifiedTest(pairs).Harm; math.Abs(got-harm) > 1e-12 {
			t.Fatalf("%+v: got %v, want Fisher's %v", pairs[0], got, harm)
		}
	})
}

func samePValues(a, b PValue) bool {
	const tol = 1e-10
	return math.Abs(a.Harm-b.Harm) < tol && math.Abs(a.Improve-b.Improve) < tol && math.Abs(a.HarmMid-b.HarmMid) < tol && math.Abs(a.Two-b.Two) < tol
}

// TestStratifiedTestByEnumeration deals the trials to the arms in every way.
func TestStratifiedTestByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := drawPairs(t, 3, 4)
		var seen int
		chances := map[int]float64{0: 1}
		for _, p := range pairs {
			if !p.tested() {
				continue
			}
			seen += p.Head.Passed
			n := p.Base.Trials + p.Head.Trials
			dealt := map[int]float64{}
			var ways float64
			for bits := range 1 << n { // who of n is dealt to the head; the first ones passed
				var size, passed int
				for i := range n {
					size += bits >> i & 1
					if i < p.Base.Passed+p.Head.Passed {
						passed += bits >> i & 1
					}
				}
				if size == p.Head.Trials {
					ways++
					dealt[passed]++
				}
			}
			next := map[int]float64{}
			for s, chance := range chances {
				for passed, count := range dealt {
					next[s+passed] += chance * count / ways
				}
			}
			chances = next
		}
		var atMost, atLeast float64
		for s, chance := range chances {
			if s <= seen {
				atMost += chance
			}
			if s >= seen {
				atLeast += chance
			}
		}
		if got, want := StratifiedTest(pairs), pValue(atMost, atLeast, chances[seen]); !samePValues(got, want) {
			t.Fatalf("%+v: got %+v, want %+v", pairs, got, want)
		}
	})
}

// TestStratifiedTestProperties: the order of the cases changes no bit, and arms that
// change places turn harm into improvement.
func TestStratifiedTestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pairs := drawPairs(t, 20, 10)
		got := StratifiedTest(pairs)
		if other := StratifiedTest(rapid.Permutation(pairs).Draw(t, "order")); other != got {
			t.Fatalf("got %+v, in another order %+v", got, other)
		}
		var turned []Pair
		for _, p := range pairs {
			turned = append(turned, Pair{Base: p.Head, Head: p.Base})
		}
		if other := StratifiedTest(turned); math.Abs(other.Harm-got.Improve) > 1e-9 || math.Abs(other.Two-got.Two) > 1e-9 {
			t.Fatalf("got %+v, with the arms exchanged %+v", got, other)
		}
	})
}

// TestStratifiedTestOfManyCases has so many cases that what is negligible is cut
// off, and compares with the normal distribution.
func TestStratifiedTestOfManyCases(t *testing.T) {
	var pairs []Pair
	var passed, meanPassed, v float64
	for i := range 3000 {
		p := Pair{Base: Count{5 + i%3, 10}, Head: Count{5 + (i+1)%3, 10}}
		if i%10 == 0 {
			p.Head.Passed--
		}
		pairs = append(pairs, p)
		k := float64(p.Base.Passed + p.Head.Passed)
		passed += float64(p.Head.Passed)
		meanPassed += k / 2
		v += k * (20 - k) * 10 * 10 / (20 * 20 * 19)
	}
	got := StratifiedTest(pairs).Harm
	want := normalTail(-(passed + 0.5 - meanPassed) / math.Sqrt(v))
	if !(math.Abs(got/want-1) < 0.01) || got < 1e-6 {
		t.Errorf("got %v, want about %v", got, want)
	}
}

func TestTwoByTwoVectors(t *testing.T) {
	for _, v := range vectors(t, "two_by_two") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ K1, N1, K2, N2 int }
			var want struct {
				Harm     number `json:"fisher_harm"`
				Two      number `json:"fisher_two"`
				Boschloo number `json:"boschloo_harm"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			p := Pair{Base: Count{in.K1, in.N1}, Head: Count{in.K2, in.N2}}
			harm, two := Fisher(p)
			near(t, "Fisher", harm, want.Harm, v.Tol)
			near(t, "Fisher, two-sided", two, want.Two, v.Tol)
			near(t, "Boschloo", Boschloo(p), want.Boschloo, v.Tol)
		})
	}
}

func TestUntestedCases(t *testing.T) {
	untested := Pair{Base: Count{3, 3}}
	harm, two := Fisher(untested)
	if b := Boschloo(untested); !math.IsNaN(harm) || !math.IsNaN(two) || !math.IsNaN(b) {
		t.Errorf("got %v, %v and %v, want NaN", harm, two, b)
	}
	if got := StratifiedTest([]Pair{untested}); got != (PValue{1, 1, 0.5, 1}) {
		t.Errorf("got %+v, want 1: nothing is known", got)
	}
	got := Confirm([]Pair{{Base: Count{8, 8}, Head: Count{0, 8}}, untested})
	if got[0] > 0.001 || !math.IsNaN(got[1]) {
		t.Errorf("got %v, want the one that was tested to be confirmed, and NaN", got)
	}
	if got := Screen([]Pair{untested}, 0, 1); len(got) != 0 {
		t.Errorf("got %v, want no suspects", got)
	}
}

// TestBoschlooIsExact: whatever rate both arms have, the test finds harm at α with a
// chance of at most α; and it finds whatever Fisher's does.
func TestBoschlooIsExact(t *testing.T) {
	const base, head, alpha = 8, 5, 0.05
	var found []Pair
	for b := range base + 1 {
		for h := range head + 1 {
			p := Pair{Base: Count{b, base}, Head: Count{h, head}}
			boschloo := Boschloo(p)
			if harm, _ := Fisher(p); boschloo > harm+1e-9 {
				t.Errorf("%+v: got %v, want no more than Fisher's %v", p, boschloo, harm)
			}
			if boschloo <= alpha {
				found = append(found, p)
			}
		}
	}
	for rate := 0.01; rate < 1; rate += 0.01 {
		var size float64
		for _, p := range found {
			size += binomial(p.Base.Passed, base, rate) * binomial(p.Head.Passed, head, rate)
		}
		if size > alpha+1e-9 {
			t.Errorf("both at %.2f: harm is found with a chance of %v", rate, size)
		}
	}
}

func TestFisherFloorVectors(t *testing.T) {
	for _, v := range vectors(t, "fisher_floor") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ N int }
			var want struct {
				Floor number `json:"min_fisher_one_sided"`
				Limit int    `json:"max_cases_bonferroni_05"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "floor", FisherFloor(in.N, in.N), want.Floor, v.Tol)
			if got := FisherLimit(in.N, 0.05); got != want.Limit {
				t.Errorf("limit: got %d, want %d", got, want.Limit)
			}
		})
	}
	// 1/C(6, 3) is exactly 0.05, whatever the bits say.
	if got := FisherLimit(3, 0.05); got != 1 {
		t.Errorf("limit at 3: got %d, want 1", got)
	}
}

func TestFisherPowerVectors(t *testing.T) {
	for _, v := range vectors(t, "fisher_power") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				N             int
				P1, P2, Alpha float64
			}
			var want struct{ Power number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			near(t, "power", FisherPower(in.N, in.P1, in.P2, in.Alpha), want.Power, v.Tol)
		})
	}
}

func TestSignFlipVectors(t *testing.T) {
	for _, v := range vectors(t, "sign_flip") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ D []float64 }
			var want struct {
				Harm number `json:"p_harm"`
				Two  number `json:"p_two"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			harm, two := SignFlip(in.D)
			near(t, "harm", harm, want.Harm, v.Tol)
			near(t, "two-sided", two, want.Two, v.Tol)
		})
	}
}

// TestSignFlipByEnumeration gives the differences all signs.
func TestSignFlipByEnumeration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Whole numbers, so that no sum is rounded.
		d := rapid.SliceOfN(rapid.Map(rapid.IntRange(-6, 6), func(i int) float64 { return float64(i) }), 0, 10).Draw(t, "differences")
		seen := total(d)
		var below, beyond float64
		for bits := range 1 << len(d) {
			var s float64
			for i, x := range d {
				if bits>>i&1 == 1 {
					x = -x
				}
				s += x
			}
			if s <= seen {
				below++
			}
			if math.Abs(s) >= math.Abs(seen) {
				beyond++
			}
		}
		ways := float64(int(1) << len(d))
		if harm, two := SignFlip(d); math.Abs(harm-below/ways) > 1e-12 || math.Abs(two-beyond/ways) > 1e-12 {
			t.Fatalf("%v: got %v and %v, want %v and %v", d, harm, two, below/ways, beyond/ways)
		}
	})
}

func TestSignFlipOfManyCases(t *testing.T) {
	var units, apart []float64
	for i := range 200 {
		units = append(units, float64(i%7-3+i%2*(i%3-1))/5-0.2*float64(i%4/3))
		apart = append(apart, math.Sqrt(float64(i+1)))
	}
	harm, _ := SignFlip(units)
	var squares float64
	for _, d := range units {
		squares += d * d
	}
	// The sums are 0.4 apart; half of that is the correction for continuity.
	if want := normalTail(-(total(units) + 0.2) / math.Sqrt(squares)); !(math.Abs(harm/want-1) < 0.1) || harm < 1e-6 {
		t.Errorf("got %v, want about %v", harm, want)
	}
	if harm, two := SignFlip(apart); !math.IsNaN(harm) || !math.IsNaN(two) {
		t.Errorf("without a unit: got %v and %v, want NaN", harm, two)
	}
}

func TestPairedTVectors(t *testing.T) {
	for _, v := range vectors(t, "paired_t") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct{ D []float64 }
			var want struct {
				Mean, SE, T, Lo90, Hi90 number
				Harm                    number `json:"p_harm"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := PairedTest(in.D, 0.9)
			near(t, "mean", got.Point, want.Mean, v.Tol)
			near(t, "SE", got.SE, want.SE, v.Tol)
			near(t, "t", got.T, want.T, v.Tol)
			near(t, "harm", got.Harm, want.Harm, v.Tol)
			near(t, "low", got.Low, want.Lo90, v.Tol)
			near(t, "high", got.High, want.Hi90, v.Tol)
		})
	}
}

// numbers is a list with NaN in it.
type numbers []number

func (n numbers) floats() []float64 {
	out := make([]float64, len(n))
	for i, x := range n {
		out[i] = float64(x)
	}
	return out
}

func TestAdjustVectors(t *testing.T) {
	for _, family := range []string{"p_adjust", "p_adjust_nan"} {
		for _, v := range vectors(t, family) {
			t.Run(v.ID, func(t *testing.T) {
				var in struct{ P numbers }
				var want map[string]numbers
				decode(t, v.Inputs, &in)
				decode(t, v.Expected, &want)
				methods := map[string]func([]float64) []float64{"bonferroni": Bonferroni, "holm": Holm, "bh": BenjaminiHochberg, "by": BenjaminiYekutieli}
				for name, adjusted := range want {
					got := methods[name](in.P.floats())
					if len(got) != len(adjusted) {
						t.Fatalf("%s: got %d p-values, want %d", name, len(got), len(adjusted))
					}
					for i, p := range adjusted {
						near(t, fmt.Sprintf("%s %d", name, i), got[i], p, v.Tol)
					}
				}
			})
		}
	}
}

// TestAdjustProperties: adjusted p-values keep the order, none is smaller than before,
// and the methods lie in theirs.
func TestAdjustProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Float64Range(0, 1)).Draw(t, "p")
		before := fmt.Sprint(p)
		bonferroni, holm, bh, by := Bonferroni(p), Holm(p), BenjaminiHochberg(p), BenjaminiYekutieli(p)
		if fmt.Sprint(p) != before {
			t.Fatalf("the p-values were changed: %v", p)
		}
		for i := range p {
			const tol = 1e-12
			if !(p[i] <= bh[i]+tol && bh[i] <= holm[i]+tol && holm[i] <= bonferroni[i]+tol && bh[i] <= by[i]+tol && by[i] <= 1 && bonferroni[i] <= 1) {
				t.Fatalf("%v of %v: Bonferroni %v, Holm %v, BH %v, BY %v", p[i], p, bonferroni[i], holm[i], bh[i], by[i])
			}
			for j := range p {
				if p[i] < p[j] && (holm[i] > holm[j] || bh[i] > bh[j] || by[i] > by[j]) {
					t.Fatalf("%v and %v of %v changed their order", p[i], p[j], p)
				}
			}
		}
	})
}

func TestScreenVectors(t *testing.T) {
	for _, v := range vectors(t, "screen_confirm") {
		t.Run(v.ID, func(t *testing.T) {
			type counts struct{ CA, NA, CB, NB int }
			var in struct {
				Stage1 map[string]counts
				Stage2 map[string]counts `json:"stage2_fresh"`
				Drop   string            `json:"screen_drop"`
				Alpha  float64
			}
			var want struct {
				Screened, Confirmed []string
				Holm                map[string]number
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			pair := func(c counts) Pair { return Pair{Base: Count{c.CA, c.NA}, Head: Count{c.CB, c.NB}} }
			names := sortedKeys(in.Stage1)
			var pairs, fresh []Pair
			for _, name := range names {
				pairs = append(pairs, pair(in.Stage1[name]))
			}
			num, den := fraction(t, in.Drop)
			screened, confirmed := []string{}, []string{}
			for _, i := range Screen(pairs, num, den) {
				screened = append(screened, names[i])
				fresh = append(fresh, pair(in.Stage2[names[i]]))
			}
			for i, p := range Confirm(fresh) {
				near(t, screened[i], p, want.Holm[screened[i]], v.Tol)
				if p <= in.Alpha {
					confirmed = append(confirmed, screened[i])
				}
			}
			if fmt.Sprint(screened) != fmt.Sprint(want.Screened) || fmt.Sprint(confirmed) != fmt.Sprint(want.Confirmed) {
				t.Errorf("got %v screened and %v confirmed, want %v and %v", screened, confirmed, want.Screened, want.Confirmed)
			}
		})
	}
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
