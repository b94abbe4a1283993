package scheduler_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// createCapped stores a run of agent cases with caps.
func (b *bundle) createCapped(budget eval.Budget, day int64, repeats int, cases ...eval.Case) eval.Run {
	b.t.Helper()
	run, err := scheduler.Create(b.t.Context(), b.store, scheduler.Request{
		Suite: loaded(cases...), Seed: 1, Selection: suite.Selection{Repeats: repeats}, Budget: budget, DayMicroUSD: day,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// spend records an attempt and what it took, in money and in tokens.
func (b *bundle) spend(j jobs.Job, took int64, outcome eval.AttemptOutcome, r eval.Result, blobs ...eval.Blob) {
	b.t.Helper()
	err := b.agg.Put(b.t.Context(), eval.Record{
		UID: "uid-" + j.Key(), Run: j.Run, Ordinal: j.Ordinal, N: j.Attempt, Worker: "w", Outcome: outcome,
		Result: r, Blobs: blobs, CostMicroUSD: took, Tokens: took, Started: time.Now(), Ended: time.Now(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bundle) passes(j jobs.Job, took int64) {
	b.t.Helper()
	b.spend(j, took, eval.AttemptDone, eval.Result{Verdict: eval.Pass})
}

// opens records work for a judge.
func (b *bundle) opens(j jobs.Job, took int64) {
	b.t.Helper()
	trajectory := blob.Pack(eval.Encode(eval.Trajectory{}))
	b.spend(j, took, eval.AttemptDone, eval.Result{
		Verdict: eval.Unjudged, Reason: eval.ReasonAwaitingJudge, Trajectory: trajectory.SHA256,
		Scores: []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonAwaitingJudge}},
	}, trajectory)
}

func (b *bundle) rules(j jobs.Job, took int64) {
	b.t.Helper()
	b.spend(j, took, eval.AttemptDone, eval.Result{Verdict: eval.Pass, Scores: []eval.Score{{Check: "tone", Pass: true}}})
}

// settles lets the scheduler go through some rounds, so that what it would do is
// done.
func (b *bundle) settles() {
	b.t.Helper()
	for range 5 {
		b.sched.Round(b.t.Context())
	}
}

// out waits until so many attempts of a run have been dispatched, and wants no
// more to follow.
func (b *bundle) out(q *queue, run string, n int) []jobs.Job {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%d attempts of %s are dispatched", n, run), func() bool { return len(q.of(run)) >= n })
	b.settles()
	js := q.of(run)
	if len(js) != n {
		b.t.Fatalf("%d attempts of %s were dispatched, want %d", len(js), run, n)
	}
	return js
}

func (b *bundle) ledger(run eval.Run) eval.Ledger {
	b.t.Helper()
	l, err := b.store.Ledger(b.t.Context(), run.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return l
}

func (b *bundle) reread(run eval.Run) eval.Run {
	b.t.Helper()
	run, err := b.store.Run(b.t.Context(), run.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// exhausted wants a run to end because something ran out, with nothing held.
func (b *bundle) exhausted(run eval.Run, short eval.Shortage) eval.Summary {
	b.t.Helper()
	s := b.wait(run)
	if s.Outcome != eval.OutcomeBudgetExhausted || s.Coverage == nil || s.Coverage.Short != short || s.Verdict != eval.RunInconclusive {
		b.t.Errorf("the run ended %s, %s, coverage %+v; want it exhausted and inconclusive, short of %s", s.Outcome, s.Verdict, s.Coverage, short)
	}
	if stored := b.reread(run); stored.Short != short || stored.Outcome != s.Outcome {
		b.t.Errorf("the stored run is %s, short of %q; want %s", stored.Outcome, stored.Short, short)
	}
	if l := b.ledger(run); l.Held != (eval.Amount{}) {
		b.t.Errorf("%+v is held for a run that is over", l.Held)
	}
	return s
}

// seedFor finds a seed with which the trials of cases come in an order, as indexes
// of cases.
func seedFor(t *testing.T, cases, repeats int, want ...int) uint64 {
	t.Helper()
	for seed := range uint64(1000) {
		p := eval.Plan{Seed: seed}
		for i := range cases {
			p.Cells = append(p.Cells, eval.Cell{Case: i, Repeats: repeats})
		}
		order := eval.NewOrder(p)
		var got []int
		for i := range want {
			cell, _, err := order.At(i)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, cell)
		}
		if slices.Equal(got, want) {
			return seed
		}
	}
	t.Fatalf("no seed brings %v", want)
	return 0
}

// A cheap trial that would fit does not overtake a dear one before it: what is done
// when the money is gone is what the plan had first.
func TestTrialsBeginInTheOrderOfThePlan(t *testing.T) {
	const cheap, dear = 0, 1
	seed := seedFor(t, 2, 2, cheap, dear, dear, cheap)
	b := setup(t, scheduler.Options{})
	run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{
		Suite: loaded(agentCase("cheap", "paid", dollars(10)), agentCase("dear", "paid", dollars(60))),
		Seed:  seed, Selection: suite.Selection{Repeats: 2}, Budget: eval.Budget{MicroUSD: 100},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.adopt(run)
	js := b.out(b.queue, run.ID, 2) // 30 are left: the third wants 60, the fourth 10
	if js[0].Hold.MicroUSD != 10 || js[1].Hold.MicroUSD != 60 {
		t.Errorf("the jobs hold %d and %d, want 10 and 60", js[0].Hold.MicroUSD, js[1].Hold.MicroUSD)
	}
	if l := b.ledger(run); l.Held.MicroUSD != 70 {
		t.Errorf("the ledger is %+v, want 70 held", l)
	}
	b.passes(js[0], 10)
	b.out(b.queue, run.ID, 2)
	// The dear one fails, and its next attempt comes before those that are new.
	b.sched.Between(func() {
		b.spend(js[1], 20, eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonStartTimeout})
	})
	js = b.out(b.queue, run.ID, 3)
	if again := js[2]; again.Ordinal != 1 || again.Attempt != 2 || again.Hold.MicroUSD != 60 {
		t.Errorf("dispatched %+v, want the second attempt at trial 1", again)
	}
	b.passes(js[2], 10)
	js = b.out(b.queue, run.ID, 4) // the fourth would be the cheap one
	if js[3].Ordinal != 2 {
		t.Errorf("dispatched trial %d, want 2", js[3].Ordinal)
	}
	b.passes(js[3], 60) // all of 100 is gone
	if s := b.exhausted(run, eval.ShortOfMoney); s.Counts.Pass != 3 || s.Counts.Unfinished != 1 {
		t.Errorf("got %+v, want 3 pass and 1 unfinished", s.Counts)
	}
}

// When nothing more fits, what runs may end, and counts.
func TestRunThatIsShortLetsItsTrialsEnd(t *testing.T) {
	const cheap, dear = 0, 1
	for _, short := range []eval.Shortage{eval.ShortOfMoney, eval.ShortOfTokens, eval.ShortOfDayMoney, eval.ShortOfScheduleMoney} {
		t.Run(string(short), func(t *testing.T) {
			seed := seedFor(t, 2, 3, cheap, dear, dear, cheap)
			b := setup(t, scheduler.Options{})
			req := scheduler.Request{
				Suite: loaded(
					agentCase("cheap", "paid", eval.Limits{CostMicroUSD: 30, Tokens: 30}),
					agentCase("dear", "paid", eval.Limits{CostMicroUSD: 50, Tokens: 50})),
				Seed: seed, Selection: suite.Selection{Repeats: 3},
			}
			switch short {
			case eval.ShortOfMoney:
				req.Budget.MicroUSD, req.Budget.Tokens, req.DayMicroUSD = 90, 1000, 1000
			case eval.ShortOfTokens:
				req.Budget.MicroUSD, req.Budget.Tokens, req.DayMicroUSD = 1000, 90, 1000
			case eval.ShortOfDayMoney:
				req.Budget.MicroUSD, req.Budget.Tokens, req.DayMicroUSD = 1000, 1000, 90
			default:
				req.Budget.MicroUSD, req.Budget.Tokens, req.DayMicroUSD = 1000, 1000, 1000
				req.Schedule, req.ScheduleMicroUSD = "nightly", 90
			}
			run, err := scheduler.Create(t.Context(), b.store, req)
			if err != nil {
				t.Fatal(err)
			}
			b.adopt(run)
			js := b.out(b.queue, run.ID, 2)
			b.spend(js[1], 45, eval.AttemptDone, eval.Result{Verdict: eval.Fail}) // whatever the other takes, 50 will not fit
			b.out(b.queue, run.ID, 2)
			if now := b.reread(run); now.State != eval.RunRunning {
				t.Fatalf("the run is %s while a trial is out", now.State)
			}
			b.passes(js[0], 5)
			s := b.exhausted(run, short)
			if s.Counts.Pass != 1 || s.Counts.Fail != 1 || s.Counts.Unfinished != 4 {
				t.Errorf("got %+v, want 1 pass, 1 fail and 4 unfinished", s.Counts)
			}
			if l := b.ledger(run); l.Spent.MicroUSD != 50 || l.Charged.MicroUSD != 0 {
				t.Errorf("the ledger is %+v, want 50 spent", l)
			}
		})
	}
}

// What one run holds of a day's money, another one waits for.
func TestRunWaitsForWhatAnotherHoldsOfTheDay(t *testing.T) {
	b := setup(t, scheduler.Options{})
	first := b.createCapped(eval.Budget{}, 100, 1, agentCase("a", "paid", dollars(80)))
	b.adopt(first)
	js := b.out(b.queue, first.ID, 1)
	second := b.createCapped(eval.Budget{}, 100, 2, agentCase("a", "paid", dollars(40)))
	b.adopt(second)
	b.settles()
	if n := len(b.queue.of(second.ID)); n != 0 {
		t.Fatalf("%d trials of the second run are out, want none", n)
	}
	for run, want := range map[string]int64{first.ID: 0, second.ID: 80} {
		live, err := b.store.Live(t.Context(), run)
		if err != nil || live.HeldElsewhereMicroUSD != want {
			t.Errorf("run %s waits for %d (%v), want %d", run, live.HeldElsewhereMicroUSD, err, want)
		}
	}
	b.passes(js[0], 20)
	b.wait(first)
	js = b.out(b.queue, second.ID, 2)
	b.passes(js[0], 40)
	b.passes(js[1], 0)
	if s := b.wait(second); s.Outcome != eval.OutcomeComplete || s.Counts.Pass != 2 {
		t.Errorf("the second run ended %s with %+v, want it complete", s.Outcome, s.Counts)
	}
}

// timeIsUp leaves a run no time, and waits until workers are told to begin nothing
// more of it.
func (b *bundle) timeIsUp(run eval.Run) {
	b.t.Helper()
	over := run.Budget
	over.Time = time.Millisecond
	if err := b.store.SetBudget(b.t.Context(), run.ID, over); err != nil {
		b.t.Fatal(err)
	}
	b.told(eval.ControlPause)
}

func TestRunThatIsOutOfTime(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 2})
	run := b.createCapped(eval.Budget{Time: time.Hour}, 0, 5, agentCase("a", "paid", eval.Limits{}))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 2)
	b.queue.say(js[0], jobs.Claimed)
	b.queue.say(js[1], jobs.Claimed)
	b.timeIsUp(run)
	b.settles()
	// One fails: nothing follows it any more.
	b.spend(js[0], 5, eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonStartTimeout})
	b.out(b.queue, run.ID, 2)
	if now := b.reread(run); now.State != eval.RunRunning {
		t.Fatalf("the run is %s while a trial is out", now.State)
	}
	b.passes(js[1], 5)
	if s := b.exhausted(run, eval.ShortOfTime); s.Counts.Pass != 1 || s.Counts.Unfinished != 4 {
		t.Errorf("got %+v, want 1 pass and 4 unfinished", s.Counts)
	}
}

// What waits in the queue when the time is over begins no more, and holds nothing.
func TestRunThatIsOutOfTimeBeginsNothing(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 4})
	run := b.createCapped(eval.Budget{Time: time.Hour, MicroUSD: 1000}, 0, 9, agentCase("a", "paid", dollars(10)))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 4)
	b.queue.say(js[1], jobs.Claimed)
	b.timeIsUp(run)
	b.eventually("what nobody has begun is taken back", func() bool { return b.ledger(run).Held.MicroUSD == 10 })
	b.passes(js[1], 5)
	if s := b.exhausted(run, eval.ShortOfTime); s.Counts.Pass != 1 || s.Counts.Unfinished != 8 {
		t.Errorf("got %+v, want 1 pass and 8 unfinished", s.Counts)
	}
}

