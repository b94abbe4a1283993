package cli_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stub"
)

// What the provider of these tests takes for a call of a clerk: half a cent, since
// 500 tokens in cost 1 micro-dollar each and 45 out 100. An agent's trial makes two
// calls, and may cost 1.5 cents.
const (
	callCost  = 500*1 + 45*100
	trialCost = 2 * callCost
	priced    = ", price: {input: 1, output: 100}"
)

// spent is what a provider wants to be paid, in micro-dollars, answers included that
// nobody was there to hear.
func (p *provider) spent() int64 { return bill(p.Stats().Load) }

func bill(l stub.Load) int64 {
	u := l.Tokens.Add(l.Unheard)
	return int64(u.Input) + 100*int64(u.Output)
}

// settled waits until no call is open at the provider, and gives what it wants.
func (p *provider) settled(tb testing.TB) int64 {
	tb.Helper()
	eventually(tb, "the provider is idle", func() bool { return p.Stats().InFlight == 0 })
	return p.spent()
}

// cells of a suite that costs money.
const cells = 12

// costlySuite has cases whose agents make two calls, each with these keys more.
func costlySuite(s *shop, models, more string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `version: 1
name: costly
servers: {shop: {command: [evalfarm, demo, acme], isolation: shared}}
models:
%s
defaults: {server: shop, model: m}
limits: {cost_usd: 0.015}
cases:
`, models)
	for i := range cells {
		fmt.Fprintf(&b, "  - {id: case-%02d, prompt: \"Look how they are.\", checks: [{contains: ACTIVE}%s]}\n", i, more)
	}
	return s.file("suite.yaml", b.String())
}

// paid is the model of a costly suite.
func paid(p *provider) string { return "  m: {" + fmt.Sprintf(openai(priced), p.url) + "}" }

// state of the latest run, as `status` shows it.
type state struct {
	Run     string
	State   eval.RunState
	Outcome eval.RunOutcome
	Counts  eval.VerdictCounts
	Ledger  eval.Ledger
	Live    *eval.Live
}

func (s *shop) state() state {
	s.t.Helper()
	var st state
	s.json(&st, 0, "status", "--json")
	return st
}

// within wants a provider to have been paid no more than a cap, and a run's ledger to
// know of all of it.
func (s *shop) within(p *provider, limit int64) {
	s.t.Helper()
	l, spent := s.state().Ledger, p.settled(s.t)
	if spent > limit {
		s.t.Errorf("the provider wants %s, want at most %s", eval.USD(spent), eval.USD(limit))
	}
	if known := l.Spent.Add(l.Charged).MicroUSD; spent > known || known > limit || l.Held.MicroUSD != 0 {
		s.t.Errorf("the provider wants %s, the ledger has %+v; want all of it in the ledger, at most %s there, and nothing held", eval.USD(spent), l, eval.USD(limit))
	}
}

// exhausted wants a run to have ended because its budget was used up, as far as no
// further trial fits.
func exhausted(tb testing.TB, got eval.Summary, short eval.Shortage) {
	tb.Helper()
	if got.Outcome != eval.OutcomeBudgetExhausted || got.ExitCode != 4 || got.Counts.Unfinished == 0 {
		tb.Errorf("outcome %s, exit code %d, %+v; want %s, 4, and unfinished trials", got.Outcome, got.ExitCode, got.Counts, eval.OutcomeBudgetExhausted)
	}
	if got.Coverage == nil || got.Coverage.Short != short {
		tb.Errorf("coverage %+v, want it short of %s", got.Coverage, short)
	}
}

// balanced wants every cell to have as many trials as any other, or one more.
func (s *shop) balanced() {
	s.t.Helper()
	n := map[string]int{}
	for _, l := range s.lines() {
		n[l.Case]++
	}
	least, most := 1<<30, 0
	for i := range cells {
		c := n[fmt.Sprintf("case-%02d", i)]
		least, most = min(least, c), max(most, c)
	}
	if most-least > 1 {
		s.t.Errorf("cells have from %d to %d trials, want the same or one more", least, most)
	}
}

