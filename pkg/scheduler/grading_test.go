package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// createJudged stores a run of agent cases with a judge.
func (b *bundle) createJudged(cases int) eval.Run {
	b.t.Helper()
	loaded := &suite.Loaded{Suite: eval.Suite{Name: "judged"}, Hash: "hash"}
	for i := range cases {
		loaded.Suite.Cases = append(loaded.Suite.Cases, eval.Case{
			ID: fmt.Sprintf("case-%d", i), Kind: eval.KindAgent, Server: "s",
			Checks: []eval.Check{{ID: "tone", Judge: &eval.JudgeCheck{Rubric: "be kind"}}},
		})
	}
	run, err := scheduler.Create(b.t.Context(), b.store, scheduler.Request{Suite: loaded, Seed: 1, Selection: suite.Selection{Repeats: 1}})
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

// work records what an agent did that a judge has to look at.
func (b *bundle) work(j jobs.Job) {
	b.t.Helper()
	trajectory := blob.Pack([]byte(j.Key()))
	b.put(j, eval.AttemptDone, eval.Result{
		Verdict: eval.Unjudged, Reason: eval.ReasonAwaitingJudge, Trajectory: trajectory.SHA256,
		Scores: []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonAwaitingJudge}},
	}, trajectory)
}

func (b *bundle) judge(j jobs.Job, pass bool) {
	b.t.Helper()
	s := eval.Score{Check: "tone", Pass: pass}
	if !pass {
		s.Reason = eval.ReasonJudgedBad
	}
	b.put(j, eval.AttemptDone, eval.Result{Verdict: eval.Pass, Scores: []eval.Score{s}})
}

