package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
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
