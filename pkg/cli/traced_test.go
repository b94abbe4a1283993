package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/internal/freeport"
	"github.com/evalfarm/evalfarm/internal/otlptest"
	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// secrets that the worker of a traced farm has. They are planted wherever it hears
// something.
func secrets() map[string]string {
	return map[string]string{
		"SHOP_TOKEN": "qzvxkwjhgpyw", "SUPPORT_KEY": "xkqjvwzpfhgb", "TOLD_KEY": "vwkqzjygxpfh", "JUDGE_KEY": "jqxzkvbwpgyh",
	}
}

// A tracedFarm is a farm of real processes that carried out one run of a suite and
// told of itself: redis-server, a scheduler, a worker, servers that it starts, and
// stubs of model providers.
type tracedFarm struct {
	pages string // of metrics, of both processes
	logs  string // of all processes
	// asked are the lines that servers got, by server.
	asked map[string]string
}

// traceFarm starts a farm, lets it carry out the suite and stops it. Scheduler and worker
// are its environments.
func traceFarm(t *testing.T, scheduler, worker []string) tracedFarm {
	t.Helper()
	s := newShop(t)
	redis := redistest.Start(t)
	suite := tracedSuite(s)
	var health [2]string // addresses
	for i := range health {
		port, err := freeport.Hold(t.Cleanup)
		if err != nil {
			t.Fatal(err)
		}
		health[i] = "127.0.0.1:" + port
	}
	given := s.env
	s.env = slices.Concat(given, scheduler)
	sched, at := serve(s, redis, "--lease", "30s", "-v", "--log-format", "json", "--health", health[0])
	s.env = slices.Concat(given, worker)
	for name, value := range secrets() {
		s.env = append(s.env, name+"="+value)
	}
	hand := s.start("worker", "--redis", redis.URL(), "--blobs", at, "-j", "4", "-v", "--log-format", "json", "--health", health[1])
	s.env = given
	watch := s.start("watch", s.enqueue(suite, "--seed", "7", "--attempts", "2"), "--progress", "none")
	if code := watch.wait(); code != 3 { // trials are errors
		t.Fatalf("watch: exit code %d, want 3\n%s\n%s", code, watch.errs.String(), hand.errs.String())
	}
	var f tracedFarm
	eventually(t, "the scheduler counts the run", func() bool {
		f.pages = scrape(t, "http://"+health[0]+"/metrics")
		return strings.Contains(f.pages, `evalfarm_runs_total{outcome="complete"} 1`)
	})
	f.pages += scrape(t, "http://"+health[1]+"/metrics")
	stopped(t, hand, sched)
	f.logs = watch.errs.String() + sched.out.String() + sched.errs.String() + hand.out.String() + hand.errs.String()
	f.asked = map[string]string{}
	files, err := filepath.Glob(filepath.Join(s.dir, "*.asked"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f.asked[strings.TrimSuffix(filepath.Base(file), ".asked")] = string(content)
	}
	return f
}

// tracedSuite has an agent that a judge looks at and whose provider once limits the
// rate, one that fails, one whose server crashes at first, one whose server cannot
// start, and one whose provider refuses it.
func tracedSuite(s *shop) string {
	s.t.Helper()
	// A server notes what it is asked, beside the real one.
	serve := s.file("serve.sh", `case $1 in
gone) echo "no licence for $SHOP_TOKEN" >&2; exit 1;;
flaky) if mkdir crashed 2>/dev/null; then broken="--break crash-on-hostile-input"; fi;;
esac
mkfifo "$$.in"
exec 3<&0
tee -a "$1.asked" <&3 >"$$.in" 2>/dev/null &
"$2" demo acme $broken <"$$.in" 3<&- | sed -u "s/Harbor Street/$SHOP_TOKEN/"
`)
	s.file("agent.yaml", fmt.Sprintf(`version: 1
cases:
  hostile: [{call: getSLACompliance, arguments: {serviceId: "DROP TABLE %s"}}, {say: "It says {{last}}, and my key is %s."}]
default: [{call: getCustomerStatus, arguments: {customerId: CUST-4091}}, {say: "It is {{last.status}}."}]
`, secrets()["SHOP_TOKEN"], secrets()["SUPPORT_KEY"]))
	s.file("judge.yaml", fmt.Sprintf("version: 1\ndefault: [{call: verdict, arguments: {pass: true, score: 0.9, reason: \"Kind, and %s.\"}}]\n", secrets()["JUDGE_KEY"]))
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error": {"message": "no such key: %s", "code": "invalid_api_key"}}`, r.Header.Get("Authorization"))
	}))
	s.t.Cleanup(refuses.Close)
	model := func(name, url, of string) string {
		return fmt.Sprintf("  %s: {provider: openai, model: %[1]s-1, base_url: %q, identify: true, api_key: \"${{ secrets.%s }}\"}\n", name, url+"/v1", of)
	}
	return s.file("suite.yaml", fmt.Sprintf(`version: 1
name: support
servers:
  shop: {command: [sh, %[1]q, shop, %[2]q], env: {SHOP_TOKEN: "${{ secrets.SHOP_TOKEN }}"}}
  flaky: {command: [sh, %[1]q, flaky, %[2]q], env: {SHOP_TOKEN: "${{ secrets.SHOP_TOKEN }}"}}
  gone: {command: [sh, %[1]q, gone], env: {SHOP_TOKEN: "${{ secrets.SHOP_TOKEN }}"}}
models:
`, serve, s.self)+
		model("support", startStub(s, "--script", "agent.yaml", "--pause", "2=1s", "--latency", "150ms"), "SUPPORT_KEY")+
		model("steady", startStub(s, "--script", "agent.yaml"), "SUPPORT_KEY")+
		model("critic", startStub(s, "--script", "judge.yaml", "--latency", "150ms"), "JUDGE_KEY")+
		model("refused", refuses.URL, "TOLD_KEY")+fmt.Sprintf(`
defaults: {server: shop, model: steady, judge: critic}
cases:
  - {id: judged, model: support, prompt: "How is CUST-4091? Use %s.", checks: [{contains: ACTIVE}, {id: kind, judge: {rubric: Be kind.}}]}
  - {id: wrong, prompt: "How is it?", checks: [{contains: GONE}]}
  - {id: hostile, server: flaky, prompt: "How is it?", checks: [{contains: It says}]}
  - {id: gone, server: gone, prompt: "How is it?", checks: [{contains: ACTIVE}]}
  - {id: refused, model: refused, prompt: "How is it?", checks: [{contains: ACTIVE}]}
`, secrets()["SHOP_TOKEN"]))
}

