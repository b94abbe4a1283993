package scheduler_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// paid is a model that costs a micro-dollar for each token in, and three for each
// out.
func paid(name string) eval.Model {
	return eval.Model{
		Provider: eval.ProviderOpenAI, Model: name, Sampling: eval.Sampling{MaxOutputTokens: 100},
		Price: &eval.Price{TokenPrice: eval.TokenPrice{Input: 1_000_000, Output: 3_000_000}},
	}
}

// models that suites of these tests may ask.
func models() map[string]eval.Model {
	dear := paid("dear")
	dear.Price.Output = 10_000_000
	unknown := eval.Model{Provider: eval.ProviderOpenAI, Model: "unknown", PriceHint: `the price list has no model "unknown"; give it a price`}
	return map[string]eval.Model{
		"paid":     paid("paid"),
		"dear":     dear,
		"unknown":  unknown,
		"nameless": {Provider: eval.ProviderAnthropic, Model: "nameless"},
		"gratis":   {Provider: eval.ProviderOpenAI, Model: "gratis", Price: &eval.Price{From: "suite"}},
		"scripted": {Provider: eval.ProviderScripted},
		"replayed": {Provider: eval.ProviderOpenAI, Model: "replayed", Cassette: &eval.Cassette{Dir: "tape"}},
	}
}

// agentCase is a case that asks a model within limits.
func agentCase(id, model string, l eval.Limits, checks ...eval.Check) eval.Case {
	return eval.Case{ID: id, Kind: eval.KindAgent, Server: "s", Model: model, Limits: l, Checks: checks}
}

func dollars(micro int64) eval.Limits { return eval.Limits{CostMicroUSD: micro} }

func judged(model string) eval.Check {
	return eval.Check{ID: "tone", Judge: &eval.JudgeCheck{Rubric: "be kind", Model: model}}
}

func loaded(cases ...eval.Case) *suite.Loaded {
	return &suite.Loaded{Suite: eval.Suite{Name: "made", Models: models(), Cases: cases}, Hash: "hash"}
}

// planned reads the plan of a run.
func (b *bundle) planned(run eval.Run) eval.Plan {
	b.t.Helper()
	var snap eval.Snapshot
	if err := blob.LoadJSON(b.t.Context(), b.store, run.Header, &snap); err != nil {
		b.t.Fatal(err)
	}
	return snap.Plan
}

func TestWhatATrialHolds(t *testing.T) {
	b := setup(t, scheduler.Options{})
	user := agentCase("user", "paid", eval.Limits{Tokens: 100})
	user.User = &eval.User{Model: "dear"}
	run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: loaded(
		agentCase("limit", "paid", eval.Limits{CostMicroUSD: 500, Tokens: 1000}),
		agentCase("derived", "paid", eval.Limits{Tokens: 100}),
		user,
		agentCase("none", "paid", eval.Limits{Turns: 3}),
		agentCase("scripted", "scripted", eval.Limits{CostMicroUSD: 500, Tokens: 100}),
		agentCase("replayed", "replayed", eval.Limits{CostMicroUSD: 500, Tokens: 100}),
		agentCase("gratis", "gratis", eval.Limits{CostMicroUSD: 500, Tokens: 100}),
		eval.Case{ID: "script", Kind: eval.KindScript, Server: "s", Limits: dollars(500)},
	)})
	if err != nil {
		t.Fatal(err)
	}
	var got []eval.Amount
	for _, cell := range b.planned(run).Cells {
		got = append(got, cell.Hold)
	}
	want := []eval.Amount{
		{MicroUSD: 500, Tokens: 1000},
		{MicroUSD: 300, Tokens: 100},  // all of them out
		{MicroUSD: 1000, Tokens: 100}, // all of them said by who plays the user
		{},
		{Tokens: 100}, // free
		{Tokens: 100},
		{Tokens: 100},
		{},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("holds (-want +got):\n%s", d)
	}
}

