package scheduler_test

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// queue is a jobs.Queue that keeps what it is given and says of attempts what
// the test wants.
type queue struct {
	mu           sync.Mutex
	enqueued     []jobs.Job
	known        map[string]bool // keys of what is enqueued
	standing     map[string]jobs.Standing
	controls     []eval.Control
	enqueuing    func([]jobs.Job) error
	slots        int // 0 means 4
	doing        []eval.Activity
	capabilities [][]string
}

func (q *queue) Enqueue(_ context.Context, js []jobs.Job) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.enqueuing != nil {
		if err := q.enqueuing(js); err != nil {
			return err
		}
	}
	if q.known == nil {
		q.known = map[string]bool{}
	}
	for _, j := range js {
		if !q.known[j.Key()] {
			q.known[j.Key()] = true
			q.enqueued = append(q.enqueued, j)
		}
	}
	return nil
}

func (q *queue) Audit(_ context.Context, _ string, js []jobs.Job) ([]jobs.Standing, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]jobs.Standing, len(js))
	for i, j := range js {
		out[i] = jobs.Queued
		if st, ok := q.standing[j.Key()]; ok {
			out[i] = st
		}
	}
	return out, nil
}

func (q *queue) Control(_ context.Context, _ string, c eval.Control) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.controls = append(q.controls, c)
	return nil
}

func (q *queue) Delete(context.Context, []jobs.Job) error    { return nil }
func (q *queue) Supersede(context.Context, []jobs.Job) error { return nil }
func (q *queue) Forget(context.Context, string) error        { return nil }

func (q *queue) Slots(context.Context) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return cmp.Or(q.slots, 4), nil
}

func (q *queue) Capabilities(context.Context) ([][]string, error) { return q.capabilities, nil }

func (q *queue) Activities(context.Context) ([]eval.Activity, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.doing, nil
}

func (q *queue) of(run string) []jobs.Job {
	q.mu.Lock()
	defer q.mu.Unlock()
	var js []jobs.Job
	for _, j := range q.enqueued {
		if j.Run == run {
			js = append(js, j)
		}
	}
	return js
}

func (q *queue) say(j jobs.Job, st jobs.Standing) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.standing == nil {
		q.standing = map[string]jobs.Standing{}
	}
	q.standing[j.Key()] = st
}

// bundle is a scheduler over a real store, a real aggregator and the queue
// above.
type bundle struct {
	t              *testing.T
	store          store.Store
	queue, judging *queue
	agg            *aggregate.Aggregator
	sched          *scheduler.Scheduler
	tracer         *telemetry.Tracer // of the scheduler; nil traces nothing
}

func setup(t *testing.T, o scheduler.Options) *bundle {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return setupOver(t, s, o)
}

// setupOver is another process over the same store.
func setupOver(t *testing.T, s store.Store, o scheduler.Options) *bundle {
	t.Helper()
	b := &bundle{t: t, store: s, queue: &queue{}, judging: &queue{}}
	if o.Audit == 0 {
		o.Audit = time.Millisecond
	}
	o.Backoff = func(int) time.Duration { return 0 }
	b.agg = aggregate.New(s, aggregate.Options{Metrics: o.Metrics, Observe: func(st store.Stored) { b.sched.Stored(st) }})
	b.sched = scheduler.New(s, b.queue, b.judging, b.agg, o)
	ctx, stop := context.WithCancel(t.Context())
	var services sync.WaitGroup
	services.Go(func() { _ = b.agg.Run(ctx) })
	services.Go(func() { _ = b.sched.Run(ctx) })
	t.Cleanup(func() { stop(); services.Wait() })
	return b
}

