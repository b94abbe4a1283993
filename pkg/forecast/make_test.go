package forecast_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/forecast"
)

// A bench makes plans of agent cases that ask the model m.
type bench struct{ forecast.Plan }

func newBench(cases ...string) *bench {
	b := &bench{}
	b.Snapshot.Suite = "shop"
	b.Snapshot.Variants = []eval.Variant{eval.NewVariant(nil)}
	b.Snapshot.Models = map[string]eval.Model{"m": model("m")}
	for _, id := range cases {
		b.add(eval.Case{ID: id, Kind: eval.KindAgent, Model: "m"}, 0)
	}
	return b
}

func model(name string) eval.Model {
	return eval.Model{Provider: eval.ProviderAnthropic, Model: name, Price: &eval.Price{TokenPrice: eval.TokenPrice{Input: 1_000_000, Output: 5_000_000}}}
}

// add adds a case with three repeats.
func (b *bench) add(c eval.Case, variant int) {
	at := -1
	for i, known := range b.Cases {
		if known.ID == c.ID {
			at = i
		}
	}
	if at < 0 {
		at = len(b.Cases)
		b.Cases = append(b.Cases, c)
		b.Snapshot.Cases = append(b.Snapshot.Cases, eval.CaseRef{ID: c.ID, Kind: c.Kind})
	}
	b.Snapshot.Plan.Cells = append(b.Snapshot.Plan.Cells, eval.Cell{Case: at, Variant: variant, Repeats: 3})
}

// hold sets what a trial of a case may take.
func (b *bench) hold(id string, a eval.Amount) *bench {
	for i, c := range b.Snapshot.Plan.Cells {
		if b.Cases[c.Case].ID == id {
			b.Snapshot.Plan.Cells[i].Hold = a
		}
	}
	return b
}

// cost adds trials of the past that cost so much.
func (b *bench) cost(id string, micro ...int64) *bench {
	for _, n := range micro {
		b.Past = append(b.Past, forecast.Row{Run: "r-1", Case: id, Variant: "default", Verdict: eval.Pass, MicroUSD: new(n)})
	}
	return b
}

func (b *bench) today(left int64) *bench {
	b.Day = &eval.DayLeft{CapMicroUSD: 10_000, LeftMicroUSD: left}
	return b
}

func (b *bench) budget(of eval.Budget) *bench {
	b.Run.Budget = of
	return b
}

// judge gives the first case a judge check, and the first past trials judgements
// that cost so much.
func (b *bench) judge(micro ...int64) *bench {
	b.Cases[0].Checks = []eval.Check{{ID: "judge", Judge: &eval.JudgeCheck{Rubric: "be kind", Model: "m", Votes: 2}}}
	for i, n := range micro {
		b.Past[i].Judge = &forecast.Judged{MicroUSD: new(n)}
	}
	return b
}

func (b *bench) models(change func(*eval.Model)) *bench {
	m := b.Snapshot.Models["m"]
	change(&m)
	b.Snapshot.Models["m"] = m
	return b
}

func micro(n int64) eval.Amount { return eval.Amount{MicroUSD: n} }

