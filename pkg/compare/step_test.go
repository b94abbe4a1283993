package compare

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func call(tool, arguments string) eval.ToolCall {
	return eval.ToolCall{Method: "tools/call", Tool: tool, Arguments: eval.JSON(arguments), Outcome: eval.Outcome{Kind: eval.OutcomeOK}}
}

func TestFirstStep(t *testing.T) {
	calls := func(cs ...eval.ToolCall) eval.Turn { return eval.Turn{Calls: cs, Generation: &eval.Generation{}} }
	says := func(s string) eval.Turn { return eval.Turn{Text: s, Generation: &eval.Generation{}} }
	answer := func(c eval.ToolCall, result string) eval.ToolCall { c.Outcome.Result = eval.JSON(result); return c }
	rejected := call("get_order", `{"id":1}`)
	rejected.Outcome = eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602, Message: "no id"}}
	silent := call("get_order", `{"id":1}`)
	silent.Outcome = eval.Outcome{Kind: eval.OutcomeFailed, Reason: eval.ReasonTimeout}
	for _, tc := range []struct {
		name       string
		kind       eval.Kind
		base, head []eval.Turn
		want       *eval.StepDifference
	}{
		{"the same, keys in another order", eval.KindAgent, []eval.Turn{calls(call("a", `{"x":1,"y":2}`))}, []eval.Turn{calls(call("a", `{"y":2,"x":1}`))}, nil},
		{
			"other arguments", eval.KindAgent,
			[]eval.Turn{calls(call("find", `{}`)), calls(call("get_order", `{"id":1}`))},
			[]eval.Turn{calls(call("find", `{}`)), calls(call("get_order", `{"id":2}`))},
			&eval.StepDifference{Turn: 2, Call: 1, Base: `called get_order {"id":1}`, Head: `called get_order {"id":2}`},
		},
		{
			"no call", eval.KindAgent,
			[]eval.Turn{calls(call("get_order", `{"id":1}`)), says("done")},
			[]eval.Turn{says("I cannot.")},
			&eval.StepDifference{Turn: 1, Call: 1, Base: `called get_order {"id":1}`, Head: `answered without a call: "I cannot."`},
		},
		{
			"a call too many", eval.KindAgent,
			[]eval.Turn{calls(call("a", `{}`))},
			[]eval.Turn{calls(call("a", `{}`), call("b", ``))},
			&eval.StepDifference{Turn: 1, Call: 2, Base: "made no call", Head: "called b {}"},
		},
		{
			"another answer", eval.KindAgent,
			[]eval.Turn{says("yes")},
			[]eval.Turn{says("no")},
			&eval.StepDifference{Turn: 1, Base: `answered without a call: "yes"`, Head: `answered without a call: "no"`},
		},
		{
			"it stopped", eval.KindAgent,
			[]eval.Turn{calls(call("a", `{}`)), calls(call("b", `{}`))},
			[]eval.Turn{calls(call("a", `{}`))},
			&eval.StepDifference{Turn: 2, Call: 1, Base: "called b {}", Head: "made no call"},
		},
		{
			"a server answers something else", eval.KindScript,
			[]eval.Turn{{Step: "one", Calls: []eval.ToolCall{answer(call("a", `{}`), `{"n":1}`)}}},
			[]eval.Turn{{Step: "one", Calls: []eval.ToolCall{answer(call("a", `{}`), `{"n":2}`)}}},
			&eval.StepDifference{Turn: 1, Call: 1, Step: "one", Base: `called a {}: ok {"n":1}`, Head: `called a {}: ok {"n":2}`},
		},
		{
			"a server rejects", eval.KindScript,
			[]eval.Turn{{Calls: []eval.ToolCall{silent}}},
			[]eval.Turn{{Calls: []eval.ToolCall{rejected}}},
			&eval.StepDifference{Turn: 1, Call: 1, Base: `called get_order {"id":1}: failed call_timeout`, Head: `called get_order {"id":1}: protocol_error -32602 "no id"`},
		},
		{"nothing", eval.KindAgent, nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := FirstStep(eval.Trajectory{Turns: tc.base}, eval.Trajectory{Turns: tc.head}, tc.kind)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFirstStepIsShort shows the place that differs of arguments without an end.
func TestFirstStepIsShort(t *testing.T) {
	long := func(end string) eval.Trajectory {
		return eval.Trajectory{Turns: []eval.Turn{{Calls: []eval.ToolCall{call("a", `{"x":"`+strings.Repeat("ä", 100_000)+end+strings.Repeat("z", 1000)+`"}`)}}}}
	}
	got := FirstStep(long("left"), long("right"), eval.KindAgent)
	if !strings.Contains(got.Base, "äleft") || !strings.Contains(got.Head, "äright") || len([]rune(got.Base)) > excerpt+2 || len([]rune(got.Head)) > excerpt+2 {
		t.Errorf("got %q and %q, want the place that differs", got.Base, got.Head)
	}
}

// FuzzFirstStep holds that a trajectory does not differ from itself, and that any two
// are compared.
func FuzzFirstStep(f *testing.F) {
	f.Add("a", `{"x":1}`, "yes", "b", `{"x":`, "no")
	f.Add("", "", "", "", "null", "\x00")
	f.Fuzz(func(t *testing.T, tool, arguments, text, tool2, arguments2, text2 string) {
		does := func(tool, arguments, text string) eval.Trajectory {
			return eval.Trajectory{Turns: []eval.Turn{{Calls: []eval.ToolCall{call(tool, arguments)}}, {Text: text}}}
		}
		a, b := does(tool, arguments, text), does(tool2, arguments2, text2)
		for _, k := range []eval.Kind{eval.KindAgent, eval.KindScript} {
			if s := FirstStep(a, a, k); s != nil {
				t.Errorf("a trajectory and itself: %+v", s)
			}
			s, back := FirstStep(a, b, k), FirstStep(b, a, k)
			if (s == nil) != (back == nil) || s != nil && (s.Base != back.Head || s.Turn != back.Turn) {
				t.Errorf("not mirrored: %+v and %+v", s, back)
			}
		}
	})
}
