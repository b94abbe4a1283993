package cli

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// What is suggested after a run whose budget is used up begins something, or says
// from when on it will.
func TestNextAfterExhaustion(t *testing.T) {
	budget := eval.Budget{MicroUSD: 1_000_000, Tokens: 5000, Time: time.Minute}
	for _, tt := range []struct {
		name    string
		outcome eval.RunOutcome
		short   eval.Shortage
		counts  eval.VerdictCounts
		want    []string
	}{
		{"money", eval.OutcomeBudgetExhausted, eval.ShortOfMoney, eval.VerdictCounts{Unfinished: 1}, []string{"evalfarm retry r-1 --budget-usd MORE  # $0.95 is spent already"}},
		{"tokens", eval.OutcomeBudgetExhausted, eval.ShortOfTokens, eval.VerdictCounts{Unfinished: 1}, []string{"evalfarm retry r-1 --budget-tokens MORE  # 4800 are taken already"}},
		{"time", eval.OutcomeBudgetExhausted, eval.ShortOfTime, eval.VerdictCounts{Unfinished: 1}, []string{"evalfarm retry r-1 --budget-time MORE  # from then on"}},
		{"the day's money", eval.OutcomeBudgetExhausted, eval.ShortOfDayMoney, eval.VerdictCounts{Unfinished: 1}, []string{"evalfarm retry r-1  # when the day has ended, at 2027-01-01 00:00 UTC"}},
		{"money for judges", eval.OutcomeBudgetExhausted, eval.ShortOfMoney, eval.VerdictCounts{Unjudged: 1}, []string{"evalfarm judge r-1 --budget-usd MORE  # $0.95 is spent already"}},
		{"time, which bounds no judges", eval.OutcomeBudgetExhausted, eval.ShortOfTime, eval.VerdictCounts{Unjudged: 1}, []string{"evalfarm judge r-1"}},
		{"errors within the budget", eval.OutcomeComplete, "", eval.VerdictCounts{Error: 1}, []string{"evalfarm retry r-1"}},
	} {
		got := next(eval.Summary{
			Run: "r-1", Outcome: tt.outcome, Counts: tt.counts, Cells: []eval.CellStats{{Stats: eval.Stats{Counts: tt.counts}}},
			Finished: time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC),
			Coverage: &eval.Coverage{Budget: budget, Short: tt.short, LeftMicroUSD: 50_000, LeftTokens: 200},
		})
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
