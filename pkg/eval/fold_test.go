package eval_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func scored(id string, value float64, pass bool) eval.Score {
	s := eval.Score{Check: id, Value: value, Pass: pass}
	if !pass {
		s.Reason, s.Message = eval.ReasonWrongAnswer, "want a, got b"
	}
	return s
}

func passed(id string) eval.Score { return scored(id, 1, true) }
func missed(id string) eval.Score { return scored(id, 0, false) }

func because(id string, reason eval.Reason) eval.Score {
	return eval.Score{Check: id, Reason: reason, Message: "m", Pending: reason == eval.ReasonAwaitingJudge || reason == eval.ReasonNoBaseline}
}

func awaiting(id string) eval.Score { return because(id, eval.ReasonAwaitingJudge) }

func weighing(weight float64, s eval.Score) eval.Score {
	s.Weight, s.Warning = &weight, weight == 0
	return s
}

func group(g eval.Group, parts ...eval.Score) eval.Score {
	return eval.Score{Check: "g", Group: g, Parts: parts}.Regroup()
}

func turned(s eval.Score) eval.Score {
	s.Not = true
	return s.Regroup()
}

func bounded(threshold float64, s eval.Score) eval.Score {
	s.Threshold = &threshold
	return s.Regroup()
}

func TestFold(t *testing.T) {
	none := -1.0
	tests := []struct {
		name      string
		scores    []eval.Score
		threshold float64 // none for no threshold
		verdict   eval.Verdict
		reason    eval.Reason
		message   string
	}{
		{name: "no checks", threshold: none, verdict: eval.Pass},
		{name: "all pass", scores: []eval.Score{passed("a"), passed("b")}, threshold: none, verdict: eval.Pass},
		{name: "one fails", scores: []eval.Score{passed("a"), missed("b")}, threshold: none, verdict: eval.Fail, reason: eval.ReasonWrongAnswer, message: "b: want a, got b"},
		{name: "the first of those that fail is told", scores: []eval.Score{missed("b"), missed("a")}, threshold: none, verdict: eval.Fail, reason: eval.ReasonWrongAnswer, message: "b: want a, got b"},
		{name: "warnings decide nothing", scores: []eval.Score{passed("a"), weighing(0, missed("b")), weighing(0, because("c", eval.ReasonScorerFailed)), weighing(0, awaiting("d"))}, threshold: none, verdict: eval.Pass},
		{name: "only warnings, with a threshold", scores: []eval.Score{weighing(0, missed("b"))}, threshold: 1, verdict: eval.Pass},
		{name: "the farm's failure beats a fail", scores: []eval.Score{missed("a"), because("b", eval.ReasonScorerFailed)}, threshold: none, verdict: eval.Error, reason: eval.ReasonScorerFailed, message: "b: m"},
		{name: "a cancel beats the farm's failure", scores: []eval.Score{because("a", eval.ReasonScorerFailed), because("b", eval.ReasonCancelled)}, threshold: none, verdict: eval.Unfinished, reason: eval.ReasonCancelled, message: "b: m"},
		{name: "a judge is awaited", scores: []eval.Score{passed("a"), awaiting("b")}, threshold: none, verdict: eval.Unjudged, reason: eval.ReasonAwaitingJudge, message: "b: m"},
		{name: "a fail does not wait for a judge", scores: []eval.Score{awaiting("a"), missed("b")}, threshold: none, verdict: eval.Fail, reason: eval.ReasonWrongAnswer, message: "b: want a, got b"},
		{name: "mean at the threshold", scores: []eval.Score{scored("a", 0.7, false), scored("b", 0.8, true), scored("c", 0.9, true)}, threshold: 0.8, verdict: eval.Pass},
		{name: "mean below the threshold", scores: []eval.Score{passed("a"), missed("b")}, threshold: 0.8, verdict: eval.Fail, reason: eval.ReasonWrongAnswer, message: "want a mean of 0.8, got 0.5; b: want a, got b"},
		{name: "weights count", scores: []eval.Score{weighing(4, passed("a")), missed("b")}, threshold: 0.8, verdict: eval.Pass},
		{name: "all pass and the mean is too low", scores: []eval.Score{scored("a", 0.6, true)}, threshold: 0.8, verdict: eval.Fail, reason: eval.ReasonMismatch, message: "want a mean of 0.8, got 0.6"},
		{name: "a judge could lift the mean", scores: []eval.Score{passed("a"), awaiting("b")}, threshold: 0.8, verdict: eval.Unjudged, reason: eval.ReasonAwaitingJudge, message: "b: m"},
		{name: "no judge can lift the mean", scores: []eval.Score{missed("a"), awaiting("b")}, threshold: 0.8, verdict: eval.Fail, reason: eval.ReasonWrongAnswer, message: "want a mean of 0.8, got 0.5 at best; a: want a, got b"},
		{name: "no judge can lower the mean", scores: []eval.Score{weighing(9, passed("a")), awaiting("b")}, threshold: 0.8, verdict: eval.Pass},
		{name: "a group that is decided may still raise the mean", scores: []eval.Score{passed("a"), group(eval.GroupAll, missed("x"), awaiting("y"))}, threshold: 0.7, verdict: eval.Unjudged, reason: eval.ReasonAwaitingJudge, message: "y: m"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			threshold := &test.threshold
			if test.threshold == none {
				threshold = nil
			}
			verdict, reason, message := eval.Fold(test.scores, threshold)
			if verdict != test.verdict || reason != test.reason || message != test.message {
				t.Errorf("got %s %s %q, want %s %s %q", verdict, reason, message, test.verdict, test.reason, test.message)
			}
		})
	}
}

