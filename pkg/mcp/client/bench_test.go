package client_test

import (
	"os"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// BenchmarkCall compares a call through a session with one through mcp-go alone,
// against the same server process.
func BenchmarkCall(b *testing.B) {
	b.Run("session", func(b *testing.B) {
		s := open(b, hostileSpec(b, "calls"))
		args := eval.JSON(`{"text":"x"}`)
		b.ReportAllocs()
		for b.Loop() {
			a := s.Attach()
			if out := a.Call(b.Context(), "do", args); out.Kind != eval.OutcomeOK {
				b.Fatalf("got %+v, want ok", out)
			}
			a.Detach()
		}
	})
	b.Run("mcp-go alone", func(b *testing.B) {
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		c, err := mcpgo.NewStdioMCPClient(self, nil, "hostile", "calls")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		var init mcp.InitializeRequest
		init.Params.ProtocolVersion = mcp.LATEST_LEGACY_PROTOCOL_VERSION
		if _, err := c.Initialize(b.Context(), init); err != nil {
			b.Fatal(err)
		}
		var req mcp.CallToolRequest
		req.Params.Name, req.Params.Arguments = "do", map[string]any{"text": "x"}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.CallTool(b.Context(), req); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStart is the life of a session without calls: how long a process needs
// until it has answered initialize, and to go. The last row is what a worker does.
func BenchmarkStart(b *testing.B) {
	spec := hostileSpec(b, "calls")
	guarded := options()
	guarded.Owner, guarded.GuardCommand = "bench", []string{spec.Server.Command[0], "guard"}
	marked := options()
	marked.Owner = "bench"
	for _, row := range []struct {
		name string
		o    client.Options
	}{{"plain", options()}, {"marked", marked}, {"marked and guarded", guarded}} {
		b.Run(row.name, func(b *testing.B) {
			o := newOpener(row.o)
			for b.Loop() {
				s, err := o.Open(b.Context(), spec)
				if err != nil {
					b.Fatal(err)
				}
				_ = s.Close()
			}
		})
	}
}
