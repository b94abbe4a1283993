package report

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
)

// gatedRun is a run of 20 agent cases × 5 repeats that is somewhat worse than its
// baseline, with a waived script, and what the gate says of it.
func gatedRun() eval.Summary {
	run := func(id string, passed func(int) int) (eval.Summary, eval.Snapshot) {
		s := eval.Summary{Run: id, Suite: "refunds", Outcome: eval.OutcomeComplete, Started: time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC), Kinds: map[eval.Kind]eval.Stats{}}
		snap := eval.Snapshot{Suite: "refunds", Variants: []eval.Variant{{ID: "default"}}}
		add := func(name string, kind eval.Kind, c eval.VerdictCounts) {
			snap.Plan.Cells = append(snap.Plan.Cells, eval.Cell{Case: len(snap.Cases), Repeats: c.Total()})
			snap.Cases = append(snap.Cases, eval.CaseRef{ID: name, Kind: kind})
			s.Cells = append(s.Cells, eval.CellStats{Case: name, Variant: "default", Kind: kind, Repeats: c.Total(), Stats: eval.Stats{Counts: c}})
			all := s.Kinds[kind]
			for _, v := range eval.Verdicts() {
				all.Counts.Add(v, c.Of(v))
				s.Counts.Add(v, c.Of(v))
			}
			s.Kinds[kind] = all
			s.Trials += c.Total()
		}
		for i := range 20 {
			n := passed(i)
			add(fmt.Sprintf("refund/%02d", i+1), eval.KindAgent, eval.VerdictCounts{Pass: n, Fail: 5 - n})
		}
		add("ping", eval.KindScript, eval.VerdictCounts{Fail: 1})
		return s, snap
	}
	before, frozen := run("r-20261130-AAAAAA", func(int) int { return 5 })
	base := eval.NewArm(frozen, before)
	s, snap := run("r-20261201-BBBBBB", func(i int) int { return 5 - i/18 })
	snap.Baseline = &eval.BaselineRef{Name: "main", Run: base.Run}
	snap.Gate = eval.Gate{Baseline: "main", Rules: []eval.Rule{
		{Metric: eval.MetricPassRate, Kind: eval.KindAgent, Op: ">=", Bound: 0.9},
		{Metric: eval.MetricRegressions, Kind: eval.KindAgent, Margin: 0.05},
		{Metric: eval.MetricDisagreement, Op: "<=", Bound: 0.02},
	}}
	snap.Waivers = []eval.Waiver{{Case: "ping", Reason: "the desk is being moved", Approver: "alice@example.com", Expires: time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)}}
	gate.Decide(&s, snap, gate.Arms{Base: &base})
	return s
}

// TestGateDocs keeps the transcript of docs/gates.md equal to what is printed.
func TestGateDocs(t *testing.T) {
	var b strings.Builder
	if err := Gate(&b, gatedRun(), Options{Width: 160, Explain: true}); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/gates.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "$ evalfarm gate latest --explain\n")
	shown, _, _ := strings.Cut(rest, "```")
	if diff := cmp.Diff(b.String(), shown); diff != "" {
		t.Errorf("docs/gates.md differs from what is printed (-printed +docs):\n%s", diff)
	}
}

// What a rule and a waiver say may be anybody's words: they cannot leave their line.
func TestGateIsSafe(t *testing.T) {
	s := gatedRun()
	evil := "a\nb\x1b[31m"
	s.Rules[0].Title, s.Rules[0].Message, s.Rules[0].Details = evil, evil, []string{evil}
	s.Exemptions[0].Waiver.Reason, s.Exemptions[0].Waiver.Approver, s.Exemptions[0].Waiver.Case = evil, evil, evil
	var b strings.Builder
	if err := Gate(&b, s, Options{Explain: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || strings.Contains(b.String(), "a\nb") {
		t.Errorf("got %q, want no control characters", b.String())
	}
}

// A waived run says so behind its verdict, and its rules are in the JUnit document.
func TestRulesInReports(t *testing.T) {
	s := gatedRun()
	if got, want := verdictWords(s), "INCONCLUSIVE (1 waived)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var b strings.Builder
	if err := JUnit(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<property name="rule agent: pass_rate &gt;= 0.9" value="pass: 0.980 [`, `failures="0"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the JUnit document lacks %s:\n%s", want, b.String())
		}
	}
}
