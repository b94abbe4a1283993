package score_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

func pattern(tool, arguments string) eval.CallPattern {
	return eval.CallPattern{Tool: tool, Arguments: eval.JSON(arguments)}
}

func TestTrajectory(t *testing.T) {
	of := func(how eval.Match, calls ...eval.CallPattern) eval.Check {
		return eval.Check{Trajectory: &eval.TrajectoryCheck{Match: how, Calls: calls}}
	}
	graded := func(threshold float64, c eval.Check) eval.Check {
		c.Threshold = &threshold
		return c
	}
	same := []eval.CallPattern{pattern("get_order", `{"order_id":"ORD-1","deep":true}`), pattern("mcp__desk__get_order", `{"order_id":"ORD-2"}`), pattern("refund", "")}
	same[0].Tool = "mcp__desk__get_order"
	recorded := append([]eval.CallPattern{}, same[0], same[1], pattern("refund", `{"order_id":"ORD-1","amount":5.0}`))
	get, refund, escalate := pattern("get_order", ""), pattern("refund", ""), pattern("escalate", "")
	unfound := searching(trial([]string{"get_order"}, turn("", search("orders"), made("get_order", `{}`, ok(""))), turn("Done.")))
	large := trial([]string{"get_order"}, turn("", made("get_order", `{"id":9007199254740993.0}`, ok(""))), turn("Done."))
	ignored := of(eval.MatchPositional, get, pattern("get_order", `{"order_id":"ORD-9"}`), refund)
	ignored.Threshold = new(1.0)
	ignored.Trajectory.Compare = map[string]eval.Comparison{"get_order.order_id": {How: "ignore"}}
	baseline := func(lists ...[]eval.CallPattern) eval.Check {
		return eval.Check{Trajectory: &eval.TrajectoryCheck{Match: eval.MatchExact, Baseline: "main", Trajectories: lists}}
	}
	run(t, []row{
		{name: "the same, by full names", check: of(eval.MatchExact, same...)},
		{name: "aligned is the default", check: of("", get, get, refund)},
		{name: "aligned and too different", check: of("", get, escalate), reason: eval.ReasonNotSelected, value: 0.4, message: "want a trajectory like the expected one, got 0.4; Missing: expected call 2, escalate"},
		{name: "a lower threshold", check: graded(0.4, of("", get, escalate)), value: 0.4},
		{name: "position by position", check: of(eval.MatchPositional, same...)},
		{name: "a position with other arguments", check: of(eval.MatchPositional, get, get, pattern("refund", `{"id":7}`)), reason: eval.ReasonWrongArguments, value: 2.0 / 3, message: `want a trajectory like the expected one, got 0.667; Argument mismatch: call 3, refund, amount: want none, got 5`, at: "turn 2, call 2"},
		{name: "a position with another tool", check: of(eval.MatchPositional, get, get, escalate), reason: eval.ReasonNotSelected, value: 2.0 / 3, message: "want a trajectory like the expected one, got 0.667; Missing: expected call 3, escalate"},
		{name: "arguments that are ignored", check: ignored},
		{name: "alike, but not position by position", check: of(eval.MatchPositional, pattern("get_order", `{"id":9007199254740993}`)), trial: &large, reason: eval.ReasonWrongArguments, value: 0.3, message: "want a trajectory like the expected one, got 0.3"},
		{name: "in order", check: of(eval.MatchInOrder, get, refund)},
		{name: "not in order", check: of(eval.MatchInOrder, refund, get), reason: eval.ReasonWrongOrder, message: `want the expected calls in their order, got others; Out of order: call 3, refund {"amount":5,"order_id":"ORD-1"}, is expected call 1`, at: "turn 2, call 2"},
		{name: "in order, graded", check: graded(0.5, of(eval.MatchInOrder, refund, get)), value: 0.5, at: "turn 2, call 2"},
		{name: "any order", check: of(eval.MatchAnyOrder, refund, get, get)},
		{name: "a call too many", check: of(eval.MatchExact, get, refund), reason: eval.ReasonUnwantedCall, message: `want the expected calls and no others, got others; Extra: call 2, get_order {"order_id":"ORD-2"}`, at: "turn 2, call 1"},
		{name: "subset", check: of(eval.MatchSubset, get, get, refund, escalate)},
		{name: "no subset", check: of(eval.MatchSubset, get, escalate), reason: eval.ReasonUnwantedCall, message: `want no calls but the expected ones, got others; Extra: call 2, get_order {"order_id":"ORD-2"}`, at: "turn 2, call 1"},
		{name: "superset", check: of(eval.MatchSuperset, refund)},
		{name: "no superset", check: of(eval.MatchSuperset, escalate), reason: eval.ReasonNotSelected, message: "want all of the expected calls, got others; Missing: expected call 1, escalate"},
		{name: "other arguments", check: of(eval.MatchSuperset, pattern("refund", `{"amount":7}`)), reason: eval.ReasonWrongArguments, message: "want all of the expected calls, got others; Argument mismatch: call 3, refund, amount: want 7, got 5", at: "turn 2, call 2"},
		{name: "an argument too many keeps no call from fitting", check: of(eval.MatchExact, pattern("get_order", `{"order_id":"ORD-1"}`), get), reason: eval.ReasonUnwantedCall, message: `want the expected calls and no others, got others; Extra: call 3, refund {"amount":5,"order_id":"ORD-1"}`, at: "turn 2, call 2"},
		{name: "never found", check: of(eval.MatchSuperset, get, refund), trial: &unfound, reason: eval.ReasonNotDiscovered, message: "want all of the expected calls, got others; Missing: expected call 2, refund"},
		{name: "a search is no call", check: of(eval.MatchExact, get), trial: &unfound},
		{name: "gave up", check: of(eval.MatchExact, get), trial: silent(), reason: eval.ReasonGaveUp, message: "want the expected calls and no others, got others; Missing: expected call 1, get_order"},
		{name: "turned around", check: not(of(eval.MatchSuperset, refund)), reason: eval.ReasonUnexpectedMatch, message: "want anything but all of the expected calls, got them"},
		{name: "the best of a baseline", check: baseline([]eval.CallPattern{escalate}, recorded)},
		{name: "the most similar of a baseline explains", check: baseline([]eval.CallPattern{escalate}, recorded[:2]), reason: eval.ReasonUnwantedCall, message: `want the expected calls and no others, got others; Extra: call 3, refund {"amount":5,"order_id":"ORD-1"}`, at: "turn 2, call 2"},
		{name: "a baseline holds no matchers", check: baseline([]eval.CallPattern{pattern("get_order", `{"order_id":{"$any":true}}`)}), reason: eval.ReasonWrongArguments, message: "want the expected calls and no others, got others; Argument mismatch: call 1, get_order, deep: want none, got true", at: "turn 1, call 1"},
		{name: "no baseline", check: baseline(), reason: eval.ReasonNoBaseline, message: "no baseline has a passing trial of this case"},
		{name: "neither calls nor a baseline", check: of(eval.MatchExact), reason: eval.ReasonNoBaseline, message: "no baseline has a passing trial of this case"},
		{name: "bad comparison", check: eval.Check{Trajectory: &eval.TrajectoryCheck{Calls: []eval.CallPattern{get}, Compare: map[string]eval.Comparison{"x": {How: "so"}}}}, reason: eval.ReasonScorerFailed, message: `compare x: unknown comparison "so"`},
	})
}

func TestTrajectoryShowsItsDifferences(t *testing.T) {
	c := eval.Check{ID: "c", Trajectory: &eval.TrajectoryCheck{Calls: []eval.CallPattern{pattern("get_order", `{"order_id":"ORD-1"}`), pattern("escalate", "")}}}
	got := score.Checks(t.Context(), []eval.Check{c}, usual(), score.Options{})[0]
	want := []string{
		"Argument mismatch: call 1, get_order, deep: want none, got true",
		"Missing: expected call 2, escalate",
		`Extra: call 2, get_order {"order_id":"ORD-2"}`,
		`Extra: call 3, refund {"amount":5,"order_id":"ORD-1"}`,
	}
	if diff := cmp.Diff(want, got.Differences); diff != "" {
		t.Errorf("differences differ (-want +got):\n%s", diff)
	}
	if want := `[{"arguments":{"order_id":"ORD-1"},"tool":"get_order"},{"tool":"escalate"}]`; string(got.Expected) != want {
		t.Errorf("expected: got %s, want %s", got.Expected, want)
	}
}
