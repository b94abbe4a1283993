package meter_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// TestCallsAreMeasured wants each call, wait, token and micro-dollar to be counted
// once, as the purse counts them.
func TestCallsAreMeasured(t *testing.T) {
	metrics, meter := telemetrytest.NewMeter(t)
	var r *rig
	bubble(t, "", func(t *testing.T) {
		lost := fails(gone())
		lost.takes = 2 * time.Second
		r = limited(fails(after(5*time.Second)), lost, fails(busy()), ok())
		r.o.FirstWait, r.o.Metrics, r.o.Price = 15*time.Minute, metrics, price()
		r.o.Model = telemetry.Model{Provider: "anthropic", Name: "haiku"}
		if _, err := r.ask(t.Context(), hello()); err != nil {
			t.Fatal(err)
		}
	})
	series := map[string]map[string]float64{
		"evalfarm.model.calls": {
			"key=" + string(key) + ",outcome=rate_limit": 1, "key=" + string(key) + ",outcome=network": 1,
			"key=" + string(key) + ",outcome=overloaded": 1, "key=" + string(key) + ",outcome=ok": 1,
		},
		"evalfarm.limiter.throttled": {"key=" + string(key): 1},
		"evalfarm.tokens":            {"model=haiku,type=input": 100, "model=haiku,type=output": 10},
		"gen_ai.client.inference.duration": {
			"error.type=network,gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=haiku":    1,
			"error.type=overloaded,gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=haiku": 1,
			"error.type=rate_limit,gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=haiku": 1,
			"gen_ai.operation.name=chat,gen_ai.provider.name=anthropic,gen_ai.request.model=haiku":                       1,
		},
		"evalfarm.limiter.wait": {
			"key=" + string(key) + ",why=rate_limit": 1, "key=" + string(key) + ",why=pause": 1,
			"key=" + string(key) + ",why=network": 1, "key=" + string(key) + ",why=overloaded": 1,
		},
	}
	for name, want := range series {
		if got := meter.Series(name); !maps.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	// The lost call is charged its most: caps count that.
	spent, cost := meter.Series("evalfarm.spend")["model=haiku"], float64(r.o.Purse.Spent().MicroUSD)/1e6
	if math.Abs(spent-cost) > 1e-9 || cost <= 0.00015 {
		t.Errorf("spent %v USD, and the purse says %v; want the same, and more than the answer alone", spent, cost)
	}
	if took := meter.Total("gen_ai.client.inference.duration"); took < 2 || took > 3 {
		t.Errorf("calls took %v s, want the 2 of the lost one", took)
	}
	if waited := meter.Total("evalfarm.limiter.wait"); waited < 5 || waited > 13 {
		t.Errorf("waited %v s, want 5 that the provider asked for and at most 7 between tries", waited)
	}
}

func TestTokensThatNobodyCanHave(t *testing.T) {
	metrics, meter := telemetrytest.NewMeter(t)
	bubble(t, "", func(t *testing.T) {
		r := alone(reply{res: says(math.MaxInt, 10)})
		r.o.Metrics, r.o.Model = metrics, telemetry.Model{Name: "m"}
		for range 3 {
			if _, err := r.ask(t.Context(), hello()); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n := meter.Series("evalfarm.tokens")["model=m,type=input"]; n != 3<<40 {
		t.Errorf("%v tokens, want the most that is counted, three times", n)
	}
}

// TestPanicIsMeasured counts a call of a model that panicked, with what it may have
// taken.
func TestPanicIsMeasured(t *testing.T) {
	metrics, meter := telemetrytest.NewMeter(t)
	bubble(t, "", func(t *testing.T) {
		r := alone(ok())
		r.asked = func() { panic("boom") }
		r.o.Metrics = metrics
		defer func() { _ = recover() }()
		_, _ = r.ask(t.Context(), llm.Request{Messages: hello().Messages})
	})
	var calls float64
	for _, n := range meter.Series("evalfarm.model.calls") {
		calls += n
	}
	if calls != 1 {
		t.Errorf("%v calls, want 1", calls)
	}
}
