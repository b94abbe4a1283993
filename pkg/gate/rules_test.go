package gate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// agents are cells of one agent's case each, with so many passes of so many trials.
func agents(n, passed, trials int) []eval.CellStats {
	var cells []eval.CellStats
	for i := range n {
		cells = append(cells, agent(fmt.Sprintf("case/%d", i), eval.VerdictCounts{Pass: passed, Fail: trials - passed}))
	}
	return cells
}

func agent(id string, c eval.VerdictCounts) eval.CellStats {
	return eval.CellStats{Case: id, Kind: eval.KindAgent, Stats: eval.Stats{Counts: c}}
}

// join gives cells and more of them.
func join(cells []eval.CellStats, more ...eval.CellStats) []eval.CellStats {
	return slices.Concat(cells, more)
}

// armOf is the arm of a run of cells.
func armOf(run string, cells ...eval.CellStats) *eval.Arm {
	s, snap := ofCells(cells...)
	s.Run = run
	arm := eval.NewArm(snap, s)
	return &arm
}

func onAgents(m eval.Metric, op string, bound float64) eval.Rule {
	return eval.Rule{Metric: m, Kind: eval.KindAgent, Op: op, Bound: bound}
}

func TestRules(t *testing.T) {
	latency := func(cells []eval.CellStats, ms ...float64) []eval.CellStats {
		for i := range cells {
			cells[i].Latency.P50 = ms[i%len(ms)]
		}
		return cells
	}
	cost := func(cells []eval.CellStats, micro ...float64) []eval.CellStats {
		for i := range cells {
			cells[i].CostMean, cells[i].Cost.N = &micro[i%len(micro)], 5
		}
		return cells
	}
	listing := func(cells []eval.CellStats, prints ...string) []eval.CellStats {
		for i := range cells {
			cells[i].Listings = []string{prints[i%len(prints)]}
		}
		return cells
	}
	regressions := eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.05}
	hat := onAgents(eval.MetricPassHatK, ">=", 0.6)
	hat.K = 3
	observed := onAgents(eval.MetricPassRate, ">=", 0.9)
	observed.Observed = true
	relative := func(m eval.Metric, factor float64) eval.Rule {
		r := onAgents(m, "<=", factor)
		r.Relative = true
		return r
	}
	tests := []struct {
		name  string
		rule  eval.Rule
		cells []eval.CellStats
		arms  Arms
		want  eval.Decision
		says  string
	}{
		{name: "a rate that reaches its bound", rule: onAgents(eval.MetricPassRate, ">=", 0.8), cells: agents(20, 5, 5), want: "pass", says: "pass_rate 100/100"},
		{name: "11 of 11 do not show 0.8", rule: onAgents(eval.MetricPassRate, ">=", 0.8), cells: agents(11, 1, 1), want: "inconclusive", says: "too little is known"},
		{name: "14 of 14 do", rule: onAgents(eval.MetricPassRate, ">=", 0.8), cells: agents(14, 1, 1), want: "pass"},
		{name: "a rate far below", rule: onAgents(eval.MetricPassRate, ">=", 0.8), cells: agents(20, 1, 5), want: "fail"},
		{name: "the rate as it is", rule: observed, cells: agents(2, 9, 10), want: "pass"},
		{name: "the rate as it is, missed", rule: observed, cells: agents(2, 8, 10), want: "fail"},
		{
			name: "missing trials that cannot save it", rule: onAgents(eval.MetricPassRate, ">=", 0.8),
			cells: join(agents(20, 1, 5), agent("open", eval.VerdictCounts{Unjudged: 5})), want: "fail",
		},
		{
			name: "missing trials that could break it", rule: onAgents(eval.MetricPassRate, ">=", 0.9),
			cells: join(agents(9, 5, 5), agent("open", eval.VerdictCounts{Error: 5})), want: "inconclusive", says: "5 trials without a verdict",
		},
		{name: "all of three mostly pass", rule: hat, cells: agents(30, 5, 5), want: "pass", says: "pass^3 1"},
		{name: "all of three hardly pass", rule: hat, cells: agents(30, 2, 5), want: "fail"},
		{name: "repeats agree", rule: onAgents(eval.MetricDisagreement, "<=", 0.2), cells: agents(30, 5, 5), want: "pass"},
		{name: "repeats disagree", rule: onAgents(eval.MetricDisagreement, "<=", 0.2), cells: agents(30, 3, 5), want: "fail", says: "disagreement 0.6"},
		{
			name: "too many without a judge", rule: onAgents(eval.MetricUnjudged, "<=", 0.02),
			cells: join(agents(9, 5, 5), agent("open", eval.VerdictCounts{Unjudged: 5})), want: "fail", says: "unjudged 5/50",
		},
		{name: "nothing that came to a judge", rule: onAgents(eval.MetricUnjudged, "<=", 0.02), cells: join(nil, agent("open", eval.VerdictCounts{Error: 5})), want: "inconclusive"},
		{name: "nothing that took time", rule: onAgents(eval.MetricLatencyP50, "<=", 500), cells: join(nil, agent("open", eval.VerdictCounts{Error: 5})), want: "inconclusive"},
		{name: "few enough without a judge", rule: onAgents(eval.MetricUnjudged, "<=", 0.02), cells: agents(9, 5, 5), want: "pass"},

		{name: "no baseline", rule: regressions, cells: agents(20, 5, 5), want: "none", says: "nothing to compare with"},
		{name: "as good as the baseline", rule: regressions, cells: agents(50, 5, 5), arms: Arms{Base: armOf("r-base", agents(50, 5, 5)...)}, want: "pass"},
		{name: "worse than the baseline", rule: regressions, cells: agents(20, 3, 5), arms: Arms{Base: armOf("r-base", agents(20, 5, 5)...)}, want: "fail", says: "-0.4 against run r-base"},
		{name: "nothing passed or failed", rule: regressions, cells: []eval.CellStats{agent("case/0", eval.VerdictCounts{Error: 3})}, arms: Arms{Base: armOf("r-base", agents(1, 3, 3)...)}, want: "inconclusive", says: "in no complete round has a cell passed or failed"},
		{name: "alike, and too few to say so", rule: regressions, cells: agents(3, 3, 3), arms: Arms{Base: armOf("r-base", agents(3, 3, 3)...)}, want: "inconclusive"},
		{
			name: "worse within tolerance", rule: eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.3},
			cells: agents(100, 4, 5), arms: Arms{Base: armOf("r-base", agents(100, 5, 5)...)}, want: "pass", says: "significantly worse but within tolerance",
		},
		{
			name: "a suspect that nobody has confirmed", rule: eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.1},
			cells: join(agents(60, 5, 5), agent("broken", eval.VerdictCounts{Fail: 5})),
			arms: Arms{
				Base:    armOf("r-base", join(agents(60, 5, 5), agent("broken", eval.VerdictCounts{Pass: 5}))...),
				History: armOf("r-base", join(agents(60, 25, 25), agent("broken", eval.VerdictCounts{Pass: 25}))...),
			},
			want: "pass", says: "no reason to fail: broken looked worse",
		},
		{
			name: "a suspect that is confirmed", rule: eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.1},
			cells: join(agents(60, 5, 5), agent("broken", eval.VerdictCounts{Fail: 5})),
			arms: Arms{
				Base:    armOf("r-base", join(agents(60, 5, 5), agent("broken", eval.VerdictCounts{Pass: 5}))...),
				History: armOf("r-base", join(agents(60, 25, 25), agent("broken", eval.VerdictCounts{Pass: 25}))...),
				Fresh:   armOf("r-fresh", agent("broken", eval.VerdictCounts{Fail: 8})),
			},
			want: "fail", says: "fresh repeats confirm that broken got worse",
		},
		{
			name: "a suspect that is cleared", rule: eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.1},
			cells: join(agents(60, 5, 5), agent("lucky", eval.VerdictCounts{Fail: 5})),
			arms: Arms{
				Base:    armOf("r-base", join(agents(60, 5, 5), agent("lucky", eval.VerdictCounts{Pass: 5}))...),
				History: armOf("r-base", join(agents(60, 25, 25), agent("lucky", eval.VerdictCounts{Pass: 24, Fail: 1}))...),
				Fresh:   armOf("r-fresh", agent("lucky", eval.VerdictCounts{Pass: 8})),
			},
			want: "pass",
		},

		{
			name: "as fast as the baseline", rule: relative(eval.MetricLatencyP50, 1.2), cells: latency(agents(10, 5, 5), 100, 110, 90),
			arms: Arms{Base: armOf("r-base", latency(agents(10, 5, 5), 101, 108, 91)...)}, want: "pass",
		},
		{
			name: "twice as slow", rule: relative(eval.MetricLatencyP50, 1.2), cells: latency(agents(10, 5, 5), 200, 220, 180),
			arms: Arms{Base: armOf("r-base", latency(agents(10, 5, 5), 101, 108, 91)...)}, want: "fail", says: "want <= baseline * 1.2",
		},
		{
			name: "too few cells for medians", rule: relative(eval.MetricLatencyP50, 1.2), cells: latency(agents(3, 5, 5), 100),
			arms: Arms{Base: armOf("r-base", latency(agents(3, 5, 5), 100)...)}, want: "inconclusive",
		},
		{name: "cheap enough", rule: onAgents(eval.MetricCost, "<=", 50_000), cells: cost(agents(4, 5, 5), 40_000, 55_000), want: "pass", says: "$0.0475"},
		{name: "too dear", rule: onAgents(eval.MetricCost, "<=", 50_000), cells: cost(agents(4, 5, 5), 60_000), want: "fail"},
		{name: "a cost that nobody knows", rule: onAgents(eval.MetricCost, "<=", 50_000), cells: agents(4, 5, 5), want: "inconclusive", says: "nobody knows what case/0 cost"},
		{
			name: "nothing then and now", rule: relative(eval.MetricCost, 1.1), cells: cost(agents(8, 5, 5), 0),
			arms: Arms{Base: armOf("r-base", cost(agents(8, 5, 5), 0)...)}, want: "pass", says: "nothing in run r-base and here",
		},
		{
			name: "nothing then and something now", rule: relative(eval.MetricCost, 1.1), cells: cost(agents(8, 5, 5), 0, 3),
			arms: Arms{Base: armOf("r-base", cost(agents(8, 5, 5), 0)...)}, want: "fail", says: "something here",
		},
		{
			name: "dearer than the baseline", rule: relative(eval.MetricCost, 1.1), cells: cost(agents(8, 5, 5), 60_000, 61_000),
			arms: Arms{Base: armOf("r-base", cost(agents(8, 5, 5), 40_000, 42_000)...)}, want: "fail",
		},
		{name: "the tools of a fingerprint", rule: eval.Rule{Metric: eval.MetricCatalog, Fingerprint: "sha256:a"}, cells: listing(agents(2, 5, 5), "sha256:a"), want: "pass"},
		{name: "other tools", rule: eval.Rule{Metric: eval.MetricCatalog, Fingerprint: "sha256:a"}, cells: listing(agents(2, 5, 5), "sha256:a", "sha256:b"), want: "fail", says: "1 of 2 cells, first in case/1"},
		{
			name: "tools that are not those of the baseline", rule: eval.Rule{Metric: eval.MetricCatalog}, cells: listing(agents(2, 5, 5), "sha256:a"),
			arms: Arms{Base: armOf("r-base", listing(agents(2, 5, 5), "sha256:b")...)}, want: "fail",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := ofCells(tt.cells...)
			snap.Gate.Rules = []eval.Rule{tt.rule}
			Decide(&s, snap, tt.arms)
			if len(s.Rules) != 1 {
				t.Fatalf("got %d rules, want one", len(s.Rules))
			}
			r := s.Rules[0]
			if r.Decision != tt.want || !strings.Contains(r.Message, tt.says) {
				t.Errorf("got %s, %q, want %s and %q\n%s", r.Decision, r.Message, tt.want, tt.says, strings.Join(r.Details, "\n"))
			}
		})
	}
}