// A sweep that would cost $3 is stopped at $1 by 50 places at once, and what was
// measured until then is balanced.
func TestBudgetIsKept(t *testing.T) {
	t.Parallel()
	const limit = 1_000_000
	conduct := func(t *testing.T, run func(s *shop, suite string, flags ...string) eval.Summary) {
		t.Helper()
		s := newShop(t)
		p := provide(t, stub.Options{Latency: latency(t, "1s")})
		got := run(s, costlySuite(s, paid(p), ""), "-n", "25", "--budget-usd", "1.00")
		exhausted(t, got, eval.ShortOfMoney)
		s.within(p, limit)
		s.balanced()
		spent := p.settled(t)
		if got.Cost.MicroUSD == nil || *got.Cost.MicroUSD != spent || got.Cost.ChargedMicroUSD != 0 {
			t.Errorf("cost %+v, want the %s of the provider, and nothing charged", got.Cost, eval.USD(spent))
		}
		if least := int64(limit - 15_000); spent < least {
			t.Errorf("spent %s, though another trial would have fitted", eval.USD(spent))
		}
		t.Logf("%s of $1.00 spent, %d calls at once", eval.USD(spent), p.Stats().MaxInFlight)
	}
	t.Run("embedded", func(t *testing.T) {
		t.Parallel() // each waits for answers most of its time
		conduct(t, func(s *shop, suite string, flags ...string) eval.Summary {
			var got eval.Summary
			s.json(&got, 4, append([]string{"run", suite, "-j", "50", "--json", "--progress", "none"}, flags...)...)
			return got
		})
	})
	t.Run("two workers", func(t *testing.T) {
		t.Parallel()
		conduct(t, func(s *shop, suite string, flags ...string) eval.Summary {
			sched, hands := staff(s, redistest.Start(s.t), 2, 25, append(flags, suite)...)
			return conclude(s, sched, hands, 4)
		})
	})
}

// emptied is a Redis that was killed and came back without what it knew.
func emptied(t *testing.T, redis *redistest.Server) {
	t.Helper()
	redis.Kill9()
	dir := filepath.Dir(strings.TrimPrefix(redis.URL(), "unix://"))
	if err := os.RemoveAll(filepath.Join(dir, "appendonlydir")); err != nil {
		t.Fatal(err)
	}
	redis.Restart()
}

// Whatever is killed in the middle of a capped run, the run ends by itself and has
// not spent more than it may.
func TestBudgetIsKeptWhateverIsKilled(t *testing.T) {
	t.Parallel()
	budgetKilled(t, 600_000, 150_000)
}

// budgetKilled disturbs a run when the provider wants so much.
func budgetKilled(t *testing.T, limit, when int64) {
	t.Helper()
	for _, tt := range []struct {
		name    string
		charged bool // for attempts that nobody has seen the end of
		disturb func(s *shop, redis *redistest.Server, sched *process, hands []*process) *process
	}{
		{"redis is killed and comes back empty", false, func(_ *shop, redis *redistest.Server, sched *process, _ []*process) *process {
			emptied(t, redis)
			return sched
		}},
		{"redis loses everything", false, func(_ *shop, redis *redistest.Server, sched *process, _ []*process) *process {
			redis.FlushAll()
			return sched
		}},
		{"a worker is killed", true, func(_ *shop, _ *redistest.Server, sched *process, hands []*process) *process {
			hands[0].kill()
			return sched
		}},
		{"the scheduler is killed", false, func(s *shop, redis *redistest.Server, sched *process, _ []*process) *process {
			at := joinAt.FindStringSubmatch(sched.errs.String())[1]
			sched.kill()
			return s.start("scheduler", "--redis", redis.URL(), "--listen", strings.TrimPrefix(at, "http://"), "--lease", "2s", "--json", "--resume", "latest")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits for answers and leases most of its time
			s := newShop(t)
			p := provide(t, stub.Options{Latency: latency(t, "uniform(200ms,800ms)")})
			redis := redistest.Start(t)
			n := 3 * limit / trialCost / cells
			sched, hands := staff(s, redis, 2, 8, "-n", fmt.Sprint(n), "--budget-usd", fmt.Sprintf("%.6f", float64(limit)/1e6), costlySuite(s, paid(p), ""))
			eventually(t, "some of the budget is spent", func() bool { return p.spent() >= when || sched.ended() })
			sched = tt.disturb(s, redis, sched, hands)
			got := conclude(s, sched, hands, 4)
			exhausted(t, got, eval.ShortOfMoney)
			s.within(p, limit)
			if charged := s.state().Ledger.Charged.MicroUSD; tt.charged && charged == 0 {
				t.Error("nothing was charged for the trials of the killed worker")
			}
			t.Logf("the provider wants %s of %s; charged for what nobody saw %s", eval.USD(p.spent()), eval.USD(limit), eval.USD(got.Cost.ChargedMicroUSD))
		})
	}
}

