package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schedule"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// TimetableStore is the part of the store that a timetable uses.
type TimetableStore interface {
	store.Schedules
	BaselineSource
	QuarantineSource
	ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error)
}

// TimetableOptions of a timetable.
type TimetableOptions struct {
	// Request makes the request of a run of a schedule, which means that it loads the
	// suite. An error is what becomes of the firing.
	Request func(ctx context.Context, s eval.Schedule) (Request, error)
	// Started is told of each run that was started here. Nil is not.
	Started func(ctx context.Context, run eval.Run)
	// Now is the clock; nil is that of the machine.
	Now func() time.Time
	// Logger for what nobody else is told. Nil discards.
	Logger *slog.Logger
}

// A Timetable starts the runs of schedules when they are due. Any number may look at
// the schedules of one store: each firing is won by one of them. Make one with
// NewTimetable.
type Timetable struct {
	store TimetableStore
	opts  TimetableOptions
}

// NewTimetable makes a timetable of the schedules in a store.
func NewTimetable(s TimetableStore, o TimetableOptions) *Timetable {
	if o.Started == nil {
		o.Started = func(context.Context, eval.Run) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Timetable{store: s, opts: o}
}

// glance is how often a timetable looks what is due. Cron knows no seconds.
const glance = time.Second

// Run starts what is due until ctx ends. A store that fails is tried again: what was
// due meanwhile still is.
func (t *Timetable) Run(ctx context.Context) error {
	ticker := time.NewTicker(glance)
	defer ticker.Stop()
	for {
		if err := t.look(ctx); err != nil && ctx.Err() == nil {
			t.opts.Logger.WarnContext(ctx, "look what is due", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// look does what is due for every schedule, once. An error of one does not keep the
// others from their turn.
func (t *Timetable) look(ctx context.Context) error {
	all, err := t.store.Schedules(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		if err := t.attend(ctx, s); err != nil {
			errs = append(errs, fmt.Errorf("schedule %s: %w", s.Name, err))
		}
	}
	return errors.Join(errs...)
}

// attend starts the firing of a schedule that has waited longest, if it is its turn,
// and then those that are due. When somebody else has fired, it is at work on the
// rest.
func (t *Timetable) attend(ctx context.Context, s store.Schedule) error {
	cron, err := schedule.Parse(s.Cron, s.Timezone)
	if err != nil {
		return err
	}
	now := t.opts.Now()
	if !s.Rests() {
		if err := t.advance(ctx, s, now); err != nil {
			return err
		}
	}
	a := agendaOf(s, cron, now)
	if a.passed > 0 {
		won, err := t.store.Fire(ctx, a.pass(s, now), a.after(-1), nil)
		if err != nil || !won {
			return err
		}
	}
	for i, due := range a.fire {
		won, err := t.fire(ctx, s, eval.Firing{Schedule: s.Name, Due: due, At: now}, a.after(i))
		if err != nil || !won {
			return err
		}
	}
	return nil
}

// mostQueued bounds the firings of a schedule that wait for their turn: a schedule
// whose runs take longer than the time between two would never catch up.
const mostQueued = 10

// fire begins a firing that is due, unless a run of its schedule stands in its way.
func (t *Timetable) fire(ctx context.Context, s store.Schedule, f eval.Firing, next time.Time) (won bool, err error) {
	live, err := t.live(ctx, s.Name)
	if err != nil {
		return false, err
	}
	waiting, err := t.store.Firings(ctx, store.FiringFilter{Schedule: s.Name, Outcome: eval.FiringQueued})
	if err != nil {
		return false, err
	}
	switch {
	case live == nil && len(waiting) == 0, s.Overlap == eval.OverlapCancel:
		return t.begin(ctx, s, f, next)
	case s.Overlap == eval.OverlapQueue && len(waiting) < mostQueued:
		f.Outcome, f.Message = eval.FiringQueued, "it waits for the one before it"
	case s.Overlap == eval.OverlapQueue:
		f.Outcome, f.Message = eval.FiringOverlap, fmt.Sprintf("%d firings wait already", len(waiting))
	case live == nil: // what was queued under another policy goes first
		f.Outcome, f.Message = eval.FiringOverlap, "a firing before it waits"
	default:
		f.Outcome, f.Message = eval.FiringOverlap, fmt.Sprintf("run %s is not done", live.ID)
	}
	return t.store.Fire(ctx, f, next, nil)
}

// advance begins the firing of a schedule that has waited longest, once no run of it
// is left.
func (t *Timetable) advance(ctx context.Context, s store.Schedule, now time.Time) error {
	waiting, err := t.store.Firings(ctx, store.FiringFilter{Schedule: s.Name, Outcome: eval.FiringQueued})
	if err != nil || len(waiting) == 0 {
		return err
	}
	live, err := t.live(ctx, s.Name)
	if err != nil || live != nil {
		return err
	}
	f := waiting[len(waiting)-1]
	f.At = now
	_, err = t.begin(ctx, s, f, time.Time{})
	return err
}

// live is a run of a schedule that is not done; nil if there is none.
func (t *Timetable) live(ctx context.Context, name string) (*eval.Run, error) {
	runs, err := t.store.ListRuns(ctx, store.RunFilter{Schedule: name, Unfinished: true, Limit: 1})
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return &runs[0], nil
}
