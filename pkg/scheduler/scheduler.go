// Package scheduler turns suites into runs and keeps their trials moving: it
// freezes what a run is, dispatches trials in order through a shallow window,
// answers failed and lost attempts with the next one, and finishes the run.
//
// It decides from the store alone. What it holds in memory is a copy that each
// audit renews, so a killed scheduler loses nothing: Adopt takes the run up
// again.
package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// Store is the part of the store that the scheduler uses.
type Store interface {
	store.Blobs
	store.Runs
	store.Trials
	EachResult(ctx context.Context, run string, fn func(store.Row) error) error
	Counts(ctx context.Context, run string) (eval.VerdictCounts, error)
	Attempts(ctx context.Context, run string, ordinal int) ([]store.Attempt, error)
	Ledger(ctx context.Context, run string) (eval.Ledger, error)
	Day(ctx context.Context) (eval.Day, error)
}

// A Recorder keeps records, as the aggregator does. The scheduler records the
// attempts whose worker is lost.
type Recorder interface {
	Put(ctx context.Context, rs ...eval.Record) error
}

// Options of a scheduler.
type Options struct {
	// Audit is the time between two audits of outstanding trials. Zero means 5 s.
	Audit time.Duration
	// Window bounds how many trials may be outstanding at once. Zero means the slots of
	// the living workers, and beyond them as many as ended in the last second, at
	// least half the slots or 4, in all at most 1000: what waits in the queue goes
	// before a run that comes now, so no more waits there than workers take until the
	// next look.
	Window int
	// Backoff is the wait before the attempt that follows n failures. Nil means
	// 2 s · 2^(n-1) with full jitter, at most a minute.
	Backoff func(failures int) time.Duration
	// Tenants by their names. One that is not among them has a weight of 1 and no
	// quota.
	Tenants map[string]Tenant
	// Limits tells how the keys of the farm's limiter stand. Nil knows of none.
	Limits func(ctx context.Context) ([]eval.LimitState, error)
	// Ended gives the notices of a run that has come to its end, for the store's outbox.
	// Nil tells nobody.
	Ended func(ctx context.Context, run eval.Run) ([]store.Notice, error)
	// Tracer tells of runs, trials and dispatches. Nil traces nothing.
	Tracer *telemetry.Tracer
	// Metrics count runs, and trials that end with theirs. Nil measures nothing.
	Metrics *telemetry.Metrics
	// Logger for what nobody else is told. Nil discards.
	Logger *slog.Logger
}

// A Tenant is on whose account runs are.
type Tenant struct {
	// Trials bounds how many of its trials may be outstanding at once. Zero means no
	// bound.
	Trials int
	// Weight against other tenants. Zero means 1.
	Weight int
}

// A Scheduler keeps runs moving. Make one with New.
type Scheduler struct {
	store    Store
	trials   *lane
	judging  *lane
	recorder Recorder
	opts     Options
	log      *slog.Logger
	wake     chan struct{}
	turn     sync.Mutex // held while runs are moved
	limits   limits     // turn guards it
	noted    time.Time  // turn guards it
	last     atomic.Pointer[noted]

	mu   sync.Mutex // guards what follows
	runs map[string]*running
	// untold are records that settled trials of which traces are told in the next round;
	// no more than were out.
	untold []store.Stored
}

// A lane is a queue and the window of it that is kept full. Trials and judging
// have one each, so that waiting judges never starve trials.
type lane struct {
	jobs.Queue
	// slots of the living workers as of counted, and how many attempts ended in a
	// second as of timed; only Run touches them.
	slots   int
	counted time.Time
	pace    int
	timed   time.Time
	// ended counts attempts that ended since timed.
	ended atomic.Int64
}

