package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// judgedSuite has agents that a judge has to look at, and takes a while with: good
// and bad ones, some of which it says nothing of, some inside groups, some that
// fail whatever it says. A script case fails, so that the run does.
func judgedSuite(s *shop) string {
	s.file("agent.yaml", "version: 1\ndefault:\n  - {call: getCustomerStatus, arguments: {customerId: CUST-4091}}\n  - {say: \"It is {{last.status}}.\"}\n")
	s.file("judge.yaml", `version: 1
cases:
  bad: [{call: verdict, arguments: {pass: false, reason: No.}, latency: 300ms}]
  silent: [{say: I would rather not., latency: 300ms}]
default: [{call: verdict, arguments: {pass: true, score: 0.9, reason: Yes.}, latency: 300ms}]
`)
	var b strings.Builder
	b.WriteString(`version: 1
name: judged
servers: {shop: {command: [evalfarm, demo, acme], isolation: shared}}
models:
  agent: {provider: scripted, script: agent.yaml}
  judge: {provider: scripted, script: judge.yaml}
defaults: {server: shop, model: agent, judge: judge}
cases:
  - {id: broken, call: getCustomerStatus, arguments: {customerId: CUST-4091}, expect: {status: GONE}}
`)
	kinds := []string{
		`good/%d, prompt: "How is it?", checks: [{judge: {rubric: Be kind.}}]`,
		`bad/%d, prompt: "How is it?", checks: [{contains: ACTIVE}, {judge: {rubric: Be kind., votes: 2}}]`,
		`silent/%d, prompt: "How is it?", checks: [{judge: {rubric: Be kind.}}]`,
		`grouped/%d, prompt: "How is it?", checks: [{any: [{contains: GONE}, {judge: {rubric: Be kind.}}]}]`,
		`lost/%d, prompt: "How is it?", checks: [{contains: GONE}, {judge: {rubric: Be kind.}}]`,
		`plain/%d, prompt: "How is it?", checks: [{contains: ACTIVE}]`,
	}
	for i := range 24 {
		fmt.Fprintf(&b, "  - {id: "+kinds[i%len(kinds)]+"}\n", i)
	}
	return s.file("suite.yaml", b.String())
}

// counts of the latest run; none while there is none.
func (s *shop) counts() eval.VerdictCounts {
	out, code := s.run("status", "--json")
	var st struct{ Counts eval.VerdictCounts }
	if code != 0 || json.Unmarshal([]byte(out), &st) != nil {
		return eval.VerdictCounts{}
	}
	return st.Counts
}

// amid waits until so many trials have passed.
func (s *shop) amid(p *process, passed int) {
	s.t.Helper()
	eventually(s.t, fmt.Sprintf("%d trials have passed", passed), func() bool {
		if p.ended() {
			s.t.Fatalf("it ended before it could be disturbed\n%s", p.errs.String())
		}
		return s.counts().Pass >= passed
	})
}

// sameAs compares a summary with that of an undisturbed run. That the tokens of
// the judges are the same says that each judgement counts once.
func sameAs(t *testing.T, got, want eval.Summary) {
	t.Helper()
	if got.Fingerprint != want.Fingerprint || got.Counts != want.Counts {
		t.Errorf("got %+v %s, undisturbed %+v %s; want the same", got.Counts, got.Fingerprint, want.Counts, want.Fingerprint)
	}
	if got.JudgeUsage != want.JudgeUsage || got.JudgeUsage.Total() == 0 || got.Usage != want.Usage {
		t.Errorf("got usage %+v of agents and %+v of judges, undisturbed %+v and %+v; want the same", got.Usage, got.JudgeUsage, want.Usage, want.JudgeUsage)
	}
}

// once wants one result for each trial of the latest run.
func (s *shop) once(trials int) {
	s.t.Helper()
	lines, code := s.run("report", "latest", "-o", "jsonl=-")
	if code != 0 {
		s.t.Fatalf("report: exit code %d", code)
	}
	seen := map[int]bool{}
	for line := range strings.Lines(lines) {
		var row struct{ Ordinal int }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			s.t.Fatal(err)
		}
		if seen[row.Ordinal] {
			s.t.Errorf("trial %d has two results", row.Ordinal)
		}
		seen[row.Ordinal] = true
	}
	if len(seen) != trials {
		s.t.Errorf("%d trials have a result, want %d", len(seen), trials)
	}
}

