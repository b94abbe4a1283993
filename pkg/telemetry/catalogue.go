package telemetry

import "strings"

// An Instrument is a metric of the farm.
type Instrument struct {
	// Name in the form of OpenTelemetry. Unit is in UCUM; one in braces is for people.
	Name, Unit string
	Kind       InstrumentKind
	// Labels that its series have.
	Labels []string
	// Of is who tells it.
	Of Process
	// Help says what it is.
	Help string
	// Buckets of a histogram: their upper bounds.
	Buckets []float64
}

// An InstrumentKind says how a metric moves.
type InstrumentKind string

const (
	Counter   InstrumentKind = "counter"   // only up
	Histogram InstrumentKind = "histogram" // a distribution
	Gauge     InstrumentKind = "gauge"     // as it is right now
)

// A Process of a farm. A farm in one process is all of them.
type Process string

const (
	Leader     Process = "leader"    // the scheduler that leads
	Schedulers Process = "scheduler" // each, also those that stand by
	Workers    Process = "worker"    // each
)

// A Lane is one of the two ways through a farm.
type Lane string

const (
	Trials  Lane = "trials"
	Judging Lane = "judging"
)

// Labels of ours. Those of the conventions are in keys.go.
const (
	labelLane    = "lane"
	labelVerdict = "verdict"
	labelReason  = "reason"
	labelOutcome = "outcome"
	labelKey     = "key"
	labelWhy     = "why"
	labelModel   = "model"
	labelType    = "type"
	labelServer  = "server"
	labelKind    = "kind"
	labelRun     = "run"
)

// Prometheus is the name of the metric there. Series of a histogram have _bucket, _sum
// or _count after it.
func (i Instrument) Prometheus() string {
	name := strings.ReplaceAll(i.Name, ".", "_")
	switch {
	case i.Unit == "s":
		name += "_seconds"
	case i.Unit == "1":
		name += "_ratio"
	case !strings.HasPrefix(i.Unit, "{"):
		name += "_" + i.Unit
	}
	if i.Kind == Counter {
		name += "_total"
	}
	return name
}

// Catalogue lists the metrics of the farm.
func Catalogue() []Instrument {
	// Waits and attempts take from a hundredth of a second to hours.
	long := []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600, 10800}
	// What Redis and a store do takes from a millisecond to the end of an outage.
	short := []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60, 300}
	return []Instrument{
		{"evalfarm.trials", "{trial}", Counter, []string{labelVerdict, labelReason}, Leader, "Trials that have their verdict.", nil},
		{"evalfarm.attempts", "{attempt}", Counter, []string{labelLane, labelOutcome}, Leader, "Attempts whose record was stored.", nil},
		{"evalfarm.runs", "{run}", Counter, []string{labelOutcome}, Leader, "Runs that are done.", nil},
		{"evalfarm.results.superseded", "{result}", Counter, nil, Leader, "Results that came when another one stood already.", nil},
		{"evalfarm.model.calls", "{call}", Counter, []string{labelKey, labelOutcome}, Workers, "Calls of models, each try by itself.", nil},
		{"evalfarm.limiter.throttled", "{call}", Counter, []string{labelKey}, Workers, "Calls that the provider refused because of its limits.", nil},
		{"evalfarm.tokens", "{token}", Counter, []string{labelModel, labelType}, Workers, "Tokens of model calls.", nil},
		{"evalfarm.spend", "USD", Counter, []string{labelModel}, Workers, "What model calls have cost, as caps count it.", nil},
		{"evalfarm.mcp.starts", "{start}", Counter, []string{labelServer, labelOutcome}, Workers, "Starts of servers, and connections to those that run elsewhere.", nil},
		{"evalfarm.mcp.crashes", "{crash}", Counter, []string{labelServer}, Workers, "Sessions of servers that ended before they were asked to.", nil},

		{"evalfarm.queue.wait", "s", Histogram, []string{labelLane}, Workers, "From the dispatch of an attempt to its beginning.", long},
		{"evalfarm.commit.duration", "s", Histogram, []string{labelLane}, Workers, "From the end of an attempt until its record is handed on.", short},
		{"evalfarm.store.lag", "s", Histogram, nil, Leader, "From the end of an attempt until its record is stored.", short},
		{"evalfarm.limiter.wait", "s", Histogram, []string{labelKey, labelWhy}, Workers, "What calls have waited for a place at the limiter, or because the provider wanted it.", long},
		{"evalfarm.attempt.duration", "s", Histogram, []string{labelKind}, Workers, "How long attempts took.", long},
		{
			"gen_ai.client.inference.duration", "s", Histogram,
			[]string{string(Operation), string(ProviderName), string(RequestModel), string(ErrorType)},
			Workers,
			"How long calls of models took, each try by itself.",
			[]float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92},
		},
		{
			"mcp.client.operation.duration", "s", Histogram,
			[]string{string(MCPMethod), string(ToolName), string(Server), string(ErrorType)},
			Workers,
			"How long requests to servers took.",
			[]float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300},
		},

		{"evalfarm.trials.in_flight", "{trial}", Gauge, []string{labelLane}, Leader, "Trials that are dispatched and have no result yet.", nil},
		{"evalfarm.queue.depth", "{job}", Gauge, []string{labelLane}, Leader, "Jobs that wait for a worker.", nil},
		{"evalfarm.queue.oldest_age", "s", Gauge, []string{labelLane}, Leader, "How long the oldest job waits for a worker.", nil},
		{"evalfarm.slots", "{slot}", Gauge, []string{labelLane}, Leader, "Slots of the living workers.", nil},
		{"evalfarm.workers", "{worker}", Gauge, nil, Leader, "Workers that live.", nil},
		{"evalfarm.limiter.concurrency_limit", "{call}", Gauge, []string{labelKey}, Leader, "Calls that may be in flight at once. Absent without a bound.", nil},
		{"evalfarm.limiter.in_flight", "{call}", Gauge, []string{labelKey}, Leader, "Calls in flight.", nil},
		{"evalfarm.limiter.waiting", "{call}", Gauge, []string{labelKey}, Leader, "Callers that wait for a place.", nil},
		{"evalfarm.limiter.paused", "{pause}", Gauge, []string{labelKey}, Leader, "1 while the provider has asked everybody to wait.", nil},
		{"evalfarm.runs.live", "{run}", Gauge, nil, Leader, "Runs under way.", nil},
		{"evalfarm.budget.left", "USD", Gauge, []string{labelRun}, Leader, "What a run with a cap may still spend, while it is under way.", nil},
		{"evalfarm.day.left", "USD", Gauge, nil, Leader, "What the day's cap leaves. Absent without one.", nil},
		{"evalfarm.unjudged.share", "1", Gauge, nil, Leader, "Share of unjudged trials among those of runs under way that have a verdict.", nil},
		{"evalfarm.leader", "{leader}", Gauge, nil, Schedulers, "1 on the scheduler that leads, 0 on the others.", nil},
		{"evalfarm.stream.backlog", "{record}", Gauge, []string{labelLane}, Leader, "Records on their way to the store.", nil},
		{"evalfarm.spool.records", "{record}", Gauge, []string{labelLane}, Workers, "Records that a worker keeps until they are stored.", nil},
	}
}