// running is the scheduler's copy of a run that it keeps moving. Only the
// goroutine of Run touches it, but for done and the fields under the mutex. Another
// scheduler may move the same run, after a long pause of one of them: then each
// writes only what the store takes, and puts into the queue only what is out.
type running struct {
	run      eval.Run
	snapshot eval.Snapshot
	queue    *lane
	// judges is the grading that the run waits for, and judged the run that a
	// grading belongs to while it lasts; nil if there is none.
	judges, judged *running
	// confirmation is the run that tries the suspects of this one again, which it waits
	// for, and confirms the run that it is for; nil if there is none. screened says that
	// there are no suspects, or that it is done.
	confirmation, confirms *running
	screened               bool
	// order resolves ordinals; cells has what it said of those that are outstanding.
	order *eval.Order
	cells map[int]int
	// places resolves ordinals for traces; nil if nobody traces.
	places *places
	// pools are what the models of each cell are counted by at the limiter; nil if no
	// cell asks one that is limited.
	pools [][]pool
	// choosy says that some trials are not for every worker.
	choosy bool
	// reach is the first ordinal that waits for a look: nothing from there on is begun
	// before. Without a look to come it is that of the run's end.
	reach int
	// quota is that of the tenant, while it keeps the run from beginning more; else 0.
	quota int
	// short is what the next hold did not fit, and final that it never will.
	short    eval.Shortage
	final    bool
	halted   bool          // workers begin nothing more of it
	followed time.Time     // when the control was last read
	audited  time.Time     // when the store was last read
	shown    time.Time     // when it was last told what the run is doing
	done     chan struct{} // closed when the run is done or given up
	err      error         // why it was given up; read after done
	summary  eval.Summary  // read after done

	mu          sync.Mutex // guards the following fields
	outstanding map[int]store.Trial
	// missed is what Stored tells while the store is read; nil otherwise.
	missed []store.Stored
}

// over says whether the run is done, or given up.
func (r *running) over() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// New makes a scheduler over a store, a queue for trials, one for judging, and a
// recorder.
func New(s Store, trials, judging jobs.Queue, r Recorder, o Options) *Scheduler {
	if o.Audit <= 0 {
		o.Audit = 5 * time.Second
	}
	if o.Backoff == nil {
		o.Backoff = fullJitter
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Scheduler{
		store: s, trials: &lane{Queue: trials}, judging: &lane{Queue: judging}, recorder: r, opts: o, log: o.Logger,
		wake: make(chan struct{}, 1),
		runs: map[string]*running{},
	}
}

func fullJitter(failures int) time.Duration {
	ceiling := min(2*time.Second<<min(max(failures-1, 0), 5), time.Minute)
	return rand.N(ceiling)
}

// tick is how often the scheduler looks without being woken: it bounds how late
// it notices a control that another process wrote to the store.
const tick = 250 * time.Millisecond

// patience is how long the store may fail before the scheduler gives up. A busy
// store answers sooner; a full disk is for a person to see.
const patience = 15 * time.Second

// Run keeps adopted runs moving until ctx ends. A queue that is away is waited
// for; a store that keeps failing is an error.
func (s *Scheduler) Run(ctx context.Context) error {
	sound := time.Now() // when the store was last known to work
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		err := s.round(ctx)
		switch broken := unqueued(err); {
		case ctx.Err() != nil:
		case broken == nil:
			sound = time.Now()
			if err != nil {
				// A queue that is away comes back, or a person stops us; nothing is
				// lost by trying again.
				s.log.WarnContext(ctx, "scheduling round", "error", err)
			}
		case time.Since(sound) > patience:
			return fmt.Errorf("the store fails: %w", broken)
		}
		select {
		case <-ctx.Done():
			s.tellRest(ctx)
			return nil
		case <-s.wake:
		case <-ticker.C:
		}
	}
}

// Wake asks for a round soon. It never blocks.
func (s *Scheduler) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Stored tells the scheduler what became of a record, so that it need not ask
// the store. The aggregator calls it.
func (s *Scheduler) Stored(st store.Stored) {
	s.mu.Lock()
	r := s.runs[st.Run]
	s.mu.Unlock()
	s.settled(r, st)
	if r == nil {
		return
	}
	if r.judges != nil && st.Judging > 0 {
		r.judges.hear(st)
	}
	r.hear(st)
	r.queue.ended.Add(1)
	s.Wake()
}

// hear follows a record that was stored, of the run or, for a grading, of the run
// that it belongs to.
func (r *running) hear(st store.Stored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.missed != nil {
		r.missed = append(r.missed, st)
	}
	r.apply(st)
}

// Adopt takes up a run or a grading that is in the store: a new one, or one whose
// former scheduler is gone. A run brings its grading, and the run that confirms it. With workersGone, the
// workers of that time are known to be gone too, as in a farm of one process, so
// every attempt that was out is followed by the next at once.
func (s *Scheduler) Adopt(ctx context.Context, id string, workersGone bool) error {
	taken, err := s.takeWhole(ctx, id, workersGone)
	if err != nil {
		return fmt.Errorf("adopt run %s: %w", id, err)
	}
	again, err := s.takeConfirmation(ctx, taken[0], workersGone)
	if err != nil {
		return fmt.Errorf("adopt run %s: what confirms it: %w", id, err)
	}
	s.keep(append(taken, again...))
	s.Wake()
	return nil
}