// served finds the address of a stub.
var served = regexp.MustCompile(`stats +(http://\S+)/stats`)

// startStub starts a stub of a model provider and gives its address.
func startStub(s *shop, args ...string) (at string) {
	s.t.Helper()
	p := s.start(append([]string{"stub", "--listen", "127.0.0.1:0"}, args...)...)
	eventually(s.t, "the stub says where it is", func() bool {
		if p.ended() {
			s.t.Fatalf("the stub ended\n%s", p.errs.String())
		}
		if m := served.FindStringSubmatch(p.out.String()); m != nil {
			at = m[1]
		}
		return at != ""
	})
	return at
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v\n%s", url, res.Status, err, page)
	}
	return string(page)
}

// A step is a span and how deep it is in its trace.
type step struct {
	otlptest.Span
	depth int
}

// trail is the spans of one trace, each before those that it is the parent of, which
// are in the order in which they began.
func trail(spans []otlptest.Span, trace string) []step {
	var out []step
	var below func(parent string, depth int)
	below = func(parent string, depth int) {
		for _, s := range spans {
			if s.TraceID == trace && s.ParentID == parent {
				out = append(out, step{s, depth})
				below(s.SpanID, depth+1)
			}
		}
	}
	below("", 0)
	return out
}

// outline is a trail in words: a line for each span, and why it failed if it did.
// Waits are left out, since a limiter may have some anywhere.
func outline(trail []step) string {
	var b strings.Builder
	for _, s := range trail {
		if strings.HasPrefix(s.Name, "wait ") {
			continue
		}
		fmt.Fprint(&b, strings.Repeat("  ", s.depth), s.Name)
		if s.Status == "Error" {
			fmt.Fprint(&b, " ! ", s.Attrs["error.type"])
		}
		fmt.Fprintln(&b)
	}
	return b.String()
}

