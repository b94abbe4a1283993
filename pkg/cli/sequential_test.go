package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// sequentialSuite has 20 cases of an agent that is right three times out of four, and
// stops when it is decided whether that is more often than every other time.
const sequentialSuite = `version: 1
name: sequential
servers: {shop: {command: [evalfarm, demo, acme]}}
models: {agent: {provider: scripted, script: policy.yaml}}
defaults: {server: shop}
repeats: {min: 2, max: 10, stop: decided}
gate: {pass_rate: ">= 0.55"}
cases:
  - {id: ask, each: {n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]}, prompt: "Is it {{n}}?", checks: [{contains: "Yes"}]}
`

const sequentialPolicy = `version: 1
default:
  - choose:
      - {weight: 75, moves: [{say: "Yes.", usage: {input: 1, output: 1}, latency: 20ms}]}
      - {weight: 25, moves: [{say: "No.", usage: {input: 1, output: 1}, latency: 20ms}]}
`

// Killed about its looks, a run stops at the same one as if nobody had touched it, and
// comes to the same.
func TestKilledAtALook(t *testing.T) {
	s := newShop(t)
	s.file("policy.yaml", sequentialPolicy)
	suite := s.file("suite.yaml", sequentialSuite)
	var undisturbed eval.Summary
	s.json(&undisturbed, 0, "run", suite, "--seed", "5", "--json", "--progress", "none")
	q := undisturbed.Sequential
	if q == nil || !q.Decided || q.Rounds < 3 || q.Rounds == 10 {
		t.Fatalf("got %+v, want a run that is decided at a look in between", q)
	}

	k := newShop(t)
	k.file("policy.yaml", sequentialPolicy)
	k.file("suite.yaml", sequentialSuite)
	p := k.start("run", "suite.yaml", "--seed", "5", "--progress", "none", "-q", "-j", "2")
	for round := 2; round < q.Rounds && round < 4; round++ {
		eventually(t, fmt.Sprintf("the trials up to the look after round %d are stored", round), func() bool { return p.ended() || k.done() >= 20*round })
		if p.ended() {
			t.Fatalf("the run ended before it could be killed\n%s", p.errs.String())
		}
		p.kill()
		eventually(t, "no process of a server is left", func() bool { return len(k.left()) == 0 })
		p = k.start("resume", "latest", "--json", "--progress", "none", "-j", "2")
	}
	if code := p.wait(); code != 0 {
		t.Fatalf("exit code %d, want 0\n%s", code, p.errs.String())
	}
	var got eval.Summary
	if err := json.Unmarshal([]byte(p.out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if got.Fingerprint != undisturbed.Fingerprint || got.Fingerprint == "" {
		t.Errorf("fingerprint %s, undisturbed %s; want the same", got.Fingerprint, undisturbed.Fingerprint)
	}
	if got.Trials != undisturbed.Trials || got.Counts != undisturbed.Counts || got.Sequential == nil || got.Sequential.Rounds != q.Rounds {
		t.Errorf("got %d trials, %+v, %+v; undisturbed %d, %+v, %+v", got.Trials, got.Counts, got.Sequential, undisturbed.Trials, undisturbed.Counts, q)
	}
	if why := strings.Join(got.Reasons, "\n"); why != strings.Join(undisturbed.Reasons, "\n") {
		t.Errorf("got reasons %s, undisturbed %s", why, strings.Join(undisturbed.Reasons, "\n"))
	}
	k.once(got.Trials)
}