// takeWhole makes the copies of a run and of its grading, the run first.
func (s *Scheduler) takeWhole(ctx context.Context, id string, workersGone bool) ([]*running, error) {
	r, err := s.take(ctx, id, workersGone)
	if err != nil {
		return nil, err
	}
	taken := []*running{r}
	if g := r.run.Grading; g != "" {
		judges, err := s.take(ctx, g, workersGone)
		if err != nil {
			return nil, fmt.Errorf("grading %s: %w", g, err)
		}
		switch {
		case judges.run.State != eval.RunDone:
			r.judges, judges.judged = judges, r
			taken = append(taken, judges)
		case judges.run.Outcome == eval.OutcomeBudgetExhausted && r.run.State != eval.RunDone:
			// Whoever had it before was killed when only the end of the run was left.
			judges.short, judges.final = judges.run.Short, true
			close(judges.done)
			r.judges, judges.judged = judges, r
		}
	}
	return taken, nil
}

// take makes the copy of a run, and puts what is out into its queue.
func (s *Scheduler) take(ctx context.Context, id string, workersGone bool) (*running, error) {
	run, err := s.store.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if run.Parent != "" { // it has the budget of its run
		of, err := s.store.Run(ctx, run.Parent)
		if err != nil {
			return nil, err
		}
		run.Budget, run.DayMicroUSD = of.Budget, of.DayMicroUSD
		run.Schedule, run.ScheduleMicroUSD = of.Schedule, of.ScheduleMicroUSD
	}
	r := &running{run: run, queue: s.trials, done: make(chan struct{})}
	if run.Parent != "" {
		r.queue = s.judging
	}
	if err := blob.LoadJSON(ctx, s.store, run.Header, &r.snapshot); err != nil {
		return nil, err
	}
	r.order = eval.NewOrder(r.snapshot.Plan)
	if s.opts.Tracer.On() {
		r.places = newPlaces(r.snapshot)
	}
	r.reach = reach(run, r.snapshot.Plan, run.Cursor)
	if run.Parent == "" {
		r.pools = poolsOf(r.snapshot)
	}
	r.choosy = choosy(run, r.snapshot)
	if workersGone {
		if _, err := s.store.Release(ctx, id); err != nil {
			return nil, err
		}
		// Whatever the queue remembers is of that time.
		if err := r.queue.Forget(ctx, id); err != nil {
			return nil, away("forget", err)
		}
	}
	// The run may have been done before, so that all of it is dropped until now. It is
	// read after that is taken back: should it be done in between, nothing of it is out.
	if err := r.queue.Control(ctx, id, run.Control); err != nil {
		return nil, away("control", err)
	}
	if err := s.reload(ctx, r); err != nil {
		return nil, err
	}
	if run.Capped() {
		// Whether the queue has lost an attempt or a worker has it, the audit finds out.
		// One that is carried out twice would spend its hold twice.
		return r, nil
	}
	// What the queue still holds is refused as a duplicate; what it lost is
	// there again.
	return r, s.enqueue(ctx, r, r.dispatched())
}

// Wait blocks until a run is done and returns its summary. If ctx ends first,
// the run stays as it is and can be adopted again.
func (s *Scheduler) Wait(ctx context.Context, id string) (eval.Summary, error) {
	s.mu.Lock()
	r := s.runs[id]
	s.mu.Unlock()
	if r == nil {
		return eval.Summary{}, fmt.Errorf("wait for run %s: %w", id, store.ErrNotFound)
	}
	select {
	case <-ctx.Done():
		return eval.Summary{}, context.Cause(ctx)
	case <-r.done:
		return r.summary, r.err
	}
}

