package aggregate

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A bench makes summaries of cells, of which each repeat is said.
type bench struct {
	snap    eval.Snapshot
	results []([]eval.Result)
}

// cell adds one with a result for each of its repeats.
func (b *bench) cell(of eval.CaseRef, v eval.Variant, results ...eval.Result) {
	b.snap.Cases = append(b.snap.Cases, of)
	b.snap.Variants = append(b.snap.Variants, v)
	n := len(b.results)
	b.snap.Plan.Cells = append(b.snap.Plan.Cells, eval.Cell{Case: n, Variant: n, Repeats: len(results)})
	b.results = append(b.results, results)
}

// agent adds a case in the default variant, of which c of n repeats pass.
func (b *bench) agent(id string, c, n int) {
	b.cell(eval.CaseRef{ID: id, Kind: eval.KindAgent}, eval.NewVariant(nil), passes(c, n)...)
}

func passes(c, n int) []eval.Result {
	results := make([]eval.Result, n)
	for i := range results {
		results[i].Verdict = eval.Fail
		if i < c {
			results[i].Verdict = eval.Pass
		}
	}
	return results
}

func verdicts(vs ...eval.Verdict) []eval.Result {
	results := make([]eval.Result, len(vs))
	for i, v := range vs {
		results[i].Verdict = v
	}
	return results
}

// summary of all results but those without a verdict.
func (b *bench) summary(t *testing.T) eval.Summary {
	t.Helper()
	at := ordinals(t, b.snap.Plan)
	var rs []store.Row
	for i, results := range b.results {
		for j, r := range results {
			if r.Verdict != "" {
				rs = append(rs, store.Row{Ordinal: at[[2]int{i, j + 1}], Result: r})
			}
		}
	}
	s, err := Summarize(eval.Run{}, b.snap, each(rs), eval.Ledger{})
	if err != nil {
		t.Fatal(err)
	}
	eval.Encode(s) // panics on what JSON cannot hold
	return s
}

func near(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= tolerance) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// The pass^k that tau-bench published for gpt-4o on its airline tasks (Yao et al.
// 2024) follow from how often each of the 50 tasks passed in 4 trials.
func TestPublishedPassHatK(t *testing.T) {
	var b bench
	for c, tasks := range []int{14, 12, 10, 4, 10} {
		for i := range tasks {
			b.agent(string(rune('a'+c))+string(rune('a'+i)), c, 4)
		}
	}
	s := b.summary(t).Kinds[eval.KindAgent]
	for k, want := range []float64{0.420, 0.273, 0.220, 0.200} {
		near(t, "pass^k", s.PassHatK[k].Value, want, 0.0005)
	}
	near(t, "pass rate", s.PassRate.Value, 0.42, 1e-12)
	near(t, "these cases again, low", &s.PassRate.Low, 0.367, 0.002)
	near(t, "these cases again, high", &s.PassRate.High, 0.475, 0.002)
	near(t, "cases like these, low", &s.PassRate.Others.Low, 0.321, 0.002)
	near(t, "cases like these, high", &s.PassRate.Others.High, 0.526, 0.002)
	if s.PassRate.N != 200 || s.PassRate.Cells != 50 || len(s.PassAtK) != 4 || s.PassAtK[3].Cells != 50 {
		t.Errorf("got n %d in %d cells and %d pass@k over %d cells, want 200, 50, 4 and 50",
			s.PassRate.N, s.PassRate.Cells, len(s.PassAtK), s.PassAtK[3].Cells)
	}
	near(t, "pass@4", s.PassAtK[3].Value, 36./50, 1e-12)
	// D = 2·(P - pass^2), since 2p(1-p) = 2(p-p²).
	near(t, "disagreement", s.Disagreement.Value, 2*(*s.PassHatK[0].Value-*s.PassHatK[1].Value), 1e-12)
}

