package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
)

// writes a file below a shop, with its folders.
func (s *shop) below(name, content string) string {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o700); err != nil {
		s.t.Fatal(err)
	}
	return s.file(name, content)
}

// nightly writes a suite of several files that uses a registered server.
func (s *shop) nightly() string {
	s.below("go.mod", "module shop\n")
	s.below("suites/base.yaml", "version: 1\ndefaults: {server: shop}\n")
	s.below("suites/nightly/cases/one.yaml", "version: 1\ncases:\n  - {id: one, call: getCustomerStatus, arguments: {customerId: CUST-4091}, expect: {tier: ENTERPRISE_TIER}}\n")
	s.below("suites/nightly/rows.csv", "id,tier\nright,ENTERPRISE_TIER\nwrong,WRONG_TIER\n")
	return s.below("suites/nightly/suite.yaml", `version: 1
extends: ../base.yaml
vars: {customer: "${{ env.CUSTOMER }}"}
servers:
  shop: {registered: acme}
include:
  - cases/*.yaml
  - dataset: rows.csv
    id: row/{{row.id}}
    case:
      call: getCustomerStatus
      arguments: {customerId: "${{ vars.customer }}"}
      expect: {tier: "{{row.tier}}"}
`)
}

const farmYAML = "version: 1\nservers:\n  acme: {command: [evalfarm, demo, acme]}\n"

// laptop is another machine's: it has neither the store of a farm nor its farm file.
func laptop(t *testing.T, at string) *shop {
	s := newShop(t)
	s.env = append(s.env, "EVALFARM_SERVER_URL="+at, "CUSTOMER=CUST-4091")
	return s
}

// Who has neither the store nor the Redis of a farm uses it over its API: what commands
// print, and the codes with which they exit, are those of a run on one machine.
func TestFarmOverItsAPI(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.env = append(s.env, "CUSTOMER=CUST-4091")
	s.file("farm.yaml", farmYAML)
	suite := s.nightly()
	var embedded eval.Summary
	s.json(&embedded, 1, "run", suite, "--seed", "7", "-n", "4", "--json", "--progress", "none")
	s.env = s.env[:len(s.env)-1] // the farm has not the sender's environment

	redis := redistest.Start(t)
	sched, at := serve(s, redis)
	hands := join(s, redis, at, 1)
	l := laptop(t, at)
	l.nightly()
	var got eval.Summary
	l.json(&got, 1, "run", "suites/nightly", "--seed", "7", "-n", "4", "--json", "--progress", "none", "-o", "junit=report.xml")
	if got.Fingerprint != embedded.Fingerprint || got.Counts != embedded.Counts || got.Suite != "nightly" || got.SuiteHash == "" {
		t.Errorf("over the API: %s %+v %s; embedded: %s %+v %s; want the same", got.Suite, got.Counts, got.Fingerprint, embedded.Suite, embedded.Counts, embedded.Fingerprint)
	}
	done := got.Run
	if junit, err := os.ReadFile(filepath.Join(l.dir, "report.xml")); err != nil || !strings.Contains(string(junit), "row/wrong") {
		t.Errorf("the report of the run is %q (%v), want one with its cases", junit, err)
	}

	// A run that is paused, watched from afar and cancelled.
	id := strings.TrimSpace(l.must(0, "enqueue", "suites/nightly", "-n", "3000", "--priority", "2"))
	watch := l.start("watch", id, "--progress", "plain")
	eventually(t, "the watch tells of results", func() bool { return strings.Contains(watch.errs.String(), "row/wrong") || watch.ended() })
	watch.signal(os.Interrupt)
	if code := watch.wait(); code != 130 || !strings.Contains(watch.errs.String(), "evalfarm --server-url "+at+" watch "+id) {
		t.Errorf("an interrupted watch: exit code %d, want 130 and how to go on\n%s", code, watch.errs.String())
	}
	l.must(0, "pause", id)
	eventually(t, "the run is paused", func() bool { return l.standing(id).State == eval.RunPaused })
	if out := l.must(0, "resume", id); !strings.Contains(out, id+" goes on; scheduler ") {
		t.Errorf("resume says %q, want that the run goes on", out)
	}
	if out := l.must(0, "cancel", id); !strings.Contains(out, id+" is cancelled; scheduler ") {
		t.Errorf("cancel says %q, want that the run is cancelled", out)
	}
	if out, code := l.run("watch", id, "-q"); code != 4 && code != 1 {
		t.Errorf("watch of a cancelled run: exit code %d, want 1 or 4\n%s", code, out)
	}
	if here, there := s.must(0, "status", id, "--json"), l.must(0, "status", id, "--json"); here != there {
		t.Errorf("status at the store:\n%s\nover the API:\n%s\nwant the same", here, there)
	}
	for _, args := range [][]string{{"show", id, "one", "1"}, {"show", id, "one"}, {"report", id, "--json"}, {"runs", "--json"}, {"compare", done, id, "--json"}} {
		if here, there := s.must(0, args...), l.must(0, args...); here != there {
			t.Errorf("%s at the store:\n%.2000s\nover the API:\n%.2000s\nwant the same", args, here, there)
		}
	}
	hereGate, hereCode := s.run("gate", id, "--json")
	if there, code := l.run("gate", id, "--json"); there != hereGate || code != hereCode || !strings.Contains(there, `"exit_code": 1`) {
		t.Errorf("gate at the store ends with %d:\n%s\nover the API with %d:\n%s\nwant the same, and a fail", hereCode, hereGate, code, there)
	}
	out, code := l.run("retry", id, "--only", "unfinished", "--watch", "--progress", "none", "--json", "--budget-time", "1ms")
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Run != id {
		t.Errorf("retry: exit code %d, %v; want the run's summary\n%s", code, err, out)
	}
	stopped(t, append(hands, sched)...)
	if out, code := l.run("status", id); code != 3 {
		t.Errorf("a farm that is gone: exit code %d, want 3\n%s", code, out)
	}
}

