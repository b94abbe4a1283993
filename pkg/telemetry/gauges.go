package telemetry

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Observe lets a function tell how things stand whenever somebody wants to know,
// until stop. What it does not tell is not shown. It may be called from several
// goroutines, and should not take long.
func (m *Metrics) Observe(tell func(context.Context, *Gauges)) (stop func()) {
	if m == nil {
		return func() {}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told++
	id := m.told
	m.tell[id] = tell
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.tell, id)
	}
}

// observe asks all who want to tell.
func (m *Metrics) observe(ctx context.Context, o metric.Observer) error {
	m.mu.Lock()
	tell := slices.Collect(maps.Values(m.tell))
	m.mu.Unlock()
	for _, tell := range tell {
		tell(ctx, &Gauges{m, o})
	}
	return nil
}

// Gauges are told how things stand.
type Gauges struct {
	m *Metrics
	o metric.Observer
}

// InFlight is how many trials are dispatched and have no result.
func (g *Gauges) InFlight(l Lane, trials int) { g.count(g.m.inFlight, trials, lane(l)) }

// Depth is how many jobs wait for a worker.
func (g *Gauges) Depth(l Lane, jobs int) { g.count(g.m.depth, jobs, lane(l)) }

// Slots are those of the living workers.
func (g *Gauges) Slots(l Lane, slots int) { g.count(g.m.slots, slots, lane(l)) }

// Backlog is how many records are on their way to the store.
func (g *Gauges) Backlog(l Lane, records int) { g.count(g.m.backlog, records, lane(l)) }

// Spooled is how many records a worker keeps.
func (g *Gauges) Spooled(l Lane, records int) { g.count(g.m.spooled, records, lane(l)) }

// Workers is how many live.
func (g *Gauges) Workers(workers int) { g.count(g.m.workers, workers) }

// Live is how many runs are under way.
func (g *Gauges) Live(runs int) { g.count(g.m.live, runs) }

// Leads says whether this scheduler leads.
func (g *Gauges) Leads(us bool) { g.count(g.m.leader, one(us)) }

// Oldest is how long the oldest job of a lane waits, in seconds.
func (g *Gauges) Oldest(l Lane, seconds float64) { g.level(g.m.oldest, seconds, lane(l)) }

// Budget is what a run may still spend.
func (g *Gauges) Budget(run string, microUSD int64) {
	g.level(g.m.budgetLeft, float64(microUSD)/1e6, label(labelRun, run))
}

// Day is what all runs may still spend today.
func (g *Gauges) Day(microUSD int64) { g.level(g.m.dayLeft, float64(microUSD)/1e6) }

// Unjudged is the share of unjudged trials among those with a verdict.
func (g *Gauges) Unjudged(share float64) { g.level(g.m.unjudged, share) }

// Limit is how a key of the limiter stands.
func (g *Gauges) Limit(s eval.LimitState, paused bool) {
	key := label(labelKey, s.Key)
	if s.Concurrent > 0 {
		g.count(g.m.callLimit, s.Concurrent, key)
	}
	g.count(g.m.callsInFlight, s.InFlight, key)
	g.count(g.m.callsWaiting, s.Waiting, key)
	g.count(g.m.callsPaused, one(paused), key)
}

func (g *Gauges) count(i metric.Int64Observable, n int, labels ...attribute.KeyValue) {
	g.o.ObserveInt64(i, int64(n), with(labels...))
}

func (g *Gauges) level(i metric.Float64Observable, v float64, labels ...attribute.KeyValue) {
	g.o.ObserveFloat64(i, v, with(labels...))
}

func lane(l Lane) attribute.KeyValue { return label(labelLane, string(l)) }

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
