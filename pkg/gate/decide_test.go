package gate

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

func TestDecide(t *testing.T) {
	const script, catalog, agent = eval.KindScript, eval.KindCatalog, eval.KindAgent
	type counts = map[eval.Kind]eval.VerdictCounts
	loose := eval.Gate{Rules: []eval.Rule{{Metric: eval.MetricPassRate, Kind: script, Op: ">=", Bound: 0.95}}}
	agents := eval.Gate{Rules: []eval.Rule{{Metric: eval.MetricPassRate, Kind: agent, Op: ">=", Bound: 0.8}}}
	tests := []struct {
		name    string
		outcome eval.RunOutcome
		gate    eval.Gate
		counts  counts
		verdict eval.RunVerdict
		code    eval.ExitCode
		first   string // part of the first reason; empty for no reasons
	}{
		{name: "all pass", counts: counts{script: {Pass: 12}, catalog: {Pass: 1}}, verdict: eval.RunPass, code: 0},
		{
			name: "a script case fails", counts: counts{script: {Pass: 11, Fail: 1}},
			verdict: eval.RunFail, code: 1, first: "script: 1 of 12 failed",
		},
		{
			name: "a catalog case fails", counts: counts{script: {Pass: 12}, catalog: {Fail: 1}},
			verdict: eval.RunFail, code: 1, first: "catalog: 1 of 1 failed",
		},
		{
			name: "an error", counts: counts{script: {Pass: 11, Error: 1}},
			verdict: eval.RunError, code: 3, first: "script: 1 of 12 ended in an error",
		},
		{
			name: "a fail before an error", counts: counts{script: {Pass: 10, Fail: 1, Error: 1}},
			verdict: eval.RunFail, code: 1, first: "failed",
		},
		{
			name: "a fail of one kind before an error of another", counts: counts{script: {Error: 1}, catalog: {Fail: 1}},
			verdict: eval.RunFail, code: 1, first: "catalog: 1 of 1 failed",
		},
		{
			name: "unjudged", counts: counts{script: {Pass: 11, Unjudged: 1}},
			verdict: eval.RunInconclusive, code: 4, first: "unjudged",
		},
		{
			name: "an error before unfinished", outcome: eval.OutcomeRunCancelled, counts: counts{script: {Error: 1, Unfinished: 1}},
			verdict: eval.RunError, code: 3, first: "error",
		},
		{
			name: "cancelled with trials unfinished", outcome: eval.OutcomeRunCancelled, counts: counts{script: {Pass: 10, Unfinished: 2}},
			verdict: eval.RunInconclusive, code: 4, first: "the run is cancelled, with 2 of 12 trials unfinished",
		},
		{
			name: "interrupted with trials unfinished", outcome: eval.OutcomeInterrupted, counts: counts{catalog: {Unfinished: 1}},
			verdict: eval.RunInconclusive, code: 4, first: "interrupted",
		},
		{
			name: "interrupted after a fail", outcome: eval.OutcomeInterrupted, counts: counts{script: {Fail: 1, Unfinished: 9}},
			verdict: eval.RunFail, code: 1, first: "script: 1 of 10 failed",
		},
		{
			name: "cancelled when all was done", outcome: eval.OutcomeRunCancelled, counts: counts{script: {Pass: 12}},
			verdict: eval.RunPass, code: 0,
		},
		{
			name: "agent trials unfinished by the budget", outcome: eval.OutcomeBudgetExhausted, counts: counts{agent: {Pass: 3, Unfinished: 7}},
			verdict: eval.RunInconclusive, code: 4, first: "budget_exhausted",
		},
		{
			name: "agent fails alone are no gate", counts: counts{agent: {Pass: 3, Fail: 7, Unjudged: 2}},
			verdict: eval.RunPass, code: 0, first: "NO GATE: agent: 7 of 12 failed, 2 unjudged",
		},
		{
			name: "agents far above their rule", gate: agents, counts: counts{agent: {Pass: 98, Fail: 2}},
			verdict: eval.RunPass, code: 0, first: "agent: pass_rate 98/100",
		},
		{
			name: "agents far below their rule", gate: agents, counts: counts{agent: {Pass: 50, Fail: 50}},
			verdict: eval.RunFail, code: 1, first: "agent: pass_rate 50/100",
		},
		{
			name: "agents too close to their rule", gate: agents, counts: counts{agent: {Pass: 9, Fail: 1}},
			verdict: eval.RunInconclusive, code: 4, first: "too little is known",
		},
		{
			name: "agents whose rule hangs on the unjudged", gate: agents, counts: counts{agent: {Pass: 90, Unjudged: 20}},
			verdict: eval.RunInconclusive, code: 4, first: "20 trials without a verdict could decide it either way",
		},
		{
			name: "agents that fail whatever the unjudged would be", gate: agents, counts: counts{agent: {Pass: 20, Fail: 70, Unjudged: 10}},
			verdict: eval.RunFail, code: 1, first: "agent: pass_rate 20/90",
		},
		{
			name: "few errors of agents", counts: counts{agent: {Pass: 98, Error: 2}},
			verdict: eval.RunPass, code: 0, first: "agent: 2 of 100 ended in an error",
		},
		{
			name: "too many errors of agents", gate: agents, counts: counts{agent: {Pass: 2, Fail: 90, Error: 8}},
			verdict: eval.RunError, code: 3, first: "agent: 8 of 100 ended in an error",
		},
		{
			name: "a script's fail before errors of agents", counts: counts{script: {Fail: 1}, agent: {Error: 8}},
			verdict: eval.RunFail, code: 1, first: "script: 1 of 1 failed",
		},
		{
			name: "a rule exactly met", gate: loose, counts: counts{script: {Pass: 19, Fail: 1}},
			verdict: eval.RunPass, code: 0, first: "script: 1 of 20 failed; pass_rate 0.95 satisfies >= 0.95",
		},
		{
			name: "a rule missed", gate: loose, counts: counts{script: {Pass: 18, Fail: 2}},
			verdict: eval.RunFail, code: 1, first: "script: 2 of 20 failed; pass_rate 0.9, want >= 0.95",
		},
		{
			name: "a rule for another kind", gate: loose, counts: counts{catalog: {Pass: 99, Fail: 1}},
			verdict: eval.RunFail, code: 1, first: "catalog: 1 of 100 failed",
		},
		{
			name: "a rule loosens fails, not errors", gate: loose, counts: counts{script: {Pass: 98, Fail: 1, Error: 1}},
			verdict: eval.RunError, code: 3, first: "script: 1 of 100 ended in an error",
		},
		{
			name: "a rule's share leaves errors out", gate: loose, counts: counts{script: {Pass: 18, Fail: 1, Error: 1}},
			verdict: eval.RunFail, code: 1, first: "pass_rate 0.9474",
		},
		{name: "nothing ran", counts: counts{}, verdict: eval.RunInconclusive, code: 4, first: "no trials"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := run(tt.counts)
			if tt.outcome != "" {
				s.Outcome = tt.outcome
			}
			snap.Gate = tt.gate
			Decide(&s, snap, Arms{})
			if s.Verdict != tt.verdict || s.ExitCode != int(tt.code) {
				t.Errorf("got verdict %s and exit code %d, want %s and %d (reasons %q)", s.Verdict, s.ExitCode, tt.verdict, tt.code, s.Reasons)
			}
			switch {
			case tt.first == "" && len(s.Reasons) > 0:
				t.Errorf("got reasons %q, want none", s.Reasons)
			case tt.first != "" && (len(s.Reasons) == 0 || !strings.Contains(s.Reasons[0], tt.first)):
				t.Errorf("got reasons %q, want the first to say %q", s.Reasons, tt.first)
			}
		})
	}
}

