package gate

import (
	"slices"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestJudgeAgreement(t *testing.T) {
	reviewed := func(value, low, high float64) *eval.Agreement {
		return &eval.Agreement{Run: "r-earlier", N: 40, AC1: eval.Estimate{Value: &value, Low: &low, High: &high}}
	}
	tests := []struct {
		name      string
		op        string
		agreement *eval.Agreement
		missing   eval.IfMissing
		judgeless bool
		want      eval.Decision
		code      int
		says      string
	}{
		{name: "shown to agree", agreement: reviewed(0.9, 0.81, 0.99), want: "pass", says: "agent: judge_agreement 0.9, between 0.81 and 0.99, of 40 reviewed checks, want >= 0.8"},
		{name: "just as much as is wanted", agreement: reviewed(0.9, 0.8, 0.99), want: "pass"},
		{name: "more than that is wanted", op: ">", agreement: reviewed(0.9, 0.8, 0.99), want: "inconclusive", code: 4},
		{name: "shown to agree too little", agreement: reviewed(0.5, 0.3, 0.7), want: "fail", code: 1},
		{name: "less than by chance", agreement: reviewed(-0.5, -0.8, -0.2), want: "fail", code: 1, says: "judge_agreement -0.5, between -0.8 and -0.2"},
		{name: "too few reviews", agreement: reviewed(0.9, 0.7, 1), want: "inconclusive", code: 4, says: "want >= 0.8: too little is known"},
		{name: "no review", want: "none", says: "nobody has reviewed it; evalfarm review r-head --all --reviewer NAME"},
		{name: "no review, which is a note", missing: eval.IfMissingNote, want: "none", says: "nobody has reviewed it"},
		{name: "no review, which leaves it open", missing: eval.IfMissingInconclusive, want: "inconclusive", code: 4, says: "nobody has reviewed it"},
		{name: "reviews without a number", agreement: &eval.Agreement{Run: "r-earlier"}, want: "none", says: "nobody has reviewed it"},
		{name: "no judge", agreement: reviewed(0.5, 0.3, 0.7), missing: eval.IfMissingInconclusive, judgeless: true, want: "none", says: "the run has no case that a judge decides"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, snap := ofCells(join(agents(2, 3, 3), agent("judged", eval.VerdictCounts{Pass: 3}))...)
			if !tt.judgeless {
				snap.Cases[2].Judges = []string{"strict"}
			}
			rule := eval.Rule{Metric: eval.MetricJudgeAgreement, Op: ">=", Bound: 0.8}
			if tt.op != "" {
				rule.Op = tt.op
			}
			snap.Gate = eval.Gate{IfMissing: tt.missing, Rules: []eval.Rule{rule}}
			snap.Agreement = tt.agreement
			Decide(&s, snap, Arms{})
			got := s.Rules[0]
			if len(s.Rules) != 1 || got.Decision != tt.want || s.ExitCode != tt.code || !strings.Contains(got.Message, tt.says) {
				t.Errorf("got %s, exit code %d, %q, want %s, %d, %q", got.Decision, s.ExitCode, got.Message, tt.want, tt.code, tt.says)
			}
			if tt.agreement == nil || tt.judgeless || tt.agreement.N == 0 {
				return
			}
			if got.N != 40 || *got.Low != *tt.agreement.AC1.Low || *got.High != *tt.agreement.AC1.High || got.Level != 0.025 {
				t.Errorf("got %+v, want the numbers of the reviews and their level", got)
			}
			if !slices.ContainsFunc(got.Details, func(d string) bool { return strings.Contains(d, "run r-earlier") }) {
				t.Errorf("got the details %q, want the run that was reviewed", got.Details)
			}
		})
	}
}

// A judge is one for all values of an axis, and takes nothing of what other rules may err.
func TestJudgeAgreementIsOneRule(t *testing.T) {
	_, snap := ofCells(
		eval.CellStats{Case: "a", Kind: eval.KindAgent, Variant: "model=fast", Stats: eval.Stats{Counts: eval.VerdictCounts{Pass: 3}}},
		eval.CellStats{Case: "a", Kind: eval.KindAgent, Variant: "model=deep", Stats: eval.Stats{Counts: eval.VerdictCounts{Pass: 3}}},
	)
	snap.Axes = []eval.Axis{{Name: "model", Points: []eval.Point{{Value: "fast"}, {Value: "deep"}}}}
	snap.Gate = eval.Gate{Per: "model", Rules: []eval.Rule{{Metric: eval.MetricJudgeAgreement, Op: ">=", Bound: 0.8}, onAgents(eval.MetricPassRate, ">=", 0.8)}}
	var got []string
	for _, c := range claims(snap, 0) {
		got = append(got, title(c.Rule))
		if c.Metric == eval.MetricPassRate && c.level != 0.025 {
			t.Errorf("%s has the level %v, want half of 0.05", title(c.Rule), c.level)
		}
	}
	want := []string{"agent: judge_agreement >= 0.8", "agent [model=fast]: pass_rate >= 0.8", "agent [model=deep]: pass_rate >= 0.8"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
