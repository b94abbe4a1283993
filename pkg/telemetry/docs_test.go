package telemetry_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

// everything tells of each span there is, with all that it can say.
func everything(t *testing.T) []telemetrytest.Span {
	t.Helper()
	tracer, rec := telemetrytest.New(t, telemetrytest.Content())
	now := time.Unix(1_000_000, 0)
	trial := eval.Trial{Run: "r", Ordinal: 1, Case: eval.CaseRef{ID: "c", Kind: eval.KindAgent}, Variant: eval.Variant{ID: "v"}, Repeat: 2}
	usage := eval.Usage{Input: 5, CacheRead: 1, CacheWrite: 1, Output: 2, Reasoning: 1}
	failed := eval.Result{
		Verdict: eval.Error, Reason: eval.ReasonFarm, Message: "m", Stop: eval.StopDone, Counts: eval.Counts{Turns: 1, ToolCalls: 1},
		Usage:  usage,
		Scores: []eval.Score{{Check: "k", Value: 0.5, Reason: eval.ReasonFarm, Message: "m"}},
	}
	send := func(n int) telemetry.Send {
		return telemetry.Send{
			Attempt: telemetry.Attempt{Run: "r", Ordinal: 1, N: n}, Lane: telemetry.Trials, UID: "u", Worker: "w",
			Outcome: eval.AttemptDone, Reason: eval.ReasonFarm, CostMicroUSD: 7, Sent: now, Started: now, Ended: now,
		}
	}
	tracer.Run(eval.Run{ID: "r", Suite: "s", Trials: 1, Outcome: eval.OutcomeComplete, Created: now, Finished: now}, "")
	tracer.Trial(telemetry.Settled{Trial: trial, Result: failed, Sends: []telemetry.Send{send(1), send(2)}})
	tracer.Trial(telemetry.Settled{Trial: trial, Of: "before", Result: failed, Sends: []telemetry.Send{send(1)}})

	d := telemetry.Delivery{Attempt: telemetry.Attempt{Run: "r", Ordinal: 1, N: 2}, Lane: telemetry.Trials, UID: "u", Worker: "w"}
	_, returned := tracer.Process(telemetry.Arrive(t.Context(), d.Traceparent(true)), d)
	ctx, delivery := tracer.Process(telemetry.Arrive(t.Context(), d.Traceparent(true)), d)
	delivery.Of(trial, "")
	peer := telemetry.Peer{Server: "s", Name: "n", Version: "1", Transport: "tcp", Host: "h", Port: "80", Protocol: "2025-06-18", Session: "id"}

	start, span := telemetry.Start(ctx, "s")
	telemetry.Comes(start, telemetry.Own)
	span.To(peer)
	span.Undecided(eval.ReasonFarm, "m")
	span.End()

	peer.Name, peer.Version = "", "" // as with each request
	request := func(at func() telemetry.Span, o eval.Outcome) {
		span := at()
		span.To(peer)
		span.Gave([]byte("{}"))
		span.Brought(o)
		span.End()
	}
	rejected := eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602, Message: "m"}}
	request(func() telemetry.Span {
		below, span := telemetry.ToolCall(telemetry.Asks(ctx, "id"), "t")
		telemetry.Sent(below, "7")
		span.With([]byte("{}"))
		return span
	}, rejected)
	request(func() telemetry.Span {
		below, span := telemetry.ResourceRead(ctx, "file:///a")
		telemetry.Sent(below, "7")
		return span
	}, rejected)
	request(func() telemetry.Span {
		below, span := telemetry.ToolList(ctx)
		telemetry.Sent(below, "7")
		return span
	}, rejected)

	_, span = telemetry.InvokeAgent(ctx, telemetry.Agent{Name: "a", Provider: "openai", Model: "m"}, trial)
	span.Doubted()
	span.Worked(failed, now)
	failed.Usage = eval.Usage{} // without a model
	_, span = telemetry.Steps(ctx, eval.KindScript, trial, "s")
	span.Doubted()
	span.Worked(failed, now)
	_, span = telemetry.Steps(ctx, eval.KindCatalog, trial, "s")
	span.Doubted()
	span.Worked(failed, now)

	half, seed := 0.5, int64(7)
	_, span = telemetry.Chat(ctx, func() telemetry.Call {
		return telemetry.Call{
			Model:    telemetry.Model{Provider: "openai", Name: "m", Address: "h", Port: 80, Replayed: true},
			Sampling: eval.Sampling{Temperature: &half, TopP: &half, Seed: &seed, Thinking: &eval.Thinking{Effort: "low"}}, Role: "judge/1", MaxOutput: 1, Turn: 1,
		}
	}, telemetry.Span{})
	span.Told("s", []telemetry.Message{text("user", "Hi.")})
	span.Answered(telemetry.Answer{ID: "id", Model: "m", Finish: "stop", Usage: usage})
	span.Said(text("assistant", "Hi."))
	span.Cost(7)
	span.Refused("network", 500, "code", "m")
	span.End()

	span = telemetry.Wait(ctx, "pause", "k")
	span.Asked(time.Second, "retry-after")
	span.GivenBack()
	span.Fail("rate_limit", "m")
	span.End()

	_, span = telemetry.Checks(ctx, 1)
	span.Undecided(eval.ReasonFarm, "m")
	span.End()
	for _, kind := range []string{"scorer", "verify"} {
		_, span = telemetry.Check(ctx, kind, "k")
		span.Undecided(eval.ReasonFarm, "m")
		span.End()
	}
	_, span = telemetry.Judge(ctx, eval.Check{ID: "k", Judge: &eval.JudgeCheck{Votes: 3}})
	span.Scored(failed.Scores)
	span.Undecided(eval.ReasonFarm, "m")
	span.End()

	tracer.Processed(delivery, eval.Record{N: 2, Outcome: eval.AttemptDone, CostMicroUSD: 7, Result: failed}, nil)
	tracer.Returned(returned, "drained", nil)
	return rec.Spans()
}