// reload renews the copy of what the store says of a run.
func (s *Scheduler) reload(ctx context.Context, r *running) error {
	r.mu.Lock()
	r.missed = []store.Stored{}
	r.mu.Unlock()
	trials, err := s.store.Outstanding(ctx, r.run.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	missed := r.missed
	r.missed = nil
	if err != nil {
		return fmt.Errorf("read outstanding trials: %w", err)
	}
	r.outstanding = make(map[int]store.Trial, len(trials))
	for _, t := range trials {
		r.outstanding[t.Ordinal] = t
	}
	// What was stored while we read may be missing from what we read.
	for _, st := range missed {
		r.apply(st)
	}
	r.audited = time.Now()
	return nil
}

// apply follows a record that was stored. Applying it twice is harmless.
func (r *running) apply(st store.Stored) {
	t, known := r.outstanding[st.Ordinal]
	switch {
	case st.Run != r.run.ID:
		r.await(st)
	case !known:
	case st.Final:
		delete(r.outstanding, st.Ordinal)
	case st.N == t.Attempt && st.Outcome != eval.AttemptDone && !t.Reported:
		t.Reported = true
		switch st.Outcome {
		case eval.AttemptFailed:
			t.Failures++
		case eval.AttemptLost:
			t.Losses++
		case eval.AttemptReturned, eval.AttemptDone:
		}
		r.outstanding[st.Ordinal] = t
	}
}

// remembered bounds the trials of a grading that wait in memory: the store has
// the others.
const remembered = 5000

// await adds a trial to a grading as the store has.
func (r *running) await(st store.Stored) {
	if _, known := r.outstanding[st.Ordinal]; known || len(r.outstanding) >= remembered {
		return
	}
	r.outstanding[st.Ordinal] = store.Trial{
		Run: r.run.ID, Ordinal: st.Ordinal, Attempt: st.Judging, State: store.Waiting, Subject: st.Result.Trajectory,
	}
}

// ended says whether the run has nothing more to do: it is complete, or out of
// what it may spend.
func (r *running) ended() bool { return r.complete() || r.exhausted() }

// exhausted says whether nothing is out and the next hold will never fit. A grading
// gets what its run leaves, so the run has to end first.
func (r *running) exhausted() bool {
	if r.judged != nil && !r.judged.ended() {
		return false
	}
	spent := r.short != "" && r.final
	if j := r.judges; j != nil && j.short != "" && j.final {
		// What is spent on trials that nobody can judge is wasted.
		spent = spent || !r.complete()
		if len(j.out()) > 0 {
			return false
		}
	}
	return spent && len(r.out()) == 0
}

// shortage is what keeps the run, or the judging of it, from going on.
func (r *running) shortage() eval.Shortage {
	if r.short == "" && r.judges != nil {
		return r.judges.short
	}
	return r.short
}

// out lists the trials that hold something, or whose attempt is to be answered.
func (r *running) out() []store.Trial {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ts []store.Trial
	for _, t := range r.outstanding {
		if t.State == store.Dispatched {
			ts = append(ts, t)
		}
	}
	return ts
}

// complete says whether every trial has its result: all were dispatched, and
// none is outstanding. A grading has a trial for whatever its run hands to it, so
// the run has to end first.
func (r *running) complete() bool {
	if r.judged != nil && !r.judged.ended() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return (r.run.Parent != "" || r.run.Cursor >= r.run.Trials) && len(r.outstanding) == 0
}

// dispatched lists the attempts that should be in the queue or with a worker.
func (r *running) dispatched() []store.Trial {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ts []store.Trial
	for _, t := range r.outstanding {
		if t.State == store.Dispatched && !t.Reported {
			ts = append(ts, t)
		}
	}
	return ts
}

func (s *Scheduler) enqueue(ctx context.Context, r *running, ts []store.Trial) error {
	if len(ts) == 0 {
		return nil
	}
	js := r.jobs(ts)
	for i, t := range ts {
		js[i].Traceparent = s.traceparent(r, t)
	}
	// Announced before it is enqueued, so that a late delivery of the attempt
	// before can no longer be claimed.
	var later []jobs.Job
	for _, j := range js {
		if j.Attempt > 1 {
			later = append(later, j)
		}
	}
	if len(later) > 0 {
		if err := r.queue.Supersede(ctx, later); err != nil {
			return away("announce attempts", err)
		}
	}
	if err := r.queue.Enqueue(ctx, js); err != nil {
		return away("enqueue trials", err)
	}
	return nil
}

// jobs are the current attempts at trials, as the queue has them.
func (r *running) jobs(ts []store.Trial) []jobs.Job {
	js := make([]jobs.Job, len(ts))
	now := time.Now().UnixMilli()
	for i, t := range ts {
		js[i] = jobs.Job{Run: r.run.ID, Ordinal: t.Ordinal, Attempt: t.Attempt, Header: r.run.Header, Requires: r.requires(t.Ordinal), Subject: t.Subject, Hold: t.Hold, Format: jobs.Format, Dispatched: now}
	}
	return js
}
