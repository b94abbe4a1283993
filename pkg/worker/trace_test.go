package worker_test

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/internal/demo"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

var update = flag.Bool("update", false, "rewrite golden files")

// heardIn writes the trace contexts of requests into a file, a line each.
func heardIn(file string) func(string, map[string]any) {
	return func(method string, meta map[string]any) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		fmt.Fprintln(f, method, meta["traceparent"])
	}
}

// A scene is a delivery of which all spans are looked at.
type scene struct {
	name    string
	c       eval.Case
	set     option
	job     func(b *bundle, j *jobs.Job)         // what is special of its job
	meddle  func(b *bundle, say func(jobs.Word)) // while it runs
	http    bool                                 // the server is one over Streamable HTTP
	content bool
}

// scenes are all kinds of ends that a delivery can come to.
func scenes() []scene {
	with := func(server func(*eval.Server)) option {
		return func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			acme := s.Servers["acme"]
			server(&acme)
			s.Servers["acme"] = acme
		}
	}
	breaks := func(name string) func(*eval.Server) {
		return func(s *eval.Server) { s.Command = append(slices.Clone(s.Command), name) }
	}
	agent := func(moves ...llm.Response) option { return declared(map[string]modelFunc{"agent": moving(moves...)}) }
	asking := func(set option, job func(*jobs.Job)) (option, func(*bundle, *jobs.Job)) {
		return func(o *worker.Options, s *eval.Snapshot, cs []eval.Case) {
				set(o, s, cs)
				grading(eval.Grading{})(o, s, cs)
			}, func(b *bundle, j *jobs.Job) {
				j.Run, j.Subject = "r-1.g1", b.subject(done())
				j.Traceparent = telemetry.Attempt{Run: j.Run, N: 1, Of: "r-1"}.Traceparent(true)
				if job != nil {
					job(j)
				}
			}
	}
	verdict := func(arguments string) option {
		return declared(map[string]modelFunc{"judge": moving(calls("verdict", arguments))})
	}
	read := eval.Case{ID: "read", Kind: eval.KindScript, Server: "acme", Steps: []eval.Step{{ID: "1", Read: "acme://report/gone?key=k"}}}
	several := func(of ...llm.Call) llm.Response {
		return llm.Response{Stop: llm.StopCalls, Usage: eval.Usage{Input: 10, Output: 5, CacheRead: 4}, Message: llm.Message{Role: llm.Assistant, Calls: of}}
	}
	polling := active("poll")
	polling.Steps[0].RepeatUntil = &eval.RepeatUntil{Path: "status", Equals: eval.JSON(`"NEVER"`), Max: 2, Every: time.Millisecond}
	verified := conversation(
		contains("active"),
		eval.Check{ID: "state", Verify: &eval.VerifyCheck{Step: &eval.Step{ID: "1", Call: "getCustomerStatus", Arguments: eval.JSON(customer), Expect: eval.JSON(`{"status":"ACTIVE"}`)}}},
		eval.Check{ID: "style", Scorer: &eval.ScorerCheck{Command: []string{"/bin/sh", "-c", `echo '{"score":1,"reason":"short"}'`}}},
		judged("tone"),
	)
	scorerFails := conversation(eval.Check{ID: "style", Scorer: &eval.ScorerCheck{Command: []string{"/bin/sh", "-c", `echo "cannot" >&2; exit 3`}}})
	limited := conversation()
	limited.Limits.ToolCalls = 1
	down := func(kind llm.Kind) modelFunc {
		return func(context.Context, llm.Request) (llm.Response, error) {
			return llm.Response{}, &llm.Error{Kind: kind, Status: 529, Message: "busy"}
		}
	}
	hung, stopped := newHanging(), newHanging()
	judgePass, passJob := asking(verdict(`{"pass":true,"reason":"kind"}`), nil)
	judgeFail, failJob := asking(verdict(`{"pass":false,"reason":"rude"}`), nil)
	judgeDown, downJob := asking(declared(map[string]modelFunc{"judge": down(llm.Overloaded)}), nil)
	crash := with(breaks("crash-on-hostile-input"))
	return []scene{
		{name: "script_pass", c: active("a")},
		{name: "script_fail", c: call("a", customer, `{"status":"GONE"}`), content: true},
		{name: "script_poll", c: polling},
		{name: "second_attempt", c: active("a"), job: func(_ *bundle, j *jobs.Job) {
			j.Attempt, j.Traceparent = 2, telemetry.Attempt{Run: j.Run, N: 2}.Traceparent(true)
		}},
		{name: "catalog", c: eval.Case{ID: "listing", Kind: eval.KindCatalog, Server: "acme", Catalog: &eval.Catalog{Rules: []string{"legal_names", "no_root_all_of"}}}},
		{name: "tool_error", c: call("a", `{"customerId":"nobody"}`, `{"status":"ACTIVE"}`), content: true},
		{name: "rejection", c: read, content: true},
		{name: "crash", c: call("a", `{"customerId":"'; DROP TABLE users; --"}`, `{"status":"ACTIVE"}`), set: crash, content: true},
		{name: "start_failed", c: active("a"), set: with(func(s *eval.Server) { s.Command = []string{"/no/such/command"} }), content: true},
		{name: "start_exited", c: active("a"), set: with(func(s *eval.Server) { s.Command = []string{"/bin/sh", "-c", "echo no key >&2; exit 3"} })},
		{name: "timeout", c: eval.Case{ID: "slow", Kind: eval.KindScript, Server: "acme", Steps: []eval.Step{{ID: "1", Call: "getSLACompliance", Arguments: eval.JSON(`{"serviceId":"api-gateway"}`)}}}, set: with(func(s *eval.Server) {
			breaks("slow-tool")(s)
			s.CallTimeout = 2 * time.Second
		})},
		{name: "agent_pass", c: verified, content: true, set: agent(
			several(llm.Call{ID: "c1", Tool: "getCustomerStatus", Arguments: customer}, llm.Call{ID: "c2", Tool: "getOrderStatus", Arguments: `{"orderId":"ORD-20240815"}`}),
			says("CUST-4091 is active."))},
		{name: "agent_fail", c: conversation(contains("nothing of the kind")), set: agent(calls("getCustomerStatus", customer), says("I do not know."))},
		{name: "agent_invalid_calls", c: conversation(), content: true, set: agent(several(
			llm.Call{ID: "c1", Tool: "no\nsuch", Arguments: customer}, llm.Call{ID: "c2", Tool: "getCustomerStatus", Arguments: `{"wrong`}, llm.Call{ID: "c3", Tool: "getCustomerStatus", Arguments: `{}`}))},
		{name: "agent_search", c: conversation(), content: true, set: func(o *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			agent(calls("search_tools", `{"query":"customer"}`))(o, s, cs)
			s.Variants = []eval.Variant{eval.NewVariant(map[string]string{eval.AxisLoading: string(eval.LoadingSearch)})}
		}},
		{name: "agent_over_limit", c: limited, set: agent(several(
			llm.Call{ID: "c1", Tool: "getCustomerStatus", Arguments: customer}, llm.Call{ID: "c2", Tool: "getCustomerStatus", Arguments: customer}))},
		{name: "agent_model_down", c: conversation(), set: declared(map[string]modelFunc{"agent": down(llm.Overloaded)})},
		{name: "agent_scorer_fails", c: scorerFails, set: agent(says("Yes.")), content: true},
		{name: "cancelled", c: conversation(), set: declared(map[string]modelFunc{"agent": hung.Generate}), meddle: func(_ *bundle, say func(jobs.Word)) {
			<-hung.asked
			say(jobs.Word{Control: eval.ControlCancel})
		}},
		{name: "drained", c: conversation(), set: func(o *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			declared(map[string]modelFunc{"agent": stopped.Generate})(o, s, cs)
			o.Grace = time.Millisecond
		}, meddle: func(b *bundle, _ func(jobs.Word)) {
			<-stopped.asked
			b.stop()
		}},
		{name: "no_room", c: conversation(), set: declared(map[string]modelFunc{"agent": down(llm.Later)})},
		{name: "script_http", c: active("a"), http: true},
		{name: "unreadable", c: active("a"), job: func(_ *bundle, j *jobs.Job) { j.Header = strings.Repeat("0", 64) }},
		{name: "judge_pass", c: conversation(judged("tone")), set: judgePass, job: passJob, content: true},
		{name: "judge_fail", c: conversation(judged("tone")), set: judgeFail, job: failJob},
		{name: "judge_unreachable", c: conversation(judged("tone")), set: judgeDown, job: downJob},
	}
}