// outlines are those of the trials of the traced suite, by case.
func outlines() map[string]string {
	return map[string]string{
		"judged": `trial judged
  send trials
    process trials
      start shop
      invoke_agent support
        tools/list
        chat support-1
        execute_tool getCustomerStatus
        chat support-1 ! rate_limit
        chat support-1
      checks
  send judging
    process judging
      judge kind
        chat critic-1
`,
		"wrong": `trial wrong
  send trials
    process trials
      start shop
      invoke_agent steady
        tools/list
        chat steady-1
        execute_tool getCustomerStatus
        chat steady-1
      checks
`,
		"hostile": `trial hostile
  send trials
    process trials ! server_crashed
      start flaky
      invoke_agent steady ! server_crashed
        tools/list
        chat steady-1
        execute_tool getSLACompliance ! server_crashed
  send trials
    process trials
      start flaky
      invoke_agent steady
        tools/list
        chat steady-1
        execute_tool getSLACompliance ! tool_error
        chat steady-1
      checks
`,
		"gone": `trial gone ! start_exited
  send trials
    process trials ! start_exited
      start gone ! start_exited
  send trials
    process trials ! start_exited
      start gone ! start_exited
`,
		"refused": `trial refused ! model_unauthorized
  send trials
    process trials ! model_unauthorized
      start shop
      invoke_agent refused ! model_unauthorized
        tools/list
        chat refused-1 ! auth
`,
	}
}

// connected wants of the spans of a traced farm that each trial is one trace, which
// servers saw too, and that nothing is missing, strange or there twice.
func (f tracedFarm) connected(t *testing.T, spans []otlptest.Span) {
	t.Helper()
	byID := map[string]otlptest.Span{}
	for _, s := range spans {
		if _, twice := byID[s.SpanID]; twice {
			t.Errorf("span %s %s came twice", s.SpanID, s.Name)
		}
		byID[s.SpanID] = s
	}
	roots := map[string]otlptest.Span{} // by case
	var run otlptest.Span
	for _, s := range spans {
		word, _, _ := strings.Cut(s.Name, " ")
		service := "evalfarm-worker"
		if slices.Contains([]string{"run", "trial", "send"}, word) {
			service = "evalfarm-scheduler"
		}
		if s.Service != service {
			t.Errorf("%s is told by %q, want %s", s.Name, s.Service, service)
		}
		if parent, there := byID[s.ParentID]; s.ParentID != "" && (!there || parent.TraceID != s.TraceID) {
			t.Errorf("%s has the parent %s, which is not in its trace", s.Name, s.ParentID)
		}
		if s.End.Before(s.Start) {
			t.Errorf("%s ends before it begins", s.Name)
		}
		for _, l := range s.Links {
			if to, there := byID[l.SpanID]; !there || to.TraceID != l.TraceID {
				t.Errorf("%s is linked to %s, which nobody told of", s.Name, l.SpanID)
			}
		}
		switch {
		case s.ParentID != "":
		case word == "run":
			run = s
		case word == "trial":
			roots[fmt.Sprint(s.Attrs["evalfarm.case"])] = s
		default:
			t.Errorf("%s has no parent", s.Name)
		}
	}
	known := 0
	for name, want := range outlines() {
		root, there := roots[name]
		if !there {
			t.Errorf("case %s has no trace", name)
			continue
		}
		steps := trail(spans, root.TraceID)
		known += len(steps)
		if got := outline(steps); got != want {
			t.Errorf("the trace of case %s:\n%s\nwant:\n%s", name, got, want)
		}
		if len(root.Links) != 1 || root.Links[0].SpanID != run.SpanID || run.Name != "run support" {
			t.Errorf("case %s is linked to %v, want to the run %s", name, root.Links, run.SpanID)
		}
	}
	if known != len(spans)-1 {
		t.Errorf("%d of %d spans are of trials, want all but that of the run", known, len(spans))
	}
	f.again(t, spans)
	f.heard(t, spans)
	f.logged(t, byID)
}