// A run that is stopped with Ctrl-C is charged nothing for what nobody had begun, and
// has the rest of its budget when it goes on.
func TestBudgetIsKeptOverCtrlC(t *testing.T) {
	t.Parallel()
	const limit = 600_000
	for _, tt := range []struct {
		name, grace string
		whole       bool // what runs comes to its end, so that all of it is known
	}{
		{"what runs may end", "30s", true},
		{"what runs is cut off", "0s", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits for answers most of its time
			s := newShop(t)
			p := provide(t, stub.Options{Latency: latency(t, "uniform(200ms,600ms)")})
			flags := []string{"-j", "16", "--grace", tt.grace, "--json", "--progress", "none"}
			run := s.start(append([]string{"run", costlySuite(s, paid(p), ""), "-n", "15", "--budget-usd", "0.60"}, flags...)...)
			for range 2 {
				when := p.spent() + 100_000
				eventually(t, "some of the budget is spent", func() bool { return p.spent() >= when || run.ended() })
				run.signal(syscall.SIGINT)
				if code := run.wait(); code != 130 {
					t.Fatalf("exit code %d, want 130\n%s", code, run.errs.String())
				}
				l, spent := s.state().Ledger, p.settled(t)
				if l.Charged != (eval.Amount{}) || l.Held != (eval.Amount{}) || l.Spent.MicroUSD < spent || tt.whole && l.Spent.MicroUSD > spent {
					t.Errorf("after Ctrl-C the provider wants %s and the ledger has %+v; want it spent, and nothing charged or held", eval.USD(spent), l)
				}
				run = s.start(append([]string{"resume", "latest"}, flags...)...)
			}
			if code := run.wait(); code != 4 {
				t.Fatalf("exit code %d, want 4\n%s", code, run.errs.String())
			}
			var got eval.Summary
			if err := json.Unmarshal([]byte(run.out.String()), &got); err != nil {
				t.Fatal(err)
			}
			exhausted(t, got, eval.ShortOfMoney)
			s.within(p, limit)
			s.balanced()
			t.Logf("the provider wants %s of %s", eval.USD(p.spent()), eval.USD(limit))
		})
	}
}

