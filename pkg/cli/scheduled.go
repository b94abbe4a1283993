package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// scheduled makes requests of runs of schedules, with so many attempts: it loads the
// suite as it is at that moment.
func (c *command) scheduled(attempts int) func(ctx context.Context, s eval.Schedule) (scheduler.Request, error) {
	return func(ctx context.Context, s eval.Schedule) (scheduler.Request, error) {
		load := loading{with: s.With}
		for _, name := range slices.Sorted(maps.Keys(s.Vars)) {
			load.set = append(load.set, name+"="+s.Vars[name])
		}
		sel := selecting{cases: s.Cases, tags: s.Tags, repeats: s.Repeats, attempts: attempts}
		for _, name := range slices.Sorted(maps.Keys(s.Axes)) {
			for _, value := range s.Axes[name] {
				sel.axes = append(sel.axes, name+"="+value)
			}
		}
		request, err := c.prepare(ctx, s.Suite, load, sel)
		if err == nil && s.Gate != "" {
			err = putGate(request.Suite, s.Gate)
		}
		return request, err
	}
}

// putGate puts the gate of a policy file in place of that of a suite.
func putGate(_ *suite.Loaded, path string) error {
	return usage("write the gate into the suite", "policy files, such as %s, cannot be read yet", report.Line(path, 200))
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
