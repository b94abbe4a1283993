package scheduler_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

// lease of claims in a world. It is short, because what a crash costs is waited
// for.
const lease = 1200 * time.Millisecond

// A world is a store with capped runs, processes that carry them out and die, and
// a till where everything is paid before it is spent.
type world struct {
	t    *testing.T
	seed uint64
	path string // of the store
	// redis is a server that everybody shares; nil if each process opens its own.
	redis *redistest.Server
	// shared is the one in this process that everybody shares, if there is one.
	shared *broker.Broker
	day    int64 // cap of all runs
	began  string
	// rivals says that several schedulers move the same runs.
	rivals bool

	// memory is held by who claims, and by who wipes a Redis.
	memory sync.RWMutex
	age    int // how often that was

	mu       sync.Mutex // guards what follows
	runs     map[string]*till
	claims   map[string]int    // attempts that were claimed, and the age of the Redis then
	doers    map[string]string // who has spent for an attempt
	happened map[string]int
	problems []string
	uids     int
}

// A till is what a run with its grading may take, and has.
type till struct {
	run   eval.Run
	spent eval.Amount
	// told is what records say that were handed on for the first time, and sure the
	// part of it that is in the store.
	told, sure eval.Amount
}

// openWorld makes a world without runs.
func openWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	return &world{
		t: t, seed: seed, path: filepath.Join(t.TempDir(), "evalfarm.db"),
		runs: map[string]*till{}, claims: map[string]int{}, doers: map[string]string{}, happened: map[string]int{},
	}
}

// note counts what happened to a world, so that a test can tell what it tested.
func (w *world) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.happened[what]++
}

// object notes a broken promise.
func (w *world) object(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objectLocked(format, args...)
}

func (w *world) objectLocked(format string, args ...any) {
	if len(w.problems) < 20 {
		w.problems = append(w.problems, fmt.Sprintf(format, args...))
	}
}

// head names the run that pays for a job: itself, or the one that it grades.
func (w *world) head(id string) *till {
	for head, t := range w.runs {
		if id == head || id == t.run.Grading {
			return t
		}
	}
	panic("no such run: " + id)
}

// pay takes money before it is spent.
func (w *world) pay(c jobs.Claim, a eval.Amount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := c.Job.Key()
	if by, there := w.doers[key]; there && by != c.UID {
		w.objectLocked("%s is carried out twice, by %s and %s", key, by, c.UID)
	}
	w.doers[key] = c.UID
	t := w.head(c.Job.Run)
	t.spent = t.spent.Add(a)
	if b := t.run.Budget; b.MicroUSD > 0 && t.spent.MicroUSD > b.MicroUSD || b.Tokens > 0 && t.spent.Tokens > b.Tokens {
		w.objectLocked("run %s has spent %+v of %+v", t.run.ID, t.spent, b)
	}
	var all int64
	for _, t := range w.runs {
		all += t.spent.MicroUSD
	}
	if all > w.day && today() == w.began {
		w.objectLocked("all runs have spent %d of %d", all, w.day)
	}
}

// truth is what runs have spent.
func (w *world) truth() map[string]eval.Amount {
	w.mu.Lock()
	defer w.mu.Unlock()
	spent := map[string]eval.Amount{}
	for id, t := range w.runs {
		spent[id] = t.spent
	}
	return spent
}

// chance makes a source of chance for one thing, the same with the same seed.
func (w *world) chance(of string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(of))
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// wipe makes a Redis forget everything. Nobody is about to claim meanwhile: a
// delivery that was made twice, once before and once after, could be claimed twice.
func (w *world) wipe(b *broker.Broker) {
	w.memory.Lock()
	defer w.memory.Unlock()
	w.age++
	w.note("wiped")
	if err := b.Client().FlushAll(context.Background()).Err(); err != nil {
		w.object("wipe: %v", err)
	}
}

// A process can be killed. What it does in between it does not finish.
type process struct {
	w      *world
	ctx    context.Context // of all that it does
	cancel context.CancelFunc
	parts  sync.WaitGroup
	broker *broker.Broker
	store  store.Store
	owned  bool // the broker is its own

	mu   sync.RWMutex // guards dead
	dead bool
}

var errDead = errors.New("the process is dead")

// start begins a process that reaches a Redis, and the store if it may.
func (w *world) start(stored bool) *process {
	p := &process{w: w, broker: w.shared}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if p.broker == nil {
		o := broker.Options{}
		if w.redis != nil {
			o.URL = w.redis.URL()
		}
		b, err := broker.Open(context.Background(), o)
		if err != nil {
			w.object("open a broker: %v", err)
			panic(err)
		}
		p.broker, p.owned = b, true
		p.parts.Go(func() { _ = b.Run(p.ctx) })
	}
	if stored {
		s, err := sqlitestore.Open(context.Background(), w.path)
		if err != nil {
			w.object("open the store: %v", err)
			panic(err)
		}
		p.store = s
	}
	return p
}

