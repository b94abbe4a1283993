package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// scheduled makes requests of runs of schedules, with so many attempts: it loads the
// suite as it is at that moment.
func (c *command) scheduled(attempts int) func(ctx context.Context, s eval.Schedule) (scheduler.Request, error) {
	return func(ctx context.Context, s eval.Schedule) (scheduler.Request, error) {
		load := loading{with: s.With, gate: s.Gate, baseline: s.Baseline}
		for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
			load.set = append(load.set, name+"="+s.Vars[name])
		}
		sel := selecting{cases: s.Cases, tags: s.Tags, repeats: s.Repeats, attempts: attempts}
		for _, name := range slices.Sorted(maps.Keys(s.Axes)) {
			for _, value := range s.Axes[name] {
				sel.axes = append(sel.axes, name+"="+value)
			}
		}
		return c.prepare(ctx, s.Suite, load, sel)
	}
}

// reconcile takes over the schedules of the farm file. Without a file, those of the
// store stay as they are.
func (c *command) reconcile(ctx context.Context, s store.Store) error {
	farm, err := c.farm()
	if err != nil || farm == nil {
		return err
	}
	return scheduler.Reconcile(ctx, s, c.loaded.path, farm.Schedules, time.Now())
}
