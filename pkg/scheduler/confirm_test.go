package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// comparedCases of an agent are repeated three times in a run that compares with a
// baseline.
const comparedCases = 8

// createCompared stores a run that must not be worse than a baseline, whose suspects are
// tried again four times.
func (b *bundle) createCompared(ref *eval.BaselineRef, blobs []eval.Blob, budget eval.Budget) eval.Run {
	b.t.Helper()
	return b.createFor(eval.CarrierProcess, ref, blobs, budget)
}

func (b *bundle) createFor(carrier eval.Carrier, ref *eval.BaselineRef, blobs []eval.Blob, budget eval.Budget) eval.Run {
	b.t.Helper()
	loaded := &suite.Loaded{Hash: "hash", Suite: eval.Suite{Name: "compared", Repeats: eval.Repeats{N: 3}, Budget: budget, Gate: eval.Gate{
		Baseline: "main", Rules: []eval.Rule{{Metric: eval.MetricRegressions, Margin: 0.05}}, Confirm: &eval.Confirm{Repeats: 4},
	}}}
	for i := range comparedCases {
		loaded.Suite.Cases = append(loaded.Suite.Cases, eval.Case{
			ID: fmt.Sprintf("case-%d", i), Kind: eval.KindAgent, Server: "s", Limits: eval.Limits{Tokens: 10},
		})
	}
	run, err := scheduler.Create(b.t.Context(), b.store, scheduler.Request{Suite: loaded, Seed: 1, Baseline: ref, BaselineBlobs: blobs, Carrier: carrier})
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

func (b *bundle) snapshot(run eval.Run) eval.Snapshot {
	b.t.Helper()
	var snap eval.Snapshot
	if err := blob.LoadJSON(b.t.Context(), b.store, run.Header, &snap); err != nil {
		b.t.Fatal(err)
	}
	return snap
}

// baseline carries a run out in which all passes, and makes a baseline of it, with a
// history of ten such runs or none.
func (b *bundle) baseline(history bool) (*eval.BaselineRef, []eval.Blob) {
	b.t.Helper()
	run := b.createCompared(nil, nil, eval.Budget{})
	b.adopt(run)
	for _, j := range b.stretch(run, 0, 3*comparedCases) {
		b.record(j, eval.AttemptDone, eval.Pass)
	}
	arm := eval.NewArm(b.snapshot(run), b.wait(run))
	base := blob.Pack(eval.Encode(arm))
	ref, blobs := &eval.BaselineRef{Name: "main", Run: run.ID, Arm: base.SHA256}, []eval.Blob{base}
	if history {
		arm.Runs = 10
		for i := range arm.Cells {
			arm.Cells[i].Counts.Pass, arm.Cells[i].Planned = 30, 30
		}
		pooled := blob.Pack(eval.Encode(arm))
		ref.History, blobs = pooled.SHA256, append(blobs, pooled)
	}
	return ref, blobs
}

// failFirst gives each trial of the first cases of a run a fail, and a pass to the others.
func (b *bundle) failFirst(run eval.Run, js []jobs.Job, cases ...int) {
	b.t.Helper()
	snap := b.snapshot(run)
	order := eval.NewOrder(snap.Plan)
	for _, j := range js {
		cell, _, err := order.At(j.Ordinal)
		if err != nil {
			b.t.Fatal(err)
		}
		v := eval.Pass
		for _, c := range cases {
			if snap.Plan.Cells[cell].Case == c {
				v = eval.Fail
			}
		}
		b.record(j, eval.AttemptDone, v)
	}
}

func TestSuspectsAreTriedAgain(t *testing.T) {
	told := map[string]int{} // by the scheduler, before the run is done
	b := setup(t, scheduler.Options{Window: 1000, Ended: func(_ context.Context, r eval.Run) ([]store.Notice, error) {
		told[r.ID]++
		return nil, nil
	}})
	ref, blobs := b.baseline(true)
	run := b.createCompared(ref, blobs, eval.Budget{})
	b.adopt(run)
	b.failFirst(run, b.stretch(run, 0, 3*comparedCases), 0, 1)

	again := eval.Run{ID: run.Confirmation()}
	js := b.stretch(again, 0, 8) // two suspects, four times
	again = mustRun(t, b, again.ID)
	if again.Confirms != run.ID || again.Trials != 8 {
		t.Fatalf("got run %s that confirms %q with %d trials, want 8 for %s", again.ID, again.Confirms, again.Trials, run.ID)
	}
	if seed, before := b.snapshot(again).Plan.Seed, b.snapshot(run).Plan.Seed; seed == before {
		t.Error("the fresh repeats have the seeds of those before")
	}
	b.failFirst(again, js[1:], 0)
	if b.still(again); mustRun(t, b, run.ID).State == eval.RunDone {
		t.Fatal("the run is done before its suspects are")
	}
	b.failFirst(again, js[:1], 0)

	s := b.wait(run)
	if s.Trials != 3*comparedCases || s.Counts.Fail != 6 || s.Kinds[eval.KindAgent].Counts.Total() != 3*comparedCases {
		t.Errorf("got %d trials, %+v; want the %d of the run alone, 6 fails", s.Trials, s.Counts, 3*comparedCases)
	}
	if c := s.Confirmation; c == nil || c.Run != again.ID || c.Cells != 2 || c.Counts.Fail != 4 || c.Counts.Pass != 4 {
		t.Errorf("got confirmation %+v, want 2 cells of %s, 4 passes and 4 fails", c, again.ID)
	}
	if s.Verdict != eval.RunFail || s.ExitCode != 1 {
		t.Errorf("got verdict %s, exit code %d (%q), want a case that is confirmed to fail", s.Verdict, s.ExitCode, s.Reasons)
	}
	if told[run.ID] != 1 || told[again.ID] != 0 {
		t.Errorf("told %v, want the end of the run alone, once", told)
	}
	list, err := b.store.ListRuns(t.Context(), store.RunFilter{})
	if err != nil || len(list) != 2 {
		t.Errorf("%d runs are listed (%v), want 2: the baseline and the run", len(list), err)
	}
}

// Without a history, a suspect is one: nothing is tried again. Nor is it where nothing is
// suspicious.
func TestNothingToTryAgain(t *testing.T) {
	for _, tt := range []struct {
		name    string
		history bool
		fail    []int
	}{{"no history", false, []int{0, 1}}, {"no suspects", true, nil}} {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, scheduler.Options{Window: 1000})
			ref, blobs := b.baseline(tt.history)
			run := b.createCompared(ref, blobs, eval.Budget{})
			b.adopt(run)
			b.failFirst(run, b.stretch(run, 0, 3*comparedCases), tt.fail...)
			if s := b.wait(run); s.Confirmation != nil {
				t.Errorf("got confirmation %+v, want none", s.Confirmation)
			}
			_, err := b.store.Run(t.Context(), run.Confirmation())
			if err == nil {
				t.Error("there is a run that confirms")
			}
		})
	}
}