// A percentile is decided by the interval that the summary has.
func TestLatencyRules(t *testing.T) {
	tool := func(low, p95, high float64) []eval.ToolStats {
		return []eval.ToolStats{{Tool: "get_order", Latency: eval.Percentiles{N: 200, P95: p95, P95CI: &eval.Bounds{Low: low, High: high}}}}
	}
	few := []eval.ToolStats{{Tool: "get_order", Latency: eval.Percentiles{N: 20, P95: 400}}}
	tests := []struct {
		name       string
		head, base []eval.ToolStats
		rule       eval.Rule
		want       eval.Decision
	}{
		{"below", tool(300, 400, 450), nil, eval.Rule{Op: "<=", Bound: 500}, "pass"},
		{"above", tool(510, 600, 800), nil, eval.Rule{Op: "<=", Bound: 500}, "fail"},
		{"around", tool(400, 480, 520), nil, eval.Rule{Op: "<=", Bound: 500}, "inconclusive"},
		{"few values", few, nil, eval.Rule{Op: "<=", Bound: 500}, "inconclusive"},
		{"no call", nil, nil, eval.Rule{Op: "<=", Bound: 500}, "inconclusive"},
		{"as fast", tool(90, 100, 105), tool(95, 101, 106), eval.Rule{Op: "<=", Bound: 1.2, Relative: true}, "pass"},
		{"slower", tool(190, 200, 210), tool(95, 101, 106), eval.Rule{Op: "<=", Bound: 1.2, Relative: true}, "fail"},
		{"not told apart", tool(80, 100, 200), tool(95, 101, 106), eval.Rule{Op: "<=", Bound: 1.2, Relative: true}, "inconclusive"},
		{"the base has too few", tool(80, 100, 200), few, eval.Rule{Op: "<=", Bound: 1.2, Relative: true}, "inconclusive"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := ofCells(agents(1, 5, 5)...)
			s.Tools = tt.head
			tt.rule.Metric, tt.rule.Tool = eval.MetricLatencyP95, "get_order"
			snap.Gate.Rules = []eval.Rule{tt.rule}
			var arms Arms
			if tt.rule.Relative {
				arms.Base = &eval.Arm{Run: "r-base", Tools: tt.base}
			}
			Decide(&s, snap, arms)
			if got := s.Rules[0]; got.Decision != tt.want {
				t.Errorf("got %s, %q, want %s", got.Decision, got.Message, tt.want)
			}
		})
	}
}

