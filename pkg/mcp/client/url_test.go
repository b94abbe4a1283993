package client_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// friendly is a well-behaved server made with mcp-go.
func friendly(t *testing.T) *server.MCPServer {
	t.Helper()
	// Not every transport of mcp-go ends a handler with its request.
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	srv := server.NewMCPServer("friendly", "1.2", server.WithToolCapabilities(true), server.WithResourceCapabilities(false, true), server.WithElicitation(), server.WithRoots())
	srv.EnableSampling()
	srv.AddTool(mcp.NewTool("echo", mcp.WithString("text")), func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("echo " + req.GetString("text", "")), nil
	})
	srv.AddTool(mcp.NewTool("reject"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("must match"), nil
	})
	srv.AddTool(mcp.NewTool("stall"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-over:
		}
		return nil, context.Canceled
	})
	srv.AddTool(mcp.NewTool("panic"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("boom")
	})
	srv.AddTool(mcp.NewTool("roots"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := srv.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(res.Roots[0].URI), nil
	})
	srv.AddTool(mcp.NewTool("sample"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var ask mcp.CreateMessageRequest
		ask.MaxTokens = 5
		ask.Messages = []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent("hi")}}
		//lint:ignore SA1019 the revisions that agents speak have it
		res, err := srv.RequestSampling(ctx, ask) //nolint:staticcheck // the revisions that agents speak have it
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(fmt.Sprint(res.Content)), nil
	})
	srv.AddResource(mcp.NewResource("note://1", "one"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "note://1", Text: "one"}}, nil
	})
	return srv
}

// newStreamable serves a server over Streamable HTTP, with sessions.
func newStreamable(t *testing.T, srv *server.MCPServer) string {
	t.Helper()
	ts := httptest.NewServer(server.NewStreamableHTTPServer(srv, server.WithStateful(true), server.WithStreamableHTTPLogger(slog.New(slog.DiscardHandler))))
	t.Cleanup(ts.Close)
	return ts.URL
}

func urlSpec(url string, tr eval.Transport) client.Spec {
	return client.Spec{Name: "web", Dir: "/srv/suite", Server: eval.Server{URL: url, Transport: tr, CallTimeout: 20 * time.Second, CloseTimeout: time.Second}}
}

// transports serve a server of mcp-go over each transport and open a session with it.
func transports() map[string]func(t *testing.T, srv *server.MCPServer) *client.Session {
	return map[string]func(t *testing.T, srv *server.MCPServer) *client.Session{
		"streamable http": func(t *testing.T, srv *server.MCPServer) *client.Session {
			t.Helper()
			ts := httptest.NewServer(server.NewStreamableHTTPServer(srv))
			t.Cleanup(ts.Close)
			return open(t, urlSpec(ts.URL+"/mcp", eval.TransportHTTP))
		},
		"streamable http, stateless revision": func(t *testing.T, srv *server.MCPServer) *client.Session {
			t.Helper()
			ts := httptest.NewServer(server.NewStreamableHTTPServer(srv))
			t.Cleanup(ts.Close)
			spec := urlSpec(ts.URL+"/mcp", "")
			spec.Protocol = mcp.ProtocolVersion20260728
			return open(t, spec)
		},
		"legacy sse": func(t *testing.T, srv *server.MCPServer) *client.Session {
			t.Helper()
			sse := server.NewSSEServer(srv)
			ts := httptest.NewServer(sse)
			t.Cleanup(ts.Close)
			return open(t, urlSpec(ts.URL+"/sse", eval.TransportSSE))
		},
		"in process": func(t *testing.T, srv *server.MCPServer) *client.Session {
			t.Helper()
			s, err := client.OpenInProcess(t.Context(), srv, client.Spec{Name: "in"})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			return s
		},
	}
}

