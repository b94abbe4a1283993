package eval

import "testing"

func TestJudged(t *testing.T) {
	const awaiting = ReasonAwaitingJudge
	pass := Score{Check: "called", Value: 1, Pass: true}
	open := Score{Check: "tone", Title: "Tone", Pending: true, Reason: awaiting}
	good := Score{Check: "tone", Value: 1, Pass: true}
	bad := Score{Check: "tone", Reason: ReasonJudgedBad, Message: "rude"}
	tests := []struct {
		name    string
		result  Result
		said    Result
		verdict Verdict
		reason  Reason
		scores  int
	}{
		{"the judge says yes", Result{Verdict: Unjudged, Scores: []Score{pass, open}}, Result{Scores: []Score{good}}, Pass, "", 2},
		{"the judge says no", Result{Verdict: Unjudged, Scores: []Score{pass, open}}, Result{Scores: []Score{bad}}, Fail, ReasonJudgedBad, 2},
		{"the judge is down", Result{Verdict: Unjudged, Scores: []Score{pass, open}}, Result{Verdict: Error, Message: "no answer"}, Unjudged, ReasonJudgeFailed, 2},
		{"a judge cannot save a failed check", Result{Verdict: Fail, Scores: []Score{{Check: "called", Reason: ReasonNotSelected}, open}}, Result{Scores: []Score{good}}, Fail, ReasonNotSelected, 2},
		{"a judge cannot save a limit", Result{Verdict: Fail, Reason: ReasonLimit, Scores: []Score{pass, open}}, Result{Scores: []Score{good}}, Fail, ReasonLimit, 2},
		{"a judge cannot save a crash", Result{Verdict: Fail, Reason: ReasonServerCrashed, Scores: []Score{pass, open}}, Result{Scores: []Score{good}}, Fail, ReasonServerCrashed, 2},
		{
			"the agent fails after a dependency broke down",
			Result{Verdict: Unjudged, Broken: ReasonTimeout, Scores: []Score{pass, open}},
			Result{Scores: []Score{bad}},
			Error, ReasonTimeout, 2,
		},
		{
			"the agent copes with a dependency that broke down",
			Result{Verdict: Unjudged, Broken: ReasonTimeout, Scores: []Score{pass, open}},
			Result{Scores: []Score{good}},
			Pass, "", 2,
		},
		{"an error stays one", Result{Verdict: Error, Reason: ReasonFarm, Scores: []Score{open}}, Result{Scores: []Score{good}}, Error, ReasonFarm, 1},
		{"a rubric of the grading's own", Result{Verdict: Pass, Scores: []Score{pass}}, Result{Scores: []Score{bad}}, Fail, ReasonJudgedBad, 2},
		{"what was decided is not decided again", Result{Verdict: Pass, Scores: []Score{pass}}, Result{Scores: []Score{{Check: "called"}}}, Pass, "", 1},
		{
			"inside a group",
			Result{Verdict: Unjudged, Scores: []Score{{Check: "any", Group: GroupAny, Pending: true, Reason: awaiting, Parts: []Score{{Check: "text", Reason: ReasonWrongAnswer}, open}}}},
			Result{Scores: []Score{good}},
			Pass, "", 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.result.Judged(tt.said)
			if got.Verdict != tt.verdict || got.Reason != tt.reason || len(got.Scores) != tt.scores {
				t.Errorf("got %s (%s) with %d scores, want %s (%s) with %d", got.Verdict, got.Reason, len(got.Scores), tt.verdict, tt.reason, tt.scores)
			}
		})
	}
	got := Result{Verdict: Unjudged, Scores: []Score{open}}.Judged(Result{Scores: []Score{good}})
	if got.Scores[0].Title != "Tone" {
		t.Errorf("the check lost its title: %+v", got.Scores[0])
	}
}
