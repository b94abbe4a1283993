//go:build soak

package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stub"
)

// The promise at its full size: 5,000 trials, killed three times.
func TestSoakKilledRun(t *testing.T) { testKilledRun(t, 100) }

func TestSoakConfiguredRate(t *testing.T) {
	if got := rated(t, 400, 2, ", rate: {requests_per_minute: 600}", false); got.RateLimited != 0 {
		t.Errorf("%d of %d calls were refused, want none", got.RateLimited, got.Calls)
	}
}

// At most one call in fifty is spent on finding out what a provider allows.
func TestSoakUnknownRate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		silent bool
	}{
		{"told in headers", false},
		{"never told", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := rated(t, 1500, 8, "", tt.silent); refusedShare(got) > 0.02 {
				t.Errorf("%d of %d calls were refused, want at most 2 %%", got.RateLimited, got.Calls)
			}
		})
	}
}

func TestSoakPauseInEveryForm(t *testing.T) {
	pausedFarm(t, 250, "30=7s/seconds", "65=7s/float", "100=7s/http-date", "135=7s/ms", "170=7s/reset-headers", "205=7s/retry-info")
}

// Trials that have not begun are given back when they would have to wait for long,
// without an attempt. The run goes on after that.
func TestSoakLongPauseGivesTrialsBack(t *testing.T) {
	for _, tt := range []struct {
		name  string
		start func(s *shop, suite string) (run *process, hands []*process)
	}{
		{"embedded", func(s *shop, suite string) (*process, []*process) {
			return s.start("run", suite, "-n", "4", "-j", "8", "--json", "--progress", "none"), nil
		}},
		{"four workers", func(s *shop, suite string) (*process, []*process) {
			return staff(s, redistest.Start(s.t), 4, 2, "-n", "4", suite)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits
			s := newShop(t)
			p := provide(t, stub.Options{Latency: latency(t, "300ms"), Pauses: []stub.Pause{{Call: 12, Wait: 35 * time.Second}}})
			run, hands := tt.start(s, ratesSuite(s, p, 10, openai(", rate: {requests_per_minute: 6000}")))
			eventually(t, "no trial is with a worker", func() bool {
				if run.ended() {
					t.Fatalf("the run ended\n%s", run.errs.String())
				}
				paused := p.Stats().Pauses
				if len(paused) == 0 {
					return false
				}
				live := s.state().Live
				return live != nil && live.At.After(paused[0].At) && len(live.Running) == 0
			})
			conclude(s, run, hands, 0)
			s.atFirst(40)
			heeded(t, p.Stats(), 1, 40)
		})
	}
}

func TestSoakBudgetIsKeptWhateverIsKilled(t *testing.T) { budgetKilled(t, 2_400_000, 800_000) }

// Processes that die over and over spend no more than a cap either.
func TestSoakBudgetIsKeptOverManyKills(t *testing.T) {
	const limit = 2_000_000
	s := newShop(t)
	p := provide(t, stub.Options{Latency: latency(t, "uniform(200ms,800ms)")})
	run := s.start("run", costlySuite(s, paid(p), ""), "-n", "50", "-j", "16", "--lease", "2s", "--budget-usd", fmt.Sprint(limit/1e6), "--json", "--progress", "none")
	for range 6 {
		when := p.spent() + 100_000
		eventually(t, "some of the budget is spent", func() bool { return p.spent() >= when || run.ended() })
		run.kill()
		run = s.start("resume", "latest", "-j", "16", "--lease", "2s", "--json", "--progress", "none")
	}
	conclude(s, run, nil, 4)
	s.within(p, limit)
	l := s.state().Ledger
	t.Logf("the provider wants $%.3f; %+v", float64(p.spent())/1e6, l)
	if l.Charged.MicroUSD == 0 {
		t.Error("nothing was charged for what the kills cut off")
	}
}