// family of a span: its name without whose it is.
func family(name string) string {
	name, _, _ = strings.Cut(name, " ")
	return name
}

var (
	heading = regexp.MustCompile("`([a-z_./]+)[^`]*` \\(([a-z]+)\\)")
	quoted  = regexp.MustCompile("`([a-z_.]+)`")
)

// TestDocs keeps docs/telemetry.md equal to what is told: the spans, with their kinds
// and attributes, and the keys that there are.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	type about map[string][]string // by "span (kind)": attributes
	documented, mentioned := about{}, map[string]bool{}
	var here []string
	for line := range strings.Lines(string(page)) {
		switch {
		case strings.HasPrefix(line, "### "):
			here = nil
			for _, m := range heading.FindAllStringSubmatch(line, -1) {
				name := m[1] + " " + m[2]
				here, documented[name] = append(here, name), []string{}
			}
			if len(here) == 0 {
				t.Errorf("a heading without a span: %s", line)
			}
		case strings.HasPrefix(line, "## "):
			here = nil
		case len(here) > 0 && strings.HasPrefix(line, "| `"):
			names, _, _ := strings.Cut(line[1:], "|")
			for _, m := range quoted.FindAllStringSubmatch(names, -1) {
				mentioned[m[1]] = true
				for _, span := range here {
					documented[span] = append(documented[span], m[1])
				}
			}
		default:
		}
	}

	told := map[string]map[string]bool{}
	tell := func(name string, attrs map[string]any) {
		if told[name] == nil {
			told[name] = map[string]bool{}
		}
		for key := range attrs {
			told[name][key] = true
		}
	}
	for _, s := range everything(t) {
		tell(family(s.Name)+" "+s.Kind, s.Attrs)
		for _, e := range s.Events {
			tell(e.Name+" event", e.Attrs)
		}
	}
	// A tail tells of what it has dropped; and one of two spans in a section may have
	// what the other has not.
	tell("process consumer", map[string]any{string(telemetry.SpansDropped): true})
	tell("tools/list client", map[string]any{string(telemetry.MCPResource): true})
	have := about{}
	for name, keys := range told {
		have[name] = slices.Sorted(maps.Keys(keys))
	}
	for _, keys := range documented {
		slices.Sort(keys)
	}
	if diff := cmp.Diff(documented, have); diff != "" {
		t.Errorf("docs/telemetry.md is not what is told (-docs +told):\n%s", diff)
	}

	source, err := os.ReadFile("keys.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`attribute\.Key\("([^"]+)"\)`).FindAllStringSubmatch(string(source), -1) {
		if !mentioned[m[1]] {
			t.Errorf("docs/telemetry.md does not say what %s is", m[1])
		}
	}
}
