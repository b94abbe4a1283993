package app

import (
	"context"
	"sync"
	"time"

	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
	"github.com/evalfarm/evalfarm/pkg/limit/redislimit"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

const (
	// lookEvery is how often the farm is looked at for metrics at most, however many
	// want to know.
	lookEvery = 3 * time.Second
	// lookTimeout bounds one look: whoever scrapes waits for it.
	lookTimeout = 2 * time.Second
)

// A lookout looks at the farm for the metrics of the scheduler that leads.
type lookout struct {
	c     Config
	sched *scheduler.Scheduler
	q     queues
	gate  *redislimit.Gate

	mu   sync.Mutex // held while it looks
	at   time.Time
	seen []func(*telemetry.Gauges)
}

// watch tells the metrics how the farm stands, until stop.
func (c Config) watch(sched *scheduler.Scheduler, q queues, gate *redislimit.Gate) (stop func()) {
	l := &lookout{c: c, sched: sched, q: q, gate: gate}
	return c.Metrics.Observe(l.tell)
}

// tell tells what was seen. What cannot be seen right now is not told.
func (l *lookout) tell(ctx context.Context, g *telemetry.Gauges) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) >= lookEvery {
		l.seen = l.look(ctx)
		l.at = time.Now()
	}
	for _, tell := range l.seen {
		tell(g)
	}
}

func (l *lookout) look(ctx context.Context) (seen []func(*telemetry.Gauges)) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	failed := func(what string, err error) {
		l.c.logger().DebugContext(ctx, "look at the farm for metrics", "what", what, "error", err)
	}
	if s, err := l.sched.Standing(ctx); err != nil {
		failed("runs", err)
	} else {
		seen = append(seen, s.Tell)
	}
	for lane, q := range map[telemetry.Lane]*asynqjobs.Queue{telemetry.Trials: l.q.trials, telemetry.Judging: l.q.judging} {
		b, err := q.Backlog(ctx)
		if err != nil {
			failed("queue", err)
			continue
		}
		seen = append(seen, func(g *telemetry.Gauges) {
			g.Depth(lane, b.Jobs)
			g.Oldest(lane, b.Oldest.Seconds())
			g.Backlog(lane, b.Records)
			g.Slots(lane, b.Slots)
			if lane == telemetry.Trials { // a process has one of each
				g.Workers(b.Workers)
			}
		})
	}
	limits, err := l.gate.States(ctx)
	if err != nil {
		failed("limits", err)
		return seen
	}
	return append(seen, func(g *telemetry.Gauges) {
		for _, s := range limits {
			g.Limit(s, s.PausedUntil.After(time.Now()))
		}
	})
}

// leads tells the metrics whether this scheduler leads.
func (c Config) leads(us func() bool) (stop func()) {
	return c.Metrics.Observe(func(_ context.Context, g *telemetry.Gauges) { g.Leads(us()) })
}

// measure tells the metrics what is in a worker's spools, until stop.
func (s spools) measure(m *telemetry.Metrics) (stop func()) {
	return m.Observe(func(_ context.Context, g *telemetry.Gauges) {
		g.Spooled(telemetry.Trials, len(s.trials.Kept()))
		g.Spooled(telemetry.Judging, len(s.judging.Kept()))
	})
}
