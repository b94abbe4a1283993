package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// round does what is due for every run, once. An error of one run does not keep
// the others from their turn.
func (s *Scheduler) round(ctx context.Context) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	s.mu.Lock()
	runs := slices.SortedFunc(maps.Values(s.runs), func(a, b *running) int { return cmp.Compare(a.run.ID, b.run.ID) })
	s.mu.Unlock()
	// Those that are done stay for whoever waits for them.
	runs = slices.DeleteFunc(runs, (*running).over)
	var errs []error
	var live []*running
	for _, r := range runs {
		going, err := s.attend(ctx, r)
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", r.run.ID, err))
		} else if going {
			live = append(live, r)
		}
	}
	if err := s.feed(ctx, live); err != nil {
		errs = append(errs, err)
	}
	s.note(slices.DeleteFunc(slices.Clone(runs), (*running).over))
	s.tellRest(ctx)
	// A paused run is not fed, but it is shown.
	if err := s.show(ctx, slices.DeleteFunc(runs, (*running).over)); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// attend follows a run's control, audits it when that is due, answers failures
// and finishes it. It says whether the run wants to be fed.
func (s *Scheduler) attend(ctx context.Context, r *running) (going bool, err error) {
	if err := s.follow(ctx, r); err != nil {
		return false, err
	}
	if r.over() {
		return false, nil
	}
	if time.Since(r.audited) >= s.opts.Audit {
		if err := s.audit(ctx, r); err != nil {
			return false, err
		}
	}
	if r.run.Control == eval.ControlCancel {
		return false, s.wind(ctx, r)
	}
	if err := s.answer(ctx, r); err != nil {
		return false, err
	}
	if err := s.look(ctx, r); err != nil {
		return false, err
	}
	if r.late() {
		r.short, r.final = eval.ShortOfTime, true
		if err := s.halt(ctx, r); err != nil {
			return false, err
		}
	}
	if r.judges != nil && !r.judges.over() {
		return r.run.Control == eval.ControlRun && !r.late(), nil
	}
	if r.complete() {
		// What waits in the store beyond what a copy holds, it shows now.
		if err := s.reload(ctx, r); err != nil || !r.complete() {
			return err == nil, err
		}
		if r.judges != nil && r.judges.run.Outcome == eval.OutcomeBudgetExhausted {
			r.run.Short = r.judges.run.Short
			return false, s.finish(ctx, r, eval.OutcomeBudgetExhausted)
		}
		if waits, err := s.confirm(ctx, r); waits || err != nil {
			return false, err
		}
		return false, s.finish(ctx, r, eval.OutcomeComplete)
	}
	if r.exhausted() {
		r.run.Short = r.shortage()
		return false, s.finish(ctx, r, eval.OutcomeBudgetExhausted)
	}
	return r.run.Control == eval.ControlRun && !r.late(), nil
}

// late says whether the run's time is over. What is judged has been paid for, so
// judges may come to their end.
func (r *running) late() bool {
	limit := r.run.Budget.Time
	return limit > 0 && r.run.Parent == "" && time.Since(r.run.Created) > limit
}

// follow reads what a person asked for, perhaps in another process, and tells
// the workers.
func (s *Scheduler) follow(ctx context.Context, r *running) error {
	if time.Since(r.followed) < tick {
		return nil
	}
	r.followed = time.Now()
	now, err := s.store.Run(ctx, r.run.ID)
	if err == nil && r.judged != nil {
		// What a person wants of a run, its grading follows.
		var of eval.Run
		of, err = s.store.Run(ctx, now.Parent)
		now.Control, now.Budget = of.Control, of.Budget
	}
	if err == nil {
		err = s.obey(ctx, r, &now)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return r.giveUp(fmt.Errorf("run %s was deleted by another process", r.run.ID))
	case err != nil:
		return fmt.Errorf("read control: %w", err)
	case now.State == eval.RunDone:
		// Somebody else has ended it, such as a cancel that took us for dead.
		return r.giveUp(fmt.Errorf("run %s was ended by another process: %s", r.run.ID, now.Outcome))
	}
	if r.run.Parent == "" || r.judged != nil {
		r.run.Budget = now.Budget // it may have been raised
	}
	r.renew(now)
	if now.Control != r.run.Control {
		if err := r.queue.Control(ctx, r.run.ID, now.Control); err != nil {
			return away("pass on control "+string(now.Control), err)
		}
		r.run.Control, r.halted = now.Control, false
	}
	return s.stand(ctx, r, now.State)
}

// stand lets a run's state show whether it is paused.
func (s *Scheduler) stand(ctx context.Context, r *running, state eval.RunState) error {
	r.run.State = state
	switch {
	case r.run.Parent != "": // its run shows it
		return nil
	case r.run.Control == eval.ControlPause && (state == eval.RunQueued || state == eval.RunRunning):
		state = eval.RunPaused
	case r.run.Control == eval.ControlRun && state == eval.RunPaused:
		state = eval.RunRunning
	default:
		return nil
	}
	switch err := s.store.SetState(ctx, r.run.ID, state); {
	case errors.Is(err, store.ErrDone): // seen in a moment
		return nil
	case err != nil:
		return fmt.Errorf("show that it is %s: %w", state, err)
	}
	r.run.State = state
	return nil
}

// giveUp tells those who wait for a run why it goes on no more.
func (r *running) giveUp(why error) error {
	r.err = why
	close(r.done)
	return nil
}

// answer makes the next attempt of every trial due whose attempt was reported
// as failed or lost.
func (s *Scheduler) answer(ctx context.Context, r *running) error {
	r.mu.Lock()
	var due []store.Trial
	for _, t := range r.outstanding {
		if t.Reported && t.State == store.Dispatched {
			due = append(due, t)
		}
	}
	r.mu.Unlock()
	for _, t := range due {
		at := time.Now()
		if t.Failures > 0 {
			at = at.Add(s.opts.Backoff(t.Failures))
		}
		if err := s.store.Next(ctx, r.run.ID, t.Ordinal, t.Attempt, at); err != nil {
			return fmt.Errorf("follow attempt %d of trial %d: %w", t.Attempt, t.Ordinal, err)
		}
		r.mu.Lock()
		if _, still := r.outstanding[t.Ordinal]; still {
			t.Attempt++
			t.State, t.NotBefore, t.Reported = store.Waiting, at, false
			r.outstanding[t.Ordinal] = t
		}
		r.mu.Unlock()
	}
	return nil
}

// wind ends a cancelled run: it empties the queue of its trials and finishes
// once no worker holds one any more.
func (s *Scheduler) wind(ctx context.Context, r *running) error {
	if r.judges != nil && !r.judges.over() || r.confirmation != nil && !r.confirmation.over() {
		return nil
	}
	out := r.dispatched()
	busy, err := s.busy(ctx, r, out)
	if err != nil {
		return err
	}
	if busy {
		return nil
	}
	if err := r.queue.Delete(ctx, r.jobs(out)); err != nil {
		return away("empty the queue", err)
	}
	// Nobody has begun them, so they hold nothing any more.
	if err := s.store.TakeBack(ctx, r.run.ID, marks(out)); err != nil {
		return fmt.Errorf("take back what nobody has begun: %w", err)
	}
	return s.finish(ctx, r, eval.OutcomeRunCancelled)
}
