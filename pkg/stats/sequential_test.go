package stats

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestWangTsiatisVectors(t *testing.T) {
	for _, v := range vectors(t, "gs_boundary") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Alpha  float64
				Rounds int `json:"r_max"`
				Looks  []int
				Shape  float64 `json:"wt_delta"`
			}
			var want struct {
				Constant          number
				Critical, Nominal []number
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := WangTsiatis(in.Alpha, in.Rounds, in.Looks, in.Shape)
			near(t, "constant", got.Constant, want.Constant, v.Tol)
			for i, look := range in.Looks {
				near(t, "critical", got.Critical[i], want.Critical[i], v.Tol)
				level, planned := got.Level(look)
				near(t, "level", level, want.Nominal[i], v.Tol)
				if !planned {
					t.Errorf("no look after round %d", look)
				}
			}
		})
	}
}

func TestBoundaryHasItsLooksOnly(t *testing.T) {
	b := WangTsiatis(0.05, 6, []int{2, 4, 6}, WangTsiatisShape)
	if level, planned := b.Level(3); planned || level != 0 {
		t.Errorf("after round 3: got %v, want no look", level)
	}
	if _, planned := WangTsiatis(0.05, 6, nil, WangTsiatisShape).Level(6); planned {
		t.Error("a boundary without looks has one")
	}
}

// TestBoundaryUsesUpAlpha: whatever the looks are, no level is above α or below the
// one before, and together they come to α or more, since walks that cross at one look
// often cross at the next.
func TestBoundaryUsesUpAlpha(t *testing.T) {
	for name, row := range map[string]struct {
		alpha  float64
		rounds int
		looks  []int
	}{
		"two at the end":  {0.01, 8, []int{7, 8}},
		"one before all":  {0.05, 8, []int{5}},
		"first and last":  {0.05, 20, []int{1, 20}},
		"schedule's α":    {0.01, 5, []int{2, 3, 4, 5}},
		"very many looks": {0.05, 30, []int{2, 5, 8, 11, 14, 17, 20, 23, 26, 30}},
	} {
		t.Run(name, func(t *testing.T) {
			b := WangTsiatis(row.alpha, row.rounds, row.looks, WangTsiatisShape)
			var sum float64
			for i, level := range b.Levels {
				sum += level
				if level > row.alpha+1e-9 || i > 0 && level < b.Levels[i-1] {
					t.Errorf("got levels %v", b.Levels)
				}
			}
			if sum < row.alpha-1e-9 {
				t.Errorf("the levels %v add up to less than %v", b.Levels, row.alpha)
			}
		})
	}
}

func TestSequentialGateVectors(t *testing.T) {
	boundaries := map[string]Boundary{} // the plans are the same, and take their time
	for _, v := range vectors(t, "sequential_gate") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Looks []struct {
					Round  int
					CA, CB []int
				}
				Rounds        int     `json:"r_max"`
				LookRounds    []int   `json:"look_rounds"`
				Shape         float64 `json:"wt_delta"`
				Alpha, Margin float64
			}
			var want struct {
				Stop            int `json:"stop_round"`
				Verdict         string
				Lo, Hi, Nominal number
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			plan := fmt.Sprint(in.Alpha, in.Rounds, in.LookRounds, in.Shape)
			if _, known := boundaries[plan]; !known {
				boundaries[plan] = WangTsiatis(in.Alpha, in.Rounds, in.LookRounds, in.Shape)
			}
			b := boundaries[plan]
			for _, look := range in.Looks {
				level, planned := b.Level(look.Round)
				if !planned {
					t.Fatalf("no look after round %d", look.Round)
				}
				var base, head []Case
				for i := range look.CA {
					base, head = append(base, Passed(look.CA[i], look.Round)), append(head, Passed(look.CB[i], look.Round))
				}
				got := Difference(base, head, level)
				decision := Decide(got, in.Margin)
				if look.Round < want.Stop {
					if decision != Inconclusive {
						t.Fatalf("round %d: stopped with %s", look.Round, decision)
					}
					continue
				}
				if look.Round != want.Stop || decision != Decision(strings.ToLower(want.Verdict)) {
					t.Fatalf("round %d: got %s, want %s after round %d", look.Round, decision, want.Verdict, want.Stop)
				}
				near(t, "low", got.Low, want.Lo, v.Tol)
				near(t, "high", got.High, want.Hi, v.Tol)
				near(t, "level", level, want.Nominal, v.Tol)
				return
			}
			t.Errorf("never reached round %d", want.Stop)
		})
	}
}

