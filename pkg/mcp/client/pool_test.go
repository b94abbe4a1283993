package client_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

var newOpener = client.NewOpener

func newPool(t *testing.T, idle time.Duration) *client.Pool {
	t.Helper()
	p := client.NewPool(newOpener(options()), idle)
	t.Cleanup(p.Close)
	return p
}

func shared(t *testing.T, p *client.Pool, run, key string, spec client.Spec) *client.Attachment {
	t.Helper()
	a, err := p.Shared(t.Context(), run, key, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Detach)
	return a
}

func TestPoolShares(t *testing.T) {
	p := newPool(t, 0)
	spec := hostileSpec(t, "calls")
	var mu sync.Mutex
	sessions := map[*client.Session]int{}
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			a, err := p.Shared(t.Context(), "r1", "k", spec)
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Detach()
			mu.Lock()
			defer mu.Unlock()
			sessions[a.Session()]++
		})
	}
	wg.Wait()
	if len(sessions) != 1 {
		t.Errorf("got %d sessions, want one that all share", len(sessions))
	}
	first := shared(t, p, "r1", "k", spec).Session()
	if other := shared(t, p, "r1", "k2", spec).Session(); other == first {
		t.Error("got the same session for another key, want another")
	}
	if other := shared(t, p, "r2", "k", spec).Session(); other == first {
		t.Error("got the same session for another run, want another")
	}
}

func TestPoolFresh(t *testing.T) {
	p := newPool(t, 0)
	spec := hostileSpec(t, "calls")
	a, err := p.Fresh(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Fresh(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Detach()
	if a.Session() == b.Session() {
		t.Error("got one session twice, want two")
	}
	if first := a.Frames()[0]; !first.Sent || !strings.Contains(string(first.Raw), `"initialize"`) {
		t.Errorf("got first frame %s, want initialize", first.Raw)
	}
	a.Detach()
	if !a.Session().Dead() || b.Session().Dead() {
		t.Error("Detach must close its own session and no other")
	}
}

// TestPoolShared: when a shared session dies under several trials nobody is
// judged on it; the next one gets a new session.
func TestPoolShared(t *testing.T) {
	p := newPool(t, 0)
	spec := hostileSpec(t, "calls")
	a, b := shared(t, p, "r", "k", spec), shared(t, p, "r", "k", spec)
	hung := make(chan eval.Outcome, 1)
	go func() { hung <- do(t.Context(), a, "hang") }()
	eventually(t, func() bool { return hasSent(a, "do") })
	if out := do(t.Context(), b, "crash"); out.Reason != eval.ReasonServerCrashed {
		t.Errorf("got %+v, want server_crashed", out)
	}
	if out := <-hung; out.Reason != eval.ReasonServerCrashed {
		t.Errorf("the other trial got %+v, want server_crashed", out)
	}
	if !a.Shared() || !b.Shared() {
		t.Errorf("got shared %t and %t, want both", a.Shared(), b.Shared())
	}
	c := shared(t, p, "r", "k", spec)
	if c.Session() == a.Session() || c.Session().Dead() {
		t.Error("got the dead session, want a new one")
	}
	if out := do(t.Context(), c, "crash"); out.Reason != eval.ReasonServerCrashed || c.Shared() {
		t.Errorf("alone got %+v, shared %t, want server_crashed and not shared", out, c.Shared())
	}
	if got := c.Session().Exit(); got != "exit status 7" {
		t.Errorf("got exit %q, want exit status 7", got)
	}
}

// TestPoolStartFails: everybody who waited learns why, and the next one tries
// again.
func TestPoolStartFails(t *testing.T) {
	p := newPool(t, 0)
	dir := t.TempDir()
	spec := client.Spec{Name: "flaky", Dir: dir, Server: eval.Server{Command: []string{"sh", "-c", "echo start >> starts; exit 9"}}}
	for i := range 2 {
		if a, err := p.Shared(t.Context(), "r", "k", spec); err == nil {
			a.Detach()
			t.Fatal("got a session, want an error")
		} else if !strings.Contains(err.Error(), "start_exited") {
			t.Errorf("got %v, want start_exited", err)
		}
		starts, _ := os.ReadFile(filepath.Join(dir, "starts"))
		if got := strings.Count(string(starts), "start"); got != i+1 {
			t.Errorf("got %d starts, want %d", got, i+1)
		}
	}
}

func TestPoolForget(t *testing.T) {
	p := newPool(t, 0)
	spec := hostileSpec(t, "calls")
	idle, used, other := shared(t, p, "r", "idle", spec), shared(t, p, "r", "used", spec), shared(t, p, "s", "k", spec)
	idle.Detach()
	p.Forget("r")
	eventually(t, idle.Session().Dead)
	if used.Session().Dead() || other.Session().Dead() {
		t.Error("Forget must leave sessions in use and other runs alone")
	}
	if again := shared(t, p, "r", "used", spec); again.Session() == used.Session() {
		t.Error("got a forgotten session, want a new one")
	}
	used.Detach()
	eventually(t, used.Session().Dead)
}

func TestPoolIdle(t *testing.T) {
	p := newPool(t, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	spec := hostileSpec(t, "calls")
	used, idle := shared(t, p, "r", "used", spec), shared(t, p, "r", "idle", spec)
	idle.Detach()
	eventually(t, idle.Session().Dead)
	if used.Session().Dead() {
		t.Error("a session in use was closed as idle")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run gave %v, want nil", err)
	}
}

func TestPoolClose(t *testing.T) {
	p := client.NewPool(newOpener(options()), 0)
	a := shared(t, p, "r", "k", hostileSpec(t, "calls"))
	p.Close()
	if !a.Session().Dead() {
		t.Error("got a living session after Close, want a dead one")
	}
	if _, err := p.Shared(t.Context(), "r", "k", hostileSpec(t, "calls")); err == nil {
		t.Error("got a session of a closed pool, want an error")
	}
	p.Close()
}

// TestFramesAreTheTrials: frames of other trials never show up, whatever is going
// on beside.
func TestFramesAreTheTrials(t *testing.T) {
	s := open(t, hostileSpec(t, "calls"))
	a, b := attach(t, s), attach(t, s)
	for i := range 3 {
		do(t.Context(), a, "echo", "text", fmt.Sprintf("a%d", i))
		do(t.Context(), b, "notes", "n", 2, "text", "b")
	}
	for _, f := range a.Frames() {
		if strings.Contains(string(f.Raw), `"notes"`) || strings.Contains(string(f.Raw), "done") || strings.Contains(string(f.Raw), "notifications/message") {
			t.Errorf("got frame %s of the other trial", f.Raw)
		}
	}
	if got := len(a.Frames()); got != 6 {
		t.Errorf("got %d frames, want 6", got)
	}
	b.Detach()
	do(t.Context(), a, "notes", "n", 2)
	if got := len(a.Frames()); got != 6+4 {
		t.Errorf("alone got %d frames, want 10, notifications included", got)
	}
}