// Whatever is killed while judges are at work, every trial ends with the verdict
// that it has in an undisturbed run, and is judged once for it.
func TestKilledAmidJudging(t *testing.T) {
	t.Parallel()
	const repeats, trials = 3, 25 * 3
	u := newShop(t)
	var undisturbed eval.Summary
	u.json(&undisturbed, 1, "run", judgedSuite(u), "--seed", "7", "-n", fmt.Sprint(repeats), "--judge-slots", "64", "--json", "--progress", "none")
	if n := undisturbed.Counts; n.Unjudged != 4*repeats || n.Fail != 9*repeats || n.Pass != 12*repeats {
		t.Fatalf("undisturbed: %+v, want %d unjudged, %d fail, %d pass", n, 4*repeats, 9*repeats, 12*repeats)
	}
	easy := 4 * repeats // those that pass without a judge; twice as many do with one

	t.Run("the whole farm", func(t *testing.T) {
		t.Parallel() // each waits for judges, leases and audits most of its time
		k := newShop(t)
		p := k.start("run", judgedSuite(k), "--seed", "7", "-n", fmt.Sprint(repeats), "--judge-slots", "3", "--progress", "none", "-q")
		for _, passed := range []int{easy + 3, easy + 8} {
			k.amid(p, passed)
			p.kill()
			if s := k.counts(); s.Pass >= undisturbed.Counts.Pass {
				t.Fatalf("the kill came too late: %+v", s)
			}
			eventually(t, "no process of a server is left", func() bool { return len(k.left()) == 0 })
			p = k.start("resume", "latest", "--judge-slots", "3", "--json", "--progress", "none")
		}
		if code := p.wait(); code != 1 {
			t.Fatalf("exit code %d, want 1\n%s", code, p.errs.String())
		}
		var got eval.Summary
		if err := json.Unmarshal([]byte(p.out.String()), &got); err != nil {
			t.Fatal(err)
		}
		sameAs(t, got, undisturbed)
		k.once(trials)
	})

	for _, tt := range []struct {
		name    string
		disturb func(f *shop, redis *redistest.Server, sched *process, hands []*process) *process
	}{
		{"a worker", func(_ *shop, _ *redistest.Server, sched *process, hands []*process) *process {
			hands[0].kill()
			return sched
		}},
		{"the scheduler", func(f *shop, redis *redistest.Server, sched *process, _ []*process) *process {
			at := joinAt.FindStringSubmatch(sched.errs.String())[1]
			sched.kill()
			return f.start("scheduler", "--redis", redis.URL(), "--listen", strings.TrimPrefix(at, "http://"), "--lease", "2s", "--json", "--resume", "latest")
		}},
		{"what is in redis", func(_ *shop, redis *redistest.Server, sched *process, _ []*process) *process {
			redis.FlushAll()
			return sched
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newShop(t)
			judgedSuite(f)
			redis := redistest.Start(t)
			sched, hands := farm(f, redis, "suite.yaml", repeats, 3)
			f.amid(sched, easy+2)
			sched = tt.disturb(f, redis, sched, hands)
			sameAs(t, conclude(f, sched, hands, 1), undisturbed)
			f.once(trials)
		})
	}
}

// A judge that hangs holds up no trial: judging has places of its own.
func TestHangingJudgeStopsNoTrial(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	suite := judgedSuite(s)
	s.file("judge.yaml", "version: 1\ndefault: [{say: Hm., latency: 1h}]\n")
	p := s.start("run", suite, "-n", "3", "-j", "2", "--judge-slots", "1", "--grace", "0s", "--progress", "none")
	eventually(t, "every agent has done its work", func() bool {
		if p.ended() {
			t.Fatalf("the run ended\n%s", p.errs.String())
		}
		return s.done() == 75
	})
	if n := s.counts().Unjudged; n != 16*3 {
		t.Errorf("%d trials wait for the judge, want %d", n, 16*3)
	}
	if out, code := s.run("cancel", "latest"); code != 0 {
		t.Errorf("cancel: exit %d\n%s", code, out)
	}
	if code := p.wait(); code != 1 && code != 4 {
		t.Errorf("exit code %d, want 1 or 4\n%s", code, p.errs.String())
	}
}
