package cli_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// leads finds the line of a scheduler that has begun to lead.
var leads = regexp.MustCompile(`(?m)^scheduler \S+ leads$`)

// serve starts a scheduler without suites, and tells where its workers join.
func serve(s *shop, redis *redistest.Server, flags ...string) (sched *process, at string) {
	s.t.Helper()
	sched = s.start(append([]string{"scheduler", "--redis", redis.URL(), "--listen", "127.0.0.1:0", "--lease", "2s", "--leader-lease", "3s"}, flags...)...)
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

func (p *process) leads() bool { return leads.MatchString(p.errs.String()) }

// join starts workers at a scheduler.
func join(s *shop, redis *redistest.Server, at string, workers int) []*process {
	s.t.Helper()
	var hands []*process
	for range workers {
		hands = append(hands, s.start("worker", "--redis", redis.URL(), "--blobs", at, "-j", "4", "-v"))
	}
	return hands
}

// enqueue leaves a run to the farm and gives its id.
func (s *shop) enqueue(args ...string) string {
	s.t.Helper()
	out, code := s.run(append([]string{"enqueue"}, args...)...)
	if code != 0 {
		s.t.Fatalf("enqueue: exit code %d\n%s", code, out)
	}
	return strings.TrimSpace(out)
}

// stopped sends SIGTERM to processes and wants them to end well.
func stopped(t *testing.T, ps ...*process) {
	t.Helper()
	for _, p := range ps {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range ps {
		if code := p.wait(); code != 0 {
			t.Errorf("%v: exit code %d after SIGTERM, want 0\n%s", p.cmd.Args[1:3], code, p.errs.String())
		}
	}
}

// A service carries out what is in its store when it starts and what comes later, and
// nothing else. Who watches sees the same as who runs.
func TestServiceCarriesWhatIsEnqueued(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	var embedded eval.Summary
	s.json(&embedded, 1, "run", suite, "--seed", "7", "-n", "4", "--json", "--progress", "none")

	// One that a process has left, and one for the farm.
	p := s.start("run", suite, "-n", "200", "--progress", "none")
	eventually(t, "results are stored", func() bool { return s.done() > 0 || p.ended() })
	p.kill()
	var left state
	s.json(&left, 0, "status", "--json")
	early := s.enqueue(suite, "--seed", "7", "-n", "4")

	redis := redistest.Start(t)
	sched, at := serve(s, redis)
	hands := join(s, redis, at, 2)
	var made eval.Run
	s.json(&made, 0, "enqueue", suite, "--seed", "7", "-n", "4", "--priority", "3", "--tenant", "ci", "--json")
	if made.State != eval.RunQueued || made.Carrier != eval.CarrierService || made.Priority != 3 || made.Tenant != "ci" {
		t.Errorf("enqueued %+v, want a queued run of the service with priority 3 of tenant ci", made)
	}
	for _, id := range []string{early, made.ID} {
		watch := s.start("watch", id, "--json", "--progress", "plain", "-o", "junit="+id+".xml")
		if code := watch.wait(); code != 1 {
			t.Fatalf("watch %s: exit code %d, want 1\n%s", id, code, watch.errs.String())
		}
		var got eval.Summary
		if err := json.Unmarshal([]byte(watch.out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got.Fingerprint != embedded.Fingerprint || got.Counts != embedded.Counts {
			t.Errorf("run %s: %+v %s; embedded: %+v %s; want the same", id, got.Counts, got.Fingerprint, embedded.Counts, embedded.Fingerprint)
		}
	}
	// There is nothing left to follow, and a watch tells what it came to.
	if out, code := s.run("watch", made.ID, "-q"); code != 1 || !strings.Contains(out, "fail") {
		t.Errorf("watch of a done run: exit code %d, want 1 and its verdict\n%s", code, out)
	}
	var after state
	s.json(&after, 0, "status", left.Run, "--json")
	if after.Counts != left.Counts {
		t.Errorf("the run of a process had %+v and has %+v, want it left alone", left.Counts, after.Counts)
	}
	stopped(t, append(hands, sched)...)
	if left := s.left(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

// Stopping the service stops no run: the next one goes on with it.
func TestServiceLeavesEverythingInTheStore(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	var embedded eval.Summary
	s.json(&embedded, 1, "run", suite, "--seed", "7", "-n", "10", "--json", "--progress", "none")

	redis := redistest.Start(t)
	sched, at := serve(s, redis)
	hands := join(s, redis, at, 1)
	run := s.enqueue(suite, "--seed", "7", "-n", "10")
	eventually(t, "results are stored", func() bool { return s.done() >= 50 })
	stopped(t, append(hands, sched)...)
	if st := s.state(); st.State != eval.RunRunning || st.Run != run {
		t.Errorf("run %s is %s, want %s to run still", st.Run, st.State, run)
	}
	if p := s.start("scheduler", "--redis", redis.URL(), "--listen", "127.0.0.1:0", "--resume", run); p.wait() != 2 {
		t.Errorf("a scheduler with suites resumes a run of the service\n%s", p.errs.String())
	}
	sched, at = serve(s, redis)
	hands = join(s, redis, at, 1)
	var got eval.Summary
	s.json(&got, 1, "watch", run, "--json", "--progress", "none")
	if got.Fingerprint != embedded.Fingerprint || got.Counts != embedded.Counts {
		t.Errorf("got %+v %s, want %+v %s", got.Counts, got.Fingerprint, embedded.Counts, embedded.Fingerprint)
	}
	stopped(t, append(hands, sched)...)
}

// What people want of a run of the farm, they write into the store.
func TestPeopleAndARunOfTheService(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	redis := redistest.Start(t)
	run := s.enqueue(suite, "-n", "40")
	if out, code := s.run("resume", run); code != 0 || !strings.Contains(out, "once a scheduler leads") {
		t.Errorf("resume without a scheduler: exit code %d\n%s", code, out)
	}
	if p := s.start("run", suite, "--case", "case-01", "-q"); p.wait() != 0 {
		t.Fatal(p.errs.String())
	}
	if p := s.start("pause"); p.wait() != 2 {
		t.Errorf("pause without a run is taken")
	}
	if p := s.start("pause", "latest"); p.wait() != 2 {
		t.Errorf("a done run is paused\n%s", p.errs.String())
	}
	port, err := freeport.Hold(t.Cleanup) // the workers stay
	if err != nil {
		t.Fatal(err)
	}
	sched, at := serve(s, redis, "--listen", "127.0.0.1:"+port)
	eventually(t, "status says that there is no worker", func() bool {
		out, _ := s.run("status", run)
		return strings.Contains(out, "waits for a worker; none takes trials now")
	})
	hands := join(s, redis, at, 2)
	standing := func() (st state) {
		s.json(&st, 0, "status", run, "--json")
		return st
	}
	eventually(t, "results are stored", func() bool { return standing().Counts.Total() > 20 })
	if out, code := s.run("pause", run); code != 0 {
		t.Fatalf("pause: exit code %d\n%s", code, out)
	}
	eventually(t, "nothing runs or waits to be stored", func() bool {
		st := standing()
		return st.State == eval.RunPaused && st.Live != nil && len(st.Live.Running) == 0 && len(s.spooled()) == 0
	})
	// The next leader knows too.
	stopped(t, sched)
	paused := standing().Counts
	sched, _ = serve(s, redis, "--listen", "127.0.0.1:"+port)
	eventually(t, "a scheduler leads", sched.leads)
	// Another run comes to its end, and with it what the workers' eight slots had of the
	// paused one. From then on nothing moves.
	for _, most := range []int{8, 0} {
		other := s.enqueue(suite, "-n", "1")
		s.json(new(eval.Summary), 1, "watch", other, "--json", "--progress", "none")
		st := standing()
		if more := st.Counts.Total() - paused.Total(); st.State != eval.RunPaused || more > most {
			t.Errorf("the paused run is %s with %+v after %+v, want it paused and at most %d more", st.State, st.Counts, paused, most)
		}
		paused = st.Counts
	}
	if out, code := s.run("resume", run); code != 0 || !strings.Contains(out, "goes on") {
		t.Errorf("resume: exit code %d\n%s", code, out)
	}
	eventually(t, "it goes on", func() bool { return standing().Counts.Total() > paused.Total() })
	if out, code := s.run("cancel", run); code != 0 || !strings.Contains(out, "scheduler") {
		t.Errorf("cancel: exit code %d\n%s", code, out)
	}
	eventually(t, "it is done", func() bool { return standing().State == eval.RunDone })
	if st := standing(); st.Outcome != eval.OutcomeRunCancelled {
		t.Errorf("outcome %s, want it cancelled", st.Outcome)
	}
	// What a cancel left is tried again there.
	retry := s.start("retry", run, "--watch", "--json", "--progress", "none")
	if code := retry.wait(); code != 1 {
		t.Fatalf("retry: exit code %d, want 1\n%s", code, retry.errs.String())
	}
	var got eval.Summary
	if err := json.Unmarshal([]byte(retry.out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Counts.Pass != 45*40 || got.Counts.Fail != 5*40 {
		t.Errorf("counts %+v after the retry, want all of them", got.Counts)
	}
	stopped(t, append(hands, sched)...)
}

func TestServiceRefusesFlagsOfRuns(t *testing.T) {
	s := newShop(t)
	for _, args := range [][]string{{"-n", "3"}, {"--json"}, {"--budget-usd", "1"}, {"--leader-lease", "1ms"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			p := s.start(append([]string{"scheduler", "--redis", "redis://127.0.0.1:1"}, args...)...)
			if code := p.wait(); code != 2 {
				t.Errorf("exit code %d, want 2\n%s", code, p.errs.String())
			}
		})
	}
}

// Workers and schedulers are restarted one after the other, amid a run: nothing is lost,
// and nothing is done twice.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	var embedded eval.Summary
	s.json(&embedded, 1, "run", suite, "--seed", "7", "-n", "20", "--json", "--progress", "none")

	redis := redistest.Start(t)
	first, at := serve(s, redis)
	eventually(t, "the first leads", first.leads)
	second, other := serve(s, redis)
	eventually(t, "the second stands by", func() bool { return strings.Contains(second.errs.String(), "standing by") })
	hands := append(join(s, redis, at, 1), join(s, redis, other, 1)...) // a standby serves blobs
	run := s.enqueue(suite, "--seed", "7", "-n", "20")
	further := func(n int) {
		t.Helper()
		eventually(t, "it goes on", func() bool { return s.done() >= n })
	}
	further(50)
	stopped(t, hands[0])
	hands[0] = join(s, redis, other, 1)[0]
	further(200)
	stopped(t, first)
	eventually(t, "the second leads", second.leads)
	first, at = serve(s, redis)
	further(400)
	stopped(t, hands[1])
	hands[1] = join(s, redis, at, 1)[0]
	further(600)
	stopped(t, second)
	eventually(t, "the new one leads", first.leads)

	var got eval.Summary
	s.json(&got, 1, "watch", run, "--json", "--progress", "none")
	if got.Fingerprint != embedded.Fingerprint || got.Counts != embedded.Counts {
		t.Errorf("got %+v %s, want %+v %s", got.Counts, got.Fingerprint, embedded.Counts, embedded.Fingerprint)
	}
	lines := s.lines()
	if len(lines) != 1000 {
		t.Errorf("%d trials have a result, want 1000", len(lines))
	}
	for _, l := range lines {
		if l.Attempt != 1 {
			t.Errorf("trial %d has the result of attempt %d, want the first", l.Ordinal, l.Attempt)
		}
	}
	stopped(t, append(hands, first)...)
}