// run is a summary of a cell for each kind, and its snapshot.
func run(kinds map[eval.Kind]eval.VerdictCounts) (eval.Summary, eval.Snapshot) {
	var cells []eval.CellStats
	for _, k := range []eval.Kind{eval.KindScript, eval.KindCatalog, eval.KindAgent} {
		if c, there := kinds[k]; there {
			cells = append(cells, eval.CellStats{Case: string(k), Kind: k, Stats: eval.Stats{Counts: c}})
		}
	}
	return ofCells(cells...)
}

// ofCells is a summary of cells, and a snapshot with as many.
func ofCells(cells ...eval.CellStats) (eval.Summary, eval.Snapshot) {
	s := eval.Summary{Run: "r-head", Outcome: eval.OutcomeComplete, Kinds: map[eval.Kind]eval.Stats{}, Started: now}
	snap := eval.Snapshot{}
	variants := map[string]int{}
	for i, c := range cells {
		c.Repeats = c.Counts.Total()
		if c.Variant == "" {
			c.Variant = "default"
		}
		at, known := variants[c.Variant]
		if !known {
			at = len(snap.Variants)
			variants[c.Variant] = at
			axes := map[string]string{}
			for pair := range strings.SplitSeq(c.Variant, ",") {
				if name, value, ok := strings.Cut(pair, "="); ok {
					axes[name] = value
				}
			}
			snap.Variants = append(snap.Variants, eval.NewVariant(axes))
		}
		snap.Cases = append(snap.Cases, eval.CaseRef{ID: c.Case, Kind: c.Kind, Tags: c.Tags})
		snap.Plan.Cells = append(snap.Plan.Cells, eval.Cell{Case: i, Variant: at, Repeats: c.Repeats})
		s.Cells = append(s.Cells, c)
		kind := s.Kinds[c.Kind]
		for _, v := range eval.Verdicts() {
			kind.Counts.Add(v, c.Counts.Of(v))
			s.Counts.Add(v, c.Counts.Of(v))
		}
		s.Kinds[c.Kind] = kind
	}
	s.Trials = s.Counts.Total()
	return s, snap
}

var now = time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)

func TestCompareWith(t *testing.T) {
	tests := []struct {
		op               string
		under, at, above eval.Decision
	}{
		{">=", "fail", "pass", "pass"},
		{">", "fail", "fail", "pass"},
		{"<=", "pass", "pass", "fail"},
		{"<", "pass", "fail", "fail"},
	}
	for _, tt := range tests {
		r := eval.Rule{Op: tt.op, Bound: 0.5}
		at := func(x float64) eval.Decision { return compareWith(stats.Interval{Point: x, Low: x, High: x}, r) }
		if under, same, above := at(0.4), at(0.5), at(0.6); under != tt.under || same != tt.at || above != tt.above {
			t.Errorf("0.4, 0.5 and 0.6 %s 0.5: got %s, %s, %s, want %s, %s, %s", tt.op, under, same, above, tt.under, tt.at, tt.above)
		}
	}
	if got := compareWith(stats.Interval{Point: 0.7, Low: math.NaN(), High: math.NaN()}, eval.Rule{Op: ">=", Bound: 0.5}); got != eval.DecisionInconclusive {
		t.Errorf("without bounds: got %s, want inconclusive", got)
	}
}