func TestRegroup(t *testing.T) {
	tests := []struct {
		name    string
		got     eval.Score
		state   string // pass, fail or pending
		value   float64
		reason  eval.Reason
		message string
	}{
		{name: "all of passing parts", got: group(eval.GroupAll, passed("a"), passed("b")), state: "pass", value: 1},
		{name: "all with a failing part", got: group(eval.GroupAll, weighing(3, passed("a")), missed("b")), state: "fail", value: 0.75, reason: eval.ReasonWrongAnswer, message: "want all of 2 checks to pass, got 1; b: want a, got b"},
		{name: "all with a threshold", got: bounded(0.7, group(eval.GroupAll, weighing(3, passed("a")), missed("b"))), state: "pass", value: 0.75},
		{name: "all below its threshold", got: bounded(0.9, group(eval.GroupAll, scored("a", 0.8, true))), state: "fail", value: 0.8, reason: eval.ReasonMismatch, message: "want all of 1 checks to pass, got 1"},
		{name: "any with a passing part", got: group(eval.GroupAny, missed("a"), passed("b")), state: "pass", value: 1},
		{name: "any of failing parts", got: group(eval.GroupAny, missed("a"), scored("b", 0.4, false)), state: "fail", value: 0.4, reason: eval.ReasonWrongAnswer, message: "want one of 2 checks to pass, got 0; a: want a, got b"},
		{name: "warnings decide nothing in a group", got: group(eval.GroupAll, passed("a"), weighing(0, missed("b"))), state: "pass", value: 1},
		{name: "a group of warnings", got: group(eval.GroupAny, weighing(0, missed("b"))), state: "pass", value: 1},
		{name: "all that waits", got: group(eval.GroupAll, passed("a"), awaiting("b")), state: "pending", value: 0.5, reason: eval.ReasonAwaitingJudge, message: "b: m"},
		{name: "all that need not wait", got: group(eval.GroupAll, missed("a"), awaiting("b")), state: "fail", reason: eval.ReasonWrongAnswer, message: "want all of 2 checks to pass, got 0; a: want a, got b"},
		{name: "any that waits", got: group(eval.GroupAny, missed("a"), awaiting("b")), state: "pending", reason: eval.ReasonAwaitingJudge, message: "b: m"},
		{name: "any that need not wait", got: group(eval.GroupAny, passed("a"), awaiting("b")), state: "pass", value: 1},
		{name: "a threshold that waits though a part failed", got: bounded(0.5, group(eval.GroupAll, missed("a"), awaiting("b"))), state: "pending", reason: eval.ReasonAwaitingJudge, message: "b: m"},
		{name: "a threshold over a group whose value is open", got: bounded(0.3, group(eval.GroupAll, missed("a"), group(eval.GroupAll, missed("x"), passed("z"), awaiting("y")))), state: "pending", value: 1.0 / 6, reason: eval.ReasonAwaitingJudge, message: "y: m"},
		{name: "not any", got: turned(group(eval.GroupAny, missed("a"), missed("b"))), state: "pass", value: 1},
		{name: "not any with a passing part", got: turned(group(eval.GroupAny, missed("a"), passed("b"))), state: "fail", reason: eval.ReasonUnexpectedMatch, message: "want none of 2 checks to pass, got 1"},
		{name: "not all", got: turned(group(eval.GroupAll, passed("a"), passed("b"))), state: "fail", reason: eval.ReasonUnexpectedMatch, message: "want not all of 2 checks to pass, got 2"},
		{name: "waiting is not turned around", got: turned(group(eval.GroupAny, missed("a"), awaiting("b"))), state: "pending", reason: eval.ReasonAwaitingJudge, message: "b: m"},
		{name: "the farm's failure is not turned around", got: turned(group(eval.GroupAll, missed("a"), because("b", eval.ReasonScorerFailed))), state: "fail", reason: eval.ReasonScorerFailed, message: "b: m"},
		{name: "no group", got: missed("a").Regroup(), state: "fail", reason: eval.ReasonWrongAnswer, message: "want a, got b"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := "fail"
			switch s := test.got; {
			case s.Pending && s.Pass:
				got = "pending and pass"
			case s.Pending:
				got = "pending"
			case s.Pass:
				got = "pass"
			}
			if got != test.state || test.got.Value != test.value || test.got.Reason != test.reason || test.got.Message != test.message {
				t.Errorf("got %s %v %s %q, want %s %v %s %q", got, test.got.Value, test.got.Reason, test.got.Message, test.state, test.value, test.reason, test.message)
			}
		})
	}
}

