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

// feed keeps a shallow window of trials in each queue. Each free place goes to
// the run that has the fewest outstanding trials for its priority, so a small
// run is not starved by a large one, and a run of a million trials costs no
// more memory than one of a hundred.
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
	free, err := s.free(ctx, l, runs)
	if err != nil {
		return err
	}
	batches := make([]batch, len(runs))
	for i, r := range runs {
		batches[i] = newBatch(r)
		if r.run.Capped() {
			// What waits in the queue holds money that nobody spends, and is charged if
			// the queue is lost.
			batches[i].most = max(3*l.slots/2, 4)
		}
	}
	for ; free > 0; free-- {
		next := -1
		for i := range batches {
			if !batches[i].empty() && (next < 0 || batches[i].share() < batches[next].share()) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		batches[next].take()
	}
	var errs []error
	for i := range batches {
		if err := s.dispatch(ctx, &batches[i]); err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", batches[i].r.run.ID, err))
		}
	}
	return errors.Join(errs...)
}

// free is how many trials the window of a queue has room for.
func (s *Scheduler) free(ctx context.Context, l *lane, runs []*running) (int, error) {
	window := s.opts.Window
	if window <= 0 {
		if time.Since(l.counted) > tick {
			slots, err := l.Slots(ctx)
			if err != nil {
				return 0, away("count slots", err)
			}
			l.slots, l.counted = slots, time.Now()
		}
		window = min(max(3*l.slots, 50), 1000)
	}
	for _, r := range runs {
		window -= len(r.dispatched())
	}
	return window, nil
}

// A batch is what one run is given in one round.
type batch struct {
	r       *running
	weight  int
	open    int           // outstanding before the round
	most    int           // of outstanding and taken; 0 is no bound
	waiting []store.Trial // due again, by ordinal; they go before new trials
	taken   []store.Trial
	marks   []store.Mark // of the taken
	cursor  int
}

func newBatch(r *running) batch {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := batch{r: r, weight: max(1, r.run.Priority), cursor: r.run.Cursor}
	now := time.Now()
	for _, t := range r.outstanding {
		switch {
		case t.State == store.Dispatched:
			b.open++
		case !t.NotBefore.After(now):
			b.waiting = append(b.waiting, t)
		}
	}
	slices.SortFunc(b.waiting, func(a, b store.Trial) int { return a.Ordinal - b.Ordinal })
	return b
}

// empty says whether nothing is left to give. A grading has no trials but those
// that wait.
func (b *batch) empty() bool {
	if b.most > 0 && b.open+len(b.taken) >= b.most {
		return true
	}
	return len(b.waiting) == 0 && (b.cursor >= b.r.run.Trials || b.r.run.Parent != "")
}

func (b *batch) share() float64 { return float64(b.open+len(b.taken)) / float64(b.weight) }

func (b *batch) take() {
	var t store.Trial
	if len(b.waiting) > 0 {
		t, b.waiting = b.waiting[0], b.waiting[1:]
	} else {
		t = store.Trial{Run: b.r.run.ID, Ordinal: b.cursor, Attempt: 1}
		b.cursor++
	}
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