func (b *bundle) create(cases int) eval.Run {
	b.t.Helper()
	loaded := &suite.Loaded{Suite: eval.Suite{Name: "made"}, Hash: "hash"}
	for i := range cases {
		loaded.Suite.Cases = append(loaded.Suite.Cases, eval.Case{ID: fmt.Sprintf("case-%d", i), Kind: eval.KindScript, Server: "s"})
	}
	run, err := scheduler.Create(b.t.Context(), b.store, scheduler.Request{Suite: loaded, Seed: 1, Selection: suite.Selection{Repeats: 1}})
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

func (b *bundle) adopt(run eval.Run) {
	b.t.Helper()
	if err := b.sched.Adopt(b.t.Context(), run.ID, false); err != nil {
		b.t.Fatal(err)
	}
}

// record puts what a worker would hand on.
func (b *bundle) record(j jobs.Job, outcome eval.AttemptOutcome, v eval.Verdict) {
	b.t.Helper()
	err := b.agg.Put(b.t.Context(), eval.Record{
		UID: fmt.Sprintf("uid-%s", j.Key()), Run: j.Run, Ordinal: j.Ordinal, N: j.Attempt, Worker: "w",
		Outcome: outcome, Result: eval.Result{Verdict: v, Reason: eval.ReasonStartTimeout},
		Started: time.Now(), Ended: time.Now(),
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// eventually waits until a condition holds. The deadline only bounds a test
// that fails.
func (b *bundle) eventually(what string, cond func() bool) {
	b.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			b.t.Fatalf("never happened: %s", what)
		}
		b.sched.Wake()
		time.Sleep(time.Millisecond)
	}
}

// told waits until workers are told what becomes of a run.
func (b *bundle) told(c eval.Control) {
	b.t.Helper()
	b.eventually("workers are told to "+string(c), func() bool {
		b.queue.mu.Lock()
		defer b.queue.mu.Unlock()
		return slices.Contains(b.queue.controls, c)
	})
}

func (b *bundle) wait(run eval.Run) eval.Summary {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Minute)
	defer cancel()
	s, err := b.sched.Wait(ctx, run.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func TestRunIsCarriedToItsEnd(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 7})
	run := b.create(20)
	b.adopt(run)
	for done := range 20 {
		b.eventually("a trial is dispatched", func() bool { return len(b.queue.of(run.ID)) > done })
		if open := len(b.queue.of(run.ID)) - done; open > 7 {
			t.Fatalf("%d trials are out, the window is 7", open)
		}
		b.record(b.queue.of(run.ID)[done], eval.AttemptDone, eval.Pass)
	}
	s := b.wait(run)
	if s.Counts.Pass != 20 || s.Verdict != eval.RunPass || s.Outcome != eval.OutcomeComplete {
		t.Errorf("got %d pass, verdict %s, outcome %s; want 20, pass, complete", s.Counts.Pass, s.Verdict, s.Outcome)
	}
	stored, err := b.store.Run(t.Context(), run.ID)
	if err != nil || stored.State != eval.RunDone || stored.Verdict != eval.RunPass {
		t.Errorf("stored run is %s with verdict %s (%v), want done with pass", stored.State, stored.Verdict, err)
	}
}

// A run may be done long before anybody asks for it.
func TestRunThatEndsFirstIsStillThereToWaitFor(t *testing.T) {
	b := setup(t, scheduler.Options{})
	long, short := b.create(3), b.create(1)
	b.adopt(long)
	b.adopt(short)
	b.eventually("the short run is out", func() bool { return len(b.queue.of(short.ID)) == 1 })
	b.record(b.queue.of(short.ID)[0], eval.AttemptDone, eval.Pass)
	b.eventually("the short run is done", func() bool {
		r, err := b.store.Run(t.Context(), short.ID)
		return err == nil && r.State == eval.RunDone
	})
	b.eventually("the long run is out", func() bool { return len(b.queue.of(long.ID)) == 3 })
	for _, j := range b.queue.of(long.ID) {
		b.record(j, eval.AttemptDone, eval.Pass)
	}
	if s := b.wait(long); s.Counts.Pass != 3 {
		t.Errorf("the long run: %+v, want 3 pass", s.Counts)
	}
	if s := b.wait(short); s.Counts.Pass != 1 {
		t.Errorf("the short run: %+v, want 1 pass", s.Counts)
	}
}

// A cancel that took the scheduler for dead ends the run under it.
func TestRunEndedByAnotherProcessIsGivenUp(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.create(2)
	b.adopt(run)
	b.eventually("trials are out", func() bool { return len(b.queue.of(run.ID)) == 2 })
	stored, err := b.store.Run(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := scheduler.End(t.Context(), b.store, stored, eval.OutcomeRunCancelled); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := b.sched.Wait(ctx, run.ID); err == nil || ctx.Err() != nil {
		t.Errorf("Wait: got %v, want an error that says who ended the run", err)
	}
}

// So does a person who deletes it while it is judged.
func TestRunThatIsDeletedIsGivenUp(t *testing.T) {
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
	b.adopt(g)
	b.eventually("a judge is asked again", func() bool { return len(b.judging.of(g.ID)) == 1 })
	// The last that passed is not deleted.
	next := b.createJudged(1)
	next.Outcome, next.Verdict, next.Finished = eval.OutcomeComplete, eval.RunPass, time.Now().Add(time.Hour)
	if err := b.store.Finish(t.Context(), next, blob.Pack([]byte("{}"))); err != nil {
		t.Fatal(err)
	}
	if _, err := b.store.Collect(t.Context(), time.Now(), false); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // less than a failing store is waited for
	defer cancel()
	if _, err := b.sched.Wait(ctx, g.ID); err == nil || ctx.Err() != nil {
		t.Errorf("Wait: got %v, want an error that says that it is gone", err)
	}
}

func TestSmallRunIsNotStarvedByALargeOne(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 40})
	large := b.create(1000)
	b.adopt(large)
	b.eventually("the large run fills the window", func() bool { return len(b.queue.of(large.ID)) == 40 })
	small := b.create(10)
	b.adopt(small)
	for i := range 20 {
		b.record(b.queue.of(large.ID)[i], eval.AttemptDone, eval.Pass)
	}
	b.eventually("all of the small run is out", func() bool { return len(b.queue.of(small.ID)) == 10 })
	if n := len(b.queue.of(large.ID)); n > 50 {
		t.Errorf("the large run got %d places before the small one was served, want at most 50", n)
	}
}

