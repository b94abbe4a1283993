package cli_test

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/redistest"
)

// Scheduler and worker say how they fare: also while their Redis is away, and while
// they drain.
func TestHealthOfAFarm(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	redis := redistest.Start(t)
	sched, at := serve(s, redis)
	port, err := freeport.Hold(t.Cleanup)
	if err != nil {
		t.Fatal(err)
	}
	hand := s.start("worker", "--redis", redis.URL(), "--blobs", at, "-j", "1", "--health", "127.0.0.1:"+port)
	worker := "http://127.0.0.1:" + port
	says := func(url string) (string, int) {
		p := s.start("health", url)
		code := p.wait()
		return p.out.String() + p.errs.String(), code
	}
	until := func(what, url string, code int, word string) {
		t.Helper()
		eventually(t, what, func() bool {
			got, exit := says(url)
			return exit == code && strings.Contains(got, word)
		})
	}
	until("the worker is ready", worker, 0, "ok")
	until("the scheduler is ready", at, 0, "ok")

	redis.Freeze()
	until("the worker waits for its queue", worker, 3, "the queue does not answer")
	for _, url := range []string{worker + "/healthz", at + "/healthz", at} {
		if got, code := says(url); code != 0 {
			t.Errorf("%s while the queue is away: exit code %d, want 0\n%s", url, code, got)
		}
	}
	redis.Thaw()
	until("the worker is ready again", worker, 0, "ok")
	stopped(t, hand, sched)
	if got, code := says(worker); code != 3 || !strings.Contains(got, "ask for its health") {
		t.Errorf("after its end: exit code %d, want 3\n%s", code, got)
	}
}
