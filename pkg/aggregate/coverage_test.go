package aggregate

import (
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A cost that nobody knows is not nothing, whatever came of the calls.
func TestUnknownCost(t *testing.T) {
	used := eval.Usage{Input: 10, Output: 5}
	for _, tt := range []struct {
		name   string
		row    store.Row
		ledger eval.Ledger
		known  bool
	}{
		{"nobody was asked", store.Row{}, eval.Ledger{}, true},
		{"a price", store.Row{Tokens: 15, Result: eval.Result{Usage: used, CostMicroUSD: new(int64(7))}}, eval.Ledger{}, true},
		{"a price, and a lost answer", store.Row{Tokens: 15, Result: eval.Result{CostMicroUSD: new(int64(7)), UnansweredMicroUSD: 5}}, eval.Ledger{}, true},
		{"no price", store.Row{Tokens: 15, Result: eval.Result{Usage: used}}, eval.Ledger{}, false},
		{"no price, and no answer", store.Row{Tokens: 15}, eval.Ledger{Spent: eval.Amount{Tokens: 15}}, false},
		{"a price, and no answer", store.Row{Tokens: 15, Result: eval.Result{CostMicroUSD: new(int64(7))}}, eval.Ledger{Spent: eval.Amount{MicroUSD: 7, Tokens: 15}}, true},
		{"a judge without a price", store.Row{Result: eval.Result{JudgeUsage: used}}, eval.Ledger{}, false},
		{"a judge without a price and an answer", store.Row{}, eval.Ledger{Judges: eval.Amount{Tokens: 15}}, false},
		{"a free judge without an answer", store.Row{Result: eval.Result{JudgeCostMicroUSD: new(int64(0))}}, eval.Ledger{Judges: eval.Amount{Tokens: 15}}, true},
	} {
		c := &coverage{}
		c.add(tt.row.Result, tt.row.Tokens)
		cost, _ := c.finish(eval.Run{}, eval.Snapshot{Models: map[string]eval.Model{"m": {Provider: eval.ProviderOpenAI}}}, tt.ledger, &rounds{})
		if cost.UnansweredMicroUSD != tt.row.Result.UnansweredMicroUSD {
			t.Errorf("%s: got %d for lost answers, want %d", tt.name, cost.UnansweredMicroUSD, tt.row.Result.UnansweredMicroUSD)
		}
		if (cost.MicroUSD != nil) != tt.known || (len(cost.Unpriced) == 0) != tt.known {
			t.Errorf("%s: got %v of unpriced %v, want it known: %t", tt.name, cost.MicroUSD, cost.Unpriced, tt.known)
		}
	}
}
