package app_test

import (
	"os"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// Scheduler and worker tell of a trial without asking each other, and it is one tree.
func TestTraceOfAnEmbeddedRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tracer, rec := telemetrytest.New(t)
	conf := app.Config{Home: t.TempDir(), Broker: broker.Options{Kind: broker.Embedded}, Slots: 1, Self: self, Tracer: tracer}
	s, err := conf.OpenStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run, err := scheduler.Create(t.Context(), s, scheduler.Request{Seed: 1, Selection: suite.Selection{Repeats: 1}, Suite: &suite.Loaded{
		Dir: t.TempDir(), Hash: "hash", Suite: eval.Suite{
			Name:    "shop",
			Servers: map[string]eval.Server{"shop": {Command: []string{self, serveDemo}}},
			Cases: []eval.Case{{ID: "status", Kind: eval.KindScript, Server: "shop", Steps: []eval.Step{{
				ID: "1", Call: "getCustomerStatus", Arguments: eval.JSON(`{"customerId":"CUST-4091"}`), Expect: eval.JSON(`{"status":"ACTIVE"}`),
			}}}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Carry(t.Context(), conf, s, run.ID, app.Observer{}); err != nil {
		t.Fatal(err)
	}
	root, send, process := rec.One("trial status"), rec.One("send trials"), rec.One("process trials")
	if send.ParentID != root.SpanID || process.ParentID != send.SpanID || root.ParentID != "" {
		t.Errorf("trial %s, send %s below %s, process below %s; want each below the one before", root.SpanID, send.SpanID, send.ParentID, process.ParentID)
	}
	if root.Attrs["evalfarm.verdict"] != "pass" || process.Start.Before(send.Start) || process.Attrs["evalfarm.attempt.uid"] != send.Attrs["evalfarm.attempt.uid"] {
		t.Errorf("got %+v\n%+v\n%+v, want one attempt that passed", root, send, process)
	}
	if of := rec.One("run shop"); root.Links[0].SpanID != of.SpanID || root.Links[0].TraceID != of.TraceID {
		t.Errorf("the trial is linked to %+v, want the run %+v", root.Links, of)
	}
	row, err := s.Result(t.Context(), run.ID, 0)
	if want := telemetry.TraceID(run.ID, 0).String(); err != nil || row.TraceID != want || root.TraceID != want || process.TraceID != want {
		t.Errorf("the result has trace %q (%v), its spans %s and %s, want %s", row.TraceID, err, root.TraceID, process.TraceID, want)
	}
	for _, span := range rec.Spans() {
		if span.TraceID == root.TraceID && span.ParentID == "" && span.SpanID != root.SpanID {
			t.Errorf("%s has no parent", span.Name)
		}
	}
}
