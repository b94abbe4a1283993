package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/schedule"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// begin starts the run of a firing, and says whether it was this scheduler that did.
// What keeps the run from being started is what becomes of the firing.
func (t *Timetable) begin(ctx context.Context, s store.Schedule, f eval.Firing, next time.Time) (won bool, err error) {
	tr := &trigger{store: t.store, firing: f, next: next, cancel: s.Overlap == eval.OverlapCancel}
	run, err := tr.start(ctx, s, t.opts.Request)
	switch late := (*lateError)(nil); {
	case tr.pulled:
		if err != nil || !tr.won {
			return false, err
		}
		t.opts.Started(ctx, run)
		return true, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case errors.As(err, &late):
		f.Outcome, f.Message = eval.FiringLate, err.Error()
	default:
		f.Outcome, f.Message = eval.FiringFailed, bounded(err.Error())
	}
	return t.store.Fire(ctx, f, next, nil)
}

// FireByHand starts a run of a schedule now, whatever else it is due for, and whether
// it is paused or not.
func FireByHand(ctx context.Context, st TimetableStore, s store.Schedule, now time.Time, request func(context.Context, eval.Schedule) (Request, error)) (eval.Run, error) {
	s.FinishBy = "" // whoever asks for it now wants it now
	tr := &trigger{store: st, firing: eval.Firing{Schedule: s.Name, Due: now, At: now, Message: "by hand"}}
	run, err := tr.start(ctx, s, request)
	if err == nil && !tr.won {
		err = fmt.Errorf("schedule %s: %w", s.Name, store.ErrNotFound)
	}
	return run, err
}

// A trigger creates the run of a firing together with the entry in the history.
type trigger struct {
	store       TimetableStore
	firing      eval.Firing
	next        time.Time
	cancel      bool
	pulled, won bool
}

// CreateRun fires. That another scheduler was faster is no error.
func (tr *trigger) CreateRun(ctx context.Context, r eval.Run, blobs []eval.Blob, gradings ...eval.Run) error {
	tr.firing.Outcome, tr.firing.Run = eval.FiringStarted, r.ID
	won, err := tr.store.Fire(ctx, tr.firing, tr.next, &store.Start{Run: r, Blobs: blobs, Gradings: gradings, Cancel: tr.cancel})
	tr.pulled, tr.won = true, won
	return err
}

func (tr *trigger) start(ctx context.Context, s store.Schedule, request func(context.Context, eval.Schedule) (Request, error)) (eval.Run, error) {
	left, err := timeLeft(s.Schedule, tr.firing)
	if err != nil {
		return eval.Run{}, err
	}
	req, err := request(ctx, s.Schedule)
	if err != nil {
		return eval.Run{}, err
	}
	req.Tenant = s.Tenant
	if err := Quarantine(ctx, tr.store, &req); err != nil {
		return eval.Run{}, err
	}
	if err := Against(ctx, tr.store, &req, s.Baseline, true); err != nil {
		return eval.Run{}, err
	}
	if err := Attach(ctx, OnAccount(tr.store, s.Tenant), &req.Suite.Suite, req.branch(), s.Baseline); err != nil {
		return eval.Run{}, err
	}
	if err := Agree(ctx, tr.store, &req); err != nil {
		return eval.Run{}, err
	}
	req.ID, req.Schedule, req.ScheduleMicroUSD = firingID(tr.firing), s.Name, s.BudgetMicroUSD
	req.Priority, req.Notify = s.Priority, s.Notifications
	req.Carrier = eval.CarrierService
	if own := req.Suite.Suite.Budget.Over(req.Budget).Time; left > 0 && (own == 0 || left < own) {
		req.Budget.Time = left
	}
	return Create(ctx, tr, req)
}

// firingID is the id of the run of a firing, the same whoever asks. It looks like
// that of any other run.
func firingID(f eval.Firing) string {
	sum := sha256.Sum256([]byte(f.Schedule + "\x00" + strconv.FormatInt(f.Due.UnixMicro(), 10)))
	return "r-" + f.Due.UTC().Format("20060102") + "-" + base32.StdEncoding.EncodeToString(sum[:])[:6]
}

// A lateError says that a firing can begin no more.
type lateError struct{ by time.Time }

func (e *lateError) Error() string {
	return "it was to be finished by " + e.by.Format("2006-01-02 15:04 MST")
}

// timeLeft is how long the run of a firing may begin trials; 0 is without a bound.
func timeLeft(s eval.Schedule, f eval.Firing) (time.Duration, error) {
	if s.FinishBy == "" {
		return 0, nil
	}
	clock, err := schedule.Clock(s.FinishBy, s.Timezone)
	if err != nil {
		return 0, fmt.Errorf("finish_by: %w", err)
	}
	by := clock.Next(f.Due)
	left := by.Sub(f.At)
	if left <= 0 {
		return 0, &lateError{by}
	}
	return left, nil
}

// bounded cuts a message to what a history can bear, and leaves out what a database
// may not: that of a broken suite shows its bytes.
func bounded(message string) string {
	const most = 4000
	more := ""
	if len(message) > most {
		message, more = message[:most], "…"
	}
	return strings.ToValidUTF8(strings.ReplaceAll(message, "\x00", ""), "") + more
}