// What a farm does not do over its API is refused with a sentence, and nothing is
// started, neither there nor here.
func TestFarmRefuses(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	guest := strings.Fields(s.must(0, "token", "guest", "--scope", "read"))[0]
	s.file("farm.yaml", farmYAML+"tenants: {ci: {}}\ntokens: {guest: {scope: read, sha256: "+httpapi.HashToken(guest)+"}}\n")
	sched, at := serve(s, redistest.Start(t))
	l := laptop(t, at)
	l.nightly()
	l.below("suites/own.yaml", "version: 1\nservers:\n  shop: {command: [sh, -c, id]}\ncases:\n  - {id: a, call: x}\n")
	l.below("suites/slip.yaml", "version: 1\nservers:\n  shop: {registered: acme}\ncases:\n  - {id: a, cal: x}\n")
	l.below("suites/other.yaml", "version: 1\nservers:\n  shop: {registered: acmee}\ncases:\n  - {id: a, call: x}\n")
	l.below("more.yaml", "version: 1\nservers:\n  shop: {url: http://127.0.0.1/}\n")
	l.below("suites/bare.yaml", "version: 1\ncases:\n  - {id: a, server: shop, call: x}\n")
	for name, tt := range map[string]struct {
		args []string
		env  string
		code int
		want []string
	}{
		"a server of its own": {args: []string{"run", "suites/own.yaml"}, code: 2, want: []string{
			"--> suites/own.yaml:3:3\n", "   3 |   shop: {command: [sh, -c, id]}\n", "register it in the scheduler's farm.yaml: servers: {shop: …}", "1 error in suites/own.yaml\n",
		}},
		"one of the file that completes it":     {args: []string{"enqueue", "suites/bare.yaml", "--with", "more.yaml"}, code: 2, want: []string{"--> more.yaml:3:3\n", "1 error in suites/bare.yaml\n"}},
		"another registered server":             {args: []string{"enqueue", "suites/other.yaml"}, code: 2, want: []string{"--> suites/other.yaml:3:22\n", `did you mean "acme"?`}},
		"a slip, before anything is sent":       {args: []string{"enqueue", "suites/slip.yaml"}, env: "EVALFARM_TOKEN=", code: 2, want: []string{"--> suites/slip.yaml:5:13\n", `did you mean "call"?`}},
		"an unknown tenant":                     {args: []string{"enqueue", "suites/nightly", "--tenant", "cl"}, code: 2, want: []string{`no tenant "cl"`, `did you mean "ci"?`}},
		"nothing to run":                        {args: []string{"run", "suites/nightly", "--case", "none"}, code: 5, want: []string{"there is nothing to run; it has the cases one, row/right, row/wrong"}},
		"a run that there is not":               {args: []string{"status", "r-nothing"}, code: 2, want: []string{`no run "r-nothing"`}},
		"another token":                         {args: []string{"runs"}, env: "EVALFARM_TOKEN=nonsense", code: 2, want: []string{"refuses: this farm wants its token", "EVALFARM_TOKEN"}},
		"no token":                              {args: []string{"runs"}, env: "EVALFARM_TOKEN=", code: 2, want: []string{"wants a token, and there is none", "set EVALFARM_TOKEN"}},
		"a token of another scope":              {args: []string{"enqueue", "suites/nightly"}, env: "EVALFARM_TOKEN=" + guest, code: 2, want: []string{"the token guest has the scope read, and this wants run"}},
		"nobody there":                          {args: []string{"runs", "--server-url", "http://127.0.0.1:1"}, code: 3, want: []string{"reach the farm at http://127.0.0.1:1"}},
		"no address":                            {args: []string{"runs", "--server-url", "127.0.0.1:1"}, code: 2, want: []string{"is no address of a farm"}},
		"a command that needs the store":        {args: []string{"judge", "latest"}, code: 2, want: []string{"evalfarm judge needs the farm's store"}},
		"a flag of what is carried out here":    {args: []string{"run", "suites/nightly", "-j", "4"}, code: 2, want: []string{"--slots is for what is carried out here"}},
		"a queue of one's own":                  {args: []string{"run", "suites/nightly", "--redis", "redis://h"}, code: 2, want: []string{"--redis is for what is carried out here"}},
		"a server of the flags":                 {args: []string{"enqueue", "suites/nightly", "--server", "shop=sh"}, code: 2, want: []string{"--server is for what is carried out here"}},
		"a store and a farm":                    {args: []string{"status", "--store", "x.db"}, code: 2, want: []string{"--store is for what is carried out here"}},
		"a scheduler that is told of a farm":    {args: []string{"scheduler", "--redis", "redis://h", "--server-url", at}, code: 2, want: []string{"evalfarm scheduler needs the farm's store"}},
		"a key that was used for another suite": {args: []string{"enqueue", "suites/nightly", "--case", "one", "--idempotency-key", "k"}, code: 2, want: []string{`the idempotency key "k" was used for run `}},
	} {
		t.Run(name, func(t *testing.T) {
			of := *l
			of.t = t
			if strings.Contains(name, "a key") {
				first := of.must(0, "enqueue", "suites/nightly", "--idempotency-key", "k")
				if again := of.must(0, "enqueue", "suites/nightly", "--idempotency-key", "k"); again != first {
					t.Errorf("the same request again made run %s, want %s", again, first)
				}
			}
			if tt.env != "" {
				of.env = append(slices.Clone(l.env), tt.env)
			}
			p := of.start(tt.args...)
			if code := p.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, part := range tt.want {
				if !strings.Contains(p.errs.String(), part) {
					t.Errorf("got\n%s\nwant %q in it", p.errs.String(), part)
				}
			}
		})
	}
	if _, err := os.Stat(filepath.Join(l.dir, "home", "evalfarm.db")); err == nil {
		t.Error("a command made a store of its own")
	}
	stopped(t, sched)
	var runs []eval.Run
	if s.json(&runs, 0, "runs", "--json"); len(runs) != 1 {
		t.Errorf("the farm has %d runs, want that of the key", len(runs))
	}
}

