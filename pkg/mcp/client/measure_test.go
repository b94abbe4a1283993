package client_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

func TestStartsCrashesAndRequestsAreMeasured(t *testing.T) {
	o := options()
	metrics, meter := telemetrytest.NewMeter(t)
	o.Metrics = metrics
	opener := client.NewOpener(o)
	for _, mode := range []string{"tool-error", "crash", "exit"} {
		s, err := opener.Open(t.Context(), hostileSpec(t, mode))
		if mode == "exit" {
			if err == nil {
				t.Fatal("a server that exits at once has started")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		a := s.Attach()
		do(t.Context(), a, mode)
		if mode == "crash" {
			do(t.Context(), a, mode) // it is not sent any more
		}
		a.Detach()
		if err := s.Close(); err != nil { // that is no crash
			t.Fatal(err)
		}
	}
	want := map[string]map[string]float64{
		"evalfarm.mcp.starts":  {"outcome=ok,server=hostile": 2, "outcome=start_exited,server=hostile": 1},
		"evalfarm.mcp.crashes": {"server=hostile": 1},
		"mcp.client.operation.duration": {
			"error.type=tool_error,evalfarm.server=hostile,gen_ai.tool.name=do,mcp.method.name=tools/call":     1,
			"error.type=server_crashed,evalfarm.server=hostile,gen_ai.tool.name=do,mcp.method.name=tools/call": 1,
		},
	}
	for name, want := range want {
		if diff := cmp.Diff(want, meter.Series(name)); diff != "" {
			t.Errorf("%s: got + and want -:\n%s", name, diff)
		}
	}
}