// The order of exit codes, over what may come together.
func TestExitCodes(t *testing.T) {
	script := eval.CellStats{Case: "s", Kind: eval.KindScript}
	with := func(c eval.CellStats, counts eval.VerdictCounts) eval.CellStats {
		c.Counts = counts
		return c
	}
	rule := []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8)}
	passing, failing, open := agents(20, 5, 5), agents(20, 1, 5), agents(2, 3, 3)
	six := func(c eval.VerdictCounts) []eval.CellStats {
		var cells []eval.CellStats
		for i := range 6 {
			cells = append(cells, agent(fmt.Sprintf("down/%d", i), c))
		}
		return cells
	}
	errors := join(agents(14, 5, 5), six(eval.VerdictCounts{Error: 5})...)
	tests := []struct {
		name    string
		outcome eval.RunOutcome
		rules   []eval.Rule
		cells   []eval.CellStats
		code    eval.ExitCode
	}{
		{"all pass", "", rule, join(passing, with(script, eval.VerdictCounts{Pass: 1})), 0},
		{"a rule fails", "", rule, failing, 1},
		{"a rule is open", "", rule, open, 4},
		{"30 % of the trials end in errors of the provider", "", rule, errors, 3},
		{"as many fail instead", "", rule, join(agents(14, 5, 5), six(eval.VerdictCounts{Fail: 5})...), 1},
		{"a script fails before errors", "", rule, join(errors, with(script, eval.VerdictCounts{Fail: 1})), 1},
		{"errors before a rule that fails", "", rule, join(agents(20, 0, 5), agent("down", eval.VerdictCounts{Error: 30})), 3},
		{"a script's error before a rule that fails", "", rule, join(failing, with(script, eval.VerdictCounts{Error: 1})), 3},
		{"a rule that fails before what is unfinished", eval.OutcomeBudgetExhausted, rule, join(failing, with(script, eval.VerdictCounts{Unfinished: 1})), 1},
		{"a rule that fails before a script that is unjudged", "", rule, join(failing, with(script, eval.VerdictCounts{Unjudged: 1})), 1},
		{"a budget that ends before all is told", eval.OutcomeBudgetExhausted, rule, join(passing, agent("late", eval.VerdictCounts{Unfinished: 5})), 4},
		{"a budget that ends without a gate", eval.OutcomeBudgetExhausted, nil, join(failing, agent("late", eval.VerdictCounts{Unfinished: 5})), 4},
		{"agents fail without a gate", "", nil, failing, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := ofCells(tt.cells...)
			if tt.outcome != "" {
				s.Outcome = tt.outcome
			}
			snap.Gate.Rules = tt.rules
			Decide(&s, snap, Arms{})
			if s.ExitCode != int(tt.code) {
				t.Errorf("got exit code %d, want %d (reasons %q)", s.ExitCode, tt.code, s.Reasons)
			}
		})
	}
}