// By the clock of this machine, two schedulers fire every minute once, for five
// minutes; the one that leads is killed on the way.
func TestSoakScheduleFiresOnceWhoeverLeads(t *testing.T) {
	s := newShop(t)
	suite := scriptedSuite(s, "1ms")
	redis := redistest.Start(t)
	first, at := serve(s, redis)
	eventually(t, "the first leads", first.leads)
	second, other := serve(s, redis)
	hands := append(join(s, redis, at, 1), join(s, redis, other, 1)...)
	if _, code := s.run("schedule", "add", "minutely", suite, "--cron", "* * * * *"); code != 0 {
		t.Fatalf("schedule add: exit code %d", code)
	}
	firings := func() (fs []eval.Firing) {
		s.json(&fs, 0, "schedule", "history", "minutely", "--json")
		return fs
	}
	wait := func(n int) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Minute); len(firings()) < n; time.Sleep(time.Second) {
			if time.Now().After(deadline) {
				t.Fatalf("got %+v, want %d firings", firings(), n)
			}
		}
	}
	wait(2)
	// Just before the third is due, so that the one that takes over has to fire it.
	time.Sleep(time.Until(time.Now().Truncate(time.Minute).Add(59 * time.Second)))
	first.kill()
	eventually(t, "the second leads", second.leads)
	wait(5)
	fs := firings()
	for i, f := range fs {
		if want := fs[len(fs)-1].Due.Add(time.Duration(len(fs)-1-i) * time.Minute); !f.Due.Equal(want) || f.Outcome != eval.FiringStarted {
			t.Errorf("firing %d is that of %s: %s; want that of %s started", i, f.Due, f.Outcome, want)
		}
	}
	if len(fs) != 5 {
		t.Errorf("%d firings in five minutes, want 5", len(fs))
	}
	for _, f := range fs {
		var got eval.Summary
		s.json(&got, 0, "watch", f.Run, "--json", "--progress", "none")
	}
	stopped(t, append(hands, second)...)
}

// A run of a million trials is taken, given out in a window and cancelled half way. What
// the scheduler and Redis need of memory does not grow with it.
func TestSoakMillionTrials(t *testing.T) {
	const trials, most = 1_000_000, 200 << 20
	s := newShop(t)
	suite := scriptedSuite(s, "1ms")
	redis := redistest.Start(t)
	sched, at := serve(s, redis, "--lease", "45s")
	hands := []*process{s.start("worker", "--redis", redis.URL(), "--blobs", at, "-j", "32")}
	begun := time.Now()
	run := s.enqueue(suite, "-n", fmt.Sprint(trials))
	t.Logf("taken after %s", time.Since(begun).Round(time.Millisecond))
	for deadline := begun.Add(2 * time.Hour); s.done() < trials/2; time.Sleep(5 * time.Second) {
		if sched.ended() || time.Now().After(deadline) {
			t.Fatalf("%d results after %s\n%s", s.done(), time.Since(begun), sched.errs.String())
		}
	}
	t.Logf("half of them after %s", time.Since(begun).Round(time.Second))
	cancelled := time.Now()
	if out, code := s.run("cancel", run); code != 0 {
		t.Fatalf("cancel: exit code %d\n%s", code, out)
	}
	watch := s.start("watch", run, "--json", "--progress", "none")
	if code := watch.wait(); code != 4 {
		t.Errorf("watch: exit code %d, want 4\n%s", code, watch.errs.String())
	}
	var got eval.Summary
	if err := json.Unmarshal([]byte(watch.out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Outcome != eval.OutcomeRunCancelled || got.Counts.Pass < trials/2 || got.Counts.Total() != trials {
		t.Errorf("it is %s with %+v, want it cancelled, half of it passed and the rest unfinished", got.Outcome, got.Counts)
	}
	t.Logf("done %s after the cancel", time.Since(cancelled).Round(time.Millisecond))
	resident := numberOf(t, `VmHWM:\s+(\d+) kB`, "cat", fmt.Sprintf("/proc/%d/status", sched.cmd.Process.Pid)) << 10
	used := numberOf(t, `used_memory_peak:(\d+)`, "redis-cli", "-s", strings.TrimPrefix(redis.URL(), "unix://"), "info", "memory")
	t.Logf("at most, the scheduler has had %d MiB resident and Redis %d MiB in use", resident>>20, used>>20)
	if resident > most || used > most {
		t.Errorf("the scheduler has had %d bytes and Redis %d, want no more than %d", resident, used, most)
	}
	stopped(t, append(hands, sched)...)
}

// numberOf finds a number in what a command prints.
func numberOf(t *testing.T, pattern string, command ...string) int {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	found := regexp.MustCompile(pattern).FindSubmatch(out)
	if err != nil || found == nil {
		t.Fatalf("%q: %v, and no %s in\n%s", command, err, pattern, out)
	}
	n, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
