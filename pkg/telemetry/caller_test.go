package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

const caller = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestCaller(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"a span that is sampled":     {caller, caller},
		"a span that is not":         {strings.TrimSuffix(caller, "1") + "0", strings.TrimSuffix(caller, "1") + "0"},
		"a later version, with more": {"cc" + caller[2:] + "-what-the-future-will-be-like", caller},
		"nothing":                    {"", ""},
		"no id":                      {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		"something else":             {"\x1b[31m" + caller, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := telemetry.Caller(test.in); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// Whoever asked for a run is linked to it.
func TestRunIsLinkedToItsCaller(t *testing.T) {
	tracer, recorder := telemetrytest.New(t)
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	run := eval.Run{ID: "r-1", Suite: "desk", Created: at, Finished: at.Add(time.Minute)}
	tracer.Run(run, caller)
	run.ID = "r-2"
	tracer.Run(run, "")
	spans := recorder.Named("run desk")
	if len(spans) != 2 || len(spans[0].Links) != 1 || len(spans[1].Links) != 0 {
		t.Fatalf("got %+v, want a link of the first one alone", spans)
	}
	if link := spans[0].Links[0]; link.TraceID != "4bf92f3577b34da6a3ce929d0e0e4736" || link.SpanID != "00f067aa0ba902b7" {
		t.Errorf("got the link %+v, want that to the caller", link)
	}
	if spans[0].TraceID == "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Error("the run is a part of its caller's trace, want one of its own")
	}
}
