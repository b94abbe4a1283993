package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
	"github.com/evalfarm/evalfarm/pkg/redact"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

func traced(tracer *telemetry.Tracer) option {
	return func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) { o.Tracer = tracer }
}

// roles are who was asked in each call of a trace, in order, with what the call is
// below.
func roles(rec *telemetrytest.Recorder) []string {
	names := map[string]string{}
	for _, s := range rec.Spans() {
		names[s.SpanID] = s.Name
	}
	var out []string
	for _, s := range rec.Spans() {
		if strings.HasPrefix(s.Name, "chat ") {
			role, _ := s.Attrs["evalfarm.model.role"].(string)
			vote, _ := s.Attrs["evalfarm.judge.vote"].(string)
			out = append(out, strings.TrimSpace(names[s.ParentID]+" > "+s.Name+": "+role+" "+vote))
		}
	}
	return out
}

// The calls of all models of a trial are in its trace, below what they are made for.
func TestCallsOfModelsAreTraced(t *testing.T) {
	talk := conversation()
	talk.User = &eval.User{Model: "customer", Goal: "Know it."}
	votes := judged("kind")
	votes.Judge.Votes = 3
	j := &bench{}
	models := declared(map[string]modelFunc{"agent": moving(says("Which one?")), "customer": moving(says("(the prompt)"), says("CUST-4091"), says("###STOP###")), "judge": j.named("judge")})
	t.Run("agent and user", func(t *testing.T) {
		tracer, rec := telemetrytest.New(t)
		setup(t, []eval.Case{talk}, models, traced(tracer)).do(1)
		want := []string{
			"invoke_agent agent > chat agent: agent", "invoke_agent agent > chat customer: user",
			"invoke_agent agent > chat agent: agent", "invoke_agent agent > chat customer: user",
		}
		if diff := cmp.Diff(want, roles(rec)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
	t.Run("judge", func(t *testing.T) {
		tracer, rec := telemetrytest.New(t)
		b := setup(t, []eval.Case{conversation(votes)}, grading(eval.Grading{}), models, traced(tracer))
		b.grade(b.subject(done()))
		want := []string{"judge kind > chat judge: judge 1", "judge kind > chat judge: judge 2", "judge kind > chat judge: judge 3"}
		if diff := cmp.Diff(want, roles(rec)); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
	})
}

// A trial that is given back because its model has no room for long says so, and what
// it would have waited for.
func TestTrialThatIsGivenBackIsTraced(t *testing.T) {
	tracer, rec := telemetrytest.New(t)
	full := modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{}, &llm.Error{Kind: llm.RateLimit, Status: 429, Wait: 10 * time.Minute, WaitFrom: "retry-after"}
	})
	again := func(o *worker.Options, _ *eval.Snapshot, _ []eval.Case) {
		o.Models = func(_ eval.Model, _ *redact.Redactor, mo meter.Options) (llm.Model, error) {
			return meter.New(full, mo), nil
		}
	}
	b := setup(t, []eval.Case{conversation()}, declared(map[string]modelFunc{"agent": full}), again, traced(tracer))
	b.place.jobs <- jobs.Job{Run: "r-1", Attempt: 1, Header: b.header, Traceparent: telemetry.Attempt{Run: "r-1", N: 1}.Traceparent(true)}
	if _, later := errors.AsType[*jobs.LaterError](b.handled()); !later {
		t.Fatal("the trial was not given back")
	}
	wait, delivery := rec.One("wait rate_limit"), rec.One("process ")
	if wait.Attrs["evalfarm.outcome"] != "given_back" || wait.Attrs["evalfarm.wait.asked"] != 600.0 || delivery.Attrs["evalfarm.outcome"] != "given_back" || delivery.Attrs["evalfarm.wait.why"] != "limits" {
		t.Errorf("the wait says %v, the delivery %v", wait.Attrs, delivery.Attrs)
	}
}