// What judges take is within the budget too. Trials that it does not pay a judge for
// wait for one, and more money completes the run.
func TestBudgetPaysJudges(t *testing.T) {
	t.Parallel()
	const limit, trials = 300_000, cells * 4
	s := newShop(t)
	s.env = append(s.env, "AGENT_KEY=of the agent", "JUDGE_KEY=of the judge")
	p := provide(t, stub.Options{Latency: latency(t, "uniform(100ms,300ms)"), Keys: []string{"of the agent", "of the judge"}})
	models := "  m: {" + fmt.Sprintf(openai(priced), p.url) + ", api_key: \"${{ secrets.AGENT_KEY }}\"}\n" +
		"  j: {" + fmt.Sprintf(openai(priced), p.url) + ", api_key: \"${{ secrets.JUDGE_KEY }}\"}"
	judged := func() int64 {
		sum := sha256.Sum256([]byte("of the judge"))
		return bill(p.Stats().Keys["key-"+hex.EncodeToString(sum[:4])])
	}
	check := func(what string, got eval.Summary) {
		t.Helper()
		if spent := p.settled(t); got.Cost.MicroUSD == nil || *got.Cost.MicroUSD != spent || got.Cost.JudgeMicroUSD != judged() || judged() == 0 {
			t.Errorf("%s: cost %+v, want the %s of the provider, %s of them for judges", what, got.Cost, eval.USD(spent), eval.USD(judged()))
		}
	}

	var got eval.Summary
	s.json(&got, 4, "run", costlySuite(s, models, ", {judge: {model: j, rubric: Be polite.}}"), "-n", "4", "-j", "8", "--judge-slots", "1",
		"--budget-usd", "0.30", "--json", "--progress", "none")
	exhausted(t, got, eval.ShortOfMoney)
	s.within(p, limit)
	check("at first", got)
	if got.Counts.Unjudged == 0 || got.Counts.Pass == 0 {
		t.Errorf("%+v, want some judged, and some for which there was no money", got.Counts)
	}
	had := got.Counts

	s.json(&got, 4, "judge", "latest", "--budget-usd", "5", "--json", "--progress", "none")
	check("judged", got)
	if n := got.Counts; n.Unjudged != 0 || n.Pass != had.Pass+had.Unjudged {
		t.Errorf("judged: %+v after %+v, want all of those judged", n, had)
	}

	s.json(&got, 0, "retry", "latest", "--budget-usd", "5", "--json", "--progress", "none")
	check("at last", got)
	if n := got.Counts; n.Pass != trials || p.spent() != trials*(trialCost+callCost) {
		t.Errorf("at last: %+v for %s, want %d to pass, each paid once", n, eval.USD(p.spent()), trials)
	}
}

// What the operator allows for a day holds for all runs of a state folder together.
func TestDayBudget(t *testing.T) {
	t.Parallel()
	const limit = 100_000
	open := func(t *testing.T) (*shop, *provider, string) {
		t.Helper()
		s := newShop(t)
		s.file("farm.yaml", "version: 1\nbudgets: {day_usd: 0.10}\n")
		p := provide(t, stub.Options{Latency: latency(t, "uniform(100ms,300ms)")})
		return s, p, costlySuite(s, paid(p), "")
	}
	t.Run("one after the other", func(t *testing.T) {
		t.Parallel()
		s, p, suite := open(t)
		var first, second, third eval.Summary
		s.json(&first, 0, "run", suite, "--case", "case-0[0-5]", "-n", "1", "--json", "--progress", "none")
		s.json(&second, 4, "run", suite, "-n", "2", "--json", "--progress", "none")
		exhausted(t, second, eval.ShortOfDayMoney)
		s.json(&third, 4, "run", suite, "-n", "2", "--json", "--progress", "none")
		exhausted(t, third, eval.ShortOfDayMoney)
		spent := p.settled(t)
		if had := first.Cost.KnownMicroUSD + second.Cost.KnownMicroUSD + third.Cost.KnownMicroUSD; spent > limit || had != spent || third.Cost.KnownMicroUSD != 0 {
			t.Errorf("the provider wants %s for runs of %s, %s and %s; want their sum, at most %s, and nothing for the third",
				eval.USD(spent), eval.USD(first.Cost.KnownMicroUSD), eval.USD(second.Cost.KnownMicroUSD), eval.USD(third.Cost.KnownMicroUSD), eval.USD(limit))
		}
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		s, p, suite := open(t)
		var sum int64
		runs := []*process{
			s.start("run", suite, "-n", "2", "--json", "--progress", "none"),
			s.start("run", suite, "-n", "2", "--json", "--progress", "none"),
		}
		for _, run := range runs {
			if code := run.wait(); code != 4 {
				t.Fatalf("exit code %d, want 4\n%s", code, run.errs.String())
			}
			var got eval.Summary
			if err := json.Unmarshal([]byte(run.out.String()), &got); err != nil {
				t.Fatal(err)
			}
			exhausted(t, got, eval.ShortOfDayMoney)
			sum += got.Cost.KnownMicroUSD
		}
		if spent := p.settled(t); spent > limit || sum != spent || spent < limit/2 {
			t.Errorf("the provider wants %s for runs of %s together; want the same, at most %s, and most of it used", eval.USD(spent), eval.USD(sum), eval.USD(limit))
		}
	})
}