// A run that its budget has stopped fails by its complete rounds alone, and never
// passes.
func TestBudgetStopped(t *testing.T) {
	cut := func(passed, rounds int) (eval.Summary, eval.Snapshot) {
		cells := agents(20, passed, rounds)
		for i := range cells {
			whole := cells[i].Counts
			cells[i].Complete = &whole
			cells[i].Counts.Unfinished = 10 - rounds
		}
		s, snap := ofCells(cells...)
		s.Outcome = eval.OutcomeBudgetExhausted
		snap.Gate.Rules = []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.9), {Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.05}}
		return s, snap
	}
	base := Arms{Base: armOf("r-base", agents(20, 10, 10)...)}
	for _, tt := range []struct {
		name   string
		passed int
		code   int
	}{{"it would have passed", 5, 4}, {"a miss is proved", 1, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := cut(tt.passed, 5)
			Decide(&s, snap, base)
			if s.ExitCode != tt.code {
				t.Errorf("got exit code %d, want %d (reasons %q)", s.ExitCode, tt.code, s.Reasons)
			}
		})
	}
	s, snap := cut(0, 0)
	Decide(&s, snap, base)
	if s.ExitCode != int(eval.ExitInconclusive) {
		t.Errorf("without a complete round: got exit code %d, want 4 (reasons %q)", s.ExitCode, s.Reasons)
	}
}

