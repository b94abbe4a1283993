package worker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// grading makes the run one that scores another.
func grading(how eval.Grading) option {
	return func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		how.Run = "r-1"
		s.Grading = &how
	}
}

func judged(id string) eval.Check {
	return eval.Check{ID: id, Judge: &eval.JudgeCheck{Rubric: "Be kind to {{who}}.", Model: "judge"}}
}

// done is what an agent did.
func done() eval.Trajectory {
	return eval.Trajectory{Prompt: "Hello", Answer: "Hi.", Turns: []eval.Turn{{User: "Hello", Text: "Hi."}}}
}

// subject stores what is to be judged.
func (b *bundle) subject(tr eval.Trajectory) string {
	packed := blob.Pack(eval.Encode(tr))
	_ = b.memory.PutBlobs(b.t.Context(), packed)
	return packed.SHA256
}

// grade delivers the only trial of a grading.
func (b *bundle) grade(subject string) eval.Record {
	b.t.Helper()
	b.place.jobs <- jobs.Job{Run: "r-1.g1", Attempt: 1, Header: b.header, Subject: subject}
	if err := b.handled(); err != nil {
		b.t.Fatal(err)
	}
	return b.memory.records[0]
}

// A bench is judges who say yes, and what they were asked: the name of the model,
// the role and the rubric.
type bench struct{ asked []string }

func (j *bench) named(name string) modelFunc {
	return func(_ context.Context, req llm.Request) (llm.Response, error) {
		_, rubric, _ := strings.Cut(req.Messages[0].Text, "# rubric\n\n")
		rubric, _, _ = strings.Cut(rubric, "\n")
		j.asked = append(j.asked, fmt.Sprintf("%s %s: %s", name, req.Trial.Role, rubric))
		return calls("verdict", `{"pass":true,"reason":"kind"}`), nil
	}
}

func TestWhatJudgesAreAsked(t *testing.T) {
	votes := judged("voted")
	votes.Judge.Votes = 3
	tests := []struct {
		name   string
		checks []eval.Check
		how    eval.Grading
		want   []string
		scores []string
	}{
		{"the checks of the case", []eval.Check{contains("Hi"), judged("a"), judged("b")}, eval.Grading{}, []string{"judge judge/1: Be kind to CUST-4091.", "judge judge/1: Be kind to CUST-4091."}, []string{"a", "b"}},
		{"votes", []eval.Check{votes}, eval.Grading{}, []string{"judge judge/1: Be kind to CUST-4091.", "judge judge/2: Be kind to CUST-4091.", "judge judge/3: Be kind to CUST-4091."}, []string{"voted"}},
		{"those in groups", []eval.Check{{ID: "any", Any: []eval.Check{contains("x"), judged("a")}}, {ID: "all", All: []eval.Check{{ID: "in", Any: []eval.Check{judged("b")}}}}}, eval.Grading{}, []string{"judge judge/1: Be kind to CUST-4091.", "judge judge/1: Be kind to CUST-4091."}, []string{"a", "b"}},
		{"another model", []eval.Check{judged("a")}, eval.Grading{Model: "strict"}, []string{"strict judge/1: Be kind to CUST-4091."}, []string{"a"}},
		{"another rubric", []eval.Check{judged("a")}, eval.Grading{Model: "strict", Rubric: "Be brief."}, []string{"strict judge/1: Be brief."}, []string{"rubric"}},
		{"nothing", []eval.Check{contains("Hi")}, eval.Grading{}, nil, nil},
		{"no rubric for a script", nil, eval.Grading{Model: "strict", Rubric: "Be brief."}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := &bench{}
			c := conversation(tt.checks...)
			if tt.checks == nil {
				c = active("script")
			}
			b := setup(t, []eval.Case{c}, grading(tt.how), declared(map[string]modelFunc{"judge": j.named("judge"), "strict": j.named("strict")}))
			r := b.grade(b.subject(done()))
			if diff := cmp.Diff(tt.want, j.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			var scores []string
			for _, s := range r.Result.Scores {
				if scores = append(scores, s.Check); !s.Pass || s.Pending {
					t.Errorf("score %+v, want a pass", s)
				}
			}
			if diff := cmp.Diff(tt.scores, scores); diff != "" || r.Outcome != eval.AttemptDone || r.Result.Verdict != eval.Pass {
				t.Errorf("%s, %s %s; scores (-want +got):\n%s", r.Outcome, r.Result.Verdict, r.Result.Message, diff)
			}
			if got := r.Result.JudgeUsage.Total(); got != 15*len(tt.want) || r.Result.Usage.Total() != 0 {
				t.Errorf("%d tokens of judges and %d of agents, want %d and none", got, r.Result.Usage.Total(), 15*len(tt.want))
			}
		})
	}
}

