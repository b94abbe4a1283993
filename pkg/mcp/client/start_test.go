package client_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// TestStartErrors is every way in which a process gives no session.
func TestStartErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		mode   string
		edit   func(*client.Spec)
		reason eval.Reason
		detail string
		stderr string
		exit   string
	}{
		{name: "exits at once", mode: "exit", reason: eval.ReasonStartExited, detail: "missing API key", stderr: "fatal: missing API key", exit: "exit status 3"},
		{name: "never answers", mode: "mute", edit: quick, reason: eval.ReasonStartTimeout, detail: "no answer within 600ms"},
		{name: "never reads", mode: "never-reads", edit: quick, reason: eval.ReasonStartTimeout},
		{name: "future revision", mode: "future", reason: eval.ReasonStartRefused, detail: "2099-01-01"},
		{name: "answers with an error", mode: "refuse", reason: eval.ReasonStartRefused, detail: "licence expired"},
		{name: "answers with nonsense", mode: "init-garbage", reason: eval.ReasonStartRefused, detail: "no object"},
		{name: "answers another id", mode: "init-wrong-id", reason: eval.ReasonStartRefused, detail: "never asked"},
		{name: "closes stdout", mode: "closed-at-start", reason: eval.ReasonStartRefused, detail: "closed its stdout"},
		{name: "speaks no stateless revision", mode: "calls", edit: func(s *client.Spec) { s.Protocol = "2026-07-28" }, reason: eval.ReasonStartRefused, detail: "does not speak 2026-07-28"},
		{name: "dies when probed", mode: "die-on-discover", edit: func(s *client.Spec) { s.Protocol = "2026-07-28" }, reason: eval.ReasonStartExited, stderr: "expected initialize request"},
		{name: "unknown revision", mode: "calls", edit: func(s *client.Spec) { s.Protocol = "2020-01-01" }, reason: eval.ReasonStartFailed, detail: "2025-11-25"},
		{name: "unknown profile", mode: "calls", edit: func(s *client.Spec) { s.Profile = "nobody" }, reason: eval.ReasonStartFailed, detail: "bare, claude-code, codex, full, gemini, opencode"},
		{name: "no command", mode: "calls", edit: func(s *client.Spec) { s.Server.Command = nil }, reason: eval.ReasonStartFailed, detail: "neither a command nor a url"},
		{name: "not on PATH", mode: "calls", edit: func(s *client.Spec) { s.Server.Command = []string{"no-such-command"} }, reason: eval.ReasonStartFailed, detail: `"no-such-command" was not found on PATH`},
		{name: "no such file", mode: "calls", edit: func(s *client.Spec) { s.Server.Command = []string{"./server"} }, reason: eval.ReasonStartFailed, detail: "does not exist"},
		{name: "no such folder", mode: "calls", edit: func(s *client.Spec) { s.Server.Dir = "nowhere" }, reason: eval.ReasonStartFailed, detail: "working directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := hostileSpec(t, tt.mode)
			if tt.edit != nil {
				tt.edit(&spec)
			}
			got := refused(t, spec)
			if got.Reason != tt.reason {
				t.Errorf("got reason %q (%s), want %q", got.Reason, got.Detail, tt.reason)
			}
			if !got.Reason.Infra() {
				t.Errorf("got reason %q, want one of the farm's", got.Reason)
			}
			if !strings.Contains(got.Detail, tt.detail) {
				t.Errorf("got detail %q, want it to contain %q", got.Detail, tt.detail)
			}
			if !strings.Contains(got.Stderr, tt.stderr) {
				t.Errorf("got stderr %q, want it to contain %q", got.Stderr, tt.stderr)
			}
			if got.Exit != tt.exit && tt.exit != "" {
				t.Errorf("got exit %q, want %q", got.Exit, tt.exit)
			}
		})
	}
}

func quick(s *client.Spec) { s.Server.StartTimeout = 600 * time.Millisecond }

// TestStartURLErrors is every way in which a URL gives no session. That any 4xx
// of initialize is a "legacy SSE server" to mcp-go is trap T5.
func TestStartURLErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	_ = listener.Close()
	answer := func(status int, contentType, body string) string {
		ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(ts.Close)
		return ts.URL
	}
	hold := make(chan struct{})
	stuck := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hold }))
	t.Cleanup(func() { close(hold); stuck.Close() })
	tests := []struct {
		name   string
		url    string
		reason eval.Reason
		detail string
	}{
		{"connection refused", closed, eval.ReasonUnreachable, "refused"},
		{"no such host", "http://nowhere.invalid/mcp", eval.ReasonUnreachable, "nowhere.invalid"},
		{"no URL", "ftp://x", eval.ReasonStartFailed, "no http or https URL"},
		{"400", answer(400, "text/plain", "bad"), eval.ReasonStartRefused, "HTTP 400 Bad Request"},
		{"401", answer(401, "text/plain", ""), eval.ReasonUnauthorized, "HTTP 401"},
		{"403", answer(403, "text/plain", "wrong token"), eval.ReasonUnauthorized, "wrong token"},
		{"404", answer(404, "text/plain", ""), eval.ReasonStartRefused, "HTTP 404"},
		{"405", answer(405, "text/plain", ""), eval.ReasonStartRefused, "HTTP 405"},
		{"429", answer(429, "application/json", `{"error":"slow down"}`), eval.ReasonUnreachable, "Retry-After: 17"},
		{"503", answer(503, "text/html", "<h1>down</h1>"), eval.ReasonUnreachable, "HTTP 503"},
		{"a web page", answer(200, "text/html", "<h1>hello</h1>"), eval.ReasonStartRefused, "<h1>hello</h1>"},
		{"JSON that is no message", answer(200, "application/json", `{"ok":true}`), eval.ReasonStartRefused, `{"ok":true}`},
		{"a redirect elsewhere", answer(302, "text/html", ""), eval.ReasonStartRefused, "HTTP 302"},
		{"silence", stuck.URL, eval.ReasonStartTimeout, "no answer within 600ms"},
	}
	for _, tr := range []eval.Transport{eval.TransportHTTP, eval.TransportSSE} {
		for _, tt := range tests {
			t.Run(string(tr)+"/"+tt.name, func(t *testing.T) {
				spec := urlSpec(tt.url, tr)
				if tt.reason == eval.ReasonStartTimeout {
					quick(&spec)
				}
				got := refused(t, spec)
				if got.Reason != tt.reason {
					t.Errorf("got reason %q (%s), want %q", got.Reason, got.Detail, tt.reason)
				}
				if !strings.Contains(got.Detail, tt.detail) {
					t.Errorf("got detail %q, want it to contain %q", got.Detail, tt.detail)
				}
			})
		}
	}
}