// What there is to judge when the time is over is paid, and is judged.
func TestJudgedRunThatIsOutOfTime(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 2})
	run := b.createCapped(eval.Budget{Time: time.Hour}, 0, 5, agentCase("a", "paid", eval.Limits{}, judged("paid")))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 2)
	b.queue.say(js[0], jobs.Claimed)
	b.queue.say(js[1], jobs.Claimed)
	b.timeIsUp(run)
	b.settles()
	b.opens(js[0], 5)
	b.opens(js[1], 5)
	asked := b.out(b.judging, run.Grading, 2)
	b.out(b.queue, run.ID, 2)
	b.rules(asked[0], 1)
	b.rules(asked[1], 1)
	if s := b.exhausted(run, eval.ShortOfTime); s.Counts.Pass != 2 || s.Counts.Unfinished != 3 {
		t.Errorf("got %+v, want 2 pass and 3 unfinished", s.Counts)
	}
}

// judging is what an attempt at judging the work of opens holds, which depends on
// the prompt of judges: some 8,000.
func (b *bundle) holdOfJudge(j jobs.Job) int64 {
	b.t.Helper()
	if j.Hold.MicroUSD < 8000 || j.Hold.MicroUSD > 9500 {
		b.t.Fatalf("a judge holds %d, want what its prompt, its rubric and its answer can cost", j.Hold.MicroUSD)
	}
	return j.Hold.MicroUSD
}