// traced carries out a scene. Heard are the trace contexts that the server saw.
func (s scene) traced(t *testing.T, tracer *telemetry.Tracer, opts ...option) (b *bundle, heard string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "heard")
	var word atomic.Pointer[jobs.Word]
	set := func(o *worker.Options, snap *eval.Snapshot, cs []eval.Case) {
		o.Tracer, o.Lane = tracer, telemetry.Trials
		if strings.HasPrefix(s.name, "judge") {
			o.Lane = telemetry.Judging
		}
		acme := snap.Servers["acme"]
		acme.Env = map[string]string{"HEARD": file}
		acme.Isolation = eval.IsolationTrial
		if s.http {
			acme = eval.Server{URL: overHTTP(t, file), Isolation: eval.IsolationTrial}
		}
		snap.Servers["acme"] = acme
		o.Place.(*place).word = func(c jobs.Claim) jobs.Word {
			w := jobs.Word{Control: eval.ControlRun}
			if said := word.Load(); said != nil {
				w = *said
			}
			w.UID = c.UID
			return w
		}
	}
	opts = append([]option{set}, opts...)
	if s.set != nil {
		opts = append(opts, s.set)
	}
	b = setup(t, []eval.Case{s.c}, opts...)
	j := jobs.Job{Run: "r-1", Attempt: 1, Header: b.header, Traceparent: telemetry.Attempt{Run: "r-1", N: 1}.Traceparent(true)}
	if s.job != nil {
		s.job(b, &j)
	}
	b.place.jobs <- j
	if s.meddle != nil {
		s.meddle(b, func(w jobs.Word) { word.Store(&w) })
	}
	_ = b.handled()
	raw, _ := os.ReadFile(file)
	return b, string(raw)
}