// The sums below were worked out by hand. Three repeats of a cell with mean m and
// variance v of n trials have the mean 3m and the variance 3v + 9v/n.
func TestCostOfARun(t *testing.T) {
	for name, test := range map[string]struct {
		bench    *bench
		want     eval.Expected
		p50, p95 int64
		most     int64 // -1 is none
	}{
		"of history: a 200 ± 100 of 3, b 50 ± 0 of 2": {
			newBench("a", "b").cost("a", 100, 200, 300).cost("b", 50, 50),
			eval.Expected{Basis: eval.BasisHistory, FromHistory: 6},
			750, 1153, -1, // 750 + 1.645·√60000
		},
		"of limits": {
			newBench("a", "b").hold("a", micro(1000)).hold("b", micro(500)),
			eval.Expected{Basis: eval.BasisLimits, FromLimits: 6},
			4500, 4500, 4500,
		},
		"of both": {
			newBench("a", "b").cost("a", 100, 200, 300).hold("b", micro(500)),
			eval.Expected{Basis: eval.BasisMixed, FromHistory: 3, FromLimits: 3},
			2100, 2503, -1,
		},
		"of history, cut to what a trial may cost now": {
			newBench("a", "b").cost("a", 100, 200, 300).cost("b", 50, 50).hold("a", micro(150)).hold("b", micro(150)),
			eval.Expected{Basis: eval.BasisHistory, FromHistory: 6},
			600, 600, 900,
		},
		"of history, cut to what all trials may cost": {
			newBench("a").cost("a", 0, 300).hold("a", micro(200)),
			eval.Expected{Basis: eval.BasisHistory, FromHistory: 3},
			450, 600, 600, // not 450 + 1.645·√337500
		},
		"of one trial, which may have been any": {
			newBench("a").cost("a", 100),
			eval.Expected{Basis: eval.BasisHistory, FromHistory: 3},
			300, 870, -1, // 300 + 1.645·√120000
		},
		"of one trial, beside others that spread by 8 %": {
			newBench("a", "b").cost("a", 200).cost("b", 80, 120),
			eval.Expected{Basis: eval.BasisHistory, FromHistory: 6},
			900, 1247, -1, // 900 + 1.645·√(38400+6000)
		},
		"of nothing": {
			newBench("a", "b").cost("a", 100, 200, 300),
			eval.Expected{Basis: eval.BasisUnknown, FromHistory: 3, Unknown: 3, Known: 1003},
			-1, -1, -1,
		},
		"without a price, whatever the limits say": {
			newBench("a").hold("a", micro(1000)).models(func(m *eval.Model) { m.Price = nil }),
			eval.Expected{Basis: eval.BasisUnknown, Unknown: 3},
			-1, -1, -1,
		},
		"of a model that is free": {
			newBench("a").hold("a", micro(1000)).models(func(m *eval.Model) { m.Provider, m.Price = eval.ProviderScripted, nil }),
			eval.Expected{Basis: eval.BasisNone},
			0, 0, 0,
		},
		"with judges that always cost 10": {
			newBench("a").cost("a", 100, 200, 300).judge(10, 10, 10),
			eval.Expected{Basis: eval.BasisHistory, FromHistory: 3},
			630, 1033, -1,
		},
		"with judges of whom nobody knows": {
			newBench("a").cost("a", 100, 200, 300).judge(),
			eval.Expected{Basis: eval.BasisUnknown, Unknown: 3, Known: 1003},
			-1, -1, -1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := forecast.Make(test.bench.Plan).Cost.Total
			if test.p50 >= 0 {
				test.want.P50, test.want.P95, test.want.Known = new(test.p50), new(test.p95), test.p95
			}
			if test.most >= 0 {
				test.want.Most = new(test.most)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("cost differs (-want +got):\n%s", diff)
			}
		})
	}
}

// What a case asks, without any history.
func TestCallsAndTokensFromLimits(t *testing.T) {
	b := newBench()
	b.add(eval.Case{
		ID: "a", Kind: eval.KindAgent, Model: "m", User: &eval.User{Model: "m", MaxTurns: 2},
		Limits: eval.Limits{Turns: 5}, Checks: []eval.Check{{ID: "pair", Judge: &eval.JudgeCheck{Model: "m", Votes: 3, Reference: "x"}}},
	}, 0)
	b.hold("a", eval.Amount{Tokens: 700})
	f := forecast.Make(b.Plan)
	// Each trial: five calls of the agent, two of the user, six of the judge.
	if got := *f.Calls.Total.Most; got != 3*(5+2+6) || *f.Calls.Agents.P95 != 21 || *f.Calls.Judges.P95 != 18 {
		t.Errorf("got %d calls, want 39", got)
	}
	if got := *f.Tokens.Agents.P95; got != 2100 || f.Tokens.Judges.P95 != nil || f.Tokens.Total.P95 != nil || f.Tokens.Total.Known != 2100 {
		t.Errorf("got %+v, want 2100 tokens of agents and nothing of judges", f.Tokens)
	}
}

func TestUnpricedModels(t *testing.T) {
	b := newBench("a").judge()
	b.Snapshot.Models["m"] = eval.Model{Provider: eval.ProviderOpenAI, Model: "m", PriceHint: "nearest: n"}
	b.Snapshot.Models["idle"] = eval.Model{Provider: eval.ProviderOpenAI, Model: "idle"}
	want := []eval.Unpriced{{Name: "m", Hint: "nearest: n"}}
	if diff := cmp.Diff(want, forecast.Make(b.Plan).Unpriced); diff != "" {
		t.Errorf("unpriced models differ (-want +got):\n%s", diff)
	}
}