// TestTransports drives mcp-go's own servers over every transport.
func TestTransports(t *testing.T) {
	for name, start := range transports() {
		t.Run(name, func(t *testing.T) {
			s := start(t, friendly(t))
			if got := s.Info(); got.Name != "friendly" || got.Version != "1.2" || got.Profile != client.ProfileBare {
				t.Errorf("got info %+v, want friendly 1.2 bare", got)
			}
			a := attach(t, s)
			if second := attach(t, s); a.StartMS() <= 0 || second.StartMS() != 0 {
				t.Errorf("got start %v ms and %v ms, want the first alone to have waited", a.StartMS(), second.StartMS())
			}
			out := a.Call(t.Context(), "echo", eval.JSON(`{"text":"hi"}`))
			if out.Kind != eval.OutcomeOK || textOf(out) != "echo hi" || out.ResponseBytes != len(out.Result) {
				t.Errorf("got %+v, want echo hi", out)
			}
			if out := a.Call(t.Context(), "reject", nil); out.Kind != eval.OutcomeToolError || textOf(out) != "must match" {
				t.Errorf("got %+v, want a tool error", out)
			}
			if out := a.Call(t.Context(), "nope", nil); out.Kind != eval.OutcomeProtocolError || out.Error.Code != mcp.INVALID_PARAMS {
				t.Errorf("got %+v, want protocol error -32602", out)
			}
			if out := a.Read(t.Context(), "note://1"); out.Kind != eval.OutcomeOK || !strings.Contains(string(out.Result), `"text":"one"`) {
				t.Errorf("got %+v, want the note", out)
			}
			if out := a.Read(t.Context(), "note://2"); out.Kind != eval.OutcomeProtocolError {
				t.Errorf("got %+v, want a protocol error", out)
			}
			pages, out := a.ListTools(t.Context())
			if out.Kind != eval.OutcomeOK || len(pages) != 1 || !strings.Contains(string(pages[0]), `"name":"reject"`) {
				t.Errorf("got %d pages, %+v, want one page", len(pages), out)
			}
			if has, out := a.HasTool(t.Context(), "stall"); !has || out.Kind != eval.OutcomeOK {
				t.Errorf("got %t %+v, want the tool stall", has, out)
			}
			if has, out := a.HasTool(t.Context(), "nope"); has || out.Kind != eval.OutcomeOK {
				t.Errorf("got %t %+v, want no tool nope", has, out)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				eventually(t, func() bool { return hasSent(a, "stall") })
				cancel()
			}()
			if out := a.Call(ctx, "stall", nil); out.Kind != eval.OutcomeCancelled {
				t.Errorf("got %+v, want cancelled", out)
			}
			if out := a.Call(t.Context(), "echo", eval.JSON(`{"text":"2"}`)); textOf(out) != "echo 2" {
				t.Errorf("after a cancelled call got %+v, want echo 2", out)
			}
			if s.Dead() {
				t.Error("got a dead session, want a living one")
			}
		})
	}
}

// hasSent says whether an attachment's frames hold a call of a tool.
func hasSent(a *client.Attachment, tool string) bool {
	for _, f := range a.Frames() {
		if f.Sent && strings.Contains(string(f.Raw), fmt.Sprintf(`"name":%q`, tool)) {
			return true
		}
	}
	return false
}

// TestCrowd is 200 goroutines on one session: every answer must be the caller's.
func TestCrowd(t *testing.T) {
	ts := httptest.NewServer(server.NewStreamableHTTPServer(friendly(t)))
	defer ts.Close()
	sessions := map[string]*client.Session{
		"stdio": open(t, hostileSpec(t, "calls")),
		"http":  open(t, urlSpec(ts.URL+"/mcp", "")),
	}
	for name, s := range sessions {
		t.Run(name, func(t *testing.T) {
			tool := map[string]string{"stdio": "do", "http": "echo"}[name]
			var wrong atomic.Int64
			var wg sync.WaitGroup
			for i := range 200 {
				wg.Go(func() {
					a := s.Attach()
					defer a.Detach()
					for j := range 5 {
						text := fmt.Sprintf("%d-%d", i, j)
						out := a.Call(t.Context(), tool, eval.JSON(fmt.Sprintf(`{"text":%q}`, text)))
						if textOf(out) != "echo "+text {
							wrong.Add(1)
							t.Errorf("got %+v, want echo %s", out, text)
						}
					}
					if got := len(a.Frames()); got != 10 {
						t.Errorf("got %d frames, want the 10 of 5 calls", got)
					}
					for _, f := range a.Frames() {
						if !strings.Contains(string(f.Raw), fmt.Sprintf("%d-", i)) {
							t.Errorf("got frame %s, want only those of caller %d", f.Raw, i)
						}
					}
				})
			}
			wg.Wait()
			if n := wrong.Load(); n != 0 {
				t.Errorf("got %d wrong answers, want 0", n)
			}
		})
	}
}
