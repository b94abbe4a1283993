package scheduler_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// ended remembers the runs that it is asked about, and has one target.
type ended struct {
	mu    sync.Mutex
	runs  []string
	fails int
}

func (e *ended) tell(_ context.Context, run eval.Run) ([]store.Notice, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fails > 0 {
		e.fails--
		return nil, errors.New("the store is busy")
	}
	e.runs = append(e.runs, run.ID+" "+string(run.Verdict))
	return []store.Notice{{Run: run.ID, Target: "team", Due: time.Now(), Created: time.Now()}}, nil
}

func (b *bundle) notices(run eval.Run) []string {
	b.t.Helper()
	ns, err := b.store.Notices(b.t.Context(), run.ID, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, n := range ns {
		out = append(out, n.Target+" "+string(n.State))
	}
	return out
}

func TestTheEndOfARunIsTold(t *testing.T) {
	e := &ended{fails: 1} // what cannot be stored with the end is tried again with it
	b := setup(t, scheduler.Options{Ended: e.tell})
	run := b.create(1)
	b.adopt(run)
	b.eventually("the trial is dispatched", func() bool { return len(b.queue.of(run.ID)) == 1 })
	if got := b.notices(run); got != nil {
		t.Errorf("got %v before the end, want none", got)
	}
	b.record(b.queue.of(run.ID)[0], eval.AttemptDone, eval.Fail)
	b.wait(run)
	if diff := cmp.Diff([]string{"team waiting"}, b.notices(run)); diff != "" {
		t.Errorf("notices differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{run.ID + " fail"}, e.runs); diff != "" {
		t.Errorf("told of other runs (-want +got):\n%s", diff)
	}
}

// A grading is no run of its own, and a later one is no other end of its run.
func TestGradingsAreNotTold(t *testing.T) {
	e := &ended{}
	b := setup(t, scheduler.Options{Ended: e.tell})
	run := b.createJudged(1)
	b.adopt(run)
	b.eventually("the agent is asked", func() bool { return len(b.queue.of(run.ID)) == 1 })
	b.work(b.queue.of(run.ID)[0])
	b.eventually("a judge is asked", func() bool { return len(b.judging.of(run.Grading)) == 1 })
	b.judge(b.judging.of(run.Grading)[0], true)
	b.wait(run)
	g, _, err := scheduler.Grade(t.Context(), b.store, run, eval.Grading{}, true)
	if err != nil {
		t.Fatal(err)
	}
	b.adopt(g)
	b.eventually("a judge is asked again", func() bool { return len(b.judging.of(g.ID)) == 1 })
	b.judge(b.judging.of(g.ID)[0], false)
	b.wait(g)
	if len(e.runs) != 1 || b.notices(g) != nil || len(b.notices(run)) != 1 {
		t.Errorf("told of %v, with the notices %v and %v; want the run's end alone", e.runs, b.notices(run), b.notices(g))
	}
}