// Where every trial has a limit, no number is above the sum of the limits; and more
// repeats never take less.
func TestNumbersStayWithinLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench()
		var limit int64
		for i := range rapid.IntRange(1, 5).Draw(t, "cases") {
			id := fmt.Sprint("case", i)
			b.add(eval.Case{ID: id, Kind: eval.KindAgent, Model: "m"}, 0)
			hold := rapid.Int64Range(1, 1000).Draw(t, "hold")
			b.hold(id, micro(hold))
			b.cost(id, rapid.SliceOfN(rapid.Int64Range(0, 1500), 0, 6).Draw(t, "costs")...)
			limit += 3 * hold
		}
		got := forecast.Make(b.Plan).Cost.Total
		if *got.Most != limit || *got.P50 < 0 || *got.P50 > *got.P95 || *got.P95 > limit {
			t.Fatalf("got p50 %d, p95 %d and at most %d, want them to rise up to %d", *got.P50, *got.P95, *got.Most, limit)
		}
		for i := range b.Snapshot.Plan.Cells {
			b.Snapshot.Plan.Cells[i].Repeats++
		}
		if more := forecast.Make(b.Plan).Cost.Total; *more.P50 < *got.P50 || *more.P95 < *got.P95 {
			t.Fatalf("a round more: got p50 %d and p95 %d, want no less than %d and %d", *more.P50, *more.P95, *got.P50, *got.P95)
		}
	})
}

func TestWhatABudgetAffords(t *testing.T) {
	const no = -1
	for name, test := range map[string]struct {
		bench                *bench
		expected, guaranteed int
		short                eval.Shortage
	}{
		// Nothing varies: n rounds cost 100n, and the last trial wants its hold beside.
		"of history, with room for the last hold": {
			newBench("a").cost("a", 100, 100).hold("a", micro(250)).budget(eval.Budget{MicroUSD: 1000}), 7, 4, eval.ShortOfMoney,
		},
		"of limits": {
			newBench("a").hold("a", micro(250)).budget(eval.Budget{MicroUSD: 1000}), 4, 4, eval.ShortOfMoney,
		},
		"of tokens": {
			newBench("a").hold("a", eval.Amount{MicroUSD: 250, Tokens: 500}).budget(eval.Budget{Tokens: 999}), 1, 1, eval.ShortOfTokens,
		},
		"of nothing that is known": {
			newBench("a").budget(eval.Budget{MicroUSD: 1000}), no, 1000, "",
		},
		"less than a round": {
			newBench("a").cost("a", 100, 100).hold("a", micro(2000)).budget(eval.Budget{MicroUSD: 1000}), 0, 0, eval.ShortOfMoney,
		},
		"of what is left of a day": {
			newBench("a").hold("a", micro(250)).budget(eval.Budget{MicroUSD: 1000}).today(500), 2, 2, eval.ShortOfDayMoney,
		},
		"of a day without a budget": {
			newBench("a").cost("a", 100, 100).hold("a", micro(250)).today(1000), 7, 4, eval.ShortOfDayMoney,
		},
		"of a day of which nothing is left": {
			newBench("a").hold("a", micro(250)).today(0), 0, 0, eval.ShortOfDayMoney,
		},
		"of a budget that is less than the day": {
			newBench("a").hold("a", micro(250)).budget(eval.Budget{MicroUSD: 1000}).today(5000), 4, 4, eval.ShortOfMoney,
		},
		// The holds of judges bound it: 2 · (8199 bytes at 1, 4096 tokens at 5) = 57358.
		"with judges": {
			newBench("a").cost("a", 100, 100).judge(10, 10).hold("a", micro(250)).budget(eval.Budget{MicroUSD: 58_000}), 5, 232, eval.ShortOfMoney,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := forecast.Make(test.bench.Plan).Affords
			expected := no
			if a.Expected != nil {
				expected = a.Expected.N
			}
			if expected != test.expected || a.Guaranteed.N != test.guaranteed || a.Short != test.short {
				t.Errorf("got %d expected, %d guaranteed, short of %q; want %d, %d, %q", expected, a.Guaranteed.N, a.Short, test.expected, test.guaranteed, test.short)
			}
		})
	}
}

