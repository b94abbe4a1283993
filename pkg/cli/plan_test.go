package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestWhatIsConfirmed(t *testing.T) {
	costs := func(micro int64) eval.Forecast {
		return eval.Forecast{Cost: eval.Expectations{Total: eval.Expected{P50: new(micro / 2), P95: new(micro), Known: micro}}}
	}
	unknown := eval.Forecast{Cost: eval.Expectations{Total: eval.Expected{Known: 100, Basis: eval.BasisUnknown}}}
	within := func(f eval.Forecast, micro int64) eval.Forecast {
		f.Affords = &eval.Affordable{Budget: eval.Budget{MicroUSD: micro}}
		return f
	}
	today := func(f eval.Forecast, left int64) eval.Forecast {
		f.Affords = &eval.Affordable{Budget: eval.Budget{MicroUSD: 2 * left}, Day: &eval.DayLeft{CapMicroUSD: 3 * left, LeftMicroUSD: left}}
		return f
	}
	const dollar = 1_000_000
	for name, test := range map[string]struct {
		fs   []eval.Forecast
		from int64
		want string // a part of the question; empty for none
	}{
		"less":                         {[]eval.Forecast{costs(2 * dollar)}, 5 * dollar, ""},
		"as much":                      {[]eval.Forecast{costs(5 * dollar)}, 5 * dollar, ""},
		"more":                         {[]eval.Forecast{costs(12_345_678)}, 5 * dollar, "may cost $12.35, and confirm_usd is $5.00. go on? [y/N] "},
		"more together":                {[]eval.Forecast{costs(3 * dollar), costs(3 * dollar)}, 5 * dollar, "$6.00"},
		"more where nobody wants to":   {[]eval.Forecast{costs(12 * dollar)}, 0, ""},
		"unknown":                      {[]eval.Forecast{costs(1), unknown}, 5 * dollar, "nobody knows"},
		"unknown, of a small budget":   {[]eval.Forecast{within(unknown, dollar)}, 5 * dollar, ""},
		"unknown, of a large budget":   {[]eval.Forecast{within(unknown, 9*dollar)}, 5 * dollar, "$9.00"},
		"more than the day has left":   {[]eval.Forecast{today(costs(9*dollar), 4*dollar)}, 5 * dollar, ""},
		"more than its budget":         {[]eval.Forecast{within(costs(9*dollar), 4*dollar)}, 5 * dollar, ""},
		"nothing that costs something": {nil, 5 * dollar, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := confirmation(test.fs, test.from)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestAnswerToGoOn(t *testing.T) {
	for answer, want := range map[string]bool{
		"y\n": true, "yes\n": true, " YES \r\n": true, "y": true,
		"\n": false, "": false, "n\n": false, "yesterday\n": false, "no\ny\n": false,
	} {
		if got, err := confirmed(t.Context(), strings.NewReader(answer)); got != want || err != nil {
			t.Errorf("%q: got %t (%v), want %t", answer, got, err, want)
		}
	}
	// Whoever is interrupted while the question stands has said nothing.
	ctx, cancel := context.WithCancelCause(t.Context())
	silent, w := io.Pipe()
	defer w.Close()
	why := errors.New("interrupted")
	cancel(why)
	if got, err := confirmed(ctx, silent); got || !errors.Is(err, why) {
		t.Errorf("interrupted: got %t (%v), want the interrupt", got, err)
	}
}

// Only a terminal is asked, and a farm in a pipeline goes on.
func TestOnlyATerminalIsAsked(t *testing.T) {
	var errs strings.Builder
	c := &command{env: Env{Stdin: strings.NewReader("n\n"), Stderr: &errs, StderrTTY: true}}
	if c.interactive() {
		t.Error("a stdin that is no file is asked")
	}
}

func TestPlanInALine(t *testing.T) {
	history := eval.Forecast{
		Trials: 600, Rounds: 3, Past: eval.Past{Runs: []string{"r-1", "r-2", "r-3"}},
		Cost:     eval.Expectations{Total: eval.Expected{P50: new(int64(1_800_000)), P95: new(int64(2_100_000)), Basis: eval.BasisHistory}},
		Duration: eval.Duration{Time: new(4 * time.Minute), Basis: eval.BasisHistory, Bounds: []eval.Bound{{By: "requests_per_minute", Value: 50, Key: "anthropic/claude-haiku-4-5", Time: 4 * time.Minute}}},
	}
	with := func(change func(*eval.Forecast)) eval.Forecast {
		f := history
		change(&f)
		return f
	}
	limits := eval.Expected{P50: new(int64(6_000_000)), P95: new(int64(6_000_000)), Known: 6_000_000, Basis: eval.BasisLimits}
	for name, test := range map[string]struct {
		f    eval.Forecast
		want string
	}{
		"from history": {history, "plan: 600 trials, about $1.80 (p95 $2.10, from 3 runs), about 4m00s, bound by 50 requests/min of claude-haiku-4-5"},
		"from limits": {
			with(func(f *eval.Forecast) { f.Cost.Total, f.Duration = limits, eval.Duration{} }),
			"plan: 600 trials, at most $6.00 (from limits)",
		},
		"from both": {with(func(f *eval.Forecast) {
			f.Cost.Total.Basis, f.Cost.Total.FromLimits = eval.BasisMixed, 10
			f.Duration.Bounds = []eval.Bound{{By: "slots", Value: 8, Time: time.Minute}}
		}), "plan: 600 trials, about $1.80 (p95 $2.10, from 3 runs, 10 trials at most), about 4m00s, bound by 8 slots"},
		"without a price": {with(func(f *eval.Forecast) {
			f.Cost.Total = eval.Expected{Basis: eval.BasisUnknown}
			f.Unpriced, f.Duration = []eval.Unpriced{{Name: "fast"}, {Name: "slow"}}, eval.Duration{}
		}), "plan: 600 trials, cost unknown (no price of fast, slow)"},
		"with judges of whom nobody knows": {with(func(f *eval.Forecast) {
			f.Cost = eval.Expectations{Total: eval.Expected{Basis: eval.BasisUnknown}, Agents: limits}
			f.Duration = eval.Duration{}
		}), "plan: 600 trials, agents at most $6.00, judges unknown (no history)"},
		"of a budget that is too small": {with(func(f *eval.Forecast) {
			f.Affords, f.Duration = &eval.Affordable{Expected: &eval.Rounds{N: 2}}, eval.Duration{}
		}), "plan: 600 trials, about $1.80 (p95 $2.10, from 3 runs), the budget probably affords 2 of 3 rounds"},
		"of a budget that is too small, by limits": {with(func(f *eval.Forecast) {
			f.Cost.Total, f.Duration, f.Rounds = limits, eval.Duration{}, 6
			f.Affords = &eval.Affordable{Budget: eval.Budget{MicroUSD: 4_000_000}, Expected: &eval.Rounds{N: 4}, Guaranteed: &eval.Rounds{N: 4}}
		}), "plan: 600 trials, at most $6.00 (from limits), the budget affords at least 4 of 6 rounds"},
		"of a budget that guarantees some": {with(func(f *eval.Forecast) {
			f.Cost.Total, f.Duration = eval.Expected{Basis: eval.BasisUnknown}, eval.Duration{}
			f.Affords = &eval.Affordable{Budget: eval.Budget{MicroUSD: 4_000_000}, Guaranteed: &eval.Rounds{N: 2}}
		}), "plan: 600 trials, cost unknown (no history, and no limits), the budget affords at least 2 of 3 rounds"},
		"of a day that has little left": {with(func(f *eval.Forecast) {
			f.Cost.Total, f.Duration = limits, eval.Duration{}
			f.Affords = &eval.Affordable{
				Day: &eval.DayLeft{CapMicroUSD: 5_000_000, LeftMicroUSD: 3_000_000}, Short: eval.ShortOfDayMoney,
				Expected: &eval.Rounds{N: 1}, Guaranteed: &eval.Rounds{N: 1},
			}
		}), "plan: 600 trials, at most $6.00 (from limits), $3.00 of the day's $5.00 left, that affords at least 1 of 3 rounds"},
		"of a day that has enough": {with(func(f *eval.Forecast) {
			f.Cost.Total, f.Duration = limits, eval.Duration{}
			f.Affords = &eval.Affordable{Day: &eval.DayLeft{CapMicroUSD: 9_000_000, LeftMicroUSD: 8_000_000}, Expected: &eval.Rounds{N: 4}, Guaranteed: &eval.Rounds{N: 4}}
		}), "plan: 600 trials, at most $6.00 (from limits), $8.00 of the day's $9.00 left"},
		"of a budget that decides": {with(func(f *eval.Forecast) {
			f.Affords, f.Fit, f.Duration = &eval.Affordable{Expected: &eval.Rounds{N: 3}}, &eval.Fit{Rounds: 3}, eval.Duration{}
		}), "plan: 600 trials, about $1.80 (p95 $2.10, from 3 runs), 3 repeats by the budget"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := planLine(test.f); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestAbout(t *testing.T) {
	for micro, want := range map[int64]string{
		0: "$0.00", 7: "$0.000007", 1234: "$0.0012", 1250: "$0.0013", 18_432: "$0.018", 99_999: "$0.10", 123_456: "$0.12", 12_345_678: "$12.35",
	} {
		if got := about(micro); got != want {
			t.Errorf("%d: got %s, want %s", micro, got, want)
		}
	}
}