// overHTTP serves the demo in this process until the test ends, and gives its URL.
func overHTTP(t *testing.T, heard string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- demo.Serve(ctx, demo.Options{Name: "acme", HTTP: ":0", Err: w, Heard: heardIn(heard)})
		_ = w.Close()
	}()
	lines := bufio.NewReader(r)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("no address: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	_, url, _ := strings.Cut(strings.TrimSpace(line), "serving ")
	return url
}

// told writes down all that spans say, but for what differs each time.
func told(t *testing.T, rec *telemetrytest.Recorder) string {
	t.Helper()
	self, _ := os.Executable()
	differing := regexp.MustCompile(`(evalfarm\.attempt\.uid|messaging\.message\.id|jsonrpc\.request\.id|server\.port|mcp\.session\.id)=\S+`)
	var out bytes.Buffer
	say := func(indent, mark string, attrs map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(attrs)) {
			value := strings.ReplaceAll(fmt.Sprint(attrs[key]), "\n", `\n`)
			if len(value) > 200 {
				value = value[:200] + "…"
			}
			fmt.Fprintf(&out, "%s%s%s\n", indent, mark, differing.ReplaceAllString(key+"="+value, "$1=…"))
		}
	}
	spans := rec.Spans()
	call := func(s telemetrytest.Span) bool { return strings.HasPrefix(s.Name, "execute_tool") }
	for i := 0; i < len(spans); i++ { // calls of a turn begin in any order
		end := i
		for end < len(spans) && call(spans[end]) && spans[end].ParentID == spans[i].ParentID {
			end++
		}
		slices.SortStableFunc(spans[i:end], func(x, y telemetrytest.Span) int {
			return strings.Compare(x.Name+fmt.Sprint(x.Attrs["gen_ai.tool.call.id"]), y.Name+fmt.Sprint(y.Attrs["gen_ai.tool.call.id"]))
		})
		i = max(i, end-1)
	}
	shown := 0
	var tell func(parent, indent string)
	tell = func(parent, indent string) {
		for _, s := range spans {
			if s.ParentID != parent {
				continue
			}
			shown++
			fmt.Fprintf(&out, "%s%s (%s) %s\n", indent, s.Name, s.Kind, strings.TrimSpace(s.Status+" "+s.Message))
			say(indent, "  . ", s.Attrs)
			for _, e := range s.Events {
				fmt.Fprintf(&out, "%s  * %s\n", indent, e.Name)
				say(indent, "      ", e.Attrs)
				if judge := strings.HasPrefix(s.Name, "judge"); !judge && !e.Time.Equal(s.End) {
					t.Errorf("%s: event %s at %s, want the end %s", s.Name, e.Name, e.Time, s.End)
				}
			}
			for _, l := range s.Links {
				if l.TraceID != s.TraceID {
					t.Errorf("%s: a link to another trace %s", s.Name, l.TraceID)
				}
				fmt.Fprintf(&out, "%s  > link to %s\n", indent, named(spans, l.SpanID))
			}
			tell(s.SpanID, indent+"    ")
		}
	}
	if len(spans) > 0 {
		fmt.Fprintf(&out, "trace %s, below %s\n", spans[0].TraceID, spans[0].ParentID)
		tell(spans[0].ParentID, "")
	}
	if shown != len(spans) {
		t.Errorf("%d of %d spans are below the delivery:\n%s", shown, len(spans), rec.Tree())
	}
	for _, s := range spans {
		if s.TraceID != spans[0].TraceID {
			t.Errorf("%s is in another trace", s.Name)
		}
	}
	text := regexp.MustCompile(`(stderr ends with:|HTTP/).*`).ReplaceAllString(out.String(), "$1 …") // of a panic, lines of our own
	return strings.ReplaceAll(text, self, "SELF")
}

