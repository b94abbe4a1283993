package scheduler_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

var seedFlag = flag.Uint64("seed", 0, "repeat the chances of TestCaps with this seed; 0 leaves it to the test")

// The promise of budgets, on each Redis and in both forms of a farm: whatever dies,
// is lost or comes twice, no more is spent than the caps allow, and the ledger
// knows it before it happens.
func TestCaps(t *testing.T) { testCaps(t, 1, 1) }

// testCaps lets two runs and a grading go on until their money is gone, size times
// as long as it takes to see something.
func testCaps(t *testing.T, size int, seed uint64) {
	for _, redis := range []string{"redis", "embedded"} {
		for _, layout := range []struct {
			name string
			live func(w *world, runs []eval.Run, trouble <-chan string)
		}{
			{"farm", (*world).asFarm},
			{"two schedulers", (*world).asTwoSchedulers},
			{"process", (*world).asProcesses},
		} {
			if layout.name == "two schedulers" && redis == "embedded" {
				continue // two processes share a Redis
			}
			t.Run(redis+"/"+layout.name, func(t *testing.T) {
				t.Parallel()
				seed := cmp.Or(*seedFlag, seed)
				t.Logf("-seed %d", seed)
				w := openWorld(t, seed)
				switch {
				case redis == "redis":
					w.redis = redistest.Start(t)
				case layout.name == "farm":
					b, err := broker.Open(t.Context(), broker.Options{})
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(context.Background())
					ended := make(chan error, 1)
					go func() { ended <- b.Run(ctx) }()
					t.Cleanup(func() { cancel(); <-ended; b.Close() })
					w.shared = b
				}
				w.carry(int64(size), layout.live)
			})
		}
	}
}

// createRuns stores the runs of a world: one with a budget and a grading, and one
// that takes what is left of the day.
func (w *world) createRuns(s store.Store, size int64) []eval.Run {
	w.day = 8_000_000 * size
	// Now one of the two is scarce, now the other.
	budget := eval.Budget{MicroUSD: w.day * 2 / 5, Tokens: 500_000 * size * (2 + w.chance("budget").Int64N(5))}
	var made []eval.Run
	for i, suiteOf := range []*suite.Loaded{
		loaded(
			agentCase("cheap", "paid", eval.Limits{CostMicroUSD: 6_000, Tokens: 1000}, judged("paid")),
			agentCase("dear", "paid", eval.Limits{CostMicroUSD: 30_000, Tokens: 6000}, judged("paid")),
			agentCase("middle", "paid", eval.Limits{CostMicroUSD: 15_000, Tokens: 9000}, judged("paid")),
			agentCase("derived", "paid", eval.Limits{Tokens: 4000}, judged("paid")),
		),
		loaded(
			agentCase("cheap", "paid", dollars(5_000)),
			agentCase("dear", "paid", dollars(25_000)),
			agentCase("middle", "paid", dollars(12_000)),
		),
	} {
		req := scheduler.Request{Suite: suiteOf, Seed: w.seed, Selection: suite.Selection{Repeats: int(200 * size)}, DayMicroUSD: w.day}
		if i == 0 {
			req.Budget = budget
		}
		run, err := scheduler.Create(w.t.Context(), s, req)
		if err != nil {
			w.t.Fatal(err)
		}
		w.runs[run.ID] = &till{run: run}
		made = append(made, run)
	}
	return made
}