// A judge that cannot be asked is no verdict on the agent, and what the judges
// before it took is counted.
func TestJudgeThatCannotBeAsked(t *testing.T) {
	unknown := func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) { delete(s.Models, "second") }
	keyless := func(o *worker.Options, s *eval.Snapshot, _ []eval.Case) {
		s.Models["second"] = eval.Model{Provider: eval.ProviderAnthropic, Model: "second"}
	}
	leave := func(*worker.Options, *eval.Snapshot, []eval.Case) {}
	tests := []struct {
		name    string
		err     error
		set     option
		outcome eval.AttemptOutcome
		reason  eval.Reason
	}{
		{"overloaded", &llm.Error{Kind: llm.Overloaded}, leave, eval.AttemptFailed, eval.ReasonModelUnavailable},
		{"no network", &llm.Error{Kind: llm.Network}, leave, eval.AttemptFailed, eval.ReasonModelUnavailable},
		{"another error", errors.New("odd"), leave, eval.AttemptFailed, eval.ReasonModelUnavailable},
		{"too long for it", &llm.Error{Kind: llm.ContextLength}, leave, eval.AttemptFailed, eval.ReasonModelUnavailable},
		{"a bad key", &llm.Error{Kind: llm.Auth}, leave, eval.AttemptDone, eval.ReasonModelUnauthorized},
		{"no credit", &llm.Error{Kind: llm.Quota}, leave, eval.AttemptDone, eval.ReasonModelQuota},
		{"a bad request", &llm.Error{Kind: llm.BadRequest}, leave, eval.AttemptDone, eval.ReasonModelRefused},
		{"no secret", nil, keyless, eval.AttemptDone, eval.ReasonSecretMissing},
		{"no such model", nil, unknown, eval.AttemptDone, eval.ReasonFarm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			second := judged("b")
			second.Judge.Model = "second"
			down := func(context.Context, llm.Request) (llm.Response, error) { return llm.Response{}, tt.err }
			b := setup(t, []eval.Case{conversation(judged("a"), second)}, grading(eval.Grading{}), declared(map[string]modelFunc{"judge": (&bench{}).named("judge"), "second": down}), tt.set)
			r := b.grade(b.subject(done()))
			if r.Outcome != tt.outcome || r.Result.Verdict != eval.Error || r.Result.Reason != tt.reason || r.Result.Message == "" {
				t.Errorf("got %s, %s, %s, %q; want %s, error, %s", r.Outcome, r.Result.Verdict, r.Result.Reason, r.Result.Message, tt.outcome, tt.reason)
			}
			if r.Result.JudgeUsage.Total() != 15 {
				t.Errorf("%d tokens of judges, want the 15 of the first", r.Result.JudgeUsage.Total())
			}
			// What is made of it: the agent's work stays, and both checks stay open.
			work := eval.Result{Verdict: eval.Unjudged, Scores: []eval.Score{{Check: "a", Pending: true, Reason: eval.ReasonAwaitingJudge}, {Check: "b", Pending: true, Reason: eval.ReasonAwaitingJudge}}}
			if got := work.Judged(r.Result); got.Verdict != eval.Unjudged || got.Scores[1].Reason != eval.ReasonJudgeFailed {
				t.Errorf("folded it is %s with %+v, want unjudged because the judge failed", got.Verdict, got.Scores)
			}
		})
	}
}