// logged wants lines of logs to name the spans that they were written in.
func (f tracedFarm) logged(t *testing.T, byID map[string]otlptest.Span) {
	t.Helper()
	started := 0
	for line := range strings.Lines(f.logs) {
		var at struct {
			Msg   string
			Trace string `json:"trace_id"`
			Span  string `json:"span_id"`
		}
		if json.Unmarshal([]byte(line), &at) != nil || at.Span == "" { // for people, or of no trial
			continue
		}
		if span := byID[at.Span]; span.TraceID != at.Trace {
			t.Errorf("%sis of no span of its trace", line)
		} else if at.Msg == "server started" && strings.HasPrefix(span.Name, "start ") {
			started++
		}
	}
	if started != 5 {
		t.Errorf("logs tell of %d servers that attempts started, want 5:\n%s", started, f.logs)
	}
}

// again wants what was done again to be linked to what it is done for.
func (f tracedFarm) again(t *testing.T, spans []otlptest.Span) {
	t.Helper()
	var chats, sends []otlptest.Span
	var waited []string
	for _, s := range spans {
		switch {
		case s.Name == "chat support-1":
			chats = append(chats, s)
		case s.Name == "send trials" && byTrial(spans, s) == "hostile":
			sends = append(sends, s)
		case strings.HasPrefix(s.Name, "wait ") && byTrial(spans, s) == "judged":
			waited = append(waited, s.Name)
		}
	}
	if len(chats) != 3 || len(sends) != 2 {
		t.Fatalf("%d chats and %d sends, want 3 and 2", len(chats), len(sends))
	}
	if refused := chats[1]; refused.Attrs["http.response.status_code"] != int64(429) || len(refused.Links) != 0 {
		t.Errorf("the call that was refused has %v and links %v", refused.Attrs, refused.Links)
	}
	for _, pair := range [][2]otlptest.Span{{chats[1], chats[2]}, {sends[0], sends[1]}} {
		if links := pair[1].Links; len(links) != 1 || links[0].SpanID != pair[0].SpanID {
			t.Errorf("the second %s is linked to %v, want to the first, %s", pair[1].Name, links, pair[0].SpanID)
		}
	}
	if !slices.Contains(waited, "wait rate_limit") {
		t.Errorf("after the 429 it waited %q, want a wait rate_limit", waited)
	}
}

// byTrial is the case of the trial that a span is a part of.
func byTrial(spans []otlptest.Span, of otlptest.Span) string {
	for _, s := range spans {
		if s.TraceID == of.TraceID && s.ParentID == "" {
			return fmt.Sprint(s.Attrs["evalfarm.case"])
		}
	}
	return ""
}