func TestStartOldRevision(t *testing.T) {
	s := open(t, hostileSpec(t, "old"))
	if got := s.Info().Protocol; got != "2024-11-05" {
		t.Errorf("got protocol %q, want 2024-11-05", got)
	}
	if !hasFinding(s, "protocol_negotiated") {
		t.Errorf("got findings %v, want protocol_negotiated", s.Findings())
	}
}

// TestStartDoesNotProbe opens a server that dies of an unknown first message.
func TestStartDoesNotProbe(t *testing.T) {
	s := open(t, hostileSpec(t, "die-on-discover"))
	if out := do(t.Context(), attach(t, s), "echo", "text", "x"); textOf(out) != "echo x" {
		t.Errorf("got %+v, want an echo", out)
	}
}

func TestStartNoise(t *testing.T) {
	s := open(t, hostileSpec(t, "banner"))
	want := []eval.Finding{{Code: "stdout_noise", Detail: "Welcome to server v1", Count: 7}}
	if diff := cmp.Diff(want, s.Findings()); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func TestStartCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	s, err := client.NewOpener(options()).Open(ctx, hostileSpec(t, "mute"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, %v, want context.Canceled", s, err)
	}
	if _, ok := errors.AsType[*client.StartError](err); ok {
		t.Errorf("got a *StartError, want none: nobody failed")
	}
}

// TestStartSlots: a start waits for its turn, and gives up with its context.
func TestStartSlots(t *testing.T) {
	o := client.NewOpener(client.Options{Environ: os.Environ(), Starts: 1})
	slow := client.Spec{Name: "slow", Dir: t.TempDir(), Server: eval.Server{
		Command: []string{"sh", "-c", "touch started; exec sleep 600"}, CloseTimeout: 100 * time.Millisecond,
	}}
	first, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = o.Open(first, slow)
	}()
	eventually(t, func() bool {
		_, err := os.Stat(filepath.Join(slow.Dir, "started"))
		return err == nil
	})
	waiting, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := o.Open(waiting, hostileSpec(t, "calls")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline of a caller that waits its turn", err)
	}
	stop()
	<-ended
	s, err := o.Open(t.Context(), hostileSpec(t, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

// TestEnvironment: nothing of the worker's environment leaks but what programs
// need, and relative paths start from the suite's folder.
func TestEnvironment(t *testing.T) {
	spec := hostileSpec(t, "calls")
	spec.Server.Env = map[string]string{"DESK_TOKEN": "t", "LANG": "tlh"}
	spec.Server.Dir = "sub"
	if err := os.Mkdir(filepath.Join(spec.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	self := spec.Server.Command[0]
	if err := os.Symlink(self, filepath.Join(spec.Dir, "sub", "srv")); err != nil {
		t.Fatal(err)
	}
	spec.Server.Command[0] = "sub/srv"
	o := client.NewOpener(client.Options{
		Environ: []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LANG=C", "OPENAI_API_KEY=secret", "AWS_SECRET=x", "PATHX=1"},
		Owner:   "environment-test",
	})
	s, err := o.Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a := attach(t, s)
	var got []string
	for line := range strings.Lines(textOf(do(t.Context(), a, "environment"))) {
		name, _, _ := strings.Cut(line, "=")
		if name == "EVALFARM_OWNER" {
			line = name
		}
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{"DESK_TOKEN=t", "HOME=/h", "LANG=tlh", "LC_ALL=C", "PATH=/bin", "EVALFARM_OWNER"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	if got := textOf(do(t.Context(), a, "cwd")); filepath.Base(got) != "sub" {
		t.Errorf("got working directory %q, want sub", got)
	}
}

// TestSelf: the command evalfarm is this very executable.
func TestSelf(t *testing.T) {
	spec := hostileSpec(t, "calls")
	o := options()
	o.Self = spec.Server.Command[0]
	spec.Server.Command[0] = "evalfarm"
	s, err := client.NewOpener(o).Open(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}
