package cli_test

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stub"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// measuredSuite has an agent that a judge looks at, a server that crashes, and one
// that does not start, which it says when there is a file. Both secrets get to a process
// of a server. What is counted is each trial's own.
func measuredSuite(s *shop, p *provider, file string) string {
	return s.file("suite.yaml", fmt.Sprintf(`version: 1
name: measured
servers:
  shop: {command: [evalfarm, demo, acme], isolation: shared, env: {SHOP_KEY: "${{ secrets.SHOP_KEY }}"}}
  frail: {command: [evalfarm, demo, acme, --break, crash-on-hostile-input], isolation: trial}
  gone: {command: [sh, -c, "until [ -e $0 ]; do sleep 0.1; done; echo $GONE_KEY >&2; exit 1", %q], isolation: trial, start_timeout: 5m, env: {GONE_KEY: "${{ secrets.SHOP_KEY }}"}}
models:
  m: {provider: openai, model: stub, base_url: "%s/v1", max_output_tokens: 50, api_key: "${{ secrets.MODEL_KEY }}", price: {input: 1, output: 5}}
defaults: {server: shop, model: m, judge: m}
cases:
  - {id: agent, prompt: "Look how they are.", limits: {cost_usd: 0.10}, checks: [{contains: ACTIVE}, {judge: {rubric: Be kind.}}]}
  - {id: crash, server: frail, call: getCustomerStatus, arguments: {customerId: "'; DROP TABLE customers"}}
  - {id: gone, server: gone, call: getCustomerStatus, arguments: {customerId: CUST-4091}}
`, file, p.url))
}