func TestExemptions(t *testing.T) {
	later := now.Add(time.Hour)
	cells := join(agents(20, 5, 5), agent("order/late", eval.VerdictCounts{Fail: 5}), eval.CellStats{Case: "ping", Kind: eval.KindScript, Stats: eval.Stats{Counts: eval.VerdictCounts{Fail: 1}}})
	rules := []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.95)}
	tests := []struct {
		name        string
		waivers     []eval.Waiver
		quarantines []eval.Quarantine
		code        int
		used        []bool
	}{
		{"none", nil, nil, 1, nil},
		{"a script is waived", []eval.Waiver{{Case: "ping", Expires: later}}, nil, 4, []bool{true}},
		{"all that fails is out", []eval.Waiver{{Case: "ping", Expires: later}}, []eval.Quarantine{{Case: "order/late", Expires: later}}, 0, []bool{true, true}},
		{"a glob waives too", []eval.Waiver{{Case: "order", Expires: later}, {Case: "ping", Expires: later}}, nil, 0, []bool{true, true}},
		{"an expired one does nothing", []eval.Waiver{{Case: "ping", Expires: now}}, nil, 1, []bool{false}},
		{"one that nothing needs", []eval.Waiver{{Case: "case/1", Expires: later}}, nil, 1, []bool{false}},
		{"a quarantine of another variant", nil, []eval.Quarantine{{Case: "ping", Variant: "model=fast", Expires: later}}, 1, []bool{false}},
		{"the rule itself", []eval.Waiver{{Rule: eval.MetricPassRate, Expires: later}, {Case: "ping", Expires: later}}, nil, 0, []bool{true, true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := ofCells(cells...)
			snap.Gate.Rules, snap.Waivers, snap.Quarantines = rules, tt.waivers, tt.quarantines
			rate := s.Kinds[eval.KindAgent].Counts
			Decide(&s, snap, Arms{})
			if s.ExitCode != tt.code {
				t.Errorf("got exit code %d, want %d (reasons %q)", s.ExitCode, tt.code, s.Reasons)
			}
			for i, used := range tt.used {
				if s.Exemptions[i].Used != used {
					t.Errorf("exemption %d: got used %t, want %t", i, s.Exemptions[i].Used, used)
				}
			}
			if s.Kinds[eval.KindAgent].Counts != rate {
				t.Error("an exempt case left the rate")
			}
		})
	}
}