func (b *bundle) put(j jobs.Job, outcome eval.AttemptOutcome, r eval.Result, blobs ...eval.Blob) {
	b.t.Helper()
	err := b.agg.Put(b.t.Context(), eval.Record{
		UID: "uid-" + j.Key(), Run: j.Run, Ordinal: j.Ordinal, N: j.Attempt, Worker: "w", Outcome: outcome,
		Result: r, Blobs: blobs, Started: time.Now(), Ended: time.Now(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func TestWorkIsJudgedBeforeTheRunIsDone(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createJudged(3)
	b.adopt(run)
	b.eventually("trials are out", func() bool { return len(b.queue.of(run.ID)) == 3 })
	for _, j := range b.queue.of(run.ID) {
		b.work(j)
	}
	b.eventually("judges are asked", func() bool { return len(b.judging.of(run.Grading)) == 3 })
	for i, j := range b.judging.of(run.Grading) {
		if j.Subject == "" {
			t.Fatalf("job %s has no trajectory to judge", j.Key())
		}
		b.judge(j, i > 0)
	}
	if s := b.wait(run); s.Counts.Pass != 2 || s.Counts.Fail != 1 || s.Outcome != eval.OutcomeComplete {
		t.Errorf("got %+v, outcome %s; want 2 pass, 1 fail, complete", s.Counts, s.Outcome)
	}
	g, err := b.store.Run(t.Context(), run.Grading)
	if err != nil || g.State != eval.RunDone {
		t.Errorf("the grading is %s (%v), want done", g.State, err)
	}
}

// A judge that is down costs its attempts, not the agent's work: the trials are
// unjudged, and a later grading completes them.
func TestJudgeThatIsDownLosesNothing(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createJudged(2)
	b.adopt(run)
	b.eventually("trials are out", func() bool { return len(b.queue.of(run.ID)) == 2 })
	for _, j := range b.queue.of(run.ID) {
		b.work(j)
	}
	down := eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable, Message: "no answer"}
	for n := 1; n <= 3; n++ {
		b.eventually("judges are asked", func() bool { return len(b.judging.of(run.Grading)) == 2*n })
		for _, j := range b.judging.of(run.Grading)[2*n-2:] {
			b.put(j, eval.AttemptFailed, down)
		}
	}
	if s := b.wait(run); s.Counts.Unjudged != 2 || s.Outcome != eval.OutcomeComplete {
		t.Fatalf("got %+v, outcome %s; want 2 unjudged, complete", s.Counts, s.Outcome)
	}
	if n := len(b.queue.of(run.ID)); n != 2 {
		t.Errorf("%d attempts at the agent's trials, want 2", n)
	}

	run, err := b.store.Run(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	g, n, err := scheduler.Grade(t.Context(), b.store, run, eval.Grading{}, false)
	if err != nil || n != 2 {
		t.Fatalf("Grade: %d trials (%v), want 2", n, err)
	}
	b.adopt(g)
	b.eventually("judges are asked again", func() bool { return len(b.judging.of(g.ID)) == 2 })
	for _, j := range b.judging.of(g.ID) {
		b.judge(j, true)
	}
	if s := b.wait(g); s.Counts.Pass != 2 || s.Run != run.ID {
		t.Errorf("got %+v of run %s, want 2 pass of %s", s.Counts, s.Run, run.ID)
	}
	if run, err = b.store.Run(t.Context(), run.ID); err != nil || run.Grading != g.ID {
		t.Errorf("the run's grading is %s (%v), want %s", run.Grading, err, g.ID)
	}
}

// A trial that runs again is judged once for it, under a number that no queue has
// seen, without waiting for an audit.
func TestTrialThatRunsAgainIsJudgedAgain(t *testing.T) {
	b := setup(t, scheduler.Options{Audit: time.Hour})
	run := b.createJudged(1)
	b.adopt(run)
	b.eventually("the trial is out", func() bool { return len(b.queue.of(run.ID)) == 1 })
	b.work(b.queue.of(run.ID)[0])
	b.eventually("a judge is asked", func() bool { return len(b.judging.of(run.Grading)) == 1 })
	b.put(b.judging.of(run.Grading)[0], eval.AttemptDone, eval.Result{
		Verdict: eval.Unjudged, Scores: []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonJudgeRefused}},
	})
	b.wait(run)

	if n, err := b.store.Retry(t.Context(), run.ID, []eval.Verdict{eval.Unjudged}); err != nil || n != 1 {
		t.Fatalf("Retry: %d trials (%v), want 1", n, err)
	}
	b.adopt(run)
	b.eventually("the trial is out again", func() bool { return len(b.queue.of(run.ID)) == 2 })
	b.work(b.queue.of(run.ID)[1])
	b.eventually("a judge is asked again", func() bool { return len(b.judging.of(run.Grading)) == 2 })
	again := b.judging.of(run.Grading)[1]
	if again.Attempt != 2 {
		t.Errorf("the judge is asked in attempt %d, want 2", again.Attempt)
	}
	b.judge(again, true)
	if s := b.wait(run); s.Counts.Pass != 1 || len(b.judging.of(run.Grading)) != 2 {
		t.Errorf("got %+v and %d questions to judges, want 1 pass and 2", s.Counts, len(b.judging.of(run.Grading)))
	}
}

// Whoever is killed while a grading ends has lost nothing: it counts already, and
// to go on with it makes the run's summary.
func TestGradingThatWasKilledAtItsEnd(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createJudged(1)
	b.adopt(run)
	b.eventually("the trial is out", func() bool { return len(b.queue.of(run.ID)) == 1 })
	b.work(b.queue.of(run.ID)[0])
	b.eventually("a judge is asked", func() bool { return len(b.judging.of(run.Grading)) == 1 })
	b.judge(b.judging.of(run.Grading)[0], true)
	b.wait(run)
	run, err := b.store.Run(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	g, _, err := scheduler.Grade(t.Context(), b.store, run, eval.Grading{}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Dispatch(t.Context(), g.ID, []store.Mark{{Ordinal: 0, Attempt: 1}}); err != nil {
		t.Fatal(err)
	}
	b.judge(jobs.Job{Run: g.ID, Attempt: 1}, false)
	if err := b.store.SetState(t.Context(), g.ID, eval.RunFinalizing); err != nil {
		t.Fatal(err)
	}
	// Here it was killed.
	b.adopt(g)
	if s := b.wait(g); s.Run != run.ID || s.Counts.Fail != 1 {
		t.Errorf("got %+v of run %s, want 1 fail of %s", s.Counts, s.Run, run.ID)
	}
	var stored eval.Summary
	if run, err = b.store.Run(t.Context(), run.ID); err == nil {
		err = blob.LoadJSON(t.Context(), b.store, run.Summary, &stored)
	}
	if err != nil || stored.Counts.Fail != 1 || run.Grading != g.ID {
		t.Errorf("the stored summary has %+v, the grading is %s (%v); want 1 fail and %s", stored.Counts, run.Grading, err, g.ID)
	}
}

func TestCancelEndsTheGradingToo(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.createJudged(2)
	b.adopt(run)
	b.eventually("trials are out", func() bool { return len(b.queue.of(run.ID)) == 2 })
	b.work(b.queue.of(run.ID)[0])
	b.eventually("a judge is asked", func() bool { return len(b.judging.of(run.Grading)) == 1 })
	if err := b.store.SetControl(t.Context(), run.ID, eval.ControlCancel); err != nil {
		t.Fatal(err)
	}
	if s := b.wait(run); s.Outcome != eval.OutcomeRunCancelled || s.Counts.Unjudged != 1 || s.Counts.Unfinished != 1 {
		t.Errorf("got %+v, outcome %s; want 1 unjudged, 1 unfinished, cancelled", s.Counts, s.Outcome)
	}
	if g, err := b.store.Run(t.Context(), run.Grading); err != nil || g.State != eval.RunDone {
		t.Errorf("the grading is %s (%v), want done", g.State, err)
	}
}
