package app_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/evalfarm/evalfarm/internal/commandtest"
	"github.com/evalfarm/evalfarm/internal/demo"
	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// serveDemo makes the test binary the demo server.
const serveDemo = "serve-demo"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serveDemo {
		err := demo.Serve(context.Background(), demo.Options{Name: "acme", In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
		if err != nil {
			os.Exit(1)
		}
		commandtest.Exit(0)
	}
	os.Exit(m.Run())
}

// slots are how many calls are in flight, on both sides of the comparison.
const slots = 8

// BenchmarkScript measures scripted trials with their results stored, per
// second, and as a ratio to a bare loop of mcp-go calls on the same server in
// the same run.
func BenchmarkScript(b *testing.B) {
	for _, kind := range []broker.Kind{broker.Embedded, broker.Spawn} {
		b.Run(string(kind), func(b *testing.B) {
			bare := bareLoop(b, max(b.N, 100))
			perSecond := farm(b, kind, max(b.N, 100))
			b.ReportMetric(perSecond, "trials/s")
			b.ReportMetric(perSecond/bare, "of-bare-loop")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// bareLoop calls the server n times and gives calls per second.
func bareLoop(b *testing.B, n int) float64 {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	c, err := mcpclient.NewStdioMCPClient(self, nil, serveDemo)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Initialize(b.Context(), mcp.InitializeRequest{}); err != nil {
		b.Fatal(err)
	}
	var req mcp.CallToolRequest
	req.Params.Name = "getCustomerStatus"
	req.Params.Arguments = map[string]any{"customerId": "CUST-4091"}
	start := time.Now()
	var callers sync.WaitGroup
	for i := range slots {
		callers.Go(func() {
			for range n/slots + min(1, max(0, n%slots-i)) {
				if _, err := c.CallTool(b.Context(), req); err != nil {
					b.Error(err)
				}
			}
		})
	}
	callers.Wait()
	return float64(n) / time.Since(start).Seconds()
}

// farm runs n trials of the same call and gives trials per second, from the
// start of the farm to its verdict.
func farm(b *testing.B, kind broker.Kind, n int) float64 {
	b.Helper()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	conf := app.Config{Home: b.TempDir(), Broker: broker.Options{Kind: kind}, Slots: slots, Self: self}
	s, err := conf.OpenStore(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	loaded := &suite.Loaded{Dir: b.TempDir(), Hash: "bench", Suite: eval.Suite{
		Name:    "bench",
		Servers: map[string]eval.Server{"shop": {Command: []string{self, serveDemo}}},
	}}
	for i := range 100 {
		loaded.Suite.Cases = append(loaded.Suite.Cases, eval.Case{
			ID: fmt.Sprintf("case-%d", i), Kind: eval.KindScript, Server: "shop",
			Steps: []eval.Step{{
				ID: "1", Call: "getCustomerStatus", Arguments: eval.JSON(`{"customerId":"CUST-4091"}`), Expect: eval.JSON(`{"status":"ACTIVE"}`),
			}},
		})
	}
	run, err := scheduler.Create(b.Context(), s, scheduler.Request{Suite: loaded, Seed: 1, Selection: suite.Selection{Repeats: (n + 99) / 100}})
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	summary, err := app.Carry(b.Context(), conf, s, run.ID, app.Observer{})
	if err != nil {
		b.Fatal(err)
	}
	if summary.Counts.Pass != run.Trials {
		b.Fatalf("counts %+v, want %d to pass", summary.Counts, run.Trials)
	}
	return float64(run.Trials) / time.Since(start).Seconds()
}
