package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// manySuite has 50 script cases on one server, some of which fail, so that a
// fingerprint has something to say.
func manySuite() string {
	var b strings.Builder
	b.WriteString("version: 1\nname: many\nservers:\n  shop: {command: [evalfarm, demo, acme]}\ndefaults: {server: shop}\ncases:\n")
	for i := range 50 {
		tier := "ENTERPRISE_TIER"
		if i%10 == 0 {
			tier = "WRONG_TIER"
		}
		fmt.Fprintf(&b, "  - {id: case-%02d, call: getCustomerStatus, arguments: {customerId: CUST-4091}, expect: {tier: %s}}\n", i, tier)
	}
	return b.String()
}

// killed starts a run, kills it with kill -9 as often as asked, resumes it each
// time, and gives the summary.
func killed(s *shop, suite string, repeats, kills int) eval.Summary {
	t := s.t
	t.Helper()
	total := 50 * repeats
	p := s.start("run", suite, "--seed", "7", "-n", fmt.Sprint(repeats), "--progress", "none", "-q")
	for k := 1; k <= kills; k++ {
		want := total * k / (kills + 2)
		eventually(t, fmt.Sprintf("%d results are stored", want), func() bool {
			if p.ended() {
				t.Fatalf("the run ended before it could be killed\n%s", p.errs.String())
			}
			return s.done() >= want
		})
		p.kill()
		eventually(t, "no process of a server is left", func() bool { return len(s.left()) == 0 })
		if done := s.done(); done >= total {
			t.Fatalf("kill %d came too late: %d results", k, done)
		}
		p = s.start("resume", "latest", "--json", "--progress", "none")
	}
	if code := p.wait(); code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, p.errs.String())
	}
	var summary eval.Summary
	if err := json.Unmarshal([]byte(p.out.String()), &summary); err != nil {
		t.Fatal(err)
	}
	return summary
}

// done is how many results the latest run has; 0 while there is none.
func (s *shop) done() int {
	out, code := s.run("status", "--json")
	var st struct{ Done int }
	if code != 0 || json.Unmarshal([]byte(out), &st) != nil {
		return 0
	}
	return st.Done
}

func testKilledRun(t *testing.T, repeats int) {
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	var undisturbed eval.Summary
	s.json(&undisturbed, 1, "run", suite, "--seed", "7", "-n", fmt.Sprint(repeats), "--json", "--progress", "none")

	k := newShop(t)
	k.file("suite.yaml", manySuite())
	got := killed(k, "suite.yaml", repeats, 3)

	if got.Fingerprint != undisturbed.Fingerprint || got.Fingerprint == "" {
		t.Errorf("fingerprint %s, undisturbed %s; want the same", got.Fingerprint, undisturbed.Fingerprint)
	}
	if got.Counts != undisturbed.Counts || got.Counts.Pass != 45*repeats || got.Counts.Fail != 5*repeats {
		t.Errorf("counts %+v, undisturbed %+v; want %d pass and %d fail in both", got.Counts, undisturbed.Counts, 45*repeats, 5*repeats)
	}
	k.once(50 * repeats)
	if left := k.left(); len(left) > 0 {
		t.Errorf("processes are left: %q", left)
	}
}

func TestKilledRunEndsAsIfUndisturbed(t *testing.T) {
	t.Parallel()
	testKilledRun(t, 10)
}

func TestInterruptedRunSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	for _, tt := range []struct {
		name   string
		signal syscall.Signal
		code   int
	}{
		{"interrupt", syscall.SIGINT, 130},
		{"terminate", syscall.SIGTERM, 143},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := s.done()
			p := s.start("run", suite, "-n", "200", "--progress", "plain")
			eventually(t, "results of the new run are stored", func() bool { n := s.done(); return n > 0 && n != before })
			p.signal(tt.signal)
			if code := p.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !strings.Contains(p.errs.String(), "continue: evalfarm resume r-") {
				t.Errorf("no resume command in\n%s", p.errs.String())
			}
			eventually(t, "no process of a server is left", func() bool { return len(s.left()) == 0 })
			if out, code := s.run("cancel", "latest"); code != 0 {
				t.Errorf("cancel: exit %d\n%s", code, out)
			}
			before = s.done()
		})
	}
}

func TestSecondOwnerIsToldWhoHasTheRun(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	p := s.start("run", suite, "-n", "200", "--progress", "none")
	eventually(t, "results are stored", func() bool { return s.done() > 0 })
	second := s.start("resume", "latest")
	if code := second.wait(); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if want := fmt.Sprintf("process %d", p.cmd.Process.Pid); !strings.Contains(second.errs.String(), want) {
		t.Errorf("got %q, want it to name %s", second.errs.String(), want)
	}
	// Another terminal ends it.
	if _, code := s.run("cancel", "latest"); code != 0 {
		t.Errorf("cancel: exit code %d", code)
	}
	if code := p.wait(); code != 4 && code != 1 {
		t.Errorf("the cancelled run: exit code %d, want 1 (its failed cases) or 4", code)
	}
}

// slowSuite polls for longer than any test waits.
const slowSuite = `version: 1
name: slow
servers: {shop: {command: [evalfarm, demo, acme]}}
defaults: {server: shop}
cases:
  - id: slow
    call: getCustomerStatus
    arguments: {customerId: CUST-4091}
    repeat_until: {path: status, equals: NEVER, max: 10000, every: 1s}
`

func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	p := s.start("run", s.file("suite.yaml", slowSuite), "--progress", "plain", "--grace", "1h")
	eventually(t, "the server runs", func() bool { return len(s.left()) > 1 })
	p.signal(syscall.SIGINT)
	eventually(t, "the first signal is answered", func() bool { return strings.Contains(p.errs.String(), "Ctrl-C again") })
	if p.ended() {
		t.Fatal("the first signal ended the run; its trial has an hour")
	}
	p.signal(syscall.SIGINT)
	if code := p.wait(); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	eventually(t, "no process of a server is left", func() bool { return len(s.left()) == 0 })
}

// Which Redis carries the jobs changes no result.
func TestBrokersAgree(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	redis := redistest.Start(t)
	var want string
	for _, flags := range [][]string{nil, {"--broker", "spawn"}, {"--redis", redis.URL()}} {
		var got eval.Summary
		s.json(&got, 1, append([]string{"run", suite, "--seed", "7", "--json", "--progress", "none"}, flags...)...)
		if want == "" {
			want = got.Fingerprint
		}
		if got.Fingerprint != want || got.Counts.Pass != 45 {
			t.Errorf("with %q: %+v %s, want 45 pass and %s", flags, got.Counts, got.Fingerprint, want)
		}
	}
}
