package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

const sequentialCases = 20

// createSequential stores a run of agent cases that are repeated two to four times,
// until it is decided whether they pass more often than not; one more case has three
// repeats of its own.
func (b *bundle) createSequential(checks ...eval.Check) eval.Run {
	b.t.Helper()
	loaded := &suite.Loaded{Hash: "hash", Suite: eval.Suite{
		Name: "sequential", Repeats: eval.Repeats{Min: 2, Max: 4, Stop: eval.StopDecided},
		Gate:        eval.Gate{Rules: []eval.Rule{{Metric: eval.MetricPassRate, Kind: eval.KindAgent, Op: ">=", Bound: 0.5}}},
		CaseRepeats: map[string]int{"own": 3},
		Cases:       []eval.Case{{ID: "own", Kind: eval.KindScript, Server: "s"}},
	}}
	for i := range sequentialCases {
		loaded.Suite.Cases = append(loaded.Suite.Cases, eval.Case{ID: fmt.Sprintf("case-%d", i), Kind: eval.KindAgent, Server: "s", Checks: checks})
	}
	run, err := scheduler.Create(b.t.Context(), b.store, scheduler.Request{Suite: loaded, Seed: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// stretch waits until so many attempts of a run have been given out, and returns those from
// the n-th.
func (b *bundle) stretch(run eval.Run, from, to int) []jobs.Job {
	b.t.Helper()
	b.eventually(fmt.Sprintf("%d trials are out", to), func() bool { return len(b.queue.of(run.ID)) >= to })
	return b.queue.of(run.ID)[from:to]
}

// still is how many attempts are out when the scheduler has had its turns.
func (b *bundle) still(run eval.Run) int {
	b.t.Helper()
	for range 20 {
		b.sched.Wake()
		b.sched.Between(func() {})
		time.Sleep(time.Millisecond)
	}
	return len(b.queue.of(run.ID))
}

// upTo is how many trials such a run has up to a look: the case with its own repeats
// has all of them before the first.
func upTo(rounds int) int { return rounds*sequentialCases + 3 }

func TestDecidedRunStopsAtTheLook(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	run := b.createSequential()
	if run.Trials != upTo(4) {
		t.Fatalf("got %d trials, want %d: those of all rounds", run.Trials, upTo(4))
	}
	b.adopt(run)
	first := b.stretch(run, 0, upTo(2))
	for _, j := range first[1:] {
		b.record(j, eval.AttemptDone, eval.Pass)
	}
	if n := b.still(run); n != len(first) {
		t.Fatalf("%d trials are out while one of the first two rounds runs, want %d: nothing begins before the look", n, len(first))
	}
	b.record(first[0], eval.AttemptDone, eval.Pass)
	s := b.wait(run)
	if s.Trials != upTo(2) || s.Counts.Pass != upTo(2) || s.Counts.Unfinished != 0 || s.Outcome != eval.OutcomeComplete || s.Verdict != eval.RunPass {
		t.Errorf("got %d trials, %+v, outcome %s, verdict %s; want %d, all pass, complete, pass", s.Trials, s.Counts, s.Outcome, s.Verdict, upTo(2))
	}
	if q := s.Sequential; q == nil || q.Rounds != 2 || !q.Decided || len(q.Looks) != 3 {
		t.Errorf("got sequential %+v, want 2 rounds of the looks 2, 3, 4, decided", q)
	}
	stored, err := b.store.Run(t.Context(), run.ID)
	if err != nil || stored.Rounds != 2 || stored.Trials != upTo(2) {
		t.Errorf("stored: %d rounds, %d trials (%v), want 2 and %d", stored.Rounds, stored.Trials, err, upTo(2))
	}
	if n := b.still(run); n != upTo(2) {
		t.Errorf("%d trials were given out, want %d", n, upTo(2))
	}
}

// While half of the trials pass, every look lets the next round begin, and the end of
// the last one is that of the run.
func TestUndecidedRunGoesOn(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	run := b.createSequential()
	b.adopt(run)
	done := 0
	for rounds := 2; rounds <= 4; rounds++ {
		given := b.stretch(run, done, upTo(rounds))
		for i, j := range given {
			if i == len(given)-1 && b.still(run) != upTo(rounds) {
				t.Fatalf("trials of round %d are out before the look after round %d", rounds+1, rounds)
			}
			b.record(j, eval.AttemptDone, []eval.Verdict{eval.Pass, eval.Fail}[i%2])
		}
		done = upTo(rounds)
	}
	s := b.wait(run)
	if s.Trials != upTo(4) || s.Counts.Unfinished != 0 || s.Outcome != eval.OutcomeComplete {
		t.Errorf("got %d trials, %+v, outcome %s; want %d, complete", s.Trials, s.Counts, s.Outcome, upTo(4))
	}
	if q := s.Sequential; q == nil || q.Rounds != 4 || q.Decided {
		t.Errorf("got sequential %+v, want 4 rounds, at the last look", q)
	}
}

// A look needs the judgements of its rounds, too.
func TestLookWaitsForJudges(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	run := b.createSequential(eval.Check{ID: "tone", Judge: &eval.JudgeCheck{Rubric: "be kind"}})
	b.adopt(run)
	for _, j := range b.stretch(run, 0, upTo(2)) {
		b.work(j)
	}
	b.eventually("judges are asked", func() bool { return len(b.judging.of(run.Grading)) == upTo(2) })
	judging := b.judging.of(run.Grading)
	for _, j := range judging[1:] {
		b.judge(j, true)
	}
	if n := b.still(run); n != upTo(2) {
		t.Fatalf("%d trials are out while a judge is asked, want %d", n, upTo(2))
	}
	b.judge(judging[0], true)
	if s := b.wait(run); s.Sequential == nil || s.Sequential.Rounds != 2 || s.Counts.Pass != upTo(2) {
		t.Errorf("got %+v and %+v, want 2 rounds that pass", s.Sequential, s.Counts)
	}
}

// Two schedulers move one run. One of them has ended the plan at a look and is gone; the
// other one, whose copy is of before and who would stop sooner, does the same.
func TestLookOfAnotherScheduler(t *testing.T) {
	first := setup(t, scheduler.Options{Window: 1000})
	run := first.createSequential()
	first.adopt(run)
	out := first.stretch(run, 0, upTo(2))

	if err := first.store.SetRounds(t.Context(), run.ID, 3); err != nil {
		t.Fatal(err)
	}
	for _, j := range out {
		first.record(j, eval.AttemptDone, eval.Pass)
	}
	for _, j := range first.stretch(run, upTo(2), upTo(3)) {
		first.record(j, eval.AttemptDone, eval.Pass)
	}
	if s := first.wait(run); s.Trials != upTo(3) || s.Sequential.Rounds != 3 {
		t.Errorf("got %d trials and %d rounds, want what was stored first: %d and 3", s.Trials, s.Sequential.Rounds, upTo(3))
	}
}

// A retry of a run that was decided runs what has no verdict again, and nothing beyond
// the look: what would have been decided otherwise is not looked at.
func TestRetryOfADecidedRun(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	run := b.createSequential()
	b.adopt(run)
	for i, j := range b.stretch(run, 0, upTo(2)) {
		b.record(j, eval.AttemptDone, []eval.Verdict{eval.Pass, eval.Error}[max(0, 1-i)])
	}
	if s := b.wait(run); s.Counts.Error != 1 || s.Sequential.Rounds != 2 {
		t.Fatalf("got %+v and %+v, want one error, decided after 2 rounds", s.Counts, s.Sequential)
	}
	due, err := scheduler.Due(t.Context(), b.store, mustRun(t, b, run.ID), []eval.Verdict{eval.Error, eval.Unfinished})
	if err != nil || due != 1 {
		t.Errorf("%d trials are due (%v), want 1: those that were not needed are not", due, err)
	}
	if _, _, err := scheduler.Retry(t.Context(), b.store, run, []eval.Verdict{eval.Error}); err != nil {
		t.Fatal(err)
	}
	again := setupOver(t, b.store, scheduler.Options{Window: 1000})
	again.adopt(run)
	again.record(again.stretch(run, 0, 1)[0], eval.AttemptDone, eval.Fail)
	if s := again.wait(run); s.Trials != upTo(2) || s.Counts.Fail != 1 || s.Counts.Unfinished != 0 || s.Sequential.Rounds != 2 {
		t.Errorf("got %d trials, %+v, %+v; want %d, one fail, 2 rounds", s.Trials, s.Counts, s.Sequential, upTo(2))
	}
}

func mustRun(t *testing.T, b *bundle, id string) eval.Run {
	t.Helper()
	run, err := b.store.Run(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// A budget that ends between two looks is none: the trials that are missing are
// unfinished, and nothing is decided by a level that nobody planned.
func TestBudgetIsNoLook(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	run := b.createSequential()
	b.adopt(run)
	for _, j := range b.stretch(run, 0, upTo(2))[1:] {
		b.record(j, eval.AttemptDone, eval.Pass)
	}
	if err := b.store.SetBudget(t.Context(), run.ID, eval.Budget{Time: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	b.eventually("the time is over", func() bool {
		b.queue.say(b.queue.of(run.ID)[0], jobs.Queued) // nobody has begun it, and nobody will
		return mustRun(t, b, run.ID).State == eval.RunDone
	})
	s := b.wait(run)
	if s.Outcome != eval.OutcomeBudgetExhausted || s.Counts.Unfinished != upTo(4)-upTo(2)+1 || s.Sequential.Rounds != 0 || s.Sequential.Decided || s.Verdict != eval.RunInconclusive {
		t.Errorf("got outcome %s, %+v, %+v, verdict %s; want budget_exhausted at no look, inconclusive", s.Outcome, s.Counts, s.Sequential, s.Verdict)
	}
}