// Rounds are not counted without an end, and nobody is told that the last one counted
// is the last.
func TestRoundsThatNobodyCounts(t *testing.T) {
	a := forecast.Make(newBench("a").cost("a", 1, 1).hold("a", micro(2)).budget(eval.Budget{MicroUSD: 1_000_000}).Plan).Affords
	if !a.Expected.AtLeast || !a.Guaranteed.AtLeast || a.Expected.N != 1000 || a.Short != "" {
		t.Errorf("got %+v and %+v, short of %q; want at least 1000 of both", a.Expected, a.Guaranteed, a.Short)
	}
	a = forecast.Make(newBench("a").cost("a", 100, 100).hold("a", micro(250)).budget(eval.Budget{MicroUSD: 1000}).Plan).Affords
	if a.Expected.AtLeast || a.Guaranteed.AtLeast {
		t.Errorf("got %+v and %+v, want numbers that are counted", a.Expected, a.Guaranteed)
	}
}

// A price that is found under another name than the model's is told.
func TestPricedLikeAnother(t *testing.T) {
	b := newBench("a")
	b.models(func(m *eval.Model) { m.Model, m.Price.From = "claude-haiku-4-5-20261001", "anthropic/claude-haiku-4-5" })
	want := []eval.PricedLike{{Name: "m", Model: "claude-haiku-4-5-20261001", Entry: "anthropic/claude-haiku-4-5"}}
	if diff := cmp.Diff(want, forecast.Make(b.Plan).PricedLike); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, from := range []string{"suite", "farm", "anthropic/Claude-Haiku-4-5-20261001"} {
		b.models(func(m *eval.Model) { m.Price.From = from })
		if got := forecast.Make(b.Plan).PricedLike; got != nil {
			t.Errorf("%s: got %+v, want none", from, got)
		}
	}
}

// Repeats that cases ask for themselves are in the run, whatever the budget decides.
func TestFit(t *testing.T) {
	fitting := func(b *bench) *bench {
		b.Repeats = eval.Repeats{Min: 2, Max: 6, Fit: "budget"}
		return b
	}
	own := func(b *bench, id string) *bench {
		b.Own = map[string]int{id: 3}
		return b
	}
	for name, test := range map[string]struct {
		bench  *bench
		want   eval.Fit
		trials int
	}{
		"by history": {
			fitting(newBench("a").cost("a", 100, 100).hold("a", micro(250)).budget(eval.Budget{MicroUSD: 750})),
			eval.Fit{Min: 2, Max: 6, Rounds: 5, Basis: eval.BasisHistory},
			5,
		},
		"by history, up to the most that is wanted": {
			fitting(newBench("a").cost("a", 100, 100).hold("a", micro(250)).budget(eval.Budget{MicroUSD: 5000})),
			eval.Fit{Min: 2, Max: 6, Rounds: 6, Basis: eval.BasisHistory},
			6,
		},
		"by limits": {
			fitting(newBench("a").hold("a", micro(250)).budget(eval.Budget{MicroUSD: 750})),
			eval.Fit{Min: 2, Max: 6, Rounds: 3, Basis: eval.BasisLimits},
			3,
		},
		"by limits when one case has no history": {
			fitting(newBench("a", "b").cost("a", 100, 100).hold("a", micro(250)).hold("b", micro(250)).budget(eval.Budget{MicroUSD: 1500})),
			eval.Fit{Min: 2, Max: 6, Rounds: 3, Basis: eval.BasisLimits},
			6,
		},
		"beside a case that has its own repeats": {
			fitting(own(newBench("a", "b").hold("a", micro(250)).hold("b", micro(250)).budget(eval.Budget{MicroUSD: 2000}), "b")),
			eval.Fit{Min: 2, Max: 6, Rounds: 5, Basis: eval.BasisLimits},
			8,
		},
		"whatever is left of the day": {
			fitting(newBench("a").hold("a", micro(250)).budget(eval.Budget{MicroUSD: 750})).today(250),
			eval.Fit{Min: 2, Max: 6, Rounds: 3, Basis: eval.BasisLimits},
			3,
		},
		"fewer than are wanted": {
			fitting(newBench("a").hold("a", micro(250)).budget(eval.Budget{MicroUSD: 400})),
			eval.Fit{Min: 2, Max: 6, Rounds: 1, Basis: eval.BasisLimits},
			1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := forecast.Make(test.bench.Plan)
			if diff := cmp.Diff(&test.want, f.Fit); diff != "" || f.Trials != test.trials {
				t.Errorf("got %d trials, want %d; fit differs (-want +got):\n%s", f.Trials, test.trials, diff)
			}
		})
	}
}