// Each cell counts the same, however often it was tried.
func TestRateOfUnequalCells(t *testing.T) {
	var b bench
	b.agent("often", 9, 9)
	b.agent("seldom", 0, 1)
	s := b.summary(t).Kinds[eval.KindAgent]
	near(t, "pass rate", s.PassRate.Value, 0.5, 0)
	if got := len(s.PassHatK); got != 9 {
		t.Fatalf("got pass^k up to %d, want 9", got)
	}
	if one, two := s.PassHatK[0].Cells, s.PassHatK[1].Cells; one != 2 || two != 1 {
		t.Errorf("got pass^1 of %d cells and pass^2 of %d, want 2 and 1", one, two)
	}
	if s.PassHatK[1].Others != nil {
		t.Errorf("one case says something of others: %v", s.PassHatK[1].Others)
	}
}

// What has no number is null or left out.
func TestNothingIsNoNumber(t *testing.T) {
	var b bench
	b.cell(eval.CaseRef{ID: "broken", Kind: eval.KindAgent}, eval.NewVariant(nil), verdicts(eval.Error, eval.Error)...)
	b.cell(eval.CaseRef{ID: "skipped", Kind: eval.KindCatalog}, eval.NewVariant(nil), verdicts(eval.Skipped)...)
	s := b.summary(t)
	broken, skipped := s.Kinds[eval.KindAgent], s.Kinds[eval.KindCatalog]
	if broken.PassRate.Value != nil || broken.Disagreement != nil || broken.PassHatK != nil || broken.Variance != nil || broken.PassRate.Others != nil {
		t.Errorf("errors alone: got %+v, want no number", broken)
	}
	if diff := cmp.Diff(&eval.Open{Bounds: eval.Bounds{Low: 0, High: 1}, Error: 1}, broken.Open); diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	if skipped.Open != nil || skipped.PassRate.Value != nil {
		t.Errorf("a skipped trial: got %+v, want nothing open and no rate", skipped)
	}
	if got := s.Cells[0]; got.Class != string(stats.NoData) || got.Bound != "" {
		t.Errorf("got class %q %q of errors, want no_data", got.Class, got.Bound)
	}
}

func TestClass(t *testing.T) {
	tests := []struct {
		name         string
		kind         eval.Kind
		c, n         int
		class, bound string
	}{
		{"three passes", eval.KindAgent, 3, 3, "pass_unconfirmed", "3/3, p ≥ 0.37"},
		{"three fails", eval.KindAgent, 0, 3, "fail_unconfirmed", "0/3, p ≤ 0.63"},
		{"both", eval.KindAgent, 2, 3, "flaky", "2/3"},
		{"enough passes", eval.KindAgent, 29, 29, "stable_pass", "29/29, p ≥ 0.90"},
		{"enough fails", eval.KindAgent, 0, 29, "stable_fail", "0/29, p ≤ 0.10"},
		{"an agent once", eval.KindAgent, 1, 1, "pass_unconfirmed", "1/1, p ≥ 0.05"},
		{"a script twice", eval.KindScript, 1, 2, "flaky", "1/2"},
		{"a script once", eval.KindScript, 1, 1, "", ""},
		{"a catalog twice", eval.KindCatalog, 2, 2, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			b.cell(eval.CaseRef{ID: "c", Kind: tt.kind}, eval.NewVariant(nil), passes(tt.c, tt.n)...)
			if got := b.summary(t).Cells[0]; got.Class != tt.class || got.Bound != tt.bound {
				t.Errorf("got %q %q, want %q %q", got.Class, got.Bound, tt.class, tt.bound)
			}
		})
	}
}

// Cases that share something are one case to those who ask for others like them.
func TestClusters(t *testing.T) {
	rate := func(label string, variants ...map[string]string) eval.Rate95 {
		var b bench
		for i, id := range []string{"a", "b", "c", "d"} {
			ref := eval.CaseRef{ID: id, Kind: eval.KindAgent}
			if label != "" {
				ref.Labels = map[string]string{"cluster": label + string(id[0]/2)}
			}
			for _, v := range variants {
				b.cell(ref, eval.NewVariant(v), passes(i, 3)...)
			}
		}
		return b.summary(t).Kinds[eval.KindAgent].PassRate
	}
	wide := func(r eval.Rate95) float64 { return r.Others.High - r.Others.Low }
	single := rate("", nil)
	twice := rate("", map[string]string{"x": "1"}, map[string]string{"x": "2"})
	if a, b := wide(single), wide(twice); math.Abs(a-b) > 0.02 {
		t.Errorf("a second variant of each case changed the width from %v to %v: it brings no other cases", a, b)
	}
	if a, b := single.High-single.Low, twice.High-twice.Low; b >= a {
		t.Errorf("twice the trials of these cases: the width went from %v to %v", a, b)
	}
	if a, b := wide(single), wide(rate("t", nil)); b <= a {
		t.Errorf("fewer clusters of the same cases: the width went from %v to %v", a, b)
	}
}