func TestFailedAttemptIsFollowedUntilItsAttemptsAreUsedUp(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.create(1)
	b.adopt(run)
	for n := 1; n <= 3; n++ {
		b.eventually(fmt.Sprintf("attempt %d is enqueued", n), func() bool { return len(b.queue.of(run.ID)) == n })
		j := b.queue.of(run.ID)[n-1]
		if j.Attempt != n {
			t.Fatalf("enqueued attempt %d, want %d", j.Attempt, n)
		}
		b.record(j, eval.AttemptFailed, eval.Error)
	}
	s := b.wait(run)
	if s.Counts.Error != 1 || s.ExitCode != int(eval.ExitInfra) {
		t.Errorf("got %d errors and exit code %d, want 1 and 3", s.Counts.Error, s.ExitCode)
	}
	attempts, err := b.store.Attempts(t.Context(), run.ID, 0)
	if err != nil || len(attempts) != 3 {
		t.Errorf("got %d attempts (%v), want 3", len(attempts), err)
	}
}

func TestExpiredClaimIsFollowedAndCountedApart(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.create(1)
	b.adopt(run)
	for n := 1; n <= 4; n++ {
		b.eventually(fmt.Sprintf("attempt %d is enqueued", n), func() bool { return len(b.queue.of(run.ID)) == n })
		b.queue.say(b.queue.of(run.ID)[n-1], jobs.Expired)
	}
	b.eventually("attempt 5 is enqueued", func() bool { return len(b.queue.of(run.ID)) == 5 })
	b.record(b.queue.of(run.ID)[4], eval.AttemptDone, eval.Pass)
	if s := b.wait(run); s.Counts.Pass != 1 {
		t.Errorf("counts %+v, want the pass of attempt 5: losses are not failures", s.Counts)
	}
	attempts, err := b.store.Attempts(t.Context(), run.ID, 0)
	if err != nil || len(attempts) != 5 || attempts[0].TraceID != "" {
		t.Errorf("attempts %+v (%v), want 5, in no trace: nobody traces", attempts, err)
	}
}

