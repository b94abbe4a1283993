package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// feed keeps a shallow window of trials in each queue. Each free place goes to the
// tenant that has the fewest outstanding trials for its weight, and there to the run
// that has the fewest for its priority: a small run is not starved by a large one, nor
// one tenant by the many runs of another, and a run of a million trials costs no more
// memory than one of a hundred. Which trial of a run comes next is not chosen: its
// order is kept.
func (s *Scheduler) feed(ctx context.Context, runs []*running) error {
	var errs []error
	// Judging first: what it costs goes before new trials, which would be nothing
	// worth without it.
	for _, l := range []*lane{s.judging, s.trials} {
		of := slices.DeleteFunc(slices.Clone(runs), func(r *running) bool {
			return r.queue != l || r.judges != nil && r.judges.short != ""
		})
		errs = append(errs, s.fill(ctx, l, of))
	}
	return errors.Join(errs...)
}

// fill gives the free places of one queue.
func (s *Scheduler) fill(ctx context.Context, l *lane, runs []*running) error {
	if len(runs) == 0 {
		return nil
	}
	window, err := s.window(ctx, l)
	if err != nil {
		return err
	}
	gate := s.admit(ctx, runs)
	accounts := map[string]*account{}
	batches := make([]batch, len(runs))
	for i, r := range runs {
		if batches[i], err = newBatch(r, gate); err != nil {
			return fmt.Errorf("run %s: %w", r.run.ID, err)
		}
		b := &batches[i]
		if r.run.Capped() || r.run.Budget.Time > 0 {
			// What waits in the queue holds money that nobody spends, and is charged if
			// the queue is lost. It is taken back when the time is over.
			b.most = max(3*l.slots/2, 4)
		}
		window -= b.busy
		if accounts[r.run.Tenant] == nil {
			accounts[r.run.Tenant] = &account{Tenant: s.opts.Tenants[r.run.Tenant]}
		}
		b.account = accounts[r.run.Tenant]
		b.account.open += b.open
	}
	for ; window > 0; window-- {
		next := choose(batches)
		if next == nil {
			break
		}
		next.take()
	}
	var errs []error
	for i := range batches {
		b := &batches[i]
		b.r.quota = 0
		if _, more := b.next(); more && b.account.full() {
			b.r.quota = b.account.Trials
		}
		if err := s.dispatch(ctx, &batches[i]); err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", batches[i].r.run.ID, err))
		}
	}
	return errors.Join(errs...)
}

// window is how many trials may be out in a queue.
func (s *Scheduler) window(ctx context.Context, l *lane) (int, error) {
	if time.Since(l.counted) > tick {
		slots, err := l.Slots(ctx)
		if err != nil {
			return 0, away("count slots", err)
		}
		l.slots, l.counted = slots, time.Now()
	}
	if since := time.Since(l.timed); since >= time.Second {
		pace := int(float64(l.ended.Swap(0)) / since.Seconds())
		l.pace, l.timed = max(pace, l.pace/2), time.Now()
	}
	if s.opts.Window > 0 {
		return s.opts.Window, nil
	}
	return min(l.slots+max(l.slots/2, 4, l.pace), 1000), nil
}

// An account is what the runs of one tenant have of a queue.
type account struct {
	Tenant
	open int
}

// full says whether the tenant may have no more.
func (a *account) full() bool { return a.Trials > 0 && a.open >= a.Trials }

func (a *account) share() float64 { return float64(a.open) / float64(max(1, a.Weight)) }

// choose finds the batch that gets the next place; nil if none can use it.
func choose(batches []batch) *batch {
	var next *batch
	for i := range batches {
		b := &batches[i]
		if b.account.full() || !b.ready() {
			continue
		}
		if next == nil || b.account.share() < next.account.share() ||
			b.account.share() == next.account.share() && b.share() < next.share() {
			next = b
		}
	}
	return next
}

// A batch is what one run is given in one round.
type batch struct {
	r       *running
	account *account
	gate    *admission
	weight  int
	open    int           // outstanding before the round
	busy    int           // those of them that want a slot
	most    int           // of outstanding and taken; 0 is no bound
	waiting []store.Trial // due again, by ordinal; they go before new trials
	taken   []store.Trial
	marks   []store.Mark // of the taken
	cursor  int
	cells   map[int]int // of ordinals that were looked up
}

func newBatch(r *running, gate *admission) (batch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := batch{r: r, gate: gate, weight: max(1, r.run.Priority), cursor: r.run.Cursor, cells: map[int]int{}}
	now := time.Now()
	for _, t := range r.outstanding {
		switch {
		case t.State == store.Dispatched:
			pools, err := b.pools(t.Ordinal)
			if err != nil {
				return b, err
			}
			gate.add(pools)
			b.open++
			if !t.Reported && !gate.waits(pools) {
				b.busy++
			}
		case !t.NotBefore.After(now):
			b.waiting = append(b.waiting, t)
		}
	}
	r.cells = b.cells // of those that are out; the others it forgets
	slices.SortFunc(b.waiting, func(a, b store.Trial) int { return a.Ordinal - b.Ordinal })
	return b, nil
}

