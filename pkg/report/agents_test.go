package report

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// agents is a run of three agents in two ways to load tools. Of the first one a
// judge has not spoken and a check has failed, the second one misses its
// threshold.
func agents() *farm {
	f := newFarm("support")
	f.snap.Metrics = []string{"turns"}
	threshold := 0.7
	waits := eval.Score{Check: "judge", Pending: true, Reason: eval.ReasonAwaitingJudge, Message: "no judge has spoken yet"}
	wrong := eval.Score{Check: "contains", Reason: eval.ReasonWrongAnswer, Message: `want an answer that contains "SHIPPED", got "lost"`, Expected: eval.JSON(`"SHIPPED"`), Actual: eval.JSON(`"lost"`)}
	right := eval.Score{Check: "called get_order", Value: 1, Pass: true}
	for _, loading := range []string{"eager", "search"} {
		for _, c := range []struct {
			id        string
			scores    []eval.Score
			threshold *float64
		}{
			{"wrong", []eval.Score{waits, right, wrong}, nil},
			{"too-little", []eval.Score{right, wrong}, &threshold},
			{"right", []eval.Score{right}, nil},
		} {
			r := &eval.Result{Scores: c.scores, Threshold: c.threshold, Counts: eval.Counts{Turns: 2}, Stop: eval.StopDone}
			if c.id == "wrong" {
				r.Stop = eval.StopLoop
			}
			r.Verdict, r.Reason, r.Message = eval.Fold(r.Scores, r.Threshold)
			for _, s := range r.Scores {
				if s.Pass {
					r.Counts.StepsPass++
				}
			}
			f.add(eval.CaseRef{ID: c.id, Kind: eval.KindAgent}, eval.NewVariant(map[string]string{"loading": loading}), r)
		}
	}
	f.add(eval.CaseRef{ID: "flow", Kind: eval.KindScript, Workflow: true}, eval.NewVariant(nil), pass("get_order", 3))
	return f
}

// What is told of an agent is what it failed for, not what comes first.
func TestTerminalAgents(t *testing.T) {
	got := terminal(t, agents())
	tests := []struct {
		name, want string
		times      int
	}{
		{"the check that decided, behind one that waits", "\n      wrong_answer: contains: want an answer", 2},
		{"what ended it", `got "lost" (stopped: loop)`, 2},
		{"its difference", `actual   "lost"`, 4},
		{"the mean that a threshold wants", "wrong_answer: want a mean of 0.7, got 0.5; contains: want", 2},
		{"nothing of a judge", "awaiting_judge", 0},
		{"steps are those of scripts", "steps    1/1 pass", 1},
		{"a metric that the suite compares", "turns                            2                 2\n", 1},
		{"no metric that it does not", "tool_errors", 0},
		{"what was scored", "called get_order                 1                 1\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n := strings.Count(got, tt.want); n != tt.times {
				t.Errorf("%q %d times, want %d, in\n%s", tt.want, n, tt.times, got)
			}
		})
	}
}

// What people and models say keeps its lines, and none of them looks like ours.
func TestShowTrialKeepsLines(t *testing.T) {
	trial := supportTrial()
	trial.Trajectory.Turns[1].Text = "Here:\n\n- one\n- two\nturn 3\n"
	trial.Trajectory.System = strings.Repeat("rule\n", 20)
	var out strings.Builder
	if err := ShowTrial(&out, trial, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"    says    Here:\n\n            - one\n            - two\n            turn 3\n", "    … 8 more lines\n"} {
		if got := out.String(); !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
}