func TestTrialThatKillsItsWorkersEnds(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.create(1)
	b.adopt(run)
	for n := 1; n <= run.MaxLost; n++ {
		b.eventually(fmt.Sprintf("attempt %d is enqueued", n), func() bool { return len(b.queue.of(run.ID)) == n })
		b.queue.say(b.queue.of(run.ID)[n-1], jobs.Expired)
	}
	s := b.wait(run)
	if s.Counts.Error != 1 || s.Cells[0].Failure.Reason != eval.ReasonWorkerLost {
		t.Errorf("got %+v, want one error of reason worker_lost", s.Counts)
	}
}

func TestMissingAttemptGetsANewNumberAndNoLoss(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.create(1)
	b.adopt(run)
	b.eventually("attempt 1 is enqueued", func() bool { return len(b.queue.of(run.ID)) == 1 })
	b.queue.say(b.queue.of(run.ID)[0], jobs.Missing)
	b.eventually("attempt 2 is enqueued", func() bool { return len(b.queue.of(run.ID)) == 2 })
	out, err := b.store.Outstanding(t.Context(), run.ID)
	if err != nil || len(out) != 1 || out[0].Losses != 0 || out[0].Failures != 0 {
		t.Errorf("outstanding %+v (%v), want one without losses or failures", out, err)
	}
}

// A scheduler that dies between the mark and the queue leaves a trial that the
// store takes for dispatched and the queue has never seen.
func TestAdoptPutsDispatchedTrialsBackIntoTheQueue(t *testing.T) {
	b := setup(t, scheduler.Options{})
	run := b.create(3)
	if _, err := b.store.Dispatch(t.Context(), run.ID, []store.Mark{{Ordinal: 0, Attempt: 1, Cursor: 1}, {Ordinal: 1, Attempt: 1, Cursor: 2}}); err != nil {
		t.Fatal(err)
	}
	b.adopt(run)
	b.eventually("all three are in the queue", func() bool { return len(b.queue.of(run.ID)) == 3 })
	for _, j := range b.queue.of(run.ID) {
		if j.Attempt != 1 {
			t.Errorf("trial %d was enqueued as attempt %d, want 1: the queue refuses duplicates", j.Ordinal, j.Attempt)
		}
		b.record(j, eval.AttemptDone, eval.Pass)
	}
	b.wait(run)
}

func TestCancelEndsARunOnceNoWorkerHoldsATrial(t *testing.T) {
	b := setup(t, scheduler.Options{Window: 5})
	run := b.create(10)
	b.adopt(run)
	b.eventually("five are out", func() bool { return len(b.queue.of(run.ID)) == 5 })
	first := b.queue.of(run.ID)[0]
	b.queue.say(first, jobs.Claimed)
	if err := b.store.SetControl(t.Context(), run.ID, eval.ControlCancel); err != nil {
		t.Fatal(err)
	}
	b.told(eval.ControlCancel)
	b.record(first, eval.AttemptDone, eval.Pass)
	s := b.wait(run)
	if s.Outcome != eval.OutcomeRunCancelled || s.Counts.Pass != 1 || s.Counts.Unfinished != 9 || s.ExitCode != int(eval.ExitInconclusive) {
		t.Errorf("outcome %s, counts %+v, exit %d; want cancelled, 1 pass, 9 unfinished, 4", s.Outcome, s.Counts, s.ExitCode)
	}
}

func TestEmptySelectionIsNoRun(t *testing.T) {
	b := setup(t, scheduler.Options{})
	_, err := scheduler.Create(t.Context(), b.store, scheduler.Request{
		Suite:     &suite.Loaded{Suite: eval.Suite{Name: "made", Cases: []eval.Case{{ID: "a", Kind: eval.KindScript}}}},
		Selection: suite.Selection{Cases: []string{"b"}},
	})
	if err == nil {
		t.Error("a run of nothing was created")
	}
}