// named is what a link leads to: a span of the delivery, or the id of another.
func named(spans []telemetrytest.Span, id string) string {
	for _, s := range spans {
		if s.SpanID == id {
			return s.Name
		}
	}
	return id
}

// Every span of every kind of delivery: testdata/trace has what is expected of each.
func TestSpansOfADelivery(t *testing.T) {
	t.Parallel()
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			modes := []bool{false}
			if s.content {
				modes = append(modes, true)
			}
			for _, content := range modes {
				file, o := filepath.Join("testdata", "trace", s.name+".txt"), []telemetrytest.Option(nil)
				if content {
					file, o = filepath.Join("testdata", "trace", s.name+".content.txt"), append(o, telemetrytest.Content())
				}
				tracer, rec := telemetrytest.New(t, o...)
				_, heard := s.traced(t, tracer)
				got := told(t, rec)
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), got); diff != "" {
					t.Errorf("content %t (-want +got):\n%s", content, diff)
				}
				// What the server saw is the spans of its requests.
				ids := map[string]string{}
				for _, span := range rec.Spans() {
					ids["00-"+span.TraceID+"-"+span.SpanID+"-01"] = span.Name
				}
				for line := range strings.Lines(heard) {
					method, context, _ := strings.Cut(strings.TrimSpace(line), " ")
					if name := ids[context]; !strings.HasPrefix(name, map[string]string{"tools/call": "execute_tool", "resources/read": "resources/read"}[method]) || name == "" {
						t.Errorf("the server saw %q, which is span %q", line, name)
					}
				}
				if requests := strings.Count(got, "mcp.method.name=tools/call"); requests != strings.Count(heard, "\n") && s.name != "crash" {
					t.Errorf("the server saw %q of %d calls", heard, requests)
				}
			}
		})
	}
}

