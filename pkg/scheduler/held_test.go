package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A judge that is down for a large run lets trials wait in the store, not in the
// scheduler's memory, whether they were there before it or come while it runs, and
// whether they wait for their first attempt or for another one.
func TestTrialsThatWaitForAJudgeStayInTheStore(t *testing.T) {
	const trials, window = 15_000, 300
	b := setup(t, scheduler.Options{Window: window, Audit: 300 * time.Millisecond})
	loaded := &suite.Loaded{Suite: eval.Suite{Name: "judged", Cases: []eval.Case{{
		ID: "case", Kind: eval.KindAgent, Server: "s", Checks: []eval.Check{{ID: "tone", Judge: &eval.JudgeCheck{Rubric: "be kind"}}},
	}}}, Hash: "hash"}
	run, err := scheduler.Create(t.Context(), b.store, scheduler.Request{Suite: loaded, Seed: 1, Selection: suite.Selection{Repeats: trials}})
	if err != nil {
		t.Fatal(err)
	}
	trajectory := blob.Pack([]byte("the same for all"))
	works := func(from, to int) []eval.Record {
		var rs []eval.Record
		for i := from; i < to; i++ {
			rs = append(rs, eval.Record{
				UID: fmt.Sprint("work-", i), Run: run.ID, Ordinal: i, N: 1, Outcome: eval.AttemptDone, Blobs: []eval.Blob{trajectory},
				Result: eval.Result{
					Verdict: eval.Unjudged, Trajectory: trajectory.SHA256,
					Scores: []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonAwaitingJudge}},
				},
				Started: time.Now(), Ended: time.Now(),
			})
		}
		return rs
	}
	bounded := func(when string) {
		t.Helper()
		// Those that are out, and those that failed and are about to wait again.
		const most = scheduler.Remembered + 2*window
		if n := b.sched.Held(run.Grading); n > most {
			t.Fatalf("%s the scheduler holds %d trials of the grading, want at most %d", when, n, most)
		}
	}

	// Half of them wait before a scheduler looks at the run.
	const before, step = trials / 2, 2500
	for at := 0; at < trials; at += step {
		var marks []store.Mark
		for i := at; i < at+step; i++ {
			marks = append(marks, store.Mark{Ordinal: i, Attempt: 1, Cursor: i + 1})
		}
		if _, err := b.store.Dispatch(t.Context(), run.ID, marks); err != nil {
			t.Fatal(err)
		}
	}
	for at := 0; at < before; at += step {
		if _, err := b.store.Commit(t.Context(), works(at, at+step)); err != nil {
			t.Fatal(err)
		}
	}
	b.adopt(run)
	bounded("at first")
	for at := before; at < trials; at += step {
		if err := b.agg.Put(t.Context(), works(at, at+step)...); err != nil {
			t.Fatal(err)
		}
		bounded("while agents work")
	}

	for try := range 2 {
		b.eventually("judges are asked", func() bool { return len(b.judging.of(run.Grading)) >= (try+1)*window })
		var down []eval.Record
		for _, j := range b.judging.of(run.Grading)[try*window:][:window] {
			down = append(down, eval.Record{
				UID: "down-" + j.Key(), Run: j.Run, Ordinal: j.Ordinal, N: j.Attempt, Outcome: eval.AttemptFailed,
				Result:  eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable, Message: "no answer"},
				Started: time.Now(), Ended: time.Now(),
			})
		}
		if err := b.agg.Put(t.Context(), down...); err != nil {
			t.Fatal(err)
		}
		bounded("while the judge is down")
	}
	if counts, err := b.store.Counts(t.Context(), run.ID); err != nil || counts.Unjudged != trials {
		t.Errorf("got %+v (%v), want all of %d unjudged", counts, err, trials)
	}
}