// A round counts once all of its trials are there, and no round behind a gap does.
func TestCompleteRounds(t *testing.T) {
	tests := []struct {
		name string
		a, b []eval.Result
		want eval.VerdictCounts
	}{
		{"all", passes(1, 3), passes(3, 3), eval.VerdictCounts{Pass: 4, Fail: 2}},
		{"the last one is short", passes(2, 3), verdicts(eval.Pass, eval.Error, ""), eval.VerdictCounts{Pass: 3, Error: 1}},
		{"a gap", passes(3, 3), verdicts(eval.Pass, "", eval.Pass), eval.VerdictCounts{Pass: 2}},
		{"none", passes(3, 3), verdicts("", eval.Pass, eval.Pass), eval.VerdictCounts{}},
		{"as often as planned", passes(3, 3), passes(1, 1), eval.VerdictCounts{Pass: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			b.cell(eval.CaseRef{ID: "a", Kind: eval.KindAgent}, eval.NewVariant(nil), tt.a...)
			b.cell(eval.CaseRef{ID: "b", Kind: eval.KindAgent}, eval.NewVariant(nil), tt.b...)
			s := b.summary(t).Kinds[eval.KindAgent]
			if diff := cmp.Diff(tt.want, s.Settled()); diff != "" {
				t.Errorf("counts of complete rounds (-want +got):\n%s", diff)
			}
			if (s.Complete == nil) != (s.Counts == tt.want) {
				t.Errorf("complete is %v beside counts %v", s.Complete, s.Counts)
			}
			if got, want := s.PassRate.N, tt.want.Pass+tt.want.Fail; got != want {
				t.Errorf("rate of %d trials, want %d", got, want)
			}
		})
	}
}