// What a trial comes to is the same whether anybody traces it or not.
func TestTracingChangesNothing(t *testing.T) {
	t.Parallel()
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			tracer, _ := telemetrytest.New(t, telemetrytest.Content())
			var came [2]string
			for i, tracer := range []*telemetry.Tracer{nil, tracer} {
				b, _ := s.traced(t, tracer)
				for _, r := range b.memory.records {
					scores := r.Result.Scores
					for i := range scores {
						scores[i].LatencyMS = 0
						scores[i].Message = strings.Split(scores[i].Message, "stderr ends with")[0]
					}
					came[i] += fmt.Sprintln(r.Outcome, r.Result.Verdict, r.Result.Reason, r.Result.TrajectoryHash, string(eval.Encode(scores)), r.Result.Usage, r.Result.Counts)
				}
			}
			if diff := cmp.Diff(came[0], came[1]); diff != "" {
				t.Errorf("(-off +on):\n%s", diff)
			}
		})
	}
}

// Secrets are planted where they can come back, and are in no span, with content or
// without. What was said by others is in none without content.
func TestSecretsAreInNoSpan(t *testing.T) {
	t.Parallel()
	const canary = "canary-of-the-"
	secrets := func(o *worker.Options, s *eval.Snapshot, cs []eval.Case) {
		vault(o, s, cs)
		server := s.Servers["acme"]
		server.Env = maps.Clone(server.Env)
		server.Env["TOKEN"] = "${{ secrets.TOKEN }}" // goes to its stderr
		s.Servers["acme"] = server
		s.Models = map[string]eval.Model{"agent": {APIKey: "${{ secrets.KEY }}"}, "judge": {APIKey: "${{ secrets.KEY }}"}}
	}
	both := func(opts ...option) option {
		return func(o *worker.Options, s *eval.Snapshot, cs []eval.Case) {
			for _, set := range append([]option{secrets}, opts...) {
				set(o, s, cs)
			}
		}
	}
	long := func(secret string) string { return strings.Repeat("x", 4080) + secret + strings.Repeat("y", 9000) } // across every cut
	says := func(what string) string { return what + " " + planted("KEY") + " " + canary + "model" }
	chatty := func(_ context.Context, req llm.Request) (llm.Response, error) {
		if len(req.Messages) > 1 {
			return llm.Response{ID: planted("KEY"), Model: planted("KEY"), Word: planted("KEY"), Stop: llm.StopEnd, Message: llm.Message{Text: says("answer")}}, nil
		}
		return llm.Response{Stop: llm.StopCalls, Message: llm.Message{Role: llm.Assistant, Reasoning: says("thought"), Calls: []llm.Call{
			{ID: planted("KEY") + "1", Tool: "getCustomerStatus", Arguments: fmt.Sprintf(`{"customerId":%q}`, says("argument"))},
			{ID: "2", Tool: long(planted("KEY")), Arguments: long(planted("KEY"))},
			{ID: "3", Tool: "get\n" + planted("KEY"), Arguments: `{"a":"` + planted("KEY")},
			{ID: "4", Tool: "getCustomerStatus", Arguments: fmt.Sprintf(`{"customerId":%q}`, long(planted("TOKEN")))},
			{ID: "5", Tool: "read_resource", Arguments: fmt.Sprintf(`{"uri":"acme://%s@host/%s?k=%s"}`, planted("KEY"), planted("TOKEN"), planted("KEY"))},
		}}}, nil
	}
	failing := func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.BadRequest, Status: 400, Code: planted("KEY"), Message: says("no: " + long(planted("KEY")))}
	}
	talk := conversation(contains("nothing of the kind"),
		eval.Check{ID: "scorer", Scorer: &eval.ScorerCheck{Command: []string{"/bin/sh", "-c", "cat >&2; exit 1"}}},
		eval.Check{ID: "verify", Verify: &eval.VerifyCheck{Command: []string{"/bin/sh", "-c", "echo " + canary + "verifier; exit 1"}}})
	talk.Prompt = says("prompt {{who}}")
	talk.Agent.Resources = true
	scripted := call("a", fmt.Sprintf(`{"customerId":%q}`, long(planted("TOKEN"))+canary+"case"), `{"status":"ACTIVE"}`)
	scripted.Steps = append(scripted.Steps, eval.Step{ID: "2", Call: "getCustomerStatus", Arguments: eval.JSON(fmt.Sprintf(`{"customerId":%q}`, planted("TOKEN")))})
	tone := conversation(judged("tone"))
	tone.Checks[0].Judge.Rubric = says("rubric")
	judge := func(b *bundle, j *jobs.Job) { j.Run, j.Subject = "r-1.g1", b.subject(done()) }
	panics := modelFunc(func(context.Context, llm.Request) (llm.Response, error) { panic(says("lost")) })
	for _, s := range []scene{
		{name: "script", c: scripted, set: secrets},
		{name: "start", c: active("a"), set: both(func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			server := s.Servers["acme"]
			server.Command = []string{"/bin/sh", "-c", "echo $TOKEN " + canary + "server >&2; exit 1"}
			s.Servers["acme"] = server
		})},
		{name: "address", c: active("a"), set: both(func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
			s.Servers["acme"] = eval.Server{URL: "http://127.0.0.1:1/${{ secrets.TOKEN }}"}
		})},
		{name: "agent", c: talk, set: both(declared(map[string]modelFunc{"agent": chatty}))},
		{name: "model", c: talk, set: both(declared(map[string]modelFunc{"agent": failing}))},
		{name: "panic", c: talk, set: both(declared(map[string]modelFunc{"agent": panics}))},
		{name: "judge", c: tone, job: judge, set: both(grading(eval.Grading{}), declared(map[string]modelFunc{"judge": func(context.Context, llm.Request) (llm.Response, error) {
			return calls("verdict", fmt.Sprintf(`{"pass":false,"reason":%q}`, says("because"))), nil
		}}))},
		{name: "judge down", c: tone, job: judge, set: both(grading(eval.Grading{}), declared(map[string]modelFunc{"judge": failing}))},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, content := range []bool{false, true} {
				var o []telemetrytest.Option
				if content {
					o = append(o, telemetrytest.Content())
				}
				tracer, rec := telemetrytest.New(t, o...)
				s.traced(t, tracer)
				said := rec.Text()
				if i := strings.Index(said, "3cr3t"); i >= 0 {
					t.Errorf("content %t: a piece of a secret is shown: …%s…", content, said[max(0, i-200):min(len(said), i+50)])
				}
				if content {
					if s.name != "address" && !strings.Contains(said, "[sec") {
						t.Error("no secret came back: the test plants it where nobody sees it")
					}
					continue
				}
				if i := strings.Index(said, canary); i >= 0 {
					t.Errorf("shown without content: …%s…", said[max(0, i-200):min(len(said), i+50)])
				}
			}
		})
	}
}

