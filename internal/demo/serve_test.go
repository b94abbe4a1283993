package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// overStdio starts this test binary as a demo server.
func overStdio(t *testing.T, name string, env ...string) session {
	t.Helper()
	tr := transport.NewStdio(os.Args[0], append(env, serveEnv+"="+name+"/"))
	return connect(t, client.NewClient(tr))
}

// overHTTP serves Acme in this process and gives the session and what ends the
// server.
func overHTTP(t *testing.T, addr string) (session, string, func() error) {
	t.Helper()
	url, stop := listen(t, Options{Name: "acme", HTTP: addr})
	return dial(t, url, nil), url, stop
}

// dial connects to a server over HTTP, with headers.
func dial(t *testing.T, url string, headers map[string]string) session {
	t.Helper()
	tr, err := transport.NewStreamableHTTP(url, transport.WithHTTPHeaders(headers))
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, client.NewClient(tr))
}

// listen serves in this process over HTTP and gives the URL and what ends the
// server.
func listen(t *testing.T, o Options) (url string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	o.Err = w
	go func() { done <- Serve(ctx, o); _ = w.Close() }()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("no address announced: %v; Serve returned %v", err, <-done)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	_, url, _ = strings.Cut(strings.TrimSpace(line), "serving ")
	return url, func() error { cancel(); return <-done }
}

func TestStdio(t *testing.T) {
	checkWhole(overStdio(t, "acme"))
}

func TestHTTP(t *testing.T) {
	s, url, stop := overHTTP(t, ":0")
	if !strings.HasPrefix(url, "http://127.0.0.1:") || !strings.HasSuffix(url, "/mcp") {
		t.Errorf("got URL %s for address :0, want one on the loopback interface at /mcp", url)
	}
	checkWhole(s)
	if err := stop(); err != nil {
		t.Errorf("got error %v after the end of the context, want none", err)
	}
}

// checkWhole makes one call of each kind.
func checkWhole(s session) {
	s.t.Helper()
	if got := s.object("getCustomerStatus", map[string]any{"customerId": "CUST-2187"})["tier"]; got != "BUSINESS_TIER" {
		s.t.Errorf("tier of CUST-2187: got %v, want BUSINESS_TIER", got)
	}
	if got := len(s.lines("getZoneHealthLogs", map[string]any{"zoneId": "EU-WEST-1"})); got != 6 {
		s.t.Errorf("lines of EU-WEST-1: got %d, want 6", got)
	}
	if got := s.rejection("getOrderStatus", map[string]any{"orderId": "BAD"}); !strings.Contains(got, "must match") {
		s.t.Errorf("bad order id: got %q, want a rejection", got)
	}
	if got := s.read("acme://report/q7Zr2vKx9")["status"]; got != "SHIPPED" {
		s.t.Errorf("report: got status %v, want SHIPPED", got)
	}
}

func TestStdioEndsWithItsInput(t *testing.T) {
	err := Serve(t.Context(), Options{Name: "acme", In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	if err != nil {
		t.Errorf("got error %v at the end of the input, want none", err)
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := io.Pipe() // never says a word
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, Options{Name: "acme", In: r, Out: io.Discard, Err: io.Discard}) }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("got error %v at the end of the context, want none", err)
	}
	_ = r.Close()
}

func TestServeRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		options Options
		want    string
	}{
		"unknown server": {Options{Name: "emca"}, `unknown demo server "emca"; there are acme, desk, proxy`},
		"unknown break":  {Options{Name: "acme", Break: "all"}, `unknown break "all"`},
		"unknown tenant": {Options{Name: "desk", Caller: Caller{Tenant: "hooli"}}, `unknown tenant "hooli"; there are acme, globex`},
		"no breaks":      {Options{Name: "proxy", Break: "slow"}, "demo proxy has no breaks"},
		"bad address":    {Options{Name: "acme", HTTP: "127.0.0.1:http:1"}, "serve acme: listen tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Serve(t.Context(), tt.options)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %v, want %q", err, tt.want)
			}
		})
	}
}

// command starts this test binary as a demo server and gives its stdin and
// stdout.
func command(t *testing.T, regression string, stderr io.Writer) (*exec.Cmd, io.WriteCloser, io.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"=acme/"+regression)
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, out
}

// TestHeard: who serves the demo can be told what requests have in their _meta.
func TestHeard(t *testing.T) {
	heard := make(chan string, 2)
	url, _ := listen(t, Options{Name: "acme", HTTP: ":0", Heard: func(method string, meta map[string]any) {
		heard <- fmt.Sprint(method, " ", meta["traceparent"])
	}})
	s := dial(t, url, nil)
	var call mcp.CallToolRequest
	call.Params.Name, call.Params.Meta = "getCustomerStatus", &mcp.Meta{AdditionalFields: map[string]any{"traceparent": "00-1-1-01"}}
	if _, err := s.c.CallTool(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	var read mcp.ReadResourceRequest
	read.Params.URI = "acme://report/q7Zr2vKx9"
	if _, err := s.c.ReadResource(t.Context(), read); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tools/call 00-1-1-01", "resources/read <nil>"} {
		if got := <-heard; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