// What the store says of a grading has no budget; it has that of its run.
func TestJudgesHoldToo(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 50_000, Tokens: 1_000_000}, 0, 2, agentCase("a", "paid", eval.Limits{CostMicroUSD: 10_000, Tokens: 5000}, judged("paid")))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 2)
	b.opens(js[0], 2000)
	asked := b.out(b.judging, run.Grading, 1)
	hold := b.holdOfJudge(asked[0])
	if asked[0].Hold.Tokens < 8000 {
		t.Errorf("a judge holds %d tokens, want what it may take", asked[0].Hold.Tokens)
	}
	if l := b.ledger(run); l.Held.MicroUSD != 10_000+hold || l.Spent.MicroUSD != 2000 {
		t.Errorf("the ledger is %+v, want 2000 spent and %d held", l, 10_000+hold)
	}
	b.opens(js[1], 2000)
	asked = b.out(b.judging, run.Grading, 2)
	b.rules(asked[0], 100)
	b.rules(asked[1], 100)
	b.wait(run)
	if l := b.ledger(run); l.Held != (eval.Amount{}) || l.Spent.MicroUSD != 4200 || l.Judges.MicroUSD != 200 {
		t.Errorf("the ledger is %+v, want 4200 spent, 200 of it by judges", l)
	}
}