// alive does something that a dead process cannot.
func (p *process) alive(do func()) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.dead {
		return errDead
	}
	do()
	return nil
}

// die ends a process at once; it is gone when gone returns.
func (p *process) die() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.cancel()
}

// gone waits until nothing of a process is left that has died, or has nothing more
// to do.
func (p *process) gone() {
	p.cancel()
	p.parts.Wait()
	if p.owned {
		_ = p.broker.Close()
	}
	if p.store != nil {
		_ = p.store.Close()
	}
}

// pause lets time pass, unless the process dies.
func (p *process) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.ctx.Done():
		return errDead
	case <-timer.C:
		return nil
	}
}

// queues of a namespace: trials and judging.
func (p *process) queues(namespace string) [2]*asynqjobs.Queue {
	open := func(namespace string) *asynqjobs.Queue {
		return asynqjobs.New(p.broker.Client(), asynqjobs.Options{
			Namespace: namespace, Lease: lease,
			CheckInterval: 40 * time.Millisecond, ForwardInterval: 100 * time.Millisecond, Backoff: 10 * time.Millisecond,
		})
	}
	return [2]*asynqjobs.Queue{open(namespace), open(namespace + "-judging")}
}

// A mortalQueue is the queue of a scheduler that dies now and then between a mark
// and the queue, or amid a batch.
type mortalQueue struct {
	jobs.Queue
	p     *process
	after int // batches
	n     int
}

// frozenEvery is how often one of several schedulers is frozen between a mark and the
// queue, by batches.
const frozenEvery = 40

func (q *mortalQueue) Enqueue(ctx context.Context, js []jobs.Job) error {
	q.n++
	if q.p.w.rivals && q.n%frozenEvery == 0 {
		q.p.w.note("scheduler frozen while it dispatched")
		if err := q.p.pause(2 * lease); err != nil {
			return err
		}
	}
	if q.n != q.after {
		return q.Queue.Enqueue(ctx, js)
	}
	err := q.Queue.Enqueue(ctx, js[:len(js)/2])
	q.p.w.note("scheduler died while it dispatched")
	q.p.die()
	return cmp.Or(err, errDead)
}

// schedule carries out the part of a scheduler for runs, after it has adopted them.
func (p *process) schedule(qs [2]*asynqjobs.Queue, runs []string, workersGone bool, dies int) (*aggregate.Aggregator, *scheduler.Scheduler) {
	var sched *scheduler.Scheduler
	agg := aggregate.New(p.store, aggregate.Options{Observe: func(st store.Stored) { sched.Stored(st) }})
	sched = scheduler.New(p.store, &mortalQueue{Queue: qs[0], p: p, after: dies}, qs[1], agg, scheduler.Options{
		Audit:   200 * time.Millisecond,
		Backoff: func(int) time.Duration { return rand.N(50 * time.Millisecond) },
	})
	p.parts.Go(func() { _ = agg.Run(p.ctx) })
	for _, run := range runs {
		if err := sched.Adopt(p.ctx, run, workersGone); err != nil {
			p.w.object("adopt: %v", err)
		}
	}
	p.parts.Go(func() {
		if err := sched.Run(p.ctx); err != nil {
			p.w.object("the scheduler gives up: %v", err)
		}
	})
	return agg, sched
}

// A crew is the workers of one process at one queue.
type crew struct {
	p     *process
	name  string
	place *asynqjobs.Queue
	// put stores a record directly; nil hands it to the result stream.
	put func(context.Context, ...eval.Record) error

	mu    sync.Mutex // guards tasks
	tasks map[string]*task
}

// A task is an attempt that somebody works on.
type task struct {
	claim jobs.Claim
	stop  chan struct{} // closed when another attempt took over
	once  sync.Once
}

// hire lets workers take jobs until ctx ends and they have drained, or the process
// dies.
func (p *process) hire(ctx context.Context, name string, place *asynqjobs.Queue, slots int, put func(context.Context, ...eval.Record) error) (drained <-chan struct{}) {
	c := &crew{p: p, name: name, place: place, put: put, tasks: map[string]*task{}}
	beating, enough := context.WithCancel(p.ctx)
	p.parts.Go(func() {
		for {
			if ctx.Err() == nil {
				c.beat(beating, slots)
			} else {
				c.beat(beating, 0) // it takes no more
			}
			select {
			case <-beating.Done():
				return
			case <-time.After(lease / 6):
			}
		}
	})
	done := make(chan struct{})
	p.parts.Go(func() {
		defer close(done)
		defer enough()
		serving, stop := context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(p.ctx, stop)()
		if err := place.Serve(serving, name, slots, c.handle); err != nil {
			p.w.object("%s cannot serve: %v", name, err)
		}
	})
	return done
}

