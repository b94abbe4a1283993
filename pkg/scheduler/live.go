package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// showEvery is how often it is told what a run is doing.
const showEvery = time.Second

// show tells the store what runs are doing and what they wait for, so that anybody
// who has the store can see it.
func (s *Scheduler) show(ctx context.Context, runs []*running) error {
	var due []*running
	for _, r := range runs {
		if time.Since(r.shown) >= showEvery {
			due = append(due, r)
		}
	}
	if len(due) == 0 {
		return nil
	}
	doing, err := s.trials.Activities(ctx)
	if err != nil {
		return away("see what workers do", err)
	}
	judging, err := s.judging.Activities(ctx)
	if err != nil {
		return away("see what judges do", err)
	}
	doing = append(doing, judging...)
	var limits []eval.LimitState
	if s.opts.Limits != nil {
		if limits, err = s.opts.Limits(ctx); err != nil {
			return away("see how limits stand", err)
		}
	}
	for _, r := range due {
		if r.judged != nil { // it is shown with its run
			continue
		}
		live := eval.Live{At: time.Now().UTC()}
		if live.Lacking, err = s.lacking(ctx, r); err != nil {
			return err
		}
		if r.run.Control == eval.ControlRun {
			live.Quota = r.quota
			live.NoWorker = r.queue.slots == 0 && len(r.dispatched()) > 0
		}
		for _, a := range doing {
			if slices.ContainsFunc(r.family(), func(of *running) bool { return a.Run == of.run.ID }) {
				live.Running = append(live.Running, a)
			}
		}
		for _, l := range limits {
			if uses(r.snapshot, l.Key) {
				live.Limits = append(live.Limits, l)
			}
		}
		if live.HeldElsewhereMicroUSD, err = s.elsewhere(ctx, r); err != nil {
			return fmt.Errorf("see what run %s waits for: %w", r.run.ID, err)
		}
		if err := s.store.SetLive(ctx, r.run.ID, live); err != nil {
			return fmt.Errorf("store what run %s is doing: %w", r.run.ID, err)
		}
		r.shown = time.Now()
	}
	return nil
}

// elsewhere is the day's money that other runs hold and that a run waits for: what it
// would begin next does not fit beside it, and may fit when it comes back.
func (s *Scheduler) elsewhere(ctx context.Context, r *running) (int64, error) {
	waits := r.short == eval.ShortOfDayMoney && !r.final
	if j := r.judges; j != nil {
		waits = waits || j.short == eval.ShortOfDayMoney && !j.final
	}
	if !waits {
		return 0, nil
	}
	day, err := s.store.Day(ctx)
	if err != nil {
		return 0, err
	}
	own, err := s.store.Ledger(ctx, r.run.ID)
	if err != nil {
		return 0, err
	}
	return max(0, day.HeldMicroUSD-own.Held.MicroUSD), nil
}

// uses says whether a run has a model that is called with a key of the limiter.
func uses(snap eval.Snapshot, key string) bool {
	_, name, _ := strings.Cut(strings.TrimSuffix(key, "/judge"), "/")
	for _, m := range snap.Models {
		pool := m.Model
		if m.Rate != nil && m.Rate.Pool != "" {
			pool = m.Rate.Pool
		}
		if pool == name && strings.HasPrefix(key, string(m.Provider)+":") {
			return true
		}
	}
	return false
}
