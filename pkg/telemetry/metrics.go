package telemetry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Metrics are those of a process. Nil measures nothing, at no cost.
//
// What is measured with a context that has a span can be shown with the trace.
type Metrics struct {
	mu   sync.Mutex // guards the following fields
	tell map[int]func(context.Context, *Gauges)
	told int // in all, so far

	trials, attempts, runs, superseded metric.Int64Counter
	calls, throttled, tokens           metric.Int64Counter
	spend                              metric.Float64Counter
	starts, crashes                    metric.Int64Counter

	queueWait, commit, lag, limiterWait, attempt, modelCall, mcpCall metric.Float64Histogram

	inFlight, depth, slots, workers                     metric.Int64ObservableGauge
	oldest                                              metric.Float64ObservableGauge
	callLimit, callsInFlight, callsWaiting, callsPaused metric.Int64ObservableGauge
	live, leader, backlog, spooled                      metric.Int64ObservableGauge
	budgetLeft, dayLeft, unjudged                       metric.Float64ObservableGauge
}

// NewMetrics makes the metrics of the catalogue.
func NewMetrics(meter metric.Meter) (*Metrics, error) {
	b := builder{meter: meter, left: Catalogue()}
	m := &Metrics{
		tell:       map[int]func(context.Context, *Gauges){},
		trials:     b.counter("evalfarm.trials"),
		attempts:   b.counter("evalfarm.attempts"),
		runs:       b.counter("evalfarm.runs"),
		superseded: b.counter("evalfarm.results.superseded"),
		calls:      b.counter("evalfarm.model.calls"),
		throttled:  b.counter("evalfarm.limiter.throttled"),
		tokens:     b.counter("evalfarm.tokens"),
		spend:      b.amount("evalfarm.spend"),
		starts:     b.counter("evalfarm.mcp.starts"),
		crashes:    b.counter("evalfarm.mcp.crashes"),

		queueWait:   b.histogram("evalfarm.queue.wait"),
		commit:      b.histogram("evalfarm.commit.duration"),
		lag:         b.histogram("evalfarm.store.lag"),
		limiterWait: b.histogram("evalfarm.limiter.wait"),
		attempt:     b.histogram("evalfarm.attempt.duration"),
		modelCall:   b.histogram("gen_ai.client.inference.duration"),
		mcpCall:     b.histogram("mcp.client.operation.duration"),

		inFlight:      b.gauge("evalfarm.trials.in_flight"),
		depth:         b.gauge("evalfarm.queue.depth"),
		oldest:        b.level("evalfarm.queue.oldest_age"),
		slots:         b.gauge("evalfarm.slots"),
		workers:       b.gauge("evalfarm.workers"),
		callLimit:     b.gauge("evalfarm.limiter.concurrency_limit"),
		callsInFlight: b.gauge("evalfarm.limiter.in_flight"),
		callsWaiting:  b.gauge("evalfarm.limiter.waiting"),
		callsPaused:   b.gauge("evalfarm.limiter.paused"),
		live:          b.gauge("evalfarm.runs.live"),
		budgetLeft:    b.level("evalfarm.budget.left"),
		dayLeft:       b.level("evalfarm.day.left"),
		unjudged:      b.level("evalfarm.unjudged.share"),
		leader:        b.gauge("evalfarm.leader"),
		backlog:       b.gauge("evalfarm.stream.backlog"),
		spooled:       b.gauge("evalfarm.spool.records"),
	}
	if b.err == nil && len(b.left) > 0 {
		b.err = fmt.Errorf("nobody measures %s", b.left[0].Name)
	}
	if b.err != nil {
		return nil, fmt.Errorf("make the metrics: %w", b.err)
	}
	if _, err := meter.RegisterCallback(m.observe, b.observed...); err != nil {
		return nil, fmt.Errorf("observe the metrics: %w", err)
	}
	return m, nil
}

// A builder makes instruments of the catalogue and remembers the first error.
type builder struct {
	meter    metric.Meter
	left     []Instrument
	observed []metric.Observable
	err      error
}

// take finds an instrument that nobody has taken yet.
func (b *builder) take(name string, kind InstrumentKind) Instrument {
	i := slices.IndexFunc(b.left, func(in Instrument) bool { return in.Name == name && in.Kind == kind })
	if i < 0 {
		b.note(fmt.Errorf("the catalogue has no %s %s", kind, name))
		return Instrument{Name: name}
	}
	in := b.left[i]
	b.left = slices.Delete(b.left, i, i+1)
	return in
}

func (b *builder) note(err error) {
	if b.err == nil {
		b.err = err
	}
}

func (b *builder) counter(name string) metric.Int64Counter {
	in := b.take(name, Counter)
	c, err := b.meter.Int64Counter(in.Name, metric.WithUnit(in.Unit), metric.WithDescription(in.Help))
	b.note(err)
	return c
}

func (b *builder) amount(name string) metric.Float64Counter {
	in := b.take(name, Counter)
	c, err := b.meter.Float64Counter(in.Name, metric.WithUnit(in.Unit), metric.WithDescription(in.Help))
	b.note(err)
	return c
}

func (b *builder) histogram(name string) metric.Float64Histogram {
	in := b.take(name, Histogram)
	h, err := b.meter.Float64Histogram(in.Name, metric.WithUnit(in.Unit), metric.WithDescription(in.Help), metric.WithExplicitBucketBoundaries(in.Buckets...))
	b.note(err)
	return h
}

func (b *builder) gauge(name string) metric.Int64ObservableGauge {
	in := b.take(name, Gauge)
	g, err := b.meter.Int64ObservableGauge(in.Name, metric.WithUnit(in.Unit), metric.WithDescription(in.Help))
	b.note(err)
	b.observed = append(b.observed, g)
	return g
}

func (b *builder) level(name string) metric.Float64ObservableGauge {
	in := b.take(name, Gauge)
	g, err := b.meter.Float64ObservableGauge(in.Name, metric.WithUnit(in.Unit), metric.WithDescription(in.Help))
	b.note(err)
	b.observed = append(b.observed, g)
	return g
}

// longestLabel that a metric has, in bytes: names of suites, models and servers are as long as
// somebody writes them.
const longestLabel = 100

// label makes a label of a text from outside: short, and text. Two long ones that
// begin alike are counted together.
func label(key, value string) attribute.KeyValue {
	if len(value) > longestLabel {
		cut := longestLabel
		for cut > 0 && !utf8.RuneStart(value[cut]) {
			cut--
		}
		value = value[:cut]
	}
	return attribute.String(key, strings.ToValidUTF8(value, "\uFFFD"))
}

// with are the labels of one measurement.
func with(labels ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(labels...))
}