func TestVarianceSplit(t *testing.T) {
	vote := func(pass bool, votes ...bool) eval.Result {
		r := eval.Result{Verdict: eval.Fail, Scores: []eval.Score{{Check: "any", Group: eval.GroupAny, Parts: []eval.Score{{Check: "judge"}}}}}
		if pass {
			r.Verdict = eval.Pass
		}
		for _, v := range votes {
			r.Scores[0].Parts[0].Votes = append(r.Scores[0].Parts[0].Votes, eval.Vote{Pass: &v})
		}
		return r
	}
	tests := []struct {
		name    string
		results []eval.Result
		want    *eval.VarianceSplit
	}{
		{"all agree", passes(3, 3), nil},
		{"one run", passes(1, 1), nil},
		{"the agent", passes(1, 2), &eval.VarianceSplit{Agent: 1}},
		{"a judge of one vote is not seen", []eval.Result{vote(true, true), vote(false, false)}, &eval.VarianceSplit{Agent: 1}},
		// D = 1; of one trial two of three pairs of votes disagree, of the other none: J = 1/3.
		{"a judge in part", []eval.Result{vote(true, true, true, false), vote(false, false, false)}, &eval.VarianceSplit{Agent: 2. / 3, Judge: 1. / 3}},
		// D = 0, T = 1.
		{"the infrastructure", verdicts(eval.Pass, eval.Error), &eval.VarianceSplit{Infrastructure: 1}},
		// D = 2/3, T = 2·1·3/12 = 1/2: less than D.
		{"an error among fails adds none", verdicts(eval.Pass, eval.Fail, eval.Fail, eval.Error), &eval.VarianceSplit{Agent: 1}},
		// D = 1/2, T = 2·3·2/20 = 3/5.
		{"both", verdicts(eval.Pass, eval.Pass, eval.Pass, eval.Fail, eval.Unjudged), &eval.VarianceSplit{Agent: 5. / 6, Infrastructure: 1. / 6}},
	}
	near := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			b.cell(eval.CaseRef{ID: "c", Kind: eval.KindAgent}, eval.NewVariant(nil), tt.results...)
			got := b.summary(t).Kinds[eval.KindAgent].Variance
			if diff := cmp.Diff(tt.want, got, near); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Of an agent's trial its cost, tokens and turns are told as well; a cost that nobody
// knows is not left out of a mean.
func TestWhatTrialsTook(t *testing.T) {
	priced := eval.Result{
		Verdict: eval.Pass, Usage: eval.Usage{Input: 90, Output: 10}, CostMicroUSD: new(int64(300)), Counts: eval.Counts{Turns: 2},
		Server: eval.ServerInfo{Name: "desk", Version: "1"}, Listing: &eval.Listing{Fingerprint: "sha256:a"},
	}
	other := priced
	other.CostMicroUSD, other.Server.Version = new(int64(100)), "2"
	unknown := priced
	unknown.CostMicroUSD = nil
	var b bench
	b.cell(eval.CaseRef{ID: "known", Kind: eval.KindAgent}, eval.NewVariant(nil), priced, other)
	b.cell(eval.CaseRef{ID: "unknown", Kind: eval.KindAgent}, eval.NewVariant(nil), priced, unknown)
	b.cell(eval.CaseRef{ID: "script", Kind: eval.KindScript}, eval.NewVariant(nil), priced)
	s := b.summary(t)
	known, without := s.Cells[0], s.Cells[1]
	near(t, "cost", known.CostMean, 200, 0)
	if without.CostMean != nil || without.Cost.N != 0 || s.Kinds[eval.KindAgent].Cost.N != 0 {
		t.Errorf("an unknown cost: got mean %v, and percentiles of %d and %d costs, want none", without.CostMean, without.Cost.N, s.Kinds[eval.KindAgent].Cost.N)
	}
	if known.Cost.P50 != 100 || known.Cost.Max != 300 || known.Tokens.P50 != 100 || known.Turns.Max != 2 {
		t.Errorf("got cost %+v, tokens %+v, turns %+v", known.Cost, known.Tokens, known.Turns)
	}
	if diff := cmp.Diff([][]string{{"desk 1", "desk 2"}, {"sha256:a"}}, [][]string{known.Servers, known.Listings}); diff != "" {
		t.Errorf("servers and listings (-want +got):\n%s", diff)
	}
	if script := s.Cells[2]; script.Tokens.N+script.Turns.N+script.Cost.N != 0 {
		t.Errorf("a script has tokens, turns or a cost: %+v", script)
	}
}

func TestGroups(t *testing.T) {
	var b bench
	for _, v := range []map[string]string{{"model": "big"}, {"model": "small"}} {
		b.cell(eval.CaseRef{ID: "both", Kind: eval.KindAgent, Tags: []string{"smoke", "smoke"}}, eval.NewVariant(v), passes(2, 2)...)
	}
	b.cell(eval.CaseRef{ID: "one", Kind: eval.KindAgent}, eval.NewVariant(map[string]string{"model": "big"}), passes(0, 2)...)
	b.cell(eval.CaseRef{ID: "script", Kind: eval.KindScript, Tags: []string{"smoke"}}, eval.NewVariant(nil), passes(1, 1)...)
	var got []string
	for _, g := range b.summary(t).Groups {
		if g.Cells != g.PassRate.Cells {
			t.Errorf("%s %s has %d cells, and a rate of %d", g.By, g.Name, g.Cells, g.PassRate.Cells)
		}
		got = append(got, string(g.By)+" "+g.Name+" "+string(g.Kind)+" "+map[float64]string{0.5: "half", 1: "all"}[*g.PassRate.Value])
	}
	want := []string{"case both agent all", "tag smoke agent all", "tag smoke script all", "variant model=big agent half", "variant model=small agent all"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
