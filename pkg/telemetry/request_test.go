package telemetry_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// Where nobody traces, what happens in a delivery takes no memory.
func TestOffCostsNothingInADelivery(t *testing.T) {
	var off *telemetry.Tracer
	ctx, process := off.Process(t.Context(), telemetry.Delivery{})
	trial, check, result := eval.Trial{Run: "r"}, eval.Check{ID: "c"}, eval.Result{Scores: []eval.Score{{Check: "c"}}}
	arguments, now := []byte("{}"), time.Now()
	rejected := eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: 1}}
	for name, work := range map[string]func(){
		"delivery": func() {
			process.Of(trial, "")
			off.Processed(process, eval.Record{}, nil)
			off.Returned(process, "why", nil)
		},
		"start": func() {
			ctx, span := telemetry.Start(ctx, "acme")
			telemetry.Comes(ctx, telemetry.Own)
			span.To(telemetry.Peer{Server: "acme", Port: "80"})
			span.Undecided(eval.ReasonStartExited, "said")
			span.End()
		},
		"agent": func() {
			_, span := telemetry.InvokeAgent(ctx, telemetry.Agent{Name: "m"}, trial)
			span.Worked(result, now)
		},
		"steps": func() {
			_, span := telemetry.Steps(ctx, eval.KindScript, trial, "acme")
			span.Doubted()
			span.End()
		},
		"call": func() {
			ctx, span := telemetry.ToolCall(telemetry.Asks(ctx, "c1"), "tool")
			span.With(arguments)
			if telemetry.Propagated(ctx) != nil {
				t.Error("a trace context leaves")
			}
			telemetry.Sent(ctx, "1")
			span.Gave(arguments)
			span.Brought(rejected)
			span.End()
		},
		"no call": func() {
			span := telemetry.Uncalled(ctx, "tool")
			span.NotMade("unknown_tool", "told")
			span.End()
		},
		"read": func() {
			_, span := telemetry.ResourceRead(ctx, "a://b?c")
			span.End()
		},
		"listing": func() {
			_, span := telemetry.ToolList(ctx)
			span.End()
		},
		"checks": func() {
			ctx, span := telemetry.Checks(ctx, 3)
			_, one := telemetry.Check(ctx, "scorer", "c")
			one.End()
			span.End()
		},
		"judge": func() {
			_, span := telemetry.Judge(ctx, check)
			span.Scored(result.Scores)
			span.End()
		},
	} {
		if n := testing.AllocsPerRun(100, work); n != 0 {
			t.Errorf("%s: %v allocations, want none", name, n)
		}
	}
}

func TestRequests(t *testing.T) {
	long := strings.Repeat("ü", 300)
	tests := []struct {
		name  string
		begin func(context.Context) telemetry.Span
		want  string
		attrs map[string]any
	}{
		{"a tool", func(ctx context.Context) telemetry.Span {
			_, s := telemetry.ToolCall(telemetry.Asks(ctx, "call-1"), "search")
			return s
		}, "execute_tool search", map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "gen_ai.tool.type": "function",
			"gen_ai.tool.call.id": "call-1", "mcp.method.name": "tools/call",
		}},
		{"a name that hides", func(ctx context.Context) telemetry.Span {
			return telemetry.Uncalled(ctx, "a\nb\x1b[31m\u202ec\u200b\xff")
		}, "execute_tool a�b�[31m�c��", map[string]any{
			"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "a�b�[31m�c��", "gen_ai.tool.type": "function",
		}},
		{
			"a long name", func(ctx context.Context) telemetry.Span { return telemetry.Uncalled(ctx, long) },
			"execute_tool " + strings.Repeat("ü", 50) + "…[400 bytes left out]…" + strings.Repeat("ü", 50), nil,
		},
		{"a resource with a key", func(ctx context.Context) telemetry.Span {
			_, s := telemetry.ResourceRead(ctx, "https://me:pw@host:81/a/b?key=1#f")
			return s
		}, "resources/read", map[string]any{"mcp.method.name": "resources/read", "mcp.resource.uri": "https://host:81/a/b"}},
		{"a resource of a scheme of its own", func(ctx context.Context) telemetry.Span {
			_, s := telemetry.ResourceRead(ctx, "note:1?key=1")
			return s
		}, "resources/read", map[string]any{"mcp.method.name": "resources/read", "mcp.resource.uri": "note:1"}},
		{
			"a listing", func(ctx context.Context) telemetry.Span { _, s := telemetry.ToolList(ctx); return s },
			"tools/list",
			map[string]any{"mcp.method.name": "tools/list"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tracer, rec := telemetrytest.New(t)
			telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) { tt.begin(ctx).End() })
			got := rec.One(tt.want)
			if tt.attrs == nil {
				return
			}
			if diff := cmp.Diff(tt.attrs, got.Attrs); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutcomes(t *testing.T) {
	tests := []struct {
		name             string
		outcome          eval.Outcome
		kind, code, said string
	}{
		{"an answer", eval.Outcome{Kind: eval.OutcomeOK}, "", "", ""},
		{"a rejection by the tool", eval.Outcome{Kind: eval.OutcomeToolError}, "tool_error", "", ""},
		{"a rejection by the protocol", eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602, Message: "no such tool"}}, "-32602", "-32602", "no such tool"},
		{"no answer", eval.Outcome{Kind: eval.OutcomeFailed, Reason: eval.ReasonServerCrashed, Detail: "stderr ends with: x"}, "server_crashed", "", "stderr ends with: x"},
		{"a cancel", eval.Outcome{Kind: eval.OutcomeCancelled, Detail: "the trial's time limit"}, "cancelled", "", "the trial's time limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, content := range []bool{false, true} {
				var o []telemetrytest.Option
				said := ""
				if content {
					o, said = append(o, telemetrytest.Content()), tt.said
				}
				tracer, rec := telemetrytest.New(t, o...)
				telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
					_, span := telemetry.ToolCall(ctx, "x")
					span.Brought(tt.outcome)
					span.End()
				})
				got := rec.One("execute_tool x")
				status := "Error"
				if tt.kind == "" {
					status = "Unset"
				}
				if got.Status != status || got.Message != said || word(got.Attrs["error.type"]) != tt.kind || word(got.Attrs["rpc.response.status_code"]) != tt.code {
					t.Errorf("content %t: got %s %q, %v; want %s %q, %s, code %q", content, got.Status, got.Message, got.Attrs, status, said, tt.kind, tt.code)
				}
			}
		})
	}
}