// The error of a gate is split over its rules and the values of its axis, and over the
// looks of a run that may stop.
func TestLevels(t *testing.T) {
	cells := join(agents(1, 5, 5), agents(1, 5, 5)...)
	cells[0].Variant, cells[1].Variant = "model=fast", "model=deep"
	_, snap := ofCells(cells...)
	snap.Axes = []eval.Axis{{Name: "model", Points: []eval.Point{{Value: "fast"}, {Value: "deep"}}}}
	share := onAgents(eval.MetricUnjudged, "<=", 0.02)
	own := eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.05, Alpha: 0.02}
	snap.Gate = eval.Gate{Per: "model", Rules: []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8), onAgents(eval.MetricDisagreement, "<=", 0.2), share, own}}
	var got []string
	sum := 0.0
	for _, c := range claims(snap, 0) {
		got = append(got, fmt.Sprintf("%s %s %.4g", c.narrowed(), c.Metric, c.level))
		if c.ByChance() {
			sum += c.level
		}
	}
	want := "agent [model=fast] pass_rate 0.0075, agent [model=deep] pass_rate 0.0075, agent [model=fast] disagreement 0.0075, agent [model=deep] disagreement 0.0075, " +
		"agent [model=fast] unjudged 0.0075, agent [model=deep] unjudged 0.0075, agent [model=fast] regressions 0.01, agent [model=deep] regressions 0.01"
	if strings.Join(got, ", ") != want {
		t.Errorf("got %s, want %s", strings.Join(got, ", "), want)
	}
	if math.Abs(sum-defaultAlpha) > 1e-12 {
		t.Errorf("the levels add up to %g, want %g", sum, defaultAlpha)
	}
	snap.Gate = eval.Gate{Rules: []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8)}}
	snap.Plan.Looks = []int{2, 3, 4, 5}
	for round, want := range map[int]float64{1: 0, 2: 0.01012, 5: 0.03241} {
		if got := claims(snap, round)[0].level; math.Abs(got-want) > 5e-5 {
			t.Errorf("look at round %d: got level %g, want %g", round, got, want)
		}
	}
	// Each has the level of its own alpha, however many have the same.
	own.Alpha = 0.05 / 3
	snap.Gate.Rules = []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8), own, onAgents(eval.MetricDisagreement, "<=", 0.2), own}
	snap.Gate.Alpha = 0.05 / 3 * 4
	snap.Gate.Rules[2].Alpha = 0.05 / 3 / 2
	looked := claims(snap, 5)
	if looked[1].level != looked[3].level || looked[2].level >= looked[1].level || looked[2].level <= 0 {
		t.Errorf("got levels %g, %g and %g, want the first two equal and the last less", looked[1].level, looked[3].level, looked[2].level)
	}
}

// A rule about no case is told, and refused where it names what it is about.
func TestIdleRules(t *testing.T) {
	script := eval.CellStats{Case: "s", Kind: eval.KindScript, Tags: []string{"refund"}}
	s, snap := ofCells(script)
	of := func(tag string) eval.Rule {
		r := onAgents(eval.MetricPassRate, ">=", 0.5)
		r.Tag = tag
		return r
	}
	slow := eval.Rule{Metric: eval.MetricUnjudged, Kind: eval.KindScript, Op: "<=", Bound: 0.1, Tag: "refund"}
	snap.Gate.Rules = []eval.Rule{of("refund"), of(""), slow}
	var got []string
	for _, d := range Doubts(snap) {
		got = append(got, fmt.Sprint(d.Rule, d.Unlikely))
	}
	if want := "0 false, 1 true"; strings.Join(got, ", ") != want {
		t.Errorf("got doubts %v, want %s", got, want)
	}
	Decide(&s, snap, Arms{})
	if got := s.Rules[0].Decision; got != eval.DecisionInconclusive {
		t.Errorf("got %s of a rule that was asked all the same, want it inconclusive", got)
	}
}

// A percentile of a part of the cases that a run does not keep apart is refused, and
// decides nothing where it is asked all the same.
func TestNotKept(t *testing.T) {
	cells := agents(20, 5, 5)
	for i := range cells {
		cells[i].Tags, cells[i].Variant = []string{"refund"}, "lang=en,model=fast"
	}
	s, snap := ofCells(cells...)
	snap.Variants = []eval.Variant{eval.NewVariant(map[string]string{"model": "fast", "lang": "en"})}
	for i := range snap.Plan.Cells {
		snap.Plan.Cells[i].Variant = 0
	}
	snap.Axes = []eval.Axis{{Name: "model", Points: []eval.Point{{Value: "fast"}}}, {Name: "lang", Points: []eval.Point{{Value: "en"}}}}
	rule := onAgents(eval.MetricLatencyP95, "<=", 2000)
	snap.Gate = eval.Gate{Per: "model", Rules: []eval.Rule{rule}}
	doubts := Doubts(snap)
	if len(doubts) != 1 || doubts[0].Unlikely || !strings.Contains(doubts[0].Message, notKept) {
		t.Errorf("got doubts %v, want one that refuses the rule", doubts)
	}
	Decide(&s, snap, Arms{})
	if r := s.Rules[0]; r.Decision != eval.DecisionInconclusive || !strings.Contains(r.Message, notKept) {
		t.Errorf("got %s, %q, want it inconclusive", r.Decision, r.Message)
	}
}