// drawScore draws any score: decided, pending, lost, a warning or a group.
func drawScore(t *rapid.T, depth int) eval.Score {
	id := rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "id")
	var s eval.Score
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1:
		s = awaiting(id)
	case 2:
		s = because(id, rapid.SampledFrom([]eval.Reason{eval.ReasonScorerFailed, eval.ReasonCancelled, eval.ReasonNoBaseline}).Draw(t, "reason"))
	case 3, 4:
		if depth > 0 {
			s = drawGroup(t, depth-1)
			break
		}
		fallthrough
	default:
		s = scored(id, float64(rapid.IntRange(0, 10).Draw(t, "tenths"))/10, rapid.Bool().Draw(t, "pass"))
	}
	if rapid.Bool().Draw(t, "weighs") {
		s = weighing(float64(rapid.IntRange(0, 3).Draw(t, "weight")), s)
	}
	return s
}

func drawGroup(t *rapid.T, depth int) eval.Score {
	s := eval.Score{Check: "g", Group: rapid.SampledFrom([]eval.Group{eval.GroupAll, eval.GroupAny}).Draw(t, "group")}
	s.Not = rapid.Bool().Draw(t, "not")
	s.Threshold = drawThreshold(t)
	for range rapid.IntRange(0, 3).Draw(t, "parts") {
		s.Parts = append(s.Parts, drawScore(t, depth))
	}
	return s.Regroup()
}

func drawThreshold(t *rapid.T) *float64 {
	if rapid.Bool().Draw(t, "no threshold") {
		return nil
	}
	return new(float64(rapid.IntRange(0, 10).Draw(t, "threshold")) / 10)
}

func drawScores(t *rapid.T) []eval.Score {
	var scores []eval.Score
	for range rapid.IntRange(0, 5).Draw(t, "scores") {
		scores = append(scores, drawScore(t, 2))
	}
	return scores
}

func TestFoldIsIndependentOfOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores, threshold := drawScores(t), drawThreshold(t)
		want, _, _ := eval.Fold(scores, threshold)
		shuffled := rapid.Permutation(scores).Draw(t, "shuffled")
		if got, _, _ := eval.Fold(shuffled, threshold); got != want {
			t.Fatalf("got %s, in another order %s", want, got)
		}
	})
}

// Whatever a judge says, it decides what was unjudged and changes nothing else.
func TestJudgesDecideWhatIsUnjudgedAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scores, threshold := drawScores(t), drawThreshold(t)
		before, _, _ := eval.Fold(scores, threshold)
		speak := func(pass bool) eval.Verdict {
			verdict, reason, _ := eval.Fold(spoken(scores, pass), threshold)
			if verdict == eval.Unjudged || (verdict == eval.Pass) != (reason == "") {
				t.Fatalf("got %s with the reason %q after every judge has spoken", verdict, reason)
			}
			return verdict
		}
		yes, no := speak(true), speak(false)
		if before != eval.Unjudged && (yes != before || no != before) {
			t.Fatalf("got %s, then %s and %s", before, yes, no)
		}
	})
}

// spoken replaces pending scores, inside groups too.
func spoken(scores []eval.Score, pass bool) []eval.Score {
	out := slices.Clone(scores)
	for i, s := range out {
		switch {
		case s.Group != "":
			s.Parts = spoken(s.Parts, pass)
			out[i] = s.Regroup()
		case s.Pending:
			judged := missed(s.Check)
			if pass {
				judged = passed(s.Check)
			}
			judged.Weight, judged.Warning = s.Weight, s.Warning
			out[i] = judged
		}
	}
	return out
}

func TestJudgedInsideAGroup(t *testing.T) {
	r := eval.Result{Verdict: eval.Unjudged, Scores: []eval.Score{group(eval.GroupAny, missed("a"), weighing(2, awaiting("j")))}}
	got := r.Judged(eval.Result{Scores: []eval.Score{passed("j")}})
	if got.Verdict != eval.Pass || !got.Scores[0].Pass || *got.Scores[0].Parts[1].Weight != 2 {
		t.Errorf("got %s with %+v, want the group to pass by its judge", got.Verdict, got.Scores)
	}
	got = r.Judged(eval.Result{Scores: []eval.Score{missed("j")}})
	if got.Verdict != eval.Fail || !strings.Contains(got.Message, "want one of 2") {
		t.Errorf("got %s %q, want the group to fail", got.Verdict, got.Message)
	}
}