// With a row for each of three trials: ten calls, 1000 tokens in and 200 out, and 20 s
// of which the model takes 15.
func TestDuration(t *testing.T) {
	lasting := func(rate eval.Rate, slots int) *bench {
		b := newBench("a")
		b.Slots, b.JudgeSlots = slots, slots
		b.models(func(m *eval.Model) { m.Rate = &rate })
		for range 3 {
			b.Past = append(b.Past, forecast.Row{
				Run: "r-1", Case: "a", Variant: "default", Verdict: eval.Pass, BusyMS: 20_000,
				Agent: forecast.Took{Calls: 10, Input: 1000, Output: 200, ModelMS: 15_000},
			})
		}
		return b
	}
	judged := func(b *bench) *bench {
		b.judge(0, 0, 0)
		for i := range b.Past {
			b.Past[i].Judge.Took = forecast.Took{Calls: 2, Input: 500, Output: 20, ModelMS: 4000}
			b.Past[i].Judge.BusyMS = 5000
		}
		return b
	}
	limited := func(l eval.Limits, rate eval.Rate) *bench {
		b := newBench()
		b.Slots = 1
		b.add(eval.Case{ID: "a", Kind: eval.KindAgent, Model: "m", Limits: l}, 0)
		b.models(func(m *eval.Model) { m.Rate = &rate })
		return b
	}
	for name, test := range map[string]struct {
		bench *bench
		basis eval.Basis
		want  eval.Bound
	}{
		"slots": {lasting(eval.Rate{}, 2), eval.BasisHistory, eval.Bound{By: "slots", Value: 2, Time: 30 * time.Second}},
		"one trial after all": {
			lasting(eval.Rate{}, 10), eval.BasisHistory, eval.Bound{By: "longest_trial", Value: 1, Time: 20 * time.Second},
		},
		"requests": {
			lasting(eval.Rate{RequestsPerMinute: 20}, 10), eval.BasisHistory,
			eval.Bound{By: "requests_per_minute", Value: 20, Key: "anthropic/m", Time: 90 * time.Second},
		},
		"requests of three keys": {
			func() *bench {
				return lasting(eval.Rate{RequestsPerMinute: 20}, 10).models(func(m *eval.Model) { m.APIKeys = []string{"a", "b", "c"} })
			}(), eval.BasisHistory,
			eval.Bound{By: "requests_per_minute", Value: 20, Key: "anthropic/m", Time: 30 * time.Second},
		},
		"requests of a pool": {
			lasting(eval.Rate{RequestsPerMinute: 20, Pool: "claude-*"}, 10), eval.BasisHistory,
			eval.Bound{By: "requests_per_minute", Value: 20, Key: "anthropic/claude-*", Time: 90 * time.Second},
		},
		"requests at an address that is spelled in two ways": {
			func() *bench {
				b := lasting(eval.Rate{RequestsPerMinute: 20}, 10)
				b.add(eval.Case{ID: "b", Kind: eval.KindAgent, Model: "n"}, 0)
				for _, row := range b.Past[:3] {
					row.Case = "b"
					b.Past = append(b.Past, row)
				}
				m := b.Snapshot.Models["m"]
				m.BaseURL = "http://gateway"
				b.Snapshot.Models["m"] = m
				m.BaseURL = "http://Gateway:80/v1/"
				b.Snapshot.Models["n"] = m
				return b
			}(), eval.BasisHistory,
			eval.Bound{By: "requests_per_minute", Value: 20, Key: "anthropic/m", Time: 3 * time.Minute},
		},
		"tokens": {
			lasting(eval.Rate{TokensPerMinute: 1200}, 10), eval.BasisHistory,
			eval.Bound{By: "tokens_per_minute", Value: 1200, Key: "anthropic/m", Time: 3 * time.Minute},
		},
		"tokens in": {
			lasting(eval.Rate{InputTokensPerMinute: 1000, OutputTokensPerMinute: 600}, 10), eval.BasisHistory,
			eval.Bound{By: "input_tokens_per_minute", Value: 1000, Key: "anthropic/m", Time: 3 * time.Minute},
		},
		"tokens out": {
			lasting(eval.Rate{InputTokensPerMinute: 9000, OutputTokensPerMinute: 100}, 10), eval.BasisHistory,
			eval.Bound{By: "output_tokens_per_minute", Value: 100, Key: "anthropic/m", Time: 6 * time.Minute},
		},
		"calls in flight": {
			lasting(eval.Rate{Concurrent: 1}, 10), eval.BasisHistory,
			eval.Bound{By: "concurrent", Value: 1, Key: "anthropic/m", Time: 45 * time.Second},
		},
		"requests, which judges share": {
			judged(lasting(eval.Rate{RequestsPerMinute: 20}, 10)), eval.BasisHistory,
			eval.Bound{By: "requests_per_minute", Value: 20, Key: "anthropic/m", Time: 108 * time.Second},
		},
		"requests of judges alone": {
			judged(lasting(eval.Rate{RequestsPerMinute: 20, Judge: &eval.Rate{RequestsPerMinute: 2}}, 10)), eval.BasisHistory,
			eval.Bound{By: "requests_per_minute", Value: 2, Key: "anthropic/m/judge", Time: 3 * time.Minute},
		},
		"limits of trials": {
			limited(eval.Limits{Turns: 5, Time: 10 * time.Second}, eval.Rate{RequestsPerMinute: 10}), eval.BasisLimits,
			eval.Bound{By: "requests_per_minute", Value: 10, Key: "anthropic/m", Time: 90 * time.Second},
		},
		"what is known of it": {
			limited(eval.Limits{Turns: 5}, eval.Rate{RequestsPerMinute: 10}), eval.BasisUnknown,
			eval.Bound{By: "requests_per_minute", Value: 10, Key: "anthropic/m", Time: 90 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := forecast.Make(test.bench.Plan).Duration
			if got.Basis != test.basis || (got.Time == nil) != (test.basis == eval.BasisUnknown) || len(got.Bounds) == 0 {
				t.Fatalf("got %+v, want a time by %s", got, test.basis)
			}
			if diff := cmp.Diff(test.want, got.Bounds[0]); diff != "" {
				t.Errorf("the tightest bound differs (-want +got):\n%s", diff)
			}
		})
	}
}