// A run that is taken up again is under the day's cap that is in force then, be it
// tighter, wider or none.
func TestDayBudgetInForce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	day := func(text string) { s.file("farm.yaml", "version: 1\n"+text) }
	p := provide(t, stub.Options{Latency: latency(t, "100ms")})
	suite := costlySuite(s, paid(p), "")

	day("budgets: {day_usd: 0.03}")
	var got eval.Summary
	s.json(&got, 4, "run", suite, "-n", "1", "-j", "2", "--json", "--progress", "none")
	exhausted(t, got, eval.ShortOfDayMoney)
	s.json(&got, 4, "retry", "latest", "--json", "--progress", "none") // still the same
	exhausted(t, got, eval.ShortOfDayMoney)
	day("budgets: {day_usd: 0.06}")
	s.json(&got, 4, "retry", "latest", "--json", "--progress", "none")
	exhausted(t, got, eval.ShortOfDayMoney)
	if spent := p.settled(t); spent <= 30_000 || spent > 60_000 {
		t.Errorf("the provider wants %s, want more than the first cap and no more than the second", eval.USD(spent))
	}
	day("")
	var free eval.Summary
	s.json(&free, 0, "retry", "latest", "--json", "--progress", "none")
	if free.Counts.Pass != cells || free.Coverage != nil {
		t.Errorf("%+v, coverage %+v; want all to pass, and no cap", free.Counts, free.Coverage)
	}

	// The other way round: what was begun without a cap goes on under one.
	run := s.start("run", suite, "-n", "20", "-j", "2", "--grace", "30s", "--json", "--progress", "none")
	before := p.spent()
	eventually(t, "something is spent", func() bool { return p.spent() > before || run.ended() })
	run.signal(syscall.SIGINT)
	if code := run.wait(); code != 130 {
		t.Fatalf("exit code %d, want 130\n%s", code, run.errs.String())
	}
	day("budgets: {day_usd: 0.03}")
	spent := p.settled(t)
	s.json(&got, 4, "resume", "latest", "--json", "--progress", "none")
	exhausted(t, got, eval.ShortOfDayMoney)
	if now := p.settled(t); now != spent {
		t.Errorf("the provider wants %s more for a run that the day has no money for", eval.USD(now-spent))
	}
}

// What a run has spent that asks a model without a price is unknown, which is null and
// not left out, and not 0.
func TestUnknownSpendingIsNull(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := provide(t, stub.Options{})
	for _, tt := range []struct{ name, price, want string }{
		{"no price", "", `"spent": { "microusd": null, "tokens": 1090 }`},
		{"price", priced, `"spent": { "microusd": 10000, "tokens": 1090 }`},
	} {
		suite := costlySuite(s, "  m: {"+fmt.Sprintf(openai(tt.price), p.url)+"}", "")
		content, err := os.ReadFile(suite)
		if err != nil {
			t.Fatal(err)
		}
		s.file("suite.yaml", strings.Replace(string(content), "limits: {cost_usd: 0.015}\n", "", 1))
		if _, code := s.run("run", suite, "--case", "case-00", "-n", "1", "-q", "--progress", "none"); code != 0 {
			t.Fatalf("%s: exit code %d, want 0", tt.name, code)
		}
		out, _ := s.run("status", "--json")
		if !strings.Contains(strings.Join(strings.Fields(out), " "), tt.want) {
			t.Errorf("%s: got %s, want %s", tt.name, out, tt.want)
		}
	}
}