func TestJudgeThatDoesNotSpeak(t *testing.T) {
	c := conversation(judged("a"))
	c.Checks[0].Judge.Rubric = "Be kind to {{nobody}}."
	silent := func(context.Context, llm.Request) (llm.Response, error) { return says("I would rather not."), nil }
	tests := []struct {
		name   string
		c      eval.Case
		reason eval.Reason
		tokens int
	}{
		{"no verdict", conversation(judged("a")), eval.ReasonJudgeMalformed, 15},
		{"a rubric with an unknown placeholder", c, eval.ReasonNoJudge, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := setup(t, []eval.Case{tt.c}, grading(eval.Grading{}), declared(map[string]modelFunc{"judge": silent}))
			r := b.grade(b.subject(done()))
			if r.Outcome != eval.AttemptDone || len(r.Result.Scores) != 1 || !r.Result.Scores[0].Pending || r.Result.Scores[0].Reason != tt.reason {
				t.Errorf("got %s, %+v; want one open score, %s", r.Outcome, r.Result.Scores, tt.reason)
			}
			if r.Result.Verdict != eval.Unjudged || r.Result.Reason != tt.reason || r.Result.JudgeUsage.Total() != tt.tokens {
				t.Errorf("got %s, %s, %d tokens; want unjudged, %s, %d", r.Result.Verdict, r.Result.Reason, r.Result.JudgeUsage.Total(), tt.reason, tt.tokens)
			}
		})
	}
}

func TestSecretsOfAJudgeNeverLeaveTheWorker(t *testing.T) {
	echo := func(context.Context, llm.Request) (llm.Response, error) {
		return calls("verdict", `{"pass":false,"reason":"your key is `+planted("KEY")+`"}`), nil
	}
	failing := func(context.Context, llm.Request) (llm.Response, error) {
		return llm.Response{}, errors.New("no answer for " + planted("KEY"))
	}
	for name, model := range map[string]modelFunc{"in the verdict": echo, "in an error": failing} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, []eval.Case{conversation(judged("a"))}, vault, grading(eval.Grading{}), func(_ *worker.Options, s *eval.Snapshot, _ []eval.Case) {
				s.Models = map[string]eval.Model{"judge": {APIKey: "${{ secrets.KEY }}"}}
			}, declared(map[string]modelFunc{"judge": model}))
			all := b.everything(b.grade(b.subject(done())))
			if strings.Contains(all, planted("KEY")) || !strings.Contains(all, "[secret KEY]") {
				t.Errorf("the key is not redacted: %s", all)
			}
		})
	}
}

// What is gone will not come back: the attempt has failed. What cannot be read now
// is given back.
func TestTrajectoryThatIsGone(t *testing.T) {
	b := setup(t, []eval.Case{conversation(judged("a"))}, grading(eval.Grading{}), declared(map[string]modelFunc{"judge": (&bench{}).named("judge")}))
	if r := b.grade(strings.Repeat("0", 64)); r.Outcome != eval.AttemptFailed || r.Result.Reason != eval.ReasonFarm {
		t.Errorf("got %s, %s; want a failed attempt of the farm", r.Outcome, r.Result.Reason)
	}
	broken := blob.Pack([]byte("no JSON"))
	_ = b.memory.PutBlobs(t.Context(), broken)
	b.place.jobs <- jobs.Job{Run: "r-1.g1", Attempt: 2, Header: b.header, Subject: broken.SHA256}
	if _, later := errors.AsType[*jobs.LaterError](b.handled()); !later || len(b.memory.records) != 1 {
		t.Errorf("later %t, %d records; want the attempt given back", later, len(b.memory.records))
	}
}