// Votes and a reference, which is compared both ways round, multiply what a judge
// may take; each check of a case adds its own.
func TestWhatJudgesHold(t *testing.T) {
	b := setup(t, scheduler.Options{})
	hold := func(checks ...eval.Check) int64 {
		run := b.createCapped(eval.Budget{MicroUSD: 1_000_000}, 0, 1, agentCase("a", "paid", dollars(1000), checks...))
		b.adopt(run)
		js := b.out(b.queue, run.ID, 1)
		b.opens(js[0], 100)
		return b.out(b.judging, run.Grading, 1)[0].Hold.MicroUSD
	}
	once := hold(judged("paid"))
	votes := judged("paid")
	votes.Judge.Votes = 3
	if got := hold(votes); got != 3*once {
		t.Errorf("three votes hold %d, want three times %d", got, once)
	}
	pair := judged("paid")
	pair.Judge.Reference = "as good as it gets"
	if got, want := hold(pair), 2*(once+2*int64(len(pair.Judge.Reference))); got != want {
		t.Errorf("a comparison holds %d, want %d", got, want)
	}
	other := judged("scripted") // free
	other.ID = "other"
	if got := hold(judged("paid"), other); got != once {
		t.Errorf("a judge beside one that is free holds %d, want %d", got, once)
	}
	dear := judged("dear")
	dear.ID = "dear"
	if got, want := hold(judged("paid"), eval.Check{ID: "g", All: []eval.Check{dear}}), 2*once+100*(10-3); got != want {
		t.Errorf("two judges hold %d, want %d", got, want)
	}
}