func TestBudgetThatCannotBeKept(t *testing.T) {
	money, tokens := eval.Budget{MicroUSD: 1000}, eval.Budget{Tokens: 1000}
	tests := []struct {
		name   string
		cases  []eval.Case
		budget eval.Budget
		day    int64
		want   []string // in the error; none means that it can be kept
	}{
		{"all is known", []eval.Case{agentCase("a", "paid", dollars(1000), judged("paid"))}, money, 0, nil},
		{"no budget", []eval.Case{agentCase("a", "unknown", eval.Limits{}, judged("nameless"))}, eval.Budget{}, 0, nil},
		{"time alone", []eval.Case{agentCase("a", "unknown", eval.Limits{})}, eval.Budget{Time: time.Hour}, 0, nil},
		{"price with a hint", []eval.Case{agentCase("a", "unknown", dollars(10))}, money, 0, []string{"the price list has no model \"unknown\"; give it a price"}},
		{"price without one", []eval.Case{agentCase("a", "nameless", dollars(10))}, money, 0, []string{"nobody knows the price of the model nameless"}},
		{"judge without a price", []eval.Case{agentCase("a", "paid", dollars(10), judged("unknown"))}, money, 0, []string{"the price list has no model"}},
		{"judge in a group", []eval.Case{agentCase("a", "paid", dollars(10), eval.Check{ID: "g", Any: []eval.Check{judged("nameless")}})}, money, 0, []string{"nameless"}},
		{"judge of a scripted agent", []eval.Case{agentCase("a", "scripted", eval.Limits{}, judged("nameless"))}, money, 0, []string{"nameless"}},
		{"price for a day", []eval.Case{agentCase("a", "unknown", dollars(10))}, eval.Budget{}, 1000, []string{"the price list has no model"}},
		{"tokens want no price", []eval.Case{agentCase("a", "unknown", eval.Limits{Tokens: 10}, judged("nameless"))}, tokens, 0, nil},
		{"nothing bounds money", []eval.Case{agentCase("a/b", "paid", eval.Limits{Turns: 3})}, money, 0, []string{"a trial of a/b may cost", "limits: {cost_usd:"}},
		{"nothing bounds money of a day", []eval.Case{agentCase("a", "paid", eval.Limits{})}, eval.Budget{}, 1000, []string{"a trial of a may cost"}},
		{"nothing bounds tokens", []eval.Case{agentCase("a", "paid", dollars(10))}, tokens, 0, []string{"how many tokens a trial of a may take", "limits: {tokens:"}},
		{"tokens bound money", []eval.Case{agentCase("a", "paid", eval.Limits{Tokens: 10})}, money, 0, nil},
		{"dearer than the budget", []eval.Case{agentCase("a", "paid", dollars(1001))}, money, 0, []string{"a trial of a may cost $0.001001", "whole budget of $0.001"}},
		{"dearer than a day", []eval.Case{agentCase("a", "paid", dollars(1001))}, eval.Budget{}, 1000, []string{"a trial of a may cost $0.001001", "all runs of a day may, $0.001"}},
		{"more tokens than the budget", []eval.Case{agentCase("a", "paid", eval.Limits{Tokens: 1001})}, tokens, 0, []string{"1001 tokens", "whole budget of 1000"}},
		{"scripted is free", []eval.Case{agentCase("a", "scripted", eval.Limits{})}, money, 1000, nil},
		{"scripted is free, whatever its limit", []eval.Case{agentCase("a", "scripted", dollars(9999))}, money, 0, nil},
		{"a price of nothing needs no limit", []eval.Case{agentCase("a", "gratis", eval.Limits{}, judged("gratis"))}, money, 1000, nil},
		{"a price of nothing, whatever its limit", []eval.Case{agentCase("a", "gratis", dollars(9999))}, money, 1000, nil},
		{"a price of nothing bounds no tokens", []eval.Case{agentCase("a", "gratis", eval.Limits{})}, tokens, 0, []string{"how many tokens a trial of a may take"}},
		{"replayed is free", []eval.Case{agentCase("a", "replayed", eval.Limits{})}, money, 1000, nil},
		{"script asks nobody", []eval.Case{{ID: "a", Kind: eval.KindScript, Server: "s"}}, money, 1000, nil},
		{"one problem once", []eval.Case{agentCase("a", "unknown", dollars(10)), agentCase("b", "unknown", dollars(10))}, money, 0, []string{"kept: the price list has no model \"unknown\"; give it a price"}},
		{"many", []eval.Case{
			agentCase("a", "paid", eval.Limits{}), agentCase("b", "paid", eval.Limits{}), agentCase("c", "paid", eval.Limits{}),
			agentCase("d", "paid", eval.Limits{}), agentCase("e", "paid", eval.Limits{}), agentCase("f", "paid", eval.Limits{}),
			agentCase("g", "unknown", dollars(10)),
		}, money, 0, []string{"a trial of e may cost", "and 2 more"}},
	}
	b := setup(t, scheduler.Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: loaded(tt.cases...), Budget: tt.budget, DayMicroUSD: tt.day})
			if tt.want == nil {
				if err != nil || run.Budget != tt.budget || run.DayMicroUSD != tt.day {
					t.Errorf("got a run with budget %+v and %d a day (%v), want one", run.Budget, run.DayMicroUSD, err)
				}
				return
			}
			refused, ok := errors.AsType[*scheduler.BudgetError](err)
			if !ok {
				t.Fatalf("got %v, want a BudgetError", err)
			}
			for _, part := range tt.want {
				if !strings.Contains(refused.Error(), part) {
					t.Errorf("got %q, want it to say %q", refused, part)
				}
			}
			if n := len(refused.Problems); n > 6 {
				t.Errorf("%d problems at once, want no more than a person reads", n)
			}
		})
	}
}