// Whoever comes to a session that is there says so, and each trial has its own trace.
func TestSpansOfASharedSession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "heard")
	tracer, rec := telemetrytest.New(t)
	b := setup(t, []eval.Case{active("a"), active("b")}, func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		o.Tracer, o.Lane = tracer, telemetry.Trials
		acme := s.Servers["acme"]
		acme.Env = map[string]string{"HEARD": file}
		s.Servers["acme"] = acme
	})
	for i := range 2 {
		b.place.jobs <- jobs.Job{Run: "r-1", Ordinal: i, Attempt: 1, Header: b.header, Traceparent: telemetry.Attempt{Run: "r-1", Ordinal: i, N: 1}.Traceparent(true)}
		if err := b.handled(); err != nil {
			t.Fatal(err)
		}
	}
	starts := rec.Named("start acme")
	if len(starts) != 2 || starts[0].Attrs["evalfarm.session"] != "began" || starts[1].Attrs["evalfarm.session"] != "joined" {
		t.Errorf("got %+v, want one that began and one that joined", starts)
	}
	heard, _ := os.ReadFile(file)
	for i := range 2 {
		if trace := telemetry.TraceID("r-1", i).String(); !strings.Contains(string(heard), "tools/call 00-"+trace) {
			t.Errorf("the server saw %q, and nothing of trial %d", heard, i)
		}
	}
}