// carry creates runs and carries them out amid trouble, looking all the time.
func (w *world) carry(size int64, live func(*world, []eval.Run, <-chan string)) {
	w.t.Helper()
	s, err := sqlitestore.Open(w.t.Context(), w.path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer s.Close()
	w.began = today()
	runs := w.createRuns(s, size)

	var share atomic.Int64 // of the day's money that is gone or held, in percent
	looking, enough := context.WithCancel(w.t.Context())
	defer enough()
	var side sync.WaitGroup
	side.Go(func() { w.look(looking, s, runs, &share) })
	trouble := make(chan string)
	side.Go(func() { w.makeTrouble(looking, &share, trouble) })

	lived := make(chan struct{})
	go func() {
		defer close(lived)
		live(w, runs, trouble)
	}()
	limit := time.Duration(size) * 10 * time.Minute // only bounds a failing test
	select {
	case <-lived:
	case <-time.After(limit):
		w.t.Errorf("-seed %d: the runs did not end within %s", w.seed, limit)
		w.t.Errorf("what happened: %v", w.happened)
		for _, run := range runs {
			now, _ := s.Run(w.t.Context(), run.ID)
			g, _ := s.Run(w.t.Context(), run.Grading)
			l, _ := s.Ledger(w.t.Context(), run.ID)
			out, _ := s.Outstanding(w.t.Context(), run.ID)
			w.t.Errorf("run %s is %s at %d of %d, grading %s, ledger %+v, spent %+v, %d outstanding", run.ID, now.State, now.Cursor, now.Trials, g.State, l, w.truth()[run.ID], len(out))
		}
		w.t.FailNow()
	}
	enough()
	side.Wait()
	for _, run := range runs {
		w.inspect(s, run)
	}
	if today() != w.began {
		w.t.Log("midnight passed: the cap of the day was not looked at")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.problems {
		w.t.Error(p)
	}
	w.t.Logf("what happened: %v", w.happened)
	if w.t.Failed() {
		w.t.Logf("again with: go test ./pkg/scheduler -run '%s' -seed %d", strings.ReplaceAll(w.t.Name(), "/", "$/"), w.seed)
		return
	}
	for _, what := range []string{"wiped", "crashed", "late", "failed", "returned spent", "returned unspent", "told twice", "told otherwise", "delivery refused", "killed"} {
		if w.happened[what] == 0 {
			w.t.Errorf("nothing was %s: the test tests little", what)
		}
	}
}

// today is the UTC day, which a cap is of: what is spent on the next one is not its.
func today() string { return time.Now().UTC().Format(time.DateOnly) }

// look holds the ledgers to the caps and to the truth, as often as it can.
func (w *world) look(ctx context.Context, s store.Store, runs []eval.Run, share *atomic.Int64) {
	looks := 0
	for ctx.Err() == nil {
		truth := w.truth() // before the ledgers: those know of it first
		ledgers, consistent := w.ledgers(ctx, s, runs)
		if ctx.Err() != nil {
			break
		}
		looks++
		var spent, taken int64
		for i, run := range runs {
			total, b, really := ledgers[i].Total(), run.Budget, truth[run.ID]
			spent, taken = spent+really.MicroUSD, taken+total.MicroUSD
			if b.MicroUSD > 0 && total.MicroUSD > b.MicroUSD || b.Tokens > 0 && total.Tokens > b.Tokens {
				w.object("run %s has taken %+v of its budget %+v: %+v", run.ID, total, b, ledgers[i])
			}
			if really.MicroUSD > total.MicroUSD || b.Tokens > 0 && really.Tokens > total.Tokens {
				w.object("run %s has spent %+v, and its ledger knows of %+v: %+v", run.ID, really, total, ledgers[i])
			}
			if l := ledgers[i]; min(l.Held.MicroUSD, l.Held.Tokens, l.Charged.MicroUSD, l.Charged.Tokens, l.Spent.MicroUSD) < 0 {
				w.object("run %s has a ledger below nothing: %+v", run.ID, l)
			}
		}
		share.Store(100 * taken / w.day)
		if consistent && today() == w.began && taken > w.day {
			w.object("all runs have taken %d of %d: %+v", taken, w.day, ledgers)
		}
	}
	w.mu.Lock()
	w.happened["looked"] = looks
	w.mu.Unlock()
}

// ledgers reads those of all runs. They are consistent if no ledger has changed
// between two looks: then they stood like this in between.
func (w *world) ledgers(ctx context.Context, s store.Store, runs []eval.Run) (ls []eval.Ledger, consistent bool) {
	read := func() []eval.Ledger {
		ls := make([]eval.Ledger, len(runs))
		for i, run := range runs {
			var err error
			if ls[i], err = s.Ledger(ctx, run.ID); err != nil && ctx.Err() == nil {
				w.object("read the ledger: %v", err)
			}
		}
		return ls
	}
	first := read()
	return first, slices.Equal(first, read())
}

// makeTrouble sends what is to happen, each when another part of the money is gone.
func (w *world) makeTrouble(ctx context.Context, share *atomic.Int64, trouble chan<- string) {
	r := w.chance("trouble")
	// One of each that has to happen, and then the others, if the money lasts.
	whats, others := []string{"wipe", "kill"}, []string{"wipe", "kill", "stop", "kill worker", "kill worker"}
	r.Shuffle(len(whats), func(i, j int) { whats[i], whats[j] = whats[j], whats[i] })
	r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	whats = append(whats, others...)
	for i, what := range whats {
		at := int64(15 + 75*i/len(whats))
		for share.Load() < at {
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
		select {
		case <-ctx.Done():
			return
		case trouble <- what:
		}
		select { // let something come of it
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+r.IntN(400)) * time.Millisecond):
		}
	}
}

// hireStaff hires four workers with sixteen slots each, which hand their records to the
// result stream. again replaces the oldest of them, and gone ends them all.
func (w *world) hireStaff() (again, gone func()) {
	staff, hired := make([]*process, 4), 0
	hire := func() {
		p := w.start(false)
		qs, name := p.queues("farm"), fmt.Sprintf("w%d", hired)
		p.hire(p.ctx, name, qs[0], 16, nil)
		p.hire(p.ctx, name+"-judge", qs[1], 4, nil)
		staff[hired%len(staff)] = p
		hired++
	}
	for range staff {
		hire()
	}
	again = func() {
		victim := staff[hired%len(staff)]
		victim.die()
		victim.gone()
		w.note("killed worker")
		hire()
	}
	gone = func() {
		for _, p := range staff {
			p.gone()
		}
	}
	return again, gone
}

// asFarm has one scheduler for all runs, and workers.
func (w *world) asFarm(runs []eval.Run, trouble <-chan string) {
	rehire, dismiss := w.hireStaff()
	for life := 0; ; life++ {
		boss, ended := w.boss(runs, life)
		for alive := true; alive; {
			select {
			case <-ended:
				alive = false
			case what := <-trouble:
				switch what {
				case "wipe":
					w.wipe(boss.broker)
				case "kill worker":
					rehire()
				default:
					boss.die()
					w.note("killed")
				}
			}
		}
		boss.gone()
		if len(w.unfinished(runs)) == 0 {
			break
		}
	}
	w.sweepUp(dismiss)
}

// sweepUp waits for those who have lost their lease and tell late.
func (w *world) sweepUp(dismiss func()) {
	clerk, _ := w.boss(nil, 0)
	_ = clerk.pause(5 * lease / 2)
	dismiss()
	_ = clerk.pause(lease)
	clerk.gone()
}

// asTwoSchedulers has two schedulers that move the same runs at the same time, as when
// one wakes up that was taken for dead. Each is frozen amid a dispatch in its turn.
func (w *world) asTwoSchedulers(runs []eval.Run, trouble <-chan string) {
	w.rivals = true
	rehire, dismiss := w.hireStaff()
	var bosses [2]*process
	var ended [2]<-chan struct{}
	life := 0
	for i := range bosses {
		bosses[i], ended[i] = w.boss(runs, life)
		life++
	}
	for len(w.unfinished(runs)) > 0 {
		over := -1
		select {
		case <-ended[0]:
			over = 0
		case <-ended[1]:
			over = 1
		case what := <-trouble:
			switch what {
			case "wipe":
				w.wipe(bosses[0].broker)
			case "kill worker":
				rehire()
			default:
				over = life % 2
				bosses[over].die()
				w.note("killed")
			}
		}
		if over >= 0 {
			bosses[over].gone()
			bosses[over], ended[over] = w.boss(runs, life)
			life++
		}
	}
	for i, boss := range bosses {
		<-ended[i] // it sees that another one has ended the runs
		boss.gone()
	}
	w.sweepUp(dismiss)
}

// boss starts the scheduler of a farm. It ends when all runs are done, or dies; its
// first lives end while it dispatches.
func (w *world) boss(runs []eval.Run, life int) (p *process, ended <-chan struct{}) {
	left := w.unfinished(runs)
	p = w.start(true)
	qs := p.queues("farm")
	dies := 0
	if life < 2 {
		dies = 5 + w.chance(fmt.Sprint("boss", life)).IntN(20)
	}
	agg, sched := p.schedule(qs, left, false, dies)
	for _, q := range qs {
		p.parts.Go(func() {
			_ = q.Receive(p.ctx, func(ctx context.Context, rs []eval.Record) error { return agg.Put(ctx, rs...) })
		})
	}
	return p, p.waitFor(sched, left)
}

// asProcesses has a process for each run with all that it takes, whose workers store
// their records themselves.
func (w *world) asProcesses(runs []eval.Run, trouble <-chan string) {
	orders := make([]chan string, len(runs))
	var all sync.WaitGroup
	for i, run := range runs {
		orders[i] = make(chan string)
		all.Go(func() {
			for life := 0; len(w.unfinished([]eval.Run{run})) > 0; life++ {
				w.asProcess(run, life, orders[i])
			}
		})
	}
	over := make(chan struct{})
	go func() { all.Wait(); close(over) }()
	for n := 0; ; n++ {
		select {
		case <-over:
			return
		case what := <-trouble:
			// To one of them in turn, or to the other if that is done.
			select {
			case orders[n%2] <- what:
			case <-over:
			case <-time.After(time.Second):
				select {
				case orders[0] <- what:
				case orders[1] <- what:
				case <-over:
				}
			}
		}
	}
}

// asProcess carries out a run in one process until that is told to stop, dies or is
// done.
func (w *world) asProcess(run eval.Run, life int, orders <-chan string) {
	p := w.start(true)
	defer p.gone()
	qs := p.queues("process-" + run.ID)
	dies := 0
	if life < 2 {
		dies = 5 + w.chance(fmt.Sprint(run.Trials, life)).IntN(20)
	}
	agg, sched := p.schedule(qs, []string{run.ID}, true, dies)
	working, stop := context.WithCancel(p.ctx)
	defer stop()
	drained := p.hire(working, fmt.Sprintf("p%d", life), qs[0], 32, agg.Put)
	judged := p.hire(working, fmt.Sprintf("p%d-judge", life), qs[1], 8, agg.Put)
	ended := p.waitFor(sched, []string{run.ID})
	for wiped := false; ; {
		var what string
		select {
		case <-ended:
			return
		case what = <-orders:
		}
		switch {
		case what == "wipe":
			w.wipe(p.broker)
			wiped = true
		case what == "stop" && !wiped: // one that was wiped does not know what was begun
			stop()
			<-drained
			<-judged
			if err := sched.Park(p.ctx, run.ID); err != nil && p.ctx.Err() == nil {
				w.object("park: %v", err)
			}
			w.note("stopped")
			return
		default:
			p.die()
			w.note("killed")
			return
		}
	}
}

// waitFor closes a channel when runs are done, or the process is dead.
func (p *process) waitFor(sched *scheduler.Scheduler, runs []string) <-chan struct{} {
	done := make(chan struct{})
	p.parts.Go(func() {
		defer close(done)
		for _, run := range runs {
			if _, err := sched.Wait(p.ctx, run); err != nil && p.ctx.Err() == nil && !p.w.rivals {
				p.w.object("wait for run %s: %v", run, err)
			}
		}
	})
	return done
}

// unfinished are those of runs that are not done.
func (w *world) unfinished(runs []eval.Run) []string {
	s, err := sqlitestore.Open(context.Background(), w.path)
	if err != nil {
		w.object("open the store: %v", err)
		return nil
	}
	defer s.Close()
	var ids []string
	for _, run := range runs {
		now, err := s.Run(context.Background(), run.ID)
		if err != nil {
			w.object("read run %s: %v", run.ID, err)
		} else if now.State != eval.RunDone {
			ids = append(ids, run.ID)
		}
	}
	return ids
}

// inspect looks at what is left of a run.
func (w *world) inspect(s store.Store, run eval.Run) {
	now, err := s.Run(w.t.Context(), run.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	short := now.Outcome == eval.OutcomeBudgetExhausted
	if now.State != eval.RunDone || !short && now.Outcome != eval.OutcomeComplete || short != (now.Short != "") {
		w.t.Errorf("run %s is %s, %s, short of %q; want it done, and complete or exhausted", run.ID, now.State, now.Outcome, now.Short)
	}
	l, err := s.Ledger(w.t.Context(), run.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	t := w.runs[run.ID]
	w.t.Logf("run %s: %s, short of %q, ledger %+v, spent %+v", run.ID, now.Outcome, now.Short, l, t.spent)
	if l.Held != (eval.Amount{}) {
		w.t.Errorf("%+v is held for run %s, which is over", l.Held, run.ID)
	}
	if l.Spent.MicroUSD > t.told.MicroUSD || l.Spent.Tokens > t.told.Tokens {
		w.t.Errorf("records of run %s say %+v, and its ledger has %+v: one counts twice", run.ID, t.told, l.Spent)
	}
	if l.Spent.MicroUSD < t.sure.MicroUSD || l.Spent.Tokens < t.sure.Tokens {
		w.t.Errorf("records of run %s that were stored say %+v, and its ledger has %+v: one does not count", run.ID, t.sure, l.Spent)
	}
	w.inspectTrials(s, now)
	if now.Grading != "" {
		g, err := s.Run(w.t.Context(), now.Grading)
		if err != nil || g.State != eval.RunDone {
			w.t.Errorf("grading %s is %s (%v), want it done", now.Grading, g.State, err)
		}
		w.inspectTrials(s, g)
	}
}

// inspectTrials wants one result at most for each trial, and cells that got as far
// as each other.
func (w *world) inspectTrials(s store.Store, run eval.Run) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(w.t.Context(), s, run.Header, &snap); err != nil {
		w.t.Fatal(err)
	}
	standing := map[int]store.Row{}
	err := s.EachResult(w.t.Context(), run.ID, func(r store.Row) error {
		if _, there := standing[r.Ordinal]; there || run.Parent == "" && r.Ordinal >= run.Cursor {
			w.t.Errorf("trial %s:%d has another result than one", run.ID, r.Ordinal)
		}
		standing[r.Ordinal] = r
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	order := eval.NewOrder(snap.Plan)
	done, lost := make([]int, len(snap.Plan.Cells)), make([]int, len(snap.Plan.Cells))
	for ordinal := range run.Trials {
		cell, _, err := order.At(ordinal)
		if err != nil {
			w.t.Fatal(err)
		}
		if _, there := standing[ordinal]; there {
			done[cell]++
		} else if ordinal < run.Cursor {
			lost[cell]++ // for good: no money was left for its next attempt
		}
		attempts, err := s.Attempts(w.t.Context(), run.ID, ordinal)
		if err != nil {
			w.t.Fatal(err)
		}
		count := 0
		for _, a := range attempts {
			if a.Counts {
				count++
			}
		}
		if row, there := standing[ordinal]; count > 1 || there != (count == 1) {
			w.t.Errorf("trial %s:%d: %d attempts count, the result is of %q", run.ID, ordinal, count, row.UID)
		}
	}
	if run.Parent != "" {
		return
	}
	w.t.Logf("run %s: %d of %d trials, by cell %v, and %v that were lost", run.ID, len(standing), run.Trials, done, lost)
	for cell := range done {
		done[cell] += lost[cell]
	}
	if slices.Max(done)-slices.Min(done) > 1 {
		w.t.Errorf("run %s: cells have %v repeats, want the same in all, but one", run.ID, done)
	}
}