// word is an attribute that may not be there.
func word(v any) string {
	s, _ := v.(string)
	return s
}

// Whatever a model, a tool or a server says is bounded and can be sent; no piece of a
// secret is left where it was cut, and without content none of it is there.
func TestContentOfACall(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const secret = "s3cret\ns3cret-s3cret" // which a name would not show as it is
		// Where it begins: anywhere, and across the places where names, messages and content
		// are cut, from the beginning or the end.
		at := rapid.IntRange(0, 9000).Draw(rt, "at")
		if cut := rapid.SampledFrom([]int{0, 100, 500, 4096}).Draw(rt, "cut"); cut > 0 {
			at = cut - rapid.IntRange(0, len(secret)).Draw(rt, "before the cut")
		}
		around := []string{strings.Repeat("x", at), strings.Repeat("y", rapid.IntRange(0, 9000).Draw(rt, "more")) + rapid.SampledFrom([]string{"", "\xff", "\x00"}).Draw(rt, "end")}
		if rapid.Bool().Draw(rt, "from the end") {
			slices.Reverse(around)
		}
		said := around[0] + secret + around[1]
		for _, content := range []bool{false, true} {
			var o []telemetrytest.Option
			if content {
				o = append(o, telemetrytest.Content())
			}
			tracer, rec := telemetrytest.New(t, o...)
			redact := func(text string) string { return strings.ReplaceAll(text, secret, "[secret]") }
			ctx, process := tracer.Process(rt.Context(), telemetry.Delivery{Lane: "q", Redact: redact})
			_, span := telemetry.ToolCall(telemetry.Asks(ctx, said), said)
			span.With([]byte(said))
			span.Gave([]byte(said))
			span.Brought(eval.Outcome{Kind: eval.OutcomeFailed, Reason: eval.ReasonTimeout, Detail: said})
			span.Scored([]eval.Score{{Check: "c", Message: said}})
			span.End()
			tracer.Returned(process, "test", redact)
			for _, s := range rec.Spans() {
				texts := []string{s.Name, s.Message}
				for key, v := range s.Attrs {
					texts = append(texts, word(v))
					if !content && (key == "gen_ai.tool.call.arguments" || key == "gen_ai.tool.call.result") {
						rt.Errorf("%s is shown", key)
					}
				}
				for _, e := range s.Events {
					texts = append(texts, word(e.Attrs["gen_ai.evaluation.explanation"]))
				}
				for _, shown := range texts {
					if strings.Contains(shown, "3cre") || !utf8.ValidString(shown) || len(shown) > 8<<10+50 {
						rt.Errorf("content %t: %d bytes, valid %t, of a secret or none: %.300q", content, len(shown), utf8.ValidString(shown), shown)
					}
				}
				if strings.IndexFunc(s.Name, unicode.IsControl) >= 0 || len(s.Name) > 300 {
					rt.Errorf("name %q", s.Name)
				}
				if !content && (s.Message != "" || len(s.Events) > 0 && s.Events[0].Attrs["gen_ai.evaluation.explanation"] != nil) {
					rt.Errorf("shown without content: %q, %v", s.Message, s.Events)
				}
			}
		}
	})
}