func TestAskedBudgetGoesOverThatOfTheSuite(t *testing.T) {
	b := setup(t, scheduler.Options{})
	l := loaded(agentCase("a", "paid", dollars(10)))
	l.Suite.Budget = eval.Budget{MicroUSD: 5, Time: time.Hour}
	run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: l, Budget: eval.Budget{MicroUSD: 500}})
	if want := (eval.Budget{MicroUSD: 500, Time: time.Hour}); err != nil || run.Budget != want {
		t.Errorf("got budget %+v (%v), want %+v", run.Budget, err, want)
	}
}

func TestRepeatsThatTheBudgetAffords(t *testing.T) {
	tests := []struct {
		name   string
		budget eval.Budget
		rounds int // of the request
		n      int // of the command line
		want   []int
		err    string
	}{
		{name: "as many as it holds for", budget: eval.Budget{MicroUSD: 1799}, want: []int{5, 5, 2, 1}}, // 100 + 200 for a round
		{name: "at most", budget: eval.Budget{MicroUSD: 1_000_000}, want: []int{8, 8, 2, 1}},
		{name: "the scarcer of two", budget: eval.Budget{MicroUSD: 1799, Tokens: 140}, want: []int{4, 4, 2, 1}},
		{name: "no budget", want: []int{8, 8, 2, 1}},
		{name: "from history", budget: eval.Budget{MicroUSD: 1799}, rounds: 7, want: []int{7, 7, 2, 1}},
		{name: "history beyond the most", budget: eval.Budget{MicroUSD: 1799}, rounds: 70, want: []int{8, 8, 2, 1}},
		{name: "too few", budget: eval.Budget{MicroUSD: 899}, err: "affords 2 repeats, and the suite wants at least 3"},
		{name: "history says too few", budget: eval.Budget{MicroUSD: 10_000}, rounds: 1, err: "affords 1 repeats"},
		{name: "asked for by hand", budget: eval.Budget{MicroUSD: 1099}, n: 9, want: []int{9, 9, 9, 9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, scheduler.Options{})
			l := loaded(
				agentCase("cheap", "paid", eval.Limits{CostMicroUSD: 100, Tokens: 10}),
				agentCase("dear", "paid", eval.Limits{CostMicroUSD: 200, Tokens: 20}),
				agentCase("own", "scripted", eval.Limits{Tokens: 1}),
				eval.Case{ID: "script", Kind: eval.KindScript, Server: "s"},
			)
			l.Suite.Repeats = eval.Repeats{Min: 3, Max: 8, Fit: "budget"}
			l.Suite.CaseRepeats = map[string]int{"own": 2}
			run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{
				Suite: l, Budget: tt.budget, Rounds: tt.rounds, Selection: suite.Selection{Repeats: tt.n},
			})
			if tt.err != "" {
				if _, ok := errors.AsType[*scheduler.BudgetError](err); !ok || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want a BudgetError that says %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			n := 0
			for _, cell := range b.planned(run).Cells {
				got = append(got, cell.Repeats)
				n += cell.Repeats
			}
			if d := cmp.Diff(tt.want, got); d != "" || run.Trials != n {
				t.Errorf("repeats of %d trials (-want +got):\n%s", run.Trials, d)
			}
		})
	}
}

// Repeats of a case's own are paid from the same budget.
func TestOwnRepeatsArePaidFirst(t *testing.T) {
	b := setup(t, scheduler.Options{})
	l := loaded(agentCase("own", "paid", dollars(100)), agentCase("other", "paid", dollars(100)))
	l.Suite.Repeats = eval.Repeats{Min: 1, Max: 100, Fit: "budget"}
	l.Suite.CaseRepeats = map[string]int{"own": 6}
	run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: l, Budget: eval.Budget{MicroUSD: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	var holds int64
	for _, cell := range b.planned(run).Cells {
		holds += int64(cell.Repeats) * cell.Hold.MicroUSD
	}
	if holds > 1000 || holds <= 900 {
		t.Errorf("the plan may cost %d, want as much of 1000 as whole rounds can take", holds)
	}
}
