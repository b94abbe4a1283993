package cli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A hook is a receiver of webhooks that keeps what it got, and holds its first
// answers back until they are released.
type hook struct {
	*httptest.Server
	mu   sync.Mutex
	got  []string // as of received
	held chan struct{}
}

func newHook(t *testing.T, s *shop, settings string, hold int) *hook {
	t.Helper()
	h := &hook{held: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		line := received(r)
		h.mu.Lock()
		h.got = append(h.got, line)
		wait := len(h.got) <= hold
		h.mu.Unlock()
		if wait {
			<-h.held
		}
	}))
	t.Cleanup(h.Close)
	s.env = append(s.env, "HOOK_SECRET="+hookSecret)
	s.file("farm.yaml", `
version: 1
notifications:
  hook: {webhook: "`+h.URL+`", secret: "${{ secrets.HOOK_SECRET }}", on: [always]`+settings+`}
`)
	return h
}

// ids of the requests that came, all of which have to be signed.
func (h *hook) ids(t *testing.T) []string {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	for _, line := range h.got {
		words := strings.Fields(line)
		if words[0] != "signed" {
			t.Fatalf("got %s, want it signed", line)
		}
		ids = append(ids, words[1])
	}
	return ids
}

func (s *shop) notices() []store.Notice {
	s.t.Helper()
	var ns []store.Notice
	s.json(&ns, 0, "notifications", "list", "--json")
	return ns
}

// A farm's scheduler tells of a run once, before it ends.
func TestASchedulerTells(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.file("suite.yaml", manySuite())
	h := newHook(t, s, "", 0)
	sched, hands := farm(s, redistest.Start(t), "suite.yaml", 1, 1)
	conclude(s, sched, hands, 1)
	if ids := h.ids(t); len(ids) != 1 || !strings.Contains(h.got[0], "run.finished") {
		t.Errorf("got %v, want one message", h.got)
	}
	if ns := s.notices(); len(ns) != 1 || ns[0].State != store.NoticeSent || ns[0].Tries != 1 {
		t.Errorf("got the notices %+v, want one that is sent", ns)
	}
}

// A process that is killed after it has sent and before it has noted so leaves the
// notice behind. It goes out again under the same id.
func TestKilledWhileItTells(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.file("suite.yaml", manySuite())
	h := newHook(t, s, ", local: true", 1)
	p := s.start("run", "suite.yaml", "-n", "1", "--progress", "none")
	eventually(t, "the webhook is posted", func() bool { return len(h.ids(t)) == 1 || p.ended() })
	p.kill()
	close(h.held)
	if ns := s.notices(); len(ns) != 1 || ns[0].State != store.NoticeWaiting || ns[0].Tries != 1 {
		t.Fatalf("got the notices %+v, want one that waits", ns)
	}
	if out, code := s.run("notifications", "resend", "latest"); code != 0 {
		t.Fatalf("resend: exit code %d\n%s", code, out)
	}
	if ids := h.ids(t); len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("got the ids %v, want the same one twice", ids)
	}
	if ns := s.notices(); len(ns) != 1 || ns[0].State != store.NoticeSent {
		t.Errorf("got the notices %+v, want one that is sent", ns)
	}
}