func TestBetVectors(t *testing.T) {
	for _, v := range vectors(t, "eprocess") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Rounds        [][]float64
				Margin, Alpha float64
			}
			var want struct {
				Fail    number `json:"w_fail"`
				Pass    number `json:"w_pass"`
				Verdict string
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			got := Bet(in.Rounds, in.Margin, in.Alpha)
			near(t, "fail", got.Fail, want.Fail, v.Tol)
			near(t, "pass", got.Pass, want.Pass, v.Tol)
			decision := Decision(strings.ToLower(want.Verdict))
			if want.Verdict == "CONTINUE" {
				decision = Inconclusive
			}
			if got.Decision != decision {
				t.Errorf("got %s, want %s", got.Decision, decision)
			}
		})
	}
}

// What was shown once stays shown, whatever follows.
func TestBetsStand(t *testing.T) {
	worse, better := []float64{-1, -1, -1, -1, -1}, []float64{1, 1, 1, 1, 1}
	rounds := [][]float64{worse, worse, better, better, better}
	if got := Bet(rounds, 0.05, 0.05); got.Decision != Fail || got.Fail >= 20 {
		t.Errorf("got %+v, want a fail of before", got)
	}
	if got := Bet([][]float64{better, better, better}, 0.05, 0.05); got.Decision != Pass {
		t.Errorf("got %+v, want %s", got, Pass)
	}
}

func TestConfidenceSequenceVectors(t *testing.T) {
	for _, v := range vectors(t, "beta_confseq") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				C, N         int
				Alpha, Prior float64
			}
			var want struct{ Lo, Hi number }
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			if in.Prior != 0.5 {
				t.Fatalf("prior: got %v, want ½", in.Prior)
			}
			got := ConfidenceSequence(in.C, in.N, 1-in.Alpha)
			near(t, "low", got.Low, want.Lo, v.Tol)
			near(t, "high", got.High, want.Hi, v.Tol)
		})
	}
	if got := ConfidenceSequence(0, 0, 0.95); !math.IsNaN(got.Point) || got.Low != 0 || got.High != 1 {
		t.Errorf("without trials: got %+v, want a NaN point in [0, 1]", got)
	}
}

// TestConfidenceSequenceHoldsAtAllTimes follows all ways that 60 repeats can go, and
// adds up those on which the interval ever misses the true rate.
func TestConfidenceSequenceHoldsAtAllTimes(t *testing.T) {
	const trials = 60
	for _, p := range []float64{0.02, 0.3, 0.5, 0.9} {
		alive := map[int]float64{0: 1} // by passes so far, ways on which it never missed
		var missed float64
		for n := 1; n <= trials; n++ {
			next := map[int]float64{}
			for c, chance := range alive {
				next[c] += chance * (1 - p)
				next[c+1] += chance * p
			}
			for c, chance := range next {
				if ci := ConfidenceSequence(c, n, 0.95); p < ci.Low || p > ci.High {
					missed += chance
					delete(next, c)
				}
			}
			alive = next
		}
		if missed > 0.05 {
			t.Errorf("rate %v: missed with a chance of %v", p, missed)
		}
	}
}

func TestCurtailVectors(t *testing.T) {
	type inputs struct {
		C, N    int
		Needed  int `json:"r"`
		Planned int `json:"N"`
	}
	// JSON has a "N" and a "n", which encoding/json takes for each other.
	read := func(t *testing.T, v vector) inputs {
		var in map[string]int
		decode(t, v.Inputs, &in)
		return inputs{C: in["c"], N: in["n"], Needed: in["r"], Planned: in["N"]}
	}
	for _, v := range vectors(t, "curtail") {
		t.Run(v.ID, func(t *testing.T) {
			in := read(t, v)
			var want struct{ Decision string }
			decode(t, v.Expected, &want)
			decision := Decision(strings.ToLower(want.Decision))
			if want.Decision == "CONTINUE" {
				decision = Inconclusive
			}
			if got := Curtail(in.C, in.N, in.Needed, in.Planned); got != decision {
				t.Errorf("got %s, want %s", got, decision)
			}
			if got := Curtailed(in.C, in.N, in.Needed, in.Planned); math.IsNaN(got) != (decision == Inconclusive) {
				t.Errorf("rate: got %v, and the decision is %s", got, decision)
			}
		})
	}
	for _, v := range vectors(t, "gms_unbiased") {
		t.Run(v.ID, func(t *testing.T) {
			in := read(t, v)
			var want struct{ Naive, Unbiased number }
			decode(t, v.Expected, &want)
			near(t, "share", float64(in.C)/float64(in.N), want.Naive, v.Tol)
			near(t, "unbiased", Curtailed(in.C, in.N, in.Needed, in.Planned), want.Unbiased, v.Tol)
		})
	}
}