// Whoever takes over while suspects are tried again goes on with them, and makes them
// only once.
func TestTakeOverWhileSuspectsAreTried(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	ref, blobs := b.baseline(true)
	run := b.createCompared(ref, blobs, eval.Budget{})
	b.adopt(run)
	b.failFirst(run, b.stretch(run, 0, 3*comparedCases), 0)
	again := eval.Run{ID: run.Confirmation()}
	js := b.stretch(again, 0, 4)
	again = mustRun(t, b, again.ID)
	b.failFirst(again, js[:2], 0)

	if err := b.sched.Park(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	next := setupOver(t, b.store, scheduler.Options{Window: 1000})
	if err := next.sched.Adopt(t.Context(), run.ID, true); err != nil { // the workers are gone, too
		t.Fatal(err)
	}
	next.failFirst(again, next.stretch(again, 0, 2), 0)
	if s := next.wait(run); s.Confirmation == nil || s.Confirmation.Counts.Fail != 4 || s.Verdict != eval.RunFail {
		t.Errorf("got %+v, verdict %s; want four fails, fail", s.Confirmation, s.Verdict)
	}
	third := setupOver(t, b.store, scheduler.Options{Window: 1000})
	if n := third.still(again); n != 0 {
		t.Errorf("%d trials are given out of what is done", n)
	}
}

// What is asked of a run, what confirms it does too; and it has its own part of the cap.
func TestConfirmingRunIsCancelledWithItsRun(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	ref, blobs := b.baseline(true)
	b.queue.slots = 100
	run := b.createCompared(ref, blobs, eval.Budget{Tokens: 1000})
	if run.Reserve.Tokens != 100 {
		t.Errorf("got reserve %+v, want a tenth of the tokens", run.Reserve)
	}
	b.adopt(run)
	b.failFirst(run, b.stretch(run, 0, 3*comparedCases), 0)
	again := eval.Run{ID: run.Confirmation()}
	b.stretch(again, 0, 1)
	if again = mustRun(t, b, again.ID); again.Budget.Tokens != 100 {
		t.Errorf("got budget %+v for what confirms, want the reserve", again.Budget)
	}
	if err := scheduler.Cancel(t.Context(), b.store, again); err == nil {
		t.Error("the fresh repeats are cancelled without their run: got no error, want one")
	}
	if err := scheduler.Cancel(t.Context(), b.store, run); err != nil {
		t.Fatal(err)
	}
	if s := b.wait(run); s.Outcome != eval.OutcomeRunCancelled {
		t.Errorf("got outcome %s, want cancelled", s.Outcome)
	}
	if again = mustRun(t, b, again.ID); again.State != eval.RunDone || again.Outcome != eval.OutcomeRunCancelled {
		t.Errorf("what confirms is %s, %s; want done, cancelled", again.State, again.Outcome)
	}
}

// A service takes up a run with what confirms it, and lets go of both: it lists the
// run alone.
func TestServiceTriesSuspectsAgain(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 1000})
	ref, blobs := b.baseline(true)
	run := b.createFor(eval.CarrierService, ref, blobs, eval.Budget{})
	ended := make(chan eval.Summary, 10)
	var serving sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	serving.Go(func() { _ = b.sched.Serve(ctx, func(s eval.Summary) { ended <- s }) })
	t.Cleanup(func() { stop(); serving.Wait() })
	b.failFirst(run, b.stretch(run, 0, 3*comparedCases), 0)
	again := eval.Run{ID: run.Confirmation()}
	js := b.stretch(again, 0, 4)
	again = mustRun(t, b, again.ID)
	if again.Carrier != eval.CarrierService {
		t.Errorf("what confirms is carried by %s, want by the service", again.Carrier)
	}
	b.failFirst(again, js, 0)
	s := <-ended
	for s.Run == ref.Run {
		s = <-ended // of before
	}
	if s.Run != run.ID || s.Confirmation == nil || s.ExitCode != 1 {
		t.Errorf("got the end of %s with %+v, exit code %d; want that of %s, confirmed to fail", s.Run, s.Confirmation, s.ExitCode, run.ID)
	}
	select {
	case s := <-ended:
		t.Errorf("the end of %s is told, too", s.Run)
	default:
	}
}