func (c *crew) beat(ctx context.Context, slots int) {
	c.mu.Lock()
	tasks := slices.Collect(maps.Values(c.tasks))
	c.mu.Unlock()
	claims := make([]jobs.Claim, len(tasks))
	for i, t := range tasks {
		claims[i] = t.claim
	}
	var words []jobs.Word
	var err error
	if c.p.alive(func() { words, err = c.place.Beat(ctx, c.name, slots, claims) }) != nil || err != nil {
		return // the next one will do
	}
	for i, word := range words {
		if word.Superseded {
			tasks[i].once.Do(func() { close(tasks[i].stop) })
		}
	}
}

// handle carries out one delivery.
func (c *crew) handle(ctx context.Context, j jobs.Job) error {
	w := c.p.w
	w.mu.Lock()
	w.uids++
	claim := jobs.Claim{Job: j, UID: fmt.Sprintf("%s-%d", c.name, w.uids), Worker: c.name}
	w.mu.Unlock()
	grant, again, err := c.claim(ctx, claim)
	if err != nil {
		return err
	}
	switch grant {
	case jobs.Held:
		return &jobs.LaterError{After: time.Second}
	case jobs.Refused, jobs.Dropped:
		w.note("delivery refused")
		return nil
	case jobs.Granted:
	}
	t := &task{claim: claim, stop: make(chan struct{})}
	c.mu.Lock()
	c.tasks[claim.UID] = t
	c.mu.Unlock()
	defer c.forget(t)
	return c.carryOut(ctx, t, again)
}

// claim asks for an attempt, and says whether anybody had it before.
func (c *crew) claim(ctx context.Context, claim jobs.Claim) (grant jobs.Grant, again bool, err error) {
	w, key := c.p.w, claim.Job.Key()
	w.memory.RLock()
	defer w.memory.RUnlock()
	w.mu.Lock()
	age, again := w.claims[key]
	w.mu.Unlock()
	if again && age != w.age {
		// It was in our hands while Redis was wiped, which has forgotten who has had it.
		// A Redis that is wiped loses its deliveries; this one is too late.
		return jobs.Refused, again, nil
	}
	if dead := c.p.alive(func() { grant, err = c.place.Claim(ctx, claim) }); dead != nil {
		return "", again, dead
	}
	if err == nil && grant == jobs.Granted {
		w.mu.Lock()
		w.claims[key] = w.age
		w.mu.Unlock()
	}
	return grant, again, err
}

// forget ends the beats for a task.
func (c *crew) forget(t *task) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tasks, t.claim.UID)
}

// What becomes of an attempt. The rest is done.
var fates = []struct {
	name  string
	share int // of 100
}{
	{"crashed", 6},
	{"late", 4},
	{"failed", 5},
	{"returned unspent", 5},
	{"returned spent", 4},
	{"delivered twice", 5},
	{"told twice", 6},
	{"told otherwise", 4},
	{"took it all", 6},
}

func fate(r *rand.Rand) string {
	n := r.IntN(100)
	for _, f := range fates {
		if n -= f.share; n < 0 {
			return f.name
		}
	}
	return "done"
}

// carryOut works on an attempt: it spends a part of what it holds, bit by bit, and
// tells of it or not.
func (c *crew) carryOut(ctx context.Context, t *task, again bool) error {
	w, j := c.p.w, t.claim.Job
	r := w.chance(j.Key())
	how := fate(r)
	switch {
	case how != "returned unspent":
	case again: // once is enough
		how = "done"
	default:
		return c.giveBack(ctx, t)
	}
	defer w.note(how)
	if how == "delivered twice" {
		c.p.parts.Go(func() { _ = c.handle(ctx, j) })
	}
	spent, err := c.spend(t, r, how == "took it all")
	if err != nil {
		return err
	}
	record := eval.Record{
		UID: t.claim.UID, Run: j.Run, Ordinal: j.Ordinal, N: j.Attempt, Worker: c.name,
		Outcome: eval.AttemptDone, CostMicroUSD: spent.MicroUSD, Tokens: spent.Tokens, Started: time.Now(), Ended: time.Now(),
	}
	select {
	case <-t.stop:
		how = "superseded"
		if spent == (eval.Amount{}) {
			return nil
		}
	default:
	}
	switch how {
	case "crashed":
		c.forget(t)
		if r.IntN(2) == 0 {
			return errors.New("crashed") // and the queue delivers it again
		}
		return nil
	case "late":
		c.forget(t)
		if err := c.p.pause(2 * lease); err != nil {
			return err
		}
		record.Result = w.verdict(j, r, &record)
	case "failed":
		record.Outcome, record.Result = eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable}
	case "returned spent", "superseded":
		record.Outcome, record.Result = eval.AttemptReturned, eval.Result{Verdict: eval.Unfinished, Reason: eval.ReasonCancelled}
	default:
		record.Result = w.verdict(j, r, &record)
	}
	if err := c.commit(ctx, t.claim, record, false); err != nil {
		return err
	}
	switch how {
	case "told twice":
		return c.commit(ctx, t.claim, record, true)
	case "told otherwise":
		record.Outcome, record.Result = eval.AttemptFailed, eval.Result{Verdict: eval.Error, Reason: eval.ReasonFarm}
		return c.commit(ctx, t.claim, record, true)
	}
	return nil
}