// A script that has no model is in no rule about one.
func TestKindsOfAValue(t *testing.T) {
	cells := join(agents(1, 5, 5), agents(1, 5, 5)...)
	cells[0].Variant, cells[1].Variant = "model=fast", "model=deep"
	_, snap := ofCells(join(cells, eval.CellStats{Case: "script", Kind: eval.KindScript})...)
	snap.Axes = []eval.Axis{{Name: "model", Points: []eval.Point{{Value: "fast"}, {Value: "deep"}}}}
	rule := eval.Rule{Metric: eval.MetricLatencyP50, Op: "<=", Bound: 10}
	for per, want := range map[string]string{"model": "agent [model=fast], agent [model=deep]", "": "script, agent"} {
		snap.Gate = eval.Gate{Per: per, Rules: []eval.Rule{rule}}
		var got []string
		for _, c := range claims(snap, 0) {
			got = append(got, c.narrowed())
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("per %q: got %s, want %s", per, strings.Join(got, ", "), want)
		}
	}
}

// Decided and Decide are of one mind at a look, and a round that is no look decides
// nothing.
func TestDecided(t *testing.T) {
	for _, tt := range []struct {
		name    string
		cells   []eval.CellStats
		rules   []eval.Rule
		round   int
		decided bool
	}{
		{"shown to pass", agents(20, 4, 4), []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8)}, 4, true},
		{"shown to fail", agents(20, 1, 4), []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8)}, 4, true},
		{"not shown yet", agents(4, 4, 4), []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8)}, 4, false},
		{"one rule of two", agents(20, 4, 4), []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8), onAgents(eval.MetricPassRate, ">=", 0.99)}, 4, false},
		{"no look", agents(20, 4, 4), []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.8)}, 1, false},
		{"nothing that chance has a part in", agents(20, 4, 4), []eval.Rule{onAgents(eval.MetricUnjudged, "<=", 0.1)}, 4, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := ofCells(tt.cells...)
			snap.Plan.Looks, snap.Gate.Rules = []int{2, 3, 4, 5}, tt.rules
			if got := Decided(s, snap, Arms{}, tt.round); got != tt.decided {
				t.Errorf("got decided %t, want %t", got, tt.decided)
			}
			s.Sequential = &eval.Sequential{Rounds: tt.round, Looks: snap.Plan.Looks}
			Decide(&s, snap, Arms{})
			if open := s.ExitCode == int(eval.ExitInconclusive); tt.decided && open {
				t.Errorf("it is decided, and the run is inconclusive: %q", s.Reasons)
			}
		})
	}
}

// Trials that lose their verdict never turn a decision into its opposite.
func TestMissingNeverDecides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var whole, lost []eval.CellStats
		for i := range rapid.IntRange(1, 20).Draw(t, "cells") {
			c := eval.VerdictCounts{Pass: rapid.IntRange(0, 4).Draw(t, "passed")}
			c.Fail = 4 - c.Pass
			whole = append(whole, agent(fmt.Sprint(i), c))
			passes, fails := rapid.IntRange(0, c.Pass).Draw(t, "lost passes"), rapid.IntRange(0, c.Fail).Draw(t, "lost fails")
			lost = append(lost, agent(fmt.Sprint(i), eval.VerdictCounts{Pass: c.Pass - passes, Fail: c.Fail - fails, Error: passes, Unjudged: fails}))
		}
		decide := func(cells []eval.CellStats) eval.Decision {
			s, snap := ofCells(cells...)
			snap.Gate.Rules = []eval.Rule{onAgents(eval.MetricPassRate, ">=", 0.7)}
			Decide(&s, snap, Arms{})
			return s.Rules[0].Decision
		}
		if got, want := decide(lost), decide(whole); got != eval.DecisionInconclusive && want != eval.DecisionInconclusive && got != want {
			t.Fatalf("with verdicts lost the rule is %s, with all of them it is %s", got, want)
		}
	})
}

