package cli_test

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
)

const choosySuite = `version: 1
name: choosy
servers: {shop: {command: [evalfarm, demo, acme]}}
defaults: {server: shop}
cases:
  - {id: plain, call: getCustomerStatus, arguments: {customerId: CUST-4091}, expect: {status: ACTIVE}}
  - {id: heavy, requires: [gpu], call: getCustomerStatus, arguments: {customerId: CUST-4091}, expect: {status: ACTIVE}}
  - {id: rare, requires: [x-ray, gpu], call: getCustomerStatus, arguments: {customerId: CUST-4091}, expect: {status: ACTIVE}}
`

// Trials wait for workers that have what they require, and go to no others.
func TestTrialsWaitForACapableWorker(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	redis := redistest.Start(t)
	sched, hands := farm(s, redis, s.file("suite.yaml", choosySuite), 2, 1)
	says := func(text string) func() bool {
		return func() bool {
			if sched.ended() {
				t.Fatalf("the scheduler ended\n%s", sched.errs.String())
			}
			out, _ := s.run("status")
			return strings.Contains(out, text)
		}
	}
	eventually(t, "the plain trials are done", func() bool { return s.done() == 2 })
	eventually(t, "status says what is lacking", says("waits for a worker with gpu\n"))
	eventually(t, "status says what else is lacking", says("waits for a worker with gpu and x-ray\n"))
	worker := append([]string{"worker"}, hands[0].cmd.Args[2:]...)
	hands = append(hands, s.start(append(worker, "--capability", "gpu")...))
	eventually(t, "those that require a gpu are done", func() bool { return s.done() == 4 })
	hands = append(hands, s.start(append(worker, "--capability", "x-ray", "--capability", "gpu", "--only")...))
	if got := conclude(s, sched, hands, 0); got.Counts.Pass != 6 {
		t.Errorf("%+v, want 6 pass", got.Counts)
	}
}

func TestOneProcessWithCapabilities(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", choosySuite)
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing claimed", nil, 2, "case heavy requires gpu"},
		{"a part claimed", []string{"--capability", "gpu"}, 2, "--capability x-ray"},
		{"no such name", []string{"--capability", "GPU"}, 2, "lower-case"},
		{"all claimed at once", []string{"--capability", "gpu,x-ray"}, 0, ""},
		{"all claimed", []string{"--capability", "gpu", "--capability", "x-ray"}, 0, ""},
		{"not selected", []string{"--case", "plain"}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := s.start(append([]string{"run", suite, "--progress", "none"}, tt.args...)...)
			if code := p.wait(); code != tt.code || !strings.Contains(p.errs.String(), tt.want) {
				t.Errorf("exit code %d, want %d and %q in\n%s", code, tt.code, tt.want, p.errs.String())
			}
		})
	}
	p := s.start("worker", "--redis", "redis://127.0.0.1:1", "--blobs", "http://127.0.0.1:1", "--only")
	if code := p.wait(); code != 2 {
		t.Errorf("--only without a capability: exit code %d, want 2", code)
	}
	// Claimed for all that this machine runs.
	s.env = append(s.env, "EVALFARM_CAPABILITIES=gpu,x-ray")
	if p := s.start("run", suite, "--progress", "none"); p.wait() != 0 {
		t.Errorf("what the environment claims is not taken\n%s", p.errs.String())
	}
	s.file("farm.yaml", "version: 1\ncapabilities: [gpu, x-ray]\n")
	s.env[len(s.env)-1] = "EVALFARM_CAPABILITIES="
	if p := s.start("run", suite, "--progress", "none"); p.wait() != 0 {
		t.Errorf("what the farm file claims is not taken\n%s", p.errs.String())
	}
	if out, _ := s.run("runs"); strings.Count(out, "choosy") != 5 {
		t.Errorf("what is refused must leave no run:\n%s", out)
	}
}
