package client_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// seen keeps what a server finds in the _meta of requests, by their method.
type seen struct {
	mu   sync.Mutex
	meta map[string]map[string]any
}

func (s *seen) note(method string, meta *mcp.Meta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta[method] = nil
	if meta != nil {
		s.meta[method] = meta.AdditionalFields
	}
}

// watch makes a server note what it finds.
func watch(srv *server.MCPServer) *seen {
	s := &seen{meta: map[string]map[string]any{}}
	srv.Use(func(next server.ToolHandlerFunc) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.note("tools/call", req.Params.Meta)
			return next(ctx, req)
		}
	})
	server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
		return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			s.note("resources/read", req.Params.Meta)
			return next(ctx, req)
		}
	})(srv)
	return s
}

func traceparent(s telemetrytest.Span) string { return "00-" + s.TraceID + "-" + s.SpanID + "-01" }

// A request is one span, whatever carries it, and the server finds its context in
// _meta; a listing has none there.
func TestSpansOfRequests(t *testing.T) {
	for name, start := range transports() {
		t.Run(name, func(t *testing.T) {
			srv := friendly(t)
			saw := watch(srv)
			s := start(t, srv)
			a := attach(t, s)
			tracer, rec := telemetrytest.New(t)
			telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
				a.Call(telemetry.Asks(ctx, "c1"), "echo", eval.JSON(`{"text":"hi"}`))
				a.Read(ctx, "note://1")
				a.ListTools(ctx)
			})
			peer := s.Peer()
			common := map[string]any{"evalfarm.server": "web", "mcp.protocol.version": peer.Protocol, "network.transport": "tcp", "server.address": "127.0.0.1"}
			if peer.Transport == "" {
				common = map[string]any{"evalfarm.server": "in", "mcp.protocol.version": peer.Protocol}
			} else if port, _ := url.Parse("http://" + peer.Host + ":" + peer.Port); port.Port() == "" || rec.One("tools/list").Attrs["server.port"] == nil {
				t.Errorf("no port in %+v", peer)
			}
			if peer.Session != "" {
				common["mcp.session.id"] = peer.Session
			} else if name == "streamable http" {
				t.Error("no id of the session")
			}
			want := map[string]map[string]any{
				"execute_tool echo": {
					"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "echo", "gen_ai.tool.type": "function", "gen_ai.tool.call.id": "c1",
					"mcp.method.name": "tools/call",
				},
				"resources/read": {"mcp.method.name": "resources/read", "mcp.resource.uri": "note://1"},
				"tools/list":     {"mcp.method.name": "tools/list"},
			}
			ids := map[any]bool{}
			for span, attrs := range want {
				got := rec.One(span)
				maps.Copy(attrs, common)
				ids[got.Attrs["jsonrpc.request.id"]] = true
				delete(got.Attrs, "jsonrpc.request.id")
				delete(got.Attrs, "server.port")
				if diff := cmp.Diff(attrs, got.Attrs); diff != "" || got.Kind != "client" || got.Status != "Unset" || got.ParentID != rec.One("process trials").SpanID {
					t.Errorf("%s: kind %s, status %s; attributes (-want +got):\n%s", span, got.Kind, got.Status, diff)
				}
			}
			if len(ids) != 3 || ids[nil] {
				t.Errorf("ids of requests %v, want three", ids)
			}
			for method, span := range map[string]string{"tools/call": "execute_tool echo", "resources/read": "resources/read"} {
				if got, want := saw.meta[method]["traceparent"], traceparent(rec.One(span)); got != want {
					t.Errorf("%s: the server saw %v in %v, want %s", method, got, saw.meta[method], want)
				}
			}
			if peer.Protocol == mcp.ProtocolVersion20260728 && len(saw.meta["tools/call"]) < 3 {
				t.Errorf("_meta is %v: what the revision itself has there is gone", saw.meta["tools/call"])
			}
		})
	}
}