func TestSuspects(t *testing.T) {
	head := []eval.CellStats{agent("a", eval.VerdictCounts{Pass: 3}), agent("b", eval.VerdictCounts{Pass: 1, Fail: 2}), agent("c", eval.VerdictCounts{Pass: 2, Fail: 1})}
	base := armOf("r-base", agent("a", eval.VerdictCounts{Pass: 3}), agent("b", eval.VerdictCounts{Pass: 3}), agent("c", eval.VerdictCounts{Pass: 3}))
	s, snap := ofCells(head...)
	if got := Suspects(s, snap, Arms{Base: base, History: base}); len(got) > 0 {
		t.Errorf("without a rule on regressions: got suspects %v, want none", got)
	}
	snap.Gate.Rules = []eval.Rule{{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.05}}
	if got := Suspects(s, snap, Arms{Base: base, History: base}); len(got) != 1 || got[0] != 1 {
		t.Errorf("got suspects %v, want the second cell", got)
	}
	if got := Suspects(s, snap, Arms{Base: base}); len(got) > 0 {
		t.Errorf("without a history: got suspects %v, want none", got)
	}
	snap.Waivers = []eval.Waiver{{Case: "b", Expires: now.Add(time.Hour)}}
	if got := Suspects(s, snap, Arms{Base: base, History: base}); len(got) > 0 {
		t.Errorf("a waived cell: got suspects %v, want none", got)
	}
}

func TestDoubts(t *testing.T) {
	hat := onAgents(eval.MetricPassHatK, ">=", 0.5)
	hat.K = 4
	observed := onAgents(eval.MetricPassRate, ">=", 0.95)
	observed.Observed = true
	medians := onAgents(eval.MetricLatencyP50, "<=", 1.2)
	medians.Relative = true
	tests := []struct {
		name           string
		cells, repeats int
		rule           eval.Rule
		message, hint  string
		unlikely       bool
	}{
		{"three trials show nothing", 1, 3, onAgents(eval.MetricPassRate, ">=", 0.95), "3 trials of agent pass, they show at least 0.368", "it takes 59 trials: repeats: 59", false},
		{"fewer repeats of more cases", 10, 3, onAgents(eval.MetricPassRate, ">=", 0.95), "show at least", "59 trials: repeats: 6", false},
		{"enough trials", 59, 1, onAgents(eval.MetricPassRate, ">=", 0.95), "", "", false},
		{"the rate as it is", 1, 3, observed, "", "", false},
		{"a bound that nothing shows", 1, 3, onAgents(eval.MetricPassRate, ">=", 1), "can never pass", "no number of trials", false},
		{"fewer repeats than k", 20, 3, hat, "pass^4 is about 4 repeats, and a case of agent gets 3", "repeats: 4", false},
		{"enough for k", 20, 4, hat, "", "", false},
		{"one case says nothing of others", 1, 5, hat, "can never pass", "it takes", false},
		{"single repeats cannot disagree", 20, 1, onAgents(eval.MetricDisagreement, "<=", 0.2), "one repeat cannot disagree", "repeats: 2", false},
		{"too few for a percentile", 10, 5, onAgents(eval.MetricLatencyP95, "<=", 2000), "no interval of 50 trials", "it takes 7", false},
		{"enough for a percentile", 20, 5, onAgents(eval.MetricLatencyP95, "<=", 2000), "", "", false},
		{"too few cells for medians", 3, 5, medians, "no interval of 3 cells", "it takes 5 cells", false},
		{"a margin that is too narrow", 20, 5, eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.05}, "20 cells × 5 repeats show a drop of 0.12, and the margin is 0.05", "repeats: 30", true},
		{"a judge that always agrees", 20, 5, onAgents(eval.MetricJudgeAgreement, ">=", 1), "no number of reviews", "want less", false},
		{"a judge that mostly agrees", 20, 5, onAgents(eval.MetricJudgeAgreement, ">=", 0.9), "", "", false},
		{"a margin that is wide enough", 20, 5, eval.Rule{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.15}, "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, snap := ofCells(agents(tt.cells, tt.repeats, tt.repeats)...)
			snap.Gate.Rules = []eval.Rule{tt.rule}
			got := Doubts(snap)
			if tt.message == "" {
				if len(got) > 0 {
					t.Errorf("got %v, want no doubt", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0].Message, tt.message) || !strings.Contains(got[0].Hint, tt.hint) || got[0].Unlikely != tt.unlikely {
				t.Errorf("got %+v, want %q and %q, unlikely %t", got, tt.message, tt.hint, tt.unlikely)
			}
		})
	}
}