// TestCurtailExpectationVectors follows all ways that the repeats can go.
func TestCurtailExpectationVectors(t *testing.T) {
	for _, v := range vectors(t, "curtail_expectation") {
		t.Run(v.ID, func(t *testing.T) {
			var in map[string]float64
			var want struct {
				Unbiased number `json:"expect_unbiased"`
				Naive    number `json:"expect_naive"`
				Trials   number `json:"average_trials"`
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			unbiased, naive, trials := curtailedMeans(int(in["r"]), int(in["N"]), in["p"])
			near(t, "unbiased", unbiased, want.Unbiased, v.Tol)
			near(t, "share", naive, want.Naive, v.Tol)
			near(t, "trials", trials, want.Trials, v.Tol)
		})
	}
}

func curtailedMeans(needed, planned int, p float64) (unbiased, naive, trials float64) {
	open := map[int]float64{0: 1}
	for n := 1; n <= planned; n++ {
		next := map[int]float64{}
		for c, chance := range open {
			next[c] += chance * (1 - p)
			next[c+1] += chance * p
		}
		for c, chance := range next {
			if Curtail(c, n, needed, planned) != Inconclusive {
				unbiased += chance * Curtailed(c, n, needed, planned)
				naive += chance * float64(c) / float64(n)
				trials += chance * float64(n)
				delete(next, c)
			}
		}
		open = next
	}
	return unbiased, naive, trials
}

// TestCurtailedIsUnbiased for any rule, those of a single repeat too; and a rule is
// decided when all its repeats are made.
func TestCurtailedIsUnbiased(t *testing.T) {
	for planned := 1; planned <= 7; planned++ {
		for needed := 1; needed <= planned; needed++ {
			for _, p := range []float64{0.1, 0.5, 0.8} {
				unbiased, _, _ := curtailedMeans(needed, planned, p)
				near(t, "mean", unbiased, number(p), 1e-12)
			}
			for c := range planned + 1 {
				want := Fail
				if c >= needed {
					want = Pass
				}
				if got := Curtail(c, planned, needed, planned); got != want {
					t.Errorf("%d of %d, needed %d: got %s, want %s", c, planned, needed, got, want)
				}
			}
		}
	}
}

func TestSPRTVectors(t *testing.T) {
	for _, v := range vectors(t, "sprt") {
		t.Run(v.ID, func(t *testing.T) {
			var in struct {
				Good        float64 `json:"p_good"`
				Bad         float64 `json:"p_bad"`
				Alpha, Beta float64
				C, N        int
			}
			var want struct {
				Upper, Lower, LLR number
				Decision          string
			}
			decode(t, v.Inputs, &in)
			decode(t, v.Expected, &want)
			s := SPRT{Good: in.Good, Bad: in.Bad, Alpha: in.Alpha, Beta: in.Beta}
			lower, upper := s.Bounds()
			near(t, "lower", lower, want.Lower, v.Tol)
			near(t, "upper", upper, want.Upper, v.Tol)
			near(t, "evidence", s.Evidence(in.C, in.N), want.LLR, v.Tol)
			decisions := map[string]Decision{"continue": Inconclusive, "accept_good": Pass, "reject_good": Fail}
			if got := s.Decide(in.C, in.N); got != decisions[want.Decision] {
				t.Errorf("got %s, want %s", got, want.Decision)
			}
		})
	}
}

// TestSPRTErrors follows all ways that 60 repeats can go, of a good case and of a bad
// one, with errors that differ.
func TestSPRTErrors(t *testing.T) {
	s := SPRT{Good: 0.9, Bad: 0.5, Alpha: 0.02, Beta: 0.1}
	for _, row := range []struct {
		name  string
		p     float64
		wrong Decision
		most  float64
	}{{"good", s.Good, Fail, s.Alpha}, {"bad", s.Bad, Pass, s.Beta}} {
		t.Run(row.name, func(t *testing.T) {
			open := map[int]float64{0: 1}
			var wrong, right float64
			for n := 1; n <= 60; n++ {
				next := map[int]float64{}
				for c, chance := range open {
					next[c] += chance * (1 - row.p)
					next[c+1] += chance * row.p
				}
				for c, chance := range next {
					if d := s.Decide(c, n); d != Inconclusive {
						delete(next, c)
						if d == row.wrong {
							wrong += chance
						} else {
							right += chance
						}
					}
				}
				open = next
			}
			if wrong > row.most || right < 0.85 {
				t.Errorf("wrong with a chance of %.4f, want at most %v; right with %.4f", wrong, row.most, right)
			}
		})
	}
}