// giveBack returns an attempt that has not spent anything.
func (c *crew) giveBack(ctx context.Context, t *task) error {
	c.p.w.note("returned unspent")
	c.forget(t)
	var err error
	if dead := c.p.alive(func() { err = c.place.Return(ctx, t.claim) }); dead != nil || err != nil {
		return cmp.Or(dead, err)
	}
	return &jobs.LaterError{After: 100 * time.Millisecond}
}

// spend pays for some calls within the hold.
func (c *crew) spend(t *task, r *rand.Rand, all bool) (eval.Amount, error) {
	hold := t.claim.Job.Hold
	if hold.MicroUSD == 0 {
		c.p.w.object("%s holds %+v: nothing bounds it", t.claim.Job.Key(), hold)
	}
	hold.Tokens = cmp.Or(hold.Tokens, 100)
	var spent eval.Amount
	for calls := 1 + r.IntN(3); calls > 0; calls-- {
		if err := c.p.pause(time.Duration(3+r.IntN(40)) * time.Millisecond); err != nil {
			return spent, err
		}
		took := eval.Amount{MicroUSD: hold.MicroUSD - spent.MicroUSD, Tokens: hold.Tokens - spent.Tokens}
		if !all || calls > 1 {
			took = eval.Amount{MicroUSD: r.Int64N(took.MicroUSD + 1), Tokens: r.Int64N(took.Tokens + 1)}
		}
		select {
		case <-t.stop:
			return spent, nil
		default:
		}
		if err := c.p.alive(func() { c.p.w.pay(t.claim, took) }); err != nil {
			return spent, err
		}
		spent = spent.Add(took)
	}
	return spent, nil
}

// verdict is what a trial or a judge came to.
func (w *world) verdict(j jobs.Job, r *rand.Rand, record *eval.Record) eval.Result {
	if j.Subject != "" {
		return eval.Result{Verdict: eval.Pass, Scores: []eval.Score{{Check: "tone", Pass: r.IntN(2) == 0}}}
	}
	if w.runs[j.Run].run.Grading == "" || r.IntN(3) == 0 {
		return eval.Result{Verdict: eval.Pass}
	}
	trajectory := blob.Pack(eval.Encode(eval.Trajectory{}))
	record.Blobs = []eval.Blob{trajectory}
	return eval.Result{
		Verdict: eval.Unjudged, Reason: eval.ReasonAwaitingJudge, Trajectory: trajectory.SHA256,
		Scores: []eval.Score{{Check: "tone", Pending: true, Reason: eval.ReasonAwaitingJudge}},
	}
}

// commit hands a record on, and keeps at it while the way is blocked.
func (c *crew) commit(ctx context.Context, claim jobs.Claim, record eval.Record, again bool) error {
	w := c.p.w
	took := eval.Amount{MicroUSD: record.CostMicroUSD, Tokens: record.Tokens}
	if !again {
		w.mu.Lock()
		t := w.head(record.Run)
		t.told = t.told.Add(took)
		w.mu.Unlock()
	}
	for {
		err := c.hand(ctx, claim, record)
		if err == nil && !again && c.put != nil {
			w.mu.Lock()
			t := w.head(record.Run)
			t.sure = t.sure.Add(took)
			w.mu.Unlock()
		}
		if err == nil || errors.Is(err, errDead) {
			return err
		}
		if err := c.p.pause(50 * time.Millisecond); err != nil {
			return err
		}
	}
}

// hand tries once.
func (c *crew) hand(ctx context.Context, claim jobs.Claim, record eval.Record) error {
	if c.put == nil {
		var err error
		if dead := c.p.alive(func() { err = c.place.Commit(ctx, claim, record) }); dead != nil {
			return dead
		}
		return err
	}
	// As long as it is not stored, the process may die.
	if err := c.put(c.p.ctx, record); err != nil {
		return err
	}
	var err error
	if dead := c.p.alive(func() { err = c.place.Finish(ctx, claim) }); dead != nil {
		return dead
	}
	return err
}
