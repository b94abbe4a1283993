package cli_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// joinAt finds the address that a scheduler prints.
var joinAt = regexp.MustCompile(`workers join at (http://\S+)`)

// farm starts a scheduler for a suite and as many workers as asked, all on one
// Redis.
func farm(s *shop, redis *redistest.Server, suite string, repeats, workers int) (sched *process, hands []*process) {
	s.t.Helper()
	sched, at := lead(s, redis, "-n", fmt.Sprint(repeats), suite)
	for range workers {
		hands = append(hands, s.start("worker", "--redis", redis.URL(), "--blobs", at, "-j", "4", "-v"))
	}
	return sched, hands
}

// lead starts a scheduler, and gives the address at which workers join.
func lead(s *shop, redis *redistest.Server, args ...string) (sched *process, at string) {
	s.t.Helper()
	sched = s.start(append([]string{"scheduler", "--redis", redis.URL(), "--listen", "127.0.0.1:0", "--lease", "2s", "--seed", "7", "--json"}, args...)...)
	eventually(s.t, "the scheduler says where workers join", func() bool {
		if sched.ended() {
			s.t.Fatalf("the scheduler ended\n%s", sched.errs.String())
		}
		if m := joinAt.FindStringSubmatch(sched.errs.String()); m != nil {
			at = m[1]
		}
		return at != ""
	})
	return sched, at
}

// conclude waits for the scheduler, wants an exit code and gives its summary.
func conclude(s *shop, sched *process, hands []*process, want int) eval.Summary {
	s.t.Helper()
	if code := sched.wait(); code != want {
		s.t.Fatalf("scheduler: exit code %d, want %d\n%s", code, want, sched.errs.String())
	}
	var summary eval.Summary
	if err := json.Unmarshal([]byte(sched.out.String()), &summary); err != nil {
		s.t.Fatal(err)
	}
	for _, h := range hands {
		if h.ended() {
			continue
		}
		h.signal(syscall.SIGTERM)
		if code := h.wait(); code != 0 && code != 143 {
			s.t.Errorf("worker: exit code %d\n%s", code, h.errs.String())
		}
	}
	if left := s.left(); len(left) > 0 {
		s.t.Errorf("processes are left: %q", left)
	}
	return summary
}

// The data's path through a scheduler, a real Redis and two workers ends in the
// same as the whole farm in one process.
func TestFarmOfTwoWorkers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	var embedded eval.Summary
	s.json(&embedded, 1, "run", suite, "--seed", "7", "-n", "4", "--json", "--progress", "none")

	redis := redistest.Start(t)
	sched, hands := farm(s, redis, suite, 4, 2)
	got := conclude(s, sched, hands, 1)
	if got.Fingerprint != embedded.Fingerprint || got.Counts != embedded.Counts {
		t.Errorf("farm: %+v %s; embedded: %+v %s; want the same", got.Counts, got.Fingerprint, embedded.Counts, embedded.Fingerprint)
	}
	for i, h := range hands {
		if !strings.Contains(h.errs.String(), "worker joined") {
			t.Errorf("worker %d never joined\n%s", i, h.errs.String())
		}
	}
}

// A run that changes its Redis on the way, and comes back to one that still holds
// jobs of the time before, does no finished trial again.
func TestResumeOnAnOldRedisRepeatsNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.file("suite.yaml", manySuite())
	redis := redistest.Start(t)
	p := s.start("run", "suite.yaml", "--redis", redis.URL(), "-n", "10", "--progress", "none", "-q")
	eventually(t, "results are stored", func() bool { return s.done() > 50 || p.ended() })
	p.kill()
	p = s.start("resume", "latest", "--progress", "none", "-q")
	before := s.done()
	eventually(t, "more results are stored", func() bool { return s.done() > before+50 || p.ended() })
	p.kill()
	had := s.done()
	out, _ := s.run("report", "latest", "-o", "jsonl=-")
	if code := s.start("resume", "latest", "--redis", redis.URL(), "--progress", "none", "-q").wait(); code != 1 {
		t.Fatalf("exit code %d, want 1", code)
	}
	after, _ := s.run("report", "latest", "-o", "jsonl=-")
	kept := 0
	for line := range strings.Lines(out) {
		if strings.Contains(after, line) {
			kept++
		}
	}
	if kept < had {
		t.Errorf("%d of %d stored results stand as they were, want all", kept, had)
	}
}

// While a scheduler has a run, nobody else may carry it out.
func TestSchedulerOwnsItsRun(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	redis := redistest.Start(t)
	sched, _ := farm(s, redis, suite, 1, 0)
	p := s.start("resume", "latest")
	if code := p.wait(); code != 3 || !strings.Contains(p.errs.String(), fmt.Sprintf("process %d", sched.cmd.Process.Pid)) {
		t.Errorf("exit code %d, want 3 and the scheduler's process\n%s", code, p.errs.String())
	}
	if out, _ := s.run("status"); !strings.Contains(out, fmt.Sprintf("process %d", sched.cmd.Process.Pid)) {
		t.Errorf("status does not name the scheduler: %s", out)
	}
}

func TestWorkerWithoutTheTokenIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	redis := redistest.Start(t)
	sched, _ := farm(s, redis, suite, 1, 0)
	at := joinAt.FindStringSubmatch(sched.errs.String())[1]
	s.env = append(s.env, "EVALFARM_TOKEN=another")
	p := s.start("worker", "--redis", redis.URL(), "--blobs", at)
	if code := p.wait(); code != 3 || !strings.Contains(p.errs.String(), "401") {
		t.Errorf("exit code %d, want 3 and a 401\n%s", code, p.errs.String())
	}
}
