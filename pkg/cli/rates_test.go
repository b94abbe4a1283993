package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/stub"
)

// A provider is a stub that a farm's models are asked at. It keeps the books that
// the farm's own are compared with.
type provider struct {
	*stub.Server
	url string
}

// provide starts a provider that ends with the test.
func provide(tb testing.TB, o stub.Options) *provider {
	tb.Helper()
	o.Model = clerk{}
	p := &provider{Server: stub.New(o)}
	web := httptest.NewServer(p)
	tb.Cleanup(web.Close)
	p.url = web.URL
	return p
}

func latency(tb testing.TB, s string) stub.Latency {
	tb.Helper()
	l, err := stub.ParseLatency(s)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// A clerk looks up the customer when its prompt says so, then answers. As a judge
// it is content. Every answer of it takes the same tokens.
type clerk struct{}

// taken by each call of a clerk.
var taken = eval.Usage{Input: 500, Output: 45}

func (clerk) Generate(_ context.Context, req llm.Request) (llm.Response, error) {
	r := llm.Response{Stop: llm.StopEnd, Usage: taken, Message: llm.Message{Role: llm.Assistant, Text: "The customer is ACTIVE."}}
	call := func(tool, arguments string) {
		r.Stop, r.Message.Text, r.Message.Calls = llm.StopCalls, "", []llm.Call{{Tool: tool, Arguments: arguments}}
	}
	switch {
	case req.MustCall != "":
		call(req.MustCall, `{"pass": true, "score": 1, "reason": "Polite."}`)
	case len(req.Messages) == 1 && strings.Contains(req.Messages[0].Text, "Look"):
		call("getCustomerStatus", `{"customerId": "CUST-4091"}`)
	}
	return r, nil
}

// ratesSuite has cases whose agents make one call each. Model are further settings
// of their model.
func ratesSuite(s *shop, p *provider, cases int, model string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `version: 1
name: rates
servers: {shop: {command: [evalfarm, demo, acme], isolation: shared}}
models:
  m: {%s}
defaults: {server: shop, model: m}
cases:
`, fmt.Sprintf(model, p.url))
	for i := range cases {
		fmt.Fprintf(&b, "  - {id: case-%03d, prompt: \"How are they?\", checks: [{contains: ACTIVE}]}\n", i)
	}
	return s.file("suite.yaml", b.String())
}

// openai is the model of a suite at a provider's OpenAI face, with further settings.
func openai(more string) string {
	return "provider: openai, model: stub, base_url: \"%s/v1\", max_output_tokens: 50" + more
}

// staff starts a scheduler for a suite and workers with so many slots each, all
// processes of their own on one Redis.
func staff(s *shop, redis *redistest.Server, workers, slots int, args ...string) (sched *process, hands []*process) {
	s.t.Helper()
	sched, at := lead(s, redis, args...)
	for range workers {
		hands = append(hands, s.start("worker", "--redis", redis.URL(), "--blobs", at, "-j", fmt.Sprint(slots), "--judge-slots", fmt.Sprint(slots)))
	}
	return sched, hands
}

// A trialLine is what a report says of one trial.
type trialLine struct {
	Ordinal, Repeat, Attempt int
	Case, Verdict, Reason    string
}

// lines are those of the latest run's report.
func (s *shop) lines() []trialLine {
	s.t.Helper()
	out, code := s.run("report", "latest", "-o", "jsonl=-")
	if code != 0 {
		s.t.Fatalf("report: exit code %d", code)
	}
	var lines []trialLine
	for line := range strings.Lines(out) {
		var l trialLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			s.t.Fatal(err)
		}
		lines = append(lines, l)
	}
	return lines
}

// atFirst wants each trial of the latest run to have passed at its first attempt.
func (s *shop) atFirst(trials int) {
	s.t.Helper()
	lines := s.lines()
	if len(lines) != trials {
		s.t.Errorf("%d trials have a result, want %d", len(lines), trials)
	}
	for _, l := range lines {
		if l.Attempt != 1 || l.Verdict != string(eval.Pass) {
			s.t.Errorf("trial %d: %s (%s) at attempt %d, want a pass at the first", l.Ordinal, l.Verdict, l.Reason, l.Attempt)
		}
	}
}

// perMinute is the rate of these tests' providers, and burst how long what their
// buckets hold takes to come in.
const (
	perMinute = 600
	burst     = 2 * time.Second
)

// rated runs trials of one call each on a scheduler and four workers, at a provider
// that allows ten calls in a second.
func rated(tb testing.TB, trials, slots int, model string, silent bool) stub.Stats {
	tb.Helper()
	s := newShop(tb)
	p := provide(tb, stub.Options{
		Latency: latency(tb, "lognormal(500ms,0.4)"), Limits: stub.Limits{Requests: perMinute, Burst: burst}, NoLimitHeaders: silent,
	})
	sched, hands := staff(s, redistest.Start(tb), 4, slots, "-n", fmt.Sprint(trials/10), ratesSuite(s, p, 10, openai(model)))
	conclude(s, sched, hands, 0)
	s.atFirst(trials)
	got := p.Stats()
	if n := got.Calls - got.RateLimited; n != trials {
		tb.Errorf("%d calls were let in, want %d", n, trials)
	}
	tb.Logf("%d calls, %d refused (%.1f %%), %.1f %% of the ideal rate", got.Calls, got.RateLimited, 100*refusedShare(got), 100*used(got))
	return got
}

