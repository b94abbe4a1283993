package score_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

func TestGroups(t *testing.T) {
	anyOf := func(parts ...eval.Check) eval.Check { return eval.Check{Any: parts} }
	allOf := func(parts ...eval.Check) eval.Check { return eval.Check{All: parts} }
	judge := eval.Check{Judge: &eval.JudgeCheck{Rubric: "r"}}
	run(t, []row{
		{name: "one of two", check: anyOf(contains("4"), contains("3"))},
		{name: "none of two", check: anyOf(contains("4"), contains("5")), reason: eval.ReasonWrongAnswer, message: `want one of 2 checks to pass, got 0; c/1: want an answer that contains "4", got "The total is 3, sorry."`},
		{name: "all of two", check: allOf(contains("total"), contains("3"))},
		{name: "not all of two", check: allOf(contains("total"), contains("4")), value: 0.5, reason: eval.ReasonWrongAnswer, message: `want all of 2 checks to pass, got 1; c/2: want an answer that contains "4", got "The total is 3, sorry."`},
		{name: "groups in groups, turned around", check: not(anyOf(allOf(contains("total"), contains("4")), contains("5"))), value: 0.5},
		{name: "a judge that could change it", check: anyOf(contains("4"), judge), reason: eval.ReasonAwaitingJudge, message: "c/2: no judge has spoken yet"},
		{name: "a judge that could not", check: anyOf(contains("3"), judge)},
		{name: "the farm's failure", check: not(anyOf(contains("3"), eval.Check{Text: &eval.TextCheck{Regex: "("}})), reason: eval.ReasonScorerFailed, message: "c/2: compile the regular expression: error parsing regexp: missing closing ): `(`"},
	})
}

func TestPartsKeepTheirIDs(t *testing.T) {
	named := contains("3")
	named.ID = "mine"
	got := score.Checks(t.Context(), []eval.Check{{ID: "c", Any: []eval.Check{named, contains("4")}}}, usual(), score.Options{})[0]
	if diff := cmp.Diff([]string{"mine", "c/2"}, []string{got.Parts[0].Check, got.Parts[1].Check}); diff != "" {
		t.Errorf("ids differ (-want +got):\n%s", diff)
	}
}