// The same bytes leave when nobody traces as before there were traces, and with them
// nothing but the context comes in addition.
func TestWhatTracingAddsToTheWire(t *testing.T) {
	a := attach(t, open(t, hostileSpec(t, "calls")))
	requests := func(ctx context.Context) (sent []string) {
		before := len(a.Frames())
		do(ctx, a, "echo", "text", "hi")
		a.Call(ctx, "do", nil)
		a.Read(ctx, "note://1")
		a.ListTools(ctx)
		for _, f := range a.Frames()[before:] {
			if f.Sent {
				sent = append(sent, regexp.MustCompile(`"id":\d+`).ReplaceAllString(string(f.Raw), `"id":N`))
			}
		}
		return sent
	}
	want := []string{
		`{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"do","arguments":{"do":"echo","text":"hi"}}}`,
		`{"jsonrpc":"2.0","id":N,"method":"tools/call","params":{"name":"do"}}`,
		`{"jsonrpc":"2.0","id":N,"method":"resources/read","params":{"uri":"note://1"}}`,
		`{"jsonrpc":"2.0","id":N,"method":"tools/list","params":{}}`,
	}
	if diff := cmp.Diff(want, requests(t.Context())); diff != "" {
		t.Errorf("nobody traces (-want +got):\n%s", diff)
	}
	tracer, rec := telemetrytest.New(t)
	var got []string
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) { got = requests(ctx) })
	for i, span := range rec.Spans()[1:] {
		meta := `,"_meta":{"traceparent":"` + traceparent(span) + `"}`
		if i < 3 && !strings.Contains(got[i], meta) && !strings.Contains(got[i], meta[1:]+",") {
			t.Errorf("%s does not have %s", got[i], meta)
		}
		got[i] = strings.Replace(strings.Replace(got[i], meta[1:]+",", "", 1), meta, "", 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traced, with its context taken away (-want +got):\n%s", diff)
	}
}

// The context of the call's own trial is what travels on a session that several share.
func TestContextOnASharedSession(t *testing.T) {
	s := open(t, hostileSpec(t, "calls"))
	tracer, rec := telemetrytest.New(t)
	const trials = 5
	var got [trials]string
	var all sync.WaitGroup
	for i := range trials {
		a := attach(t, s)
		all.Go(func() {
			d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: i, N: 1}, Lane: telemetry.Trials}
			ctx, process := tracer.Process(telemetry.Arrive(t.Context(), d.Traceparent(true)), d)
			got[i] = textOf(do(ctx, a, "meta"))
			tracer.Returned(process, "test", nil)
		})
	}
	all.Wait()
	for i := range trials {
		var meta struct {
			Traceparent string `json:"traceparent"`
		}
		if err := json.Unmarshal([]byte(got[i]), &meta); err != nil || !strings.Contains(meta.Traceparent, telemetry.TraceID("r", i).String()) {
			t.Errorf("trial %d: the server saw %q, want the trace %s", i, got[i], telemetry.TraceID("r", i))
		}
	}
	if n := len(rec.Named("execute_tool do")); n != trials {
		t.Errorf("%d calls are shown, want %d", n, trials)
	}
}

// How a trial comes to its session is shown where it waits for it.
func TestHowATrialComesToItsSession(t *testing.T) {
	t.Parallel()
	p := newPool(t, 0)
	spec := hostileSpec(t, "calls")
	slow := hostileSpec(t, "mute")             // answers nothing
	slow.Server.StartTimeout = 5 * time.Second // the second comes while it is being opened
	tracer, rec := telemetrytest.New(t)
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
		start := func(to string, open func(context.Context) (*client.Attachment, error)) {
			ctx, span := telemetry.Start(ctx, to)
			defer span.End()
			if a, err := open(ctx); err == nil {
				t.Cleanup(a.Detach)
			}
		}
		share := func(key string, spec client.Spec) func(context.Context) (*client.Attachment, error) {
			return func(ctx context.Context) (*client.Attachment, error) { return p.Shared(ctx, "r", key, spec) }
		}
		start("own", func(ctx context.Context) (*client.Attachment, error) { return p.Fresh(ctx, spec) })
		start("first", share("k", spec))
		start("second", share("k", spec))
		begun, cancel := context.WithCancel(ctx)
		cancel() // who began it has gone, and it is still being opened
		ctx = begun
		start("slow first", share("s", slow))
		start("slow second", share("s", slow))
	})
	for to, want := range map[string]string{"own": "own", "first": "began", "second": "joined", "slow first": "began", "slow second": "waited"} {
		if got := rec.One("start " + to).Attrs["evalfarm.session"]; got != want {
			t.Errorf("%s: got %v, want %s", to, got, want)
		}
	}
}

// Each page of a listing is a request.
func TestSpansOfPages(t *testing.T) {
	a := attach(t, open(t, hostileSpec(t, "pages")))
	tracer, rec := telemetrytest.New(t)
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) { a.ListTools(ctx) })
	if got := rec.Named("tools/list"); len(got) != 6 || got[5].Attrs["network.transport"] != "pipe" {
		t.Errorf("got %d pages, want 6 over a pipe", len(got))
	}
}