// pools are those that a trial of the run needs.
func (b *batch) pools(ordinal int) ([]pool, error) {
	if b.r.pools == nil {
		return nil, nil
	}
	cell, known := b.r.cells[ordinal]
	if !known {
		var err error
		if cell, _, err = b.r.order.At(ordinal); err != nil {
			return nil, fmt.Errorf("find the cell of trial %d: %w", ordinal, err)
		}
	}
	b.cells[ordinal] = cell
	return b.r.pools[cell], nil
}

// next is the ordinal of the trial that comes next. A grading has no trials but those
// that wait.
func (b *batch) next() (ordinal int, there bool) {
	switch {
	case b.most > 0 && b.open+len(b.taken) >= b.most:
		return 0, false
	case len(b.waiting) > 0:
		return b.waiting[0].Ordinal, true
	default:
		return b.cursor, b.cursor < b.r.reach && b.r.run.Parent == ""
	}
}

// ready says whether there is something to give that may be given now.
func (b *batch) ready() bool {
	ordinal, there := b.next()
	if !there {
		return false
	}
	pools, err := b.pools(ordinal)
	return err == nil && b.gate.admits(pools)
}

func (b *batch) share() float64 { return float64(b.open+len(b.taken)) / float64(b.weight) }

// take gives the next trial, which is ready.
func (b *batch) take() {
	var t store.Trial
	if len(b.waiting) > 0 {
		t, b.waiting = b.waiting[0], b.waiting[1:]
	} else {
		t = store.Trial{Run: b.r.run.ID, Ordinal: b.cursor, Attempt: 1}
		b.cursor++
	}
	if pools, err := b.pools(t.Ordinal); err == nil { // as ready has seen
		b.gate.add(pools)
	}
	b.account.open++
	t.State = store.Dispatched
	b.taken = append(b.taken, t)
	b.marks = append(b.marks, store.Mark{Ordinal: t.Ordinal, Attempt: t.Attempt, Cursor: b.cursor})
}

// dispatch marks a batch in the store, with what each attempt may take, then puts
// it into the queue. If we die in between, Adopt puts it there, or the audit. What
// no longer fits into the budget stays where it is.
func (s *Scheduler) dispatch(ctx context.Context, b *batch) error {
	if len(b.taken) == 0 {
		return nil
	}
	r := b.r
	for i := range b.taken {
		hold, err := s.holdOf(ctx, r, b.taken[i].Ordinal, b.taken[i].Subject)
		if err != nil {
			return fmt.Errorf("what trial %d may take: %w", b.taken[i].Ordinal, err)
		}
		b.taken[i].Hold, b.marks[i].Hold = hold, hold
	}
	if r.run.State == eval.RunQueued {
		switch err := s.store.SetState(ctx, r.run.ID, eval.RunRunning); {
		case errors.Is(err, store.ErrDone):
			return nil
		case err != nil:
			return fmt.Errorf("start: %w", err)
		}
		r.run.State = eval.RunRunning
	}
	written, err := s.store.Dispatch(ctx, r.run.ID, b.marks)
	switch {
	case errors.Is(err, store.ErrDone):
		return nil // somebody else has ended it, which is seen in a moment
	case err != nil:
		return fmt.Errorf("mark trials: %w", err)
	}
	r.short, r.final = written.Short, written.Final
	b.taken, b.marks = b.taken[:written.Marks], b.marks[:written.Marks]
	if len(b.taken) == 0 {
		return nil
	}
	// Known before it is in the queue, because its record may be back at once.
	r.mu.Lock()
	r.run.Cursor = b.marks[len(b.marks)-1].Cursor
	if len(written.Moot) > 0 {
		// Another scheduler was there before, and what came of it is in the store. Put
		// into the queue, it could be carried out again.
		b.taken = without(b.taken, written.Moot)
		r.audited = time.Time{}
	}
	for _, t := range b.taken {
		r.outstanding[t.Ordinal] = t
	}
	r.mu.Unlock()
	return s.enqueue(ctx, r, b.taken)
}

// without leaves out trials by their indexes, which rise.
func without(ts []store.Trial, moot []int) []store.Trial {
	var kept []store.Trial
	for i, t := range ts {
		if len(moot) > 0 && moot[0] == i {
			moot = moot[1:]
			continue
		}
		kept = append(kept, t)
	}
	return kept
}

// marks are those with which trials were dispatched.
func marks(ts []store.Trial) []store.Mark {
	out := make([]store.Mark, len(ts))
	for i, t := range ts {
		out[i] = store.Mark{Ordinal: t.Ordinal, Attempt: t.Attempt, Hold: t.Hold}
	}
	return out
}