// What there is to judge goes before new trials. While it does not fit, none begin,
// though they would.
func TestJudgingGoesBeforeNewTrials(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 12_000}, 0, 20, agentCase("a", "paid", dollars(2000), judged("paid")))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 6) // all is held
	b.opens(js[0], 2000)
	b.passes(js[1], 0)
	b.out(b.queue, run.ID, 6) // 2000 would do for a trial
	if n := len(b.judging.of(run.Grading)); n != 0 {
		t.Fatalf("%d trials are judged, which nothing holds for", n)
	}
	for _, j := range js[2:] {
		b.passes(j, 0)
	}
	// 10,000 are left: the judge gets his part of it, and what is left is too little
	// for a trial or just enough.
	asked := b.out(b.judging, run.Grading, 1)
	hold := b.holdOfJudge(asked[0])
	b.out(b.queue, run.ID, 6+int((10_000-hold)/2000))
	b.rules(asked[0], 0)
	b.eventually("trials go on", func() bool { return len(b.queue.of(run.ID)) > 10 })
}

// Judging that will never fit ends the run: further trials would never be judged.
func TestRunEndsWhenItsJudgingNeverFits(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 12_000}, 0, 20, agentCase("a", "paid", dollars(2000), judged("paid")))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 6)
	b.opens(js[0], 2000)
	b.opens(js[1], 2000)
	for _, j := range js[2:] {
		b.passes(j, 500)
	}
	s := b.exhausted(run, eval.ShortOfMoney)
	if s.Counts.Pass != 4 || s.Counts.Unjudged != 2 || s.Counts.Unfinished != 14 {
		t.Errorf("got %+v, want 4 pass, 2 unjudged and 14 unfinished", s.Counts)
	}
	if g := b.reread(eval.Run{ID: run.Grading}); g.State != eval.RunDone || g.Outcome != eval.OutcomeBudgetExhausted || g.Short != eval.ShortOfMoney {
		t.Errorf("the grading is %s, %s, short of %q; want it done and exhausted", g.State, g.Outcome, g.Short)
	}
}

// All trials are done, but not all of them judged.
func TestCompleteRunWhoseJudgingNeverFits(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 12_000}, 0, 3, agentCase("a", "paid", dollars(2000), judged("paid")))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 3)
	for _, j := range js {
		b.opens(j, 500)
	}
	// 10,500 are left for the first.
	asked := b.out(b.judging, run.Grading, 1)
	b.rules(asked[0], 5000)
	if s := b.exhausted(run, eval.ShortOfMoney); s.Counts.Pass != 1 || s.Counts.Unjudged != 2 {
		t.Errorf("got %+v, want 1 pass and 2 unjudged", s.Counts)
	}
}

// Whoever is killed between the end of the grading and that of the run goes on
// where it was: with the end.
func TestRunWhoseGradingWasExhaustedBeforeAKill(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 12_000}, 0, 5, agentCase("a", "paid", dollars(2000), judged("paid")))
	hold := eval.Amount{MicroUSD: 2000}
	if _, err := b.store.Dispatch(t.Context(), run.ID, []store.Mark{{Ordinal: 0, Attempt: 1, Hold: hold, Cursor: 1}}); err != nil {
		t.Fatal(err)
	}
	b.opens(jobs.Job{Run: run.ID, Attempt: 1}, 2000)
	if err := b.store.SetState(t.Context(), run.ID, eval.RunRunning); err != nil {
		t.Fatal(err)
	}
	g := b.reread(eval.Run{ID: run.Grading})
	g.Short = eval.ShortOfMoney
	if _, err := scheduler.End(t.Context(), b.store, g, eval.OutcomeBudgetExhausted); err != nil {
		t.Fatal(err)
	}
	// Here it was killed.
	b.adopt(run)
	if s := b.exhausted(run, eval.ShortOfMoney); s.Counts.Unjudged != 1 || s.Counts.Unfinished != 4 || len(b.queue.of(run.ID)) != 0 {
		t.Errorf("got %+v and %d new attempts, want 1 unjudged, 4 unfinished and none", s.Counts, len(b.queue.of(run.ID)))
	}
}