// TestMetricsOfAFarm scrapes a scheduler and a worker, and compares what they count
// with the summary, the ledger and the books of the provider.
func TestMetricsOfAFarm(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.env = append(s.env, "SHOP_KEY=planted-hunter2", "MODEL_KEY=planted-swordfish", "EVALFARM_LOG_FORMAT=json", "EVALFARM_LOG_LEVEL=debug")
	pauses, err := stub.ParsePauses("2=1s/seconds")
	if err != nil {
		t.Fatal(err)
	}
	p := provide(t, stub.Options{Latency: latency(t, "100ms"), Pauses: pauses})
	over := filepath.Join(s.dir, "over")
	suite := measuredSuite(s, p, over)
	redis := redistest.Start(t)
	var urls []string
	for range 2 {
		port, err := freeport.Hold(t.Cleanup)
		if err != nil {
			t.Fatal(err)
		}
		urls = append(urls, "127.0.0.1:"+port)
	}
	sched, at := serve(s, redis, "--health", urls[0])
	worker := s.start("worker", "--redis", redis.URL(), "--blobs", at, "-j", "6", "--judge-slots", "2", "--health", urls[1])
	scrape := func(i int) telemetrytest.Page { return telemetrytest.Scrape(t, "http://"+urls[i]+"/metrics") }

	const repeats = 5
	id := s.enqueue(suite, "--seed", "7", "-n", fmt.Sprint(repeats), "--budget-usd", "3", "--attempts", "1")
	// What is only there while a run is, which is not over as long as servers are starting.
	seen := map[string]bool{}
	note := func(p telemetrytest.Page) {
		for name := range p {
			seen[name] = true
		}
	}
	eventually(t, "the scheduler shows the run and what it may spend", func() bool {
		page := scrape(0)
		note(page)
		left := page.Sum("evalfarm_budget_left_USD", "run="+id)
		return page.Sum("evalfarm_runs_live") == 1 && left > 0 && left < 3
	})
	s.file("over", "")
	if code := s.start("watch", id, "--progress", "none").wait(); code != 1 {
		t.Fatalf("watch: exit code %d, want 1\n%s", code, worker.errs.String())
	}
	var summary eval.Summary
	s.json(&summary, 0, "report", id, "-o", "json=-")
	eventually(t, "the scheduler shows no run any more", func() bool { return scrape(0).Sum("evalfarm_runs_live") == 0 })
	farm, hand := scrape(0), scrape(1)
	note(farm)
	note(hand)

	counts := map[string]float64{}
	for _, v := range eval.Verdicts() {
		counts[string(v)] = farm.Sum("evalfarm_trials_total", "verdict="+string(v))
		if got, want := counts[string(v)], float64(summary.Counts.Of(v)); got != want {
			t.Errorf("%v trials are counted as %s, and the summary has %v", got, v, want)
		}
	}
	if counts["pass"] != repeats || counts["fail"] != repeats || counts["error"] != repeats {
		t.Errorf("%v, want %d of each", counts, repeats)
	}
	books, ledger := p.Stats(), s.state().Ledger
	for _, c := range []struct {
		what      string
		got, want float64
	}{
		{"trials that crashed", farm.Sum("evalfarm_trials_total", "reason=server_crashed"), repeats},
		{"attempts at trials", farm.Sum("evalfarm_attempts_total", "lane=trials"), 3 * repeats},
		{"attempts at judging", farm.Sum("evalfarm_attempts_total", "lane=judging", "outcome=done"), repeats},
		{"runs", farm.Sum("evalfarm_runs_total", "outcome=complete"), 1},
		{"records that were stored in time", farm.Sum("evalfarm_store_lag_seconds"), 4 * repeats},
		{"leaders", farm.Sum("evalfarm_leader"), 1},
		{"workers", farm.Sum("evalfarm_workers"), 1},
		{"slots", farm.Sum("evalfarm_slots", "lane=trials"), 6},
		{"jobs that wait", farm.Sum("evalfarm_queue_depth"), 0},
		{"trials in flight", farm.Sum("evalfarm_trials_in_flight"), 0},
		{"unjudged share", farm.Sum("evalfarm_unjudged_share_ratio"), 0},

		{"calls of the model", hand.Sum("evalfarm_model_calls_total"), float64(books.Calls)},
		{"429s", hand.Sum("evalfarm_limiter_throttled_total"), float64(books.RateLimited)},
		{"calls that took a time", hand.Sum("gen_ai_client_inference_duration_seconds", "gen_ai_request_model=stub"), float64(books.Calls)},
		{"tokens in", hand.Sum("evalfarm_tokens_total", "type=input", "model=stub"), float64(summary.Usage.Input + summary.JudgeUsage.Input)},
		{"tokens out", hand.Sum("evalfarm_tokens_total", "type=output", "model=stub"), float64(summary.Usage.Output + summary.JudgeUsage.Output)},
		{"micro-dollars", math.Round(1e6 * hand.Sum("evalfarm_spend_USD_total")), float64(ledger.Spent.MicroUSD)},
		{"crashes", hand.Sum("evalfarm_mcp_crashes_total", "server=frail"), repeats},
		{"crashes of others", hand.Sum("evalfarm_mcp_crashes_total") - hand.Sum("evalfarm_mcp_crashes_total", "server=frail"), 0},
		{"starts of the frail", hand.Sum("evalfarm_mcp_starts_total", "server=frail", "outcome=ok"), repeats},
		{"starts that failed", hand.Sum("evalfarm_mcp_starts_total", "server=gone", "outcome=start_exited"), repeats},
		{"attempts of agents", hand.Sum("evalfarm_attempt_duration_seconds", "kind=agent"), repeats},
		{"attempts of scripts", hand.Sum("evalfarm_attempt_duration_seconds", "kind=script"), 2 * repeats},
		{"attempts of judges", hand.Sum("evalfarm_attempt_duration_seconds", "kind=judge"), repeats},
		{"waits in the queue", hand.Sum("evalfarm_queue_wait_seconds", "lane=trials"), 3 * repeats},
		{"commits", hand.Sum("evalfarm_commit_duration_seconds"), 4 * repeats},
		{"tool calls", hand.Sum("mcp_client_operation_duration_seconds", "evalfarm_server=shop", "mcp_method_name=tools/call"), repeats},
		{"tool calls that killed the server", hand.Sum("mcp_client_operation_duration_seconds", "error_type=server_crashed"), repeats},
		{"waits for the limiter or the provider, some", min(1, hand.Sum("evalfarm_limiter_wait_seconds")), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %v, want %v", c.what, c.got, c.want)
		}
	}

	// Each is told by whom the catalogue says, and by nobody else.
	absent := map[string]bool{"evalfarm.results.superseded": true, "evalfarm.day.left": true, "evalfarm.limiter.concurrency_limit": true}
	for _, in := range telemetry.Catalogue() {
		name := in.Prometheus()
		if !seen[name] && !absent[in.Name] {
			t.Errorf("nobody has shown %s", name)
		}
		if _, is := hand[name]; is != (in.Of == telemetry.Workers) && !absent[in.Name] {
			t.Errorf("the worker shows %s: %t, and the catalogue says %s", name, is, in.Of)
		}
		if _, is := farm[name]; is && in.Of == telemetry.Workers {
			t.Errorf("the scheduler shows %s, which is the worker's", name)
		}
	}

	stopped(t, sched, worker)
	if text := worker.errs.String(); !strings.Contains(text, `"msg":"server started"`) || !strings.Contains(text, `"trial":"`+id+`:`) {
		t.Errorf("no line of the worker's log names a trial:\n%s", text)
	}
	for name, text := range map[string]string{"the scheduler's log": sched.errs.String(), "the worker's log": worker.errs.String(), "pages": fmt.Sprint(farm, hand)} {
		for _, secret := range []string{"planted-hunter2", "planted-swordfish"} {
			if strings.Contains(text, secret) {
				t.Errorf("a secret is in %s:\n%s", name, text)
			}
		}
	}
}

// Nobody has to show a token to scrape, so the API, which wants one, has no metrics.
func TestTheAPIHasNoMetrics(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, at := serve(s, redistest.Start(t))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusNotFound {
		t.Errorf("%s: %s", answer.Status, body)
	}
}
