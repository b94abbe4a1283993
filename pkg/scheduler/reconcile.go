package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schedule"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// Reconcile makes the schedules of a store that come from a farm file those that the
// file has now. Those that were added by command stay, but for one whose name the
// file has too: it becomes that of the file.
func Reconcile(ctx context.Context, s store.Schedules, file string, of []eval.Schedule, now time.Time) error {
	there, err := s.Schedules(ctx)
	if err != nil {
		return err
	}
	named := map[string]bool{}
	for _, sched := range of {
		named[sched.Name] = true
		sched.File = file
		if err := PutSchedule(ctx, s, sched, now); err != nil {
			return err
		}
	}
	for _, old := range there {
		if old.File != "" && !named[old.Name] {
			// Another scheduler may be at it too.
			if err := s.DeleteSchedule(ctx, old.Name); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
	}
	return nil
}

// PutSchedule stores a schedule that is due for the first time after now.
func PutSchedule(ctx context.Context, s store.Schedules, sched eval.Schedule, now time.Time) error {
	cron, err := schedule.Parse(sched.Cron, sched.Timezone)
	if err != nil {
		return fmt.Errorf("schedule %s: %w", sched.Name, err)
	}
	return s.PutSchedule(ctx, sched, cron.Next(now))
}