// A cancel frees what is held for trials that nobody has begun. What a worker has
// is waited for.
func TestCancelTakesBackWhatNobodyHasBegun(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 1000}, 0, 10, agentCase("a", "paid", dollars(100)))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 6)
	b.queue.say(js[0], jobs.Claimed)
	if err := b.store.SetControl(t.Context(), run.ID, eval.ControlCancel); err != nil {
		t.Fatal(err)
	}
	b.told(eval.ControlCancel)
	b.settles()
	if now := b.reread(run); now.State != eval.RunRunning {
		t.Fatalf("the run is %s while a worker has a trial", now.State)
	}
	b.spend(js[0], 30, eval.AttemptReturned, eval.Result{Verdict: eval.Unfinished, Reason: eval.ReasonCancelled})
	if s := b.wait(run); s.Outcome != eval.OutcomeRunCancelled || s.Counts.Unfinished != 10 {
		t.Errorf("the run ended %s with %+v, want it cancelled with 10 unfinished", s.Outcome, s.Counts)
	}
	if l, want := b.ledger(run), (eval.Amount{MicroUSD: 30, Tokens: 30}); l.Total() != want || l.Spent != want {
		t.Errorf("the ledger is %+v, want 30 spent and nothing else", l)
	}
}

// A farm of one process that stops takes back what waits in its queue, and nothing
// that anybody has, or had, begun.
func TestParkTakesBackWhatWaits(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 50_000}, 0, 10, agentCase("a", "paid", dollars(3000), judged("paid")))
	b.adopt(run)
	js := b.out(b.queue, run.ID, 6)
	b.opens(js[0], 500)
	b.passes(js[1], 500)
	asked := b.out(b.judging, run.Grading, 1)
	js = b.out(b.queue, run.ID, 8)[2:]
	b.queue.say(js[0], jobs.Claimed)
	b.queue.say(js[1], jobs.Committed)
	if err := b.sched.Park(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	b.settles() // it is left alone from then on
	if l := b.ledger(run); l.Held.MicroUSD != 2*3000 || l.Charged.MicroUSD != 0 || l.Spent.MicroUSD != 1000 {
		t.Errorf("the ledger is %+v, want 1000 spent and 6000 held", l)
	}
	if n := len(b.queue.of(run.ID)) + len(b.judging.of(run.Grading)); n != 9 {
		t.Errorf("%d attempts were dispatched in all, want 9: none after it was parked", n)
	}

	// Its next process knows that the workers are gone.
	next := setupOver(t, b.store, scheduler.Options{})
	if err := next.sched.Adopt(t.Context(), run.ID, true); err != nil {
		t.Fatal(err)
	}
	if l := next.ledger(run); l.Charged.MicroUSD != 2*3000 {
		t.Errorf("the ledger is %+v, want 6000 charged", l)
	}
	next.eventually("trials are out again", func() bool { return len(next.queue.of(run.ID)) >= 6 && len(next.judging.of(run.Grading)) == 1 })
	for _, j := range next.queue.of(run.ID)[:6] {
		want := 1
		if j.Ordinal == js[0].Ordinal || j.Ordinal == js[1].Ordinal {
			want = 2
		}
		if j.Attempt != want {
			t.Errorf("trial %d is out in attempt %d, want %d", j.Ordinal, j.Attempt, want)
		}
	}
	if again := next.judging.of(run.Grading)[0]; again.Attempt != asked[0].Attempt || again.Hold != asked[0].Hold {
		t.Errorf("the judge is asked with %+v, want as before: %+v", again, asked[0])
	}
}

func TestRaisedBudgetLetsARunGoOn(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 250}, 0, 4, agentCase("a", "paid", dollars(100)))
	b.adopt(run)
	for _, j := range b.out(b.queue, run.ID, 2) {
		b.passes(j, 100)
	}
	b.exhausted(run, eval.ShortOfMoney)

	for _, tt := range []struct {
		name   string
		budget eval.Budget
	}{
		{"a trial is dearer", eval.Budget{MicroUSD: 99}},
		{"nothing bounds tokens", eval.Budget{MicroUSD: 1000, Tokens: 1000}},
	} {
		err := scheduler.Raise(t.Context(), b.store, b.reread(run), tt.budget, 0, nil)
		if _, ok := errors.AsType[*scheduler.BudgetError](err); !ok {
			t.Errorf("%s: got %v, want a BudgetError", tt.name, err)
		}
		if now := b.reread(run); now.Budget != (eval.Budget{MicroUSD: 250}) {
			t.Errorf("%s: the budget is %+v, want what it was", tt.name, now.Budget)
		}
	}
	if err := scheduler.Raise(t.Context(), b.store, b.reread(run), eval.Budget{MicroUSD: 400}, 0, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Retry(t.Context(), run.ID, []eval.Verdict{eval.Unfinished}); err != nil {
		t.Fatal(err)
	}
	b.adopt(run)
	for _, j := range b.out(b.queue, run.ID, 4)[2:] {
		b.passes(j, 100)
	}
	if s := b.wait(run); s.Outcome != eval.OutcomeComplete || s.Counts.Pass != 4 || s.Coverage.Short != "" {
		t.Errorf("the run ended %s with %+v, short of %q; want it complete", s.Outcome, s.Counts, s.Coverage.Short)
	}
	if l := b.ledger(run); l.Total().MicroUSD != 400 {
		t.Errorf("the ledger is %+v, want 400 spent", l)
	}
}

