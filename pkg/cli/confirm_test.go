package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// comparedSuite has two cases that a broken server fails, and a gate that tries them
// again.
func comparedSuite(server string) string {
	return `version: 1
name: shop
servers: {shop: {command: [evalfarm, demo, acme` + server + `]}}
models: {agent: {provider: scripted, script: policy.yaml}}
defaults: {server: shop}
repeats: 3
gate: {regressions: {baseline: main, margin: 0.2, confirm: {repeats: 8}}}
cases:
  - {id: good, each: {n: [1, 2, 3, 4, 5, 6]}, prompt: "Is it {{n}}?", checks: [{contains: ACTIVE}]}
  - {id: tier, each: {n: [1, 2]}, prompt: "Which tier is {{n}}?", checks: [{contains: ENTERPRISE_TIER}]}
`
}

const comparedPolicy = `version: 1
default:
  - {call: getCustomerStatus, arguments: {customerId: CUST-4091}}
  - {say: "{{last}}", usage: {input: 1, output: 1}, latency: 100ms}
`

// Killed while its suspects are tried again, a run goes on with them, makes no other ones,
// and comes to what it would have come to.
func TestKilledWhileSuspectsAreTried(t *testing.T) {
	s := newShop(t)
	s.file("policy.yaml", comparedPolicy)
	good, broken := s.file("good.yaml", comparedSuite("")), s.file("broken.yaml", comparedSuite(", --break, renamed-tier"))
	var summary eval.Summary
	for _, seed := range []string{"1", "2", "3", "4"} {
		s.json(&summary, 0, "run", good, "--seed", seed, "--json", "--progress", "none")
	}
	if out, code := s.run("baseline", "set", "main", "latest"); code != 0 {
		t.Fatalf("baseline: exit %d\n%s", code, out)
	}
	var undisturbed eval.Summary
	s.json(&undisturbed, 1, "run", broken, "--seed", "5", "--json", "--progress", "none")
	if c := undisturbed.Confirmation; c == nil || c.Trials != 16 || c.Counts.Fail != 16 {
		t.Fatalf("got confirmation %+v, want two suspects that fail eight times each", c)
	}

	p := s.start("run", broken, "--seed", "5", "--progress", "none", "-q", "-j", "2")
	eventually(t, "some suspects have been tried again", func() bool {
		if p.ended() {
			t.Fatalf("the run ended before it could be killed\n%s", p.errs.String())
		}
		var st struct{ Confirmation *struct{ Done int } }
		out, code := s.run("status", "--json")
		return code == 0 && json.Unmarshal([]byte(out), &st) == nil && st.Confirmation != nil && st.Confirmation.Done >= 3
	})
	p.kill()
	eventually(t, "no process of a server is left", func() bool { return len(s.left()) == 0 })
	var got eval.Summary
	s.json(&got, 1, "resume", "latest", "--json", "--progress", "none")
	if got.Fingerprint != undisturbed.Fingerprint || got.Trials != 24 {
		t.Errorf("fingerprint %s of %d trials, undisturbed %s; want the same", got.Fingerprint, got.Trials, undisturbed.Fingerprint)
	}
	if c := got.Confirmation; c == nil || c.Trials != 16 || c.Counts != undisturbed.Confirmation.Counts {
		t.Fatalf("got confirmation %+v, undisturbed %+v", c, undisturbed.Confirmation)
	}
	var again, before eval.Summary
	s.json(&again, 0, "report", got.Confirmation.Run, "--json")
	s.json(&before, 0, "report", undisturbed.Confirmation.Run, "--json")
	if again.Fingerprint != before.Fingerprint || again.Fingerprint == "" {
		t.Errorf("fingerprint %s of the fresh repeats, undisturbed %s; want the same", again.Fingerprint, before.Fingerprint)
	}
	s.once(24)
}