// heard wants servers to have been told the contexts of the calls that were made of
// them, and no others.
func (f tracedFarm) heard(t *testing.T, spans []otlptest.Span) {
	t.Helper()
	var want, got []string
	for _, s := range spans {
		if strings.HasPrefix(s.Name, "execute_tool ") {
			want = append(want, fmt.Sprintf("%s 00-%s-%s-01", s.Attrs["evalfarm.server"], s.TraceID, s.SpanID))
		}
	}
	for server, lines := range f.asked {
		for line := range strings.Lines(lines) {
			var frame struct {
				Method string
				Params struct {
					Meta struct{ Traceparent string } `json:"_meta"`
				}
			}
			if err := json.Unmarshal([]byte(line), &frame); err != nil {
				t.Fatalf("server %s was asked %q: %v", server, line, err)
			}
			if frame.Method == "tools/call" {
				got = append(got, server+" "+frame.Params.Meta.Traceparent)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("servers were told %q, want %q", got, want)
	}
}

// hidden wants no piece of a secret to be anywhere in a text, which is called what.
func hidden(t *testing.T, what, text string) {
	t.Helper()
	for name, value := range secrets() {
		for _, half := range []string{value[:len(value)/2], value[len(value)/2:]} {
			if at := strings.Index(text, half); at >= 0 {
				t.Errorf("%s show the secret %s: …%q", what, name, text[max(0, at-200):at+len(half)])
			}
		}
	}
}

// Each trial of a farm of real processes is one connected trace, and what was secret
// is in nothing that leaves it, though all that is said is shown.
func TestTraceOfAFarm(t *testing.T) {
	t.Parallel()
	r := otlptest.Receive(t)
	env := []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + r.URL(), "EVALFARM_TELEMETRY_CONTENT=true"}
	f := traceFarm(t, env, env)
	f.connected(t, r.Spans())
	for _, s := range r.Spans() {
		if s.Name == "trial judged" {
			pictured(t, trail(r.Spans(), s.TraceID))
		}
	}

	for _, line := range []string{
		`evalfarm_trials_total{reason="",verdict="pass"} 2`,
		`evalfarm_trials_total{reason="wrong_answer",verdict="fail"} 1`,
		`evalfarm_trials_total{reason="start_exited",verdict="error"} 1`,
		`evalfarm_trials_total{reason="model_unauthorized",verdict="error"} 1`,
		`evalfarm_attempts_total{lane="trials",outcome="failed"} 3`,
		`evalfarm_mcp_crashes_total{server="flaky"} 1`,
	} {
		if !strings.Contains(f.pages, line+"\n") {
			t.Errorf("the pages of metrics lack %s:\n%s", line, f.pages)
		}
	}

	raw := r.Raw()
	for what, text := range map[string]string{"spans and pushed metrics": raw, "pages of metrics": f.pages, "logs": f.logs} {
		if text == "" {
			t.Errorf("there are no %s", what)
		}
		hidden(t, what, text)
	}
	for _, planted := range []string{
		"Use [secret SHOP_TOKEN].",           // the prompt
		"DROP TABLE [secret SHOP_TOKEN]",     // arguments of a tool
		`[secret SHOP_TOKEN] Capital`,        // its answer
		"no licence for [secret SHOP_TOKEN]", // the error of a server
		"my key is [secret ",                 // the answer of a model
		"no such key: Bearer [secret ",       // the error of a model
		"Kind, and [secret ",                 // the reason of a judge
	} {
		if !strings.Contains(raw, planted) {
			t.Errorf("%q is not in the spans: the test plants a secret where nobody sees it", planted)
		}
	}
}

// What the farm sends is OTLP, over HTTP and over gRPC, as the OpenTelemetry Collector
// understands it.
func TestTraceThroughACollector(t *testing.T) {
	built := otlptest.BuildCollector(t, filepath.Join("..", "..", "tools", "otelcol"))
	t.Parallel()
	r := otlptest.Receive(t)
	c := built.Start(t, r.URL())
	f := traceFarm(t,
		[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.HTTP, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"},
		[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.GRPC, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"})
	c.Stop()
	f.connected(t, r.Spans())
	raw := r.Raw()
	hidden(t, "spans and metrics", raw)
	for _, metric := range []string{"evalfarm.trials", "evalfarm.mcp.crashes"} { // of the scheduler, and of the worker
		if !strings.Contains(raw, metric) {
			t.Errorf("the metric %s did not come", metric)
		}
	}
	if strings.Contains(raw, "How is ") || strings.Contains(raw, "Be kind.") {
		t.Error("what was said is shown, though nobody asked for that")
	}
}

// Who looks on changes nothing: a run comes to the same when it is traced, and when
// the collector dies in the middle of it.
func TestTracingChangesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	args := []string{"run", judgedSuite(s), "--seed", "7", "-n", "2", "--json", "--progress", "none"}
	var want, got eval.Summary
	s.json(&want, 1, args...)

	r := otlptest.Receive(t)
	r.Mortal()
	s.env = append(s.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+r.URL(), "OTEL_BSP_SCHEDULE_DELAY=10", "EVALFARM_TELEMETRY_CONTENT=true")
	p := s.start(args...)
	if code := p.wait(); code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, p.errs.String())
	}
	// The run itself is told of last: that did not come, so the end was after the death.
	if spans := r.Spans(); len(spans) == 0 || slices.ContainsFunc(spans, func(s otlptest.Span) bool { return strings.HasPrefix(s.Name, "run ") }) {
		t.Errorf("%d spans came, want some and not that of the run", len(spans))
	}
	if !strings.Contains(p.errs.String(), "spans are lost") {
		t.Errorf("nobody says that spans are lost:\n%s", p.errs.String())
	}
	if err := json.Unmarshal([]byte(p.out.String()), &got); err != nil {
		t.Fatal(err)
	}
	sameAs(t, got, want)
}