// What was judged before the money was gone stays; what was not, a raised budget
// lets be judged.
func TestRaisedBudgetLetsJudgesGoOn(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 12_000}, 0, 3, agentCase("a", "paid", dollars(2000), judged("paid")))
	b.adopt(run)
	for _, j := range b.out(b.queue, run.ID, 3) {
		b.opens(j, 500)
	}
	b.rules(b.out(b.judging, run.Grading, 1)[0], 5000)
	b.exhausted(run, eval.ShortOfMoney)
	if err := scheduler.Raise(t.Context(), b.store, b.reread(run), eval.Budget{MicroUSD: 100_000}, 0, nil); err != nil {
		t.Fatal(err)
	}
	g, n, err := scheduler.Grade(t.Context(), b.store, b.reread(run), eval.Grading{}, false)
	if err != nil || n != 2 {
		t.Fatalf("Grade: %d trials (%v), want 2", n, err)
	}
	b.adopt(g)
	for _, j := range b.out(b.judging, g.ID, 2) {
		b.holdOfJudge(j)
		b.rules(j, 100)
	}
	if s := b.wait(g); s.Counts.Pass != 3 {
		t.Errorf("got %+v, want 3 pass", s.Counts)
	}
}

// A model whose price nobody knows judges nothing under a cap of money, be it that of
// the run or that of the day, whoever the agents are. A person does.
func TestUnpricedJudgeIsRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		budget  eval.Budget
		day     int64
		how     eval.Grading
		refused bool
	}{
		{"a budget", eval.Budget{MicroUSD: 12_000}, 0, eval.Grading{Model: "unknown"}, true},
		{"a day's cap", eval.Budget{}, 12_000, eval.Grading{Model: "unknown"}, true},
		{"a rubric", eval.Budget{MicroUSD: 12_000}, 0, eval.Grading{Rubric: "Be polite.", Model: "unknown"}, true},
		{"no cap of money", eval.Budget{Tokens: 100_000}, 0, eval.Grading{Model: "unknown"}, false},
		{"a price", eval.Budget{MicroUSD: 12_000}, 0, eval.Grading{Model: "paid"}, false},
		{"a person", eval.Budget{MicroUSD: 12_000}, 0, eval.Grading{By: "ada"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, scheduler.Options{})
			c := agentCase("a", "paid", dollars(2000), judged("paid"))
			c.Limits.Tokens = 1000
			run := b.createCapped(tt.budget, tt.day, 1, c)
			_, _, err := scheduler.Grade(t.Context(), b.store, run, tt.how, true)
			if _, refused := errors.AsType[*scheduler.BudgetError](err); refused != tt.refused || err != nil && !refused {
				t.Errorf("Grade: got %v, want it refused: %t", err, tt.refused)
			} else if hint := models()["unknown"].PriceHint; refused && !strings.Contains(err.Error(), hint) {
				t.Errorf("Grade: got %q, want it to say %q", err, hint)
			}
			err = scheduler.Raise(t.Context(), b.store, run, tt.budget, tt.day, &tt.how)
			if _, refused := errors.AsType[*scheduler.BudgetError](err); refused != tt.refused || err != nil && !refused {
				t.Errorf("Raise: got %v, want it refused: %t", err, tt.refused)
			}
		})
	}
}

// A window of a capped run is no larger than what workers are about to begin.
func TestWindowOfACappedRunFollowsSlots(t *testing.T) {
	for _, tt := range []struct{ slots, want int }{{1, 4}, {4, 6}, {40, 60}} {
		t.Run(fmt.Sprint(tt.slots), func(t *testing.T) {
			b := setup(t, scheduler.Options{})
			b.queue.mu.Lock()
			b.queue.slots = tt.slots
			b.queue.mu.Unlock()
			run := b.createCapped(eval.Budget{MicroUSD: 1_000_000}, 0, 100, agentCase("a", "paid", dollars(100)))
			b.adopt(run)
			for _, j := range b.out(b.queue, run.ID, tt.want)[:2] {
				b.passes(j, 10)
			}
			b.out(b.queue, run.ID, tt.want+2)
			if l := b.ledger(run); l.Held.MicroUSD != 100*int64(tt.want) {
				t.Errorf("the ledger is %+v, want holds of %d attempts", l, tt.want)
			}
		})
	}
}