// Who asks again under the same key, at the store too, gets the run that is there.
func TestEnqueueOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := s.file("suite.yaml", manySuite())
	once := func(args ...string) []string {
		return append([]string{"enqueue", suite, "--idempotency-key", "k"}, args...)
	}
	first := s.must(0, once()...)
	if again := s.must(0, once()...); again != first {
		t.Errorf("the same request again made run %s, want %s", again, first)
	}
	if other := s.must(0, once("--tenant", "ci")...); other == first {
		t.Error("another tenant got the run by its key")
	}
	for _, more := range [][]string{{"-n", "3"}, {"--seed", "7"}, {"--budget-time", "1h"}, {"--priority", "2"}} {
		p := s.start(once(more...)...)
		if code := p.wait(); code != 2 || !strings.Contains(p.errs.String(), "was used for run "+strings.TrimSpace(first)+", which asked for something else") {
			t.Errorf("%s: exit code %d, want 2 and the run of the key\n%s", more, code, p.errs.String())
		}
	}
	s.file("suite.yaml", strings.Replace(manySuite(), "WRONG_TIER", "OTHER_TIER", 1))
	s.must(2, once()...)
	var runs []eval.Run
	if s.json(&runs, 0, "runs", "--json"); len(runs) != 2 {
		t.Errorf("there are %d runs, want one of each tenant", len(runs))
	}
}

// must runs a command, wants an exit code and gives what it printed.
func (s *shop) must(want int, args ...string) string {
	s.t.Helper()
	out, code := s.run(args...)
	if code != want {
		s.t.Fatalf("evalfarm %s: exit code %d, want %d\n%s", strings.Join(args, " "), code, want, out)
	}
	return out
}

// standing is where a run stands.
func (s *shop) standing(id string) (st state) {
	s.t.Helper()
	s.json(&st, 0, "status", id, "--json")
	return st
}