func TestPropagated(t *testing.T) {
	tracer, rec := telemetrytest.New(t)
	var got map[string]string
	telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
		ctx, span := telemetry.ToolCall(ctx, "x")
		got = telemetry.Propagated(ctx)
		span.End()
		if late := telemetry.Propagated(ctx); late != nil {
			t.Errorf("%v leaves after the span's end", late)
		}
	})
	s := rec.One("execute_tool x")
	want := map[string]string{"traceparent": "00-" + s.TraceID + "-" + s.SpanID + "-01"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The work of a case ends when it was over, and is told with what it was scored on
// later.
func TestWorked(t *testing.T) {
	ended := time.Now().Add(-time.Hour).UTC()
	scores := []eval.Score{
		{Check: "a", Pass: true, Value: 1},
		{Check: "b", Reason: eval.ReasonWrongAnswer, Message: "said no"},
		{Check: "c", Pending: true, Reason: eval.ReasonAwaitingJudge},
		{Check: "d", Warning: true, Value: 0.5},
	}
	tests := []struct {
		name   string
		result eval.Result
		status string
		want   map[string]any
	}{
		{"a fail is no error", eval.Result{Verdict: eval.Fail, Reason: eval.ReasonWrongAnswer, Stop: eval.StopDone, Scores: scores, Counts: eval.Counts{Turns: 2, ToolCalls: 3}, Usage: eval.Usage{Input: 7, Output: 5, CacheRead: 3}}, "Unset", map[string]any{
			"evalfarm.verdict": "fail", "evalfarm.reason": "wrong_answer", "evalfarm.stop": "done", "evalfarm.turns": int64(2), "evalfarm.tool_calls": int64(3),
			"gen_ai.usage.input_tokens": int64(7), "gen_ai.usage.output_tokens": int64(5), "gen_ai.usage.cache_read.input_tokens": int64(3),
		}},
		{"what the farm lost is one", eval.Result{Verdict: eval.Error, Reason: eval.ReasonModelUnavailable, Stop: eval.StopModelLost}, "Error", map[string]any{
			"evalfarm.verdict": "error", "evalfarm.reason": "model_unavailable", "evalfarm.stop": "model_lost", "error.type": "model_unavailable", "evalfarm.turns": int64(0), "evalfarm.tool_calls": int64(0),
		}},
		{"a scorer's is not the agent's", eval.Result{Verdict: eval.Error, Reason: eval.ReasonScorerFailed, Stop: eval.StopDone}, "Unset", map[string]any{
			"evalfarm.verdict": "error", "evalfarm.reason": "scorer_failed", "evalfarm.stop": "done", "evalfarm.turns": int64(0), "evalfarm.tool_calls": int64(0),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tracer, rec := telemetrytest.New(t)
			telemetrytest.Deliver(t.Context(), tracer, func(ctx context.Context) {
				_, span := telemetry.InvokeAgent(ctx, telemetry.Agent{Name: "sonnet", Provider: "anthropic", Model: "claude"}, eval.Trial{Run: "r", Ordinal: 3, Case: eval.CaseRef{ID: "refund"}})
				span.Worked(tt.result, ended)
			})
			got := rec.One("invoke_agent sonnet")
			maps.Copy(tt.want, map[string]any{
				"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "sonnet", "gen_ai.conversation.id": "r:3",
				"gen_ai.provider.name": "anthropic", "gen_ai.request.model": "claude", "evalfarm.case": "refund",
			})
			if diff := cmp.Diff(tt.want, got.Attrs); diff != "" || got.Status != tt.status || !got.End.Equal(ended) {
				t.Errorf("%s at %s; attributes (-want +got):\n%s", got.Status, got.End, diff)
			}
			var events []map[string]any
			for _, e := range got.Events {
				if e.Name != "gen_ai.evaluation.result" || !e.Time.Equal(ended) {
					t.Errorf("event %s at %s, want a result as of the end", e.Name, e.Time)
				}
				events = append(events, e.Attrs)
			}
			want := []map[string]any{
				{"gen_ai.evaluation.name": "a", "gen_ai.evaluation.score.label": "pass", "gen_ai.evaluation.score.value": 1.0},
				{"gen_ai.evaluation.name": "b", "gen_ai.evaluation.score.label": "fail", "gen_ai.evaluation.score.value": 0.0, "evalfarm.reason": "wrong_answer"},
				{"gen_ai.evaluation.name": "c", "gen_ai.evaluation.score.label": "pending", "evalfarm.reason": "awaiting_judge"},
				{"gen_ai.evaluation.name": "d", "gen_ai.evaluation.score.label": "warning", "gen_ai.evaluation.score.value": 0.5},
			}
			if tt.result.Scores == nil {
				want = nil
			}
			if diff := cmp.Diff(want, events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