// A scheduler that takes up a capped run cannot know whether an attempt that is out
// has been begun, in the run or in its grading. Put into the queue once more it
// would spend its hold twice.
func TestAdoptedCappedRunIsNotEnqueuedBlindly(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 50_000}, 0, 2, agentCase("a", "paid", dollars(3000), judged("paid")))
	for ordinal := range 2 {
		_, err := b.store.Dispatch(t.Context(), run.ID, []store.Mark{{Ordinal: ordinal, Attempt: 1, Hold: eval.Amount{MicroUSD: 3000}, Cursor: ordinal + 1}})
		if err != nil {
			t.Fatal(err)
		}
	}
	b.opens(jobs.Job{Run: run.ID, Ordinal: 0, Attempt: 1}, 100)
	out, err := b.store.Outstanding(t.Context(), run.Grading)
	if err != nil || len(out) != 1 {
		t.Fatalf("%d trials wait for a judge (%v), want 1", len(out), err)
	}
	first := out[0].Attempt
	if _, err := b.store.Dispatch(t.Context(), run.Grading, []store.Mark{{Ordinal: 0, Attempt: first, Hold: eval.Amount{MicroUSD: 9000}}}); err != nil {
		t.Fatal(err)
	}
	b.adopt(run)
	b.settles()
	if n := len(b.queue.of(run.ID)) + len(b.judging.of(run.Grading)); n != 0 {
		t.Fatalf("%d attempts were enqueued, want none before the queue says that it lost them", n)
	}
	// The audit finds that the queue has lost them, and they get new numbers.
	b.queue.say(jobs.Job{Run: run.ID, Ordinal: 1, Attempt: 1}, jobs.Missing)
	b.judging.say(jobs.Job{Run: run.Grading, Ordinal: 0, Attempt: first}, jobs.Missing)
	if again := b.out(b.queue, run.ID, 1)[0]; again.Ordinal != 1 || again.Attempt != 2 {
		t.Errorf("enqueued %s, want attempt 2 of trial 1", again.Key())
	}
	if again := b.out(b.judging, run.Grading, 1)[0]; again.Attempt != first+1 {
		t.Errorf("enqueued %s, want attempt %d", again.Key(), first+1)
	}
	if l := b.ledger(run); l.Charged.MicroUSD != 3000+9000 {
		t.Errorf("the ledger is %+v, want 12000 charged for attempts that may have been begun", l)
	}
}

// A scheduler that dies between the mark and the queue holds money for an attempt
// that nobody has. Its queue refuses it; what comes then is as good as lost.
func TestEnqueueThatFailsIsChargedOnce(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createCapped(eval.Budget{MicroUSD: 1000}, 0, 2, agentCase("a", "paid", dollars(100)))
	b.queue.mu.Lock()
	b.queue.enqueuing = func(js []jobs.Job) error {
		if js[0].Attempt == 1 {
			return errors.New("no connection")
		}
		return nil
	}
	b.queue.mu.Unlock()
	b.adopt(run)
	b.eventually("both are marked", func() bool { return b.ledger(run).Held.MicroUSD == 200 })
	b.settles()
	for ordinal := range 2 {
		b.queue.say(jobs.Job{Run: run.ID, Ordinal: ordinal, Attempt: 1}, jobs.Missing)
	}
	for _, j := range b.out(b.queue, run.ID, 2) {
		if j.Attempt != 2 {
			t.Errorf("enqueued %s, want attempt 2", j.Key())
		}
		b.passes(j, 50)
	}
	if s := b.wait(run); s.Outcome != eval.OutcomeComplete || s.Counts.Pass != 2 {
		t.Errorf("the run ended %s with %+v, want it complete", s.Outcome, s.Counts)
	}
	if l := b.ledger(run); l.Charged.MicroUSD != 200 || l.Spent.MicroUSD != 100 || l.Held.MicroUSD != 0 {
		t.Errorf("the ledger is %+v, want 200 charged and 100 spent", l)
	}
}