func refusedShare(s stub.Stats) float64 { return float64(s.RateLimited) / float64(s.Calls) }

// used is the part of the allowed rate that was used between the first and the last
// call. What a farm lets in at once at the begin, a second's calls, is not counted.
func used(s stub.Stats) float64 {
	atOnce := perMinute / 60
	return float64(s.Calls-s.RateLimited-atOnce) / s.Last.Sub(s.First).Minutes() / perMinute
}

// A configured rate is kept by all processes together, so that nobody is refused.
func TestConfiguredRateIsKept(t *testing.T) {
	if got := rated(t, 120, 2, ", rate: {requests_per_minute: 600}", false); got.RateLimited != 0 {
		t.Errorf("%d of %d calls were refused, want none", got.RateLimited, got.Calls)
	}
}

// A rate that nobody has configured is learned from the provider's headers, or from
// its refusals alone.
func TestUnknownRateIsFoundOut(t *testing.T) {
	for _, tt := range []struct {
		name   string
		silent bool
		most   int // refused
	}{
		{"told in headers", false, 5},
		{"never told", true, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits most of its time
			if got := rated(t, 120, 8, "", tt.silent); got.RateLimited > tt.most {
				t.Errorf("%d of %d calls were refused, want at most %d", got.RateLimited, got.Calls, tt.most)
			}
		})
	}
}

// heeded wants every pause of a provider to have been kept by everybody.
func heeded(tb testing.TB, got stub.Stats, pauses, trials int) {
	tb.Helper()
	if len(got.Pauses) != pauses {
		tb.Fatalf("%d calls were refused with a pause, want %d", len(got.Pauses), pauses)
	}
	for _, p := range got.Pauses {
		if p.Late > 0 {
			tb.Errorf("call %d was told to wait until %s (%s): %d came more than a second later and before that, want none", p.Call, p.Until.Format(time.StampMilli), p.Form, p.Late)
		}
	}
	if got.RateLimited != pauses || got.Calls != trials+pauses {
		tb.Errorf("%d calls, %d refused; want %d and %d", got.Calls, got.RateLimited, trials+pauses, pauses)
	}
}

// pausedFarm runs a farm of four workers at a provider that asks for some pauses.
func pausedFarm(t *testing.T, trials int, pauses ...string) {
	t.Helper()
	list, err := stub.ParsePauses(pauses...)
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t)
	p := provide(t, stub.Options{Latency: latency(t, "uniform(50ms,250ms)"), Pauses: list})
	sched, hands := staff(s, redistest.Start(t), 4, 4, "-n", fmt.Sprint(trials/10), ratesSuite(s, p, 10, openai(", rate: {requests_per_minute: 6000, concurrent: 16}")))
	conclude(s, sched, hands, 0)
	s.atFirst(trials)
	heeded(t, p.Stats(), len(list), trials)
}

// When one worker is told to wait, all of them do, and it costs no attempt.
func TestPauseHoldsForTheWholeFarm(t *testing.T) {
	pausedFarm(t, 100, "30=3s/seconds", "70=3s/http-date")
}

// A wait is understood in each form in which providers ask for it.
func TestPauseInEveryForm(t *testing.T) {
	anthropic := strings.Replace(openai(""), "openai", "anthropic", 1)
	anthropic = strings.Replace(anthropic, "/v1", "", 1)
	for _, tt := range []struct {
		name  string
		form  stub.RetryAfter
		model string
	}{
		{"seconds", stub.RetrySeconds, openai("")},
		{"seconds with a fraction", stub.RetryFloat, openai("")},
		{"a date", stub.RetryDate, openai("")},
		{"milliseconds", stub.RetryMS, openai("")},
		{"when the limit is full again", stub.RetryResets, openai("")},
		{"in the body", stub.RetryInfo, openai("")},
		{"anthropic, seconds", stub.RetrySeconds, anthropic},
		{"anthropic, when the limit is full again", stub.RetryResets, anthropic},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each waits most of its time
			s := newShop(t)
			p := provide(t, stub.Options{Latency: latency(t, "100ms"), Pauses: []stub.Pause{{Call: 12, Wait: 2500 * time.Millisecond, Form: tt.form}}})
			if out, code := s.run("run", ratesSuite(s, p, 10, tt.model), "-n", "3", "-j", "8", "--progress", "none"); code != 0 {
				t.Fatalf("exit code %d\n%s", code, out)
			}
			s.atFirst(30)
			heeded(t, p.Stats(), 1, 30)
		})
	}
}