// A time of a budget is kept too.
func TestBudgetOfTime(t *testing.T) {
	b := newBench("a").budget(eval.Budget{Time: time.Minute})
	b.Slots = 1
	b.Past = []forecast.Row{{Run: "r-1", Case: "a", Variant: "default", Verdict: eval.Pass, BusyMS: 8000}}
	a := forecast.Make(b.Plan).Affords
	if a.Expected.N != 7 || a.Short != eval.ShortOfTime || a.Guaranteed != nil {
		t.Errorf("got %+v, want 7 rounds and to be short of time", a)
	}
	b.Past = nil
	if a := forecast.Make(b.Plan).Affords; a.Expected != nil {
		t.Errorf("got %+v, want nothing to be known", a)
	}
}

func TestDetectableDifference(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("case", i))
	}
	told := func(verdicts ...eval.Verdict) *bench {
		b := newBench(names...)
		for _, v := range verdicts {
			b.Past = append(b.Past, forecast.Row{Run: "r-1", Case: "case0", Variant: "default", Verdict: v})
		}
		return b
	}
	two := newBench(names...)
	two.Snapshot.Variants = []eval.Variant{eval.NewVariant(map[string]string{"x": "1"}), eval.NewVariant(map[string]string{"x": "2"})}
	for _, c := range two.Cases[:5] {
		two.add(c, 1)
	}
	for name, test := range map[string]struct {
		bench          *bench
		cells          int
		runs, variants float64
	}{
		// The table of stats.md: 20 cases and 3 repeats.
		"assumed":               {newBench(names...), 0, 0.157, 0},
		"of history":            {told(eval.Pass, eval.Fail, eval.Unjudged), 1, 0.321, 0}, // the variance is 0.5
		"of a history in peace": {told(eval.Pass, eval.Pass, eval.Pass), 0, 0.157, 0},
		"of variants":           {two, 0, 0.140, 0.313}, // 25 cells, and 5 in the smaller one
	} {
		t.Run(name, func(t *testing.T) {
			got := forecast.Make(test.bench.Plan).Shows
			if got.Repeats != 3 || got.Cells != test.cells || math.Abs(got.Runs-test.runs) > 0.001 {
				t.Errorf("got %+v, want a drop of %v told by %d cells", *got, test.runs, test.cells)
			}
			if (got.Variants != nil) != (test.variants > 0) || got.Variants != nil && math.Abs(*got.Variants-test.variants) > 0.001 {
				t.Errorf("between variants: got %v, want %v", got.Variants, test.variants)
			}
		})
	}
}
