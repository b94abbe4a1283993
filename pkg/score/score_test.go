package score_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

func ok(text string) eval.Outcome {
	return eval.Outcome{Kind: eval.OutcomeOK, Result: eval.Encode(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})}
}

func rejected(text string) eval.Outcome {
	o := ok(text)
	o.Kind = eval.OutcomeToolError
	return o
}

func refused(code int, message string) eval.Outcome {
	return eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: code, Message: message}}
}

// made is a call of a tool of the server desk.
func made(tool, arguments string, o eval.Outcome) eval.ToolCall {
	return eval.ToolCall{Method: "tools/call", Server: "desk", Tool: tool, Arguments: eval.JSON(arguments), Outcome: o}
}

func invalid(tool, arguments, why string) eval.ToolCall {
	return eval.ToolCall{Method: "tools/call", Server: "desk", Tool: tool, Arguments: eval.JSON(arguments), Invalid: why}
}

func search(query string) eval.ToolCall {
	return eval.ToolCall{Method: eval.MethodSearch, Tool: "search_tools", Arguments: eval.Encode(map[string]any{"query": query})}
}

func turn(text string, calls ...eval.ToolCall) eval.Turn { return eval.Turn{Text: text, Calls: calls} }

// trial ends with the text of its last turn. The tools are offered.
func trial(tools []string, turns ...eval.Turn) score.Subject {
	t := eval.Trajectory{Turns: turns}
	for _, name := range tools {
		t.Tools = append(t.Tools, eval.OfferedTool{Name: name, Server: "desk", Tool: name})
	}
	if len(turns) > 0 {
		t.Answer = turns[len(turns)-1].Text
	}
	return score.Subject{Trajectory: t, Stop: eval.StopDone}
}

// usual is a trial that looks an order up twice, is rejected once and answers.
func usual() score.Subject {
	return trial([]string{"get_order", "refund", "escalate"},
		turn("I look it up.", made("get_order", `{"order_id":"ORD-1","deep":true}`, ok(`{"total":3,"items":[1,2]}`))),
		turn("", made("get_order", `{"order_id":"ORD-2"}`, rejected("no such order: ORD-2")), made("refund", `{"order_id":"ORD-1","amount":5}`, refused(-32000, "limit"))),
		turn("The total is 3, sorry."),
	)
}

func searching(s score.Subject) score.Subject {
	s.Trial.Variant = eval.NewVariant(map[string]string{eval.AxisLoading: string(eval.LoadingSearch)})
	return s
}

// a row is a check of a trial and what is said of it.
type row struct {
	name    string
	check   eval.Check
	trial   *score.Subject // nil means the usual one
	options score.Options
	value   float64 // 1 where a passing row does not say
	reason  eval.Reason
	message string
	at      string
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			subject := usual()
			if r.trial != nil {
				subject = *r.trial
			}
			r.check.ID = "c"
			got := score.Checks(t.Context(), []eval.Check{r.check}, subject, r.options)[0]
			pending := got.Pending
			want := eval.Score{Check: "c", Value: r.value, Pass: r.reason == "", Reason: r.reason, Message: r.message, At: r.at}
			if want.Pass && want.Value == 0 {
				want.Value = 1
			}
			said := eval.Score{Check: got.Check, Value: got.Value, Pass: got.Pass, Reason: got.Reason, Message: got.Message, At: got.At}
			if diff := cmp.Diff(want, said); diff != "" {
				t.Errorf("scores differ (-want +got):\n%s", diff)
			}
			if undecided := r.reason == eval.ReasonNoJudge || r.reason == eval.ReasonAwaitingJudge || r.reason == eval.ReasonNoBaseline; pending != undecided {
				t.Errorf("got pending %v, want %v", pending, undecided)
			}
		})
	}
}

func not(c eval.Check) eval.Check {
	c.Not = true
	return c
}

func contains(text string) eval.Check { return eval.Check{Text: &eval.TextCheck{Contains: &text}} }
func equals(text string) eval.Check   { return eval.Check{Text: &eval.TextCheck{Equals: &text}} }

func in(place eval.Place, c eval.Check) eval.Check {
	c.Text.In = place
	return c
}

func ignoringCase(c eval.Check) eval.Check {
	c.Text.IgnoreCase = true
	return c
}

func silent() *score.Subject {
	s := trial([]string{"get_order"}, turn(""))
	return &s
}

func TestText(t *testing.T) {
	unmade := trial([]string{"get_order"}, turn("", invalid("get_order", `{"id":"ORD-9"}`, "order_id is missing")), turn("Done."))
	run(t, []row{
		{name: "equals", check: equals(" The total is 3, sorry.\n"), at: "turn 3"},
		{name: "equals not", check: equals("3"), reason: eval.ReasonWrongAnswer, message: `want an answer that equals "3", got "The total is 3, sorry."`, at: "turn 3"},
		{name: "case counts", check: contains("TOTAL"), reason: eval.ReasonWrongAnswer, message: `want an answer that contains "TOTAL", got "The total is 3, sorry."`, at: "turn 3"},
		{name: "case is ignored", check: ignoringCase(contains("TOTAL")), at: "turn 3"},
		{name: "case is ignored in expressions", check: ignoringCase(eval.Check{Text: &eval.TextCheck{Regex: `^THE .* sorry\.$`}}), at: "turn 3"},
		{name: "expression", check: eval.Check{Text: &eval.TextCheck{Regex: `\d{2}`}}, reason: eval.ReasonWrongAnswer, message: `want an answer that matches "\\d{2}", got "The total is 3, sorry."`, at: "turn 3"},
		{name: "bad expression", check: eval.Check{Text: &eval.TextCheck{Regex: `(`}}, reason: eval.ReasonScorerFailed, message: "compile the regular expression: error parsing regexp: missing closing ): `(`"},
		{name: "bad expression is not turned around", check: not(eval.Check{Text: &eval.TextCheck{Regex: `(`}}), reason: eval.ReasonScorerFailed, message: "compile the regular expression: error parsing regexp: missing closing ): `(`"},
		{name: "turned around", check: not(contains("error")), at: "turn 3"},
		{name: "turned around and there", check: not(contains("sorry")), reason: eval.ReasonWrongAnswer, message: `want no answer that contains "sorry", got "The total is 3, sorry."`, at: "turn 3"},
		{name: "said earlier", check: in(eval.PlaceSaid, contains("look it up")), at: "turn 1"},
		{name: "never said", check: in(eval.PlaceSaid, contains("bye")), reason: eval.ReasonWrongAnswer, message: `want a message of the agent that contains "bye", got none among 2`},
		{name: "in a call", check: in(eval.PlaceCalls, contains(`refund {"amount":5`)), at: "turn 2, call 2"},
		{name: "in no call", check: in(eval.PlaceCalls, contains("DELETE")), reason: eval.ReasonMismatch, message: `want a call that contains "DELETE", got none among 3`},
		{name: "in a rejection", check: in(eval.PlaceResults, contains("no such order")), at: "turn 2, call 1, result"},
		{name: "in a call that was not made", check: in(eval.PlaceCalls, contains("ORD-9")), trial: &unmade, reason: eval.ReasonMismatch, message: `want a call that contains "ORD-9", got none`},
		{name: "anywhere", check: in(eval.PlaceAll, contains("limit")), at: "turn 2, call 2, result"},
		{name: "gave up", check: contains("x"), trial: silent(), reason: eval.ReasonGaveUp, message: `want an answer that contains "x", got ""`, at: "turn 1"},
		{name: "a sentence waits for a judge", check: eval.Check{Text: &eval.TextCheck{Sentence: true, Contains: new("It is polite.")}}, reason: eval.ReasonNoJudge, message: "a criterion in words: only a judge can decide it"},
		{name: "waiting is not turned around", check: not(eval.Check{Text: &eval.TextCheck{Sentence: true}}), reason: eval.ReasonNoJudge, message: "a criterion in words: only a judge can decide it"},
	})
}

func answering(text string) *score.Subject {
	s := trial(nil, turn(text))
	return &s
}

func TestJSON(t *testing.T) {
	of := func(c eval.JSONCheck) eval.Check { return eval.Check{JSON: &c} }
	run(t, []row{
		{name: "the answer", check: of(eval.JSONCheck{Path: "total", Match: eval.JSON(`{"$gte":3}`)}), trial: answering(`{"total":3}`), at: "turn 1"},
		{name: "the only fenced block", check: of(eval.JSONCheck{Match: eval.JSON(`{"total":3}`)}), trial: answering("Here:\n```json\n{\"total\":3}\n```\nBye."), at: "turn 1"},
		{name: "two fenced blocks", check: of(eval.JSONCheck{Path: "total"}), trial: answering("```\n1\n```\n```\n2\n```"), reason: eval.ReasonWrongAnswer, message: "want JSON as the answer, got \"```\\n1\\n```\\n```\\n2\\n```\"", at: "turn 1"},
		{name: "no JSON", check: of(eval.JSONCheck{Path: "total"}), reason: eval.ReasonWrongAnswer, message: `want JSON as the answer, got "The total is 3, sorry."`, at: "turn 3"},
		{name: "another value", check: of(eval.JSONCheck{Match: eval.JSON(`{"a":1,"b":"x"}`)}), trial: answering(`{"a":2}`), reason: eval.ReasonWrongAnswer, message: `want the answer to match {"a":1,"b":"x"}, got a: want 1, got 2; b: want "x", got no such field`, at: "turn 1"},
		{name: "nothing at the path", check: of(eval.JSONCheck{Path: "a.b", Match: eval.JSON(`1`)}), trial: answering(`{"a":2}`), reason: eval.ReasonWrongAnswer, message: `want a value at a.b in the answer, got nothing there`, at: "turn 1"},
		{name: "nothing at the path, as it should be", check: not(of(eval.JSONCheck{Path: "a.b"})), trial: answering(`{"a":2}`), at: "turn 1"},
		{name: "something where nothing should be", check: not(of(eval.JSONCheck{Path: "a"})), trial: answering(`{"a":2}`), reason: eval.ReasonWrongAnswer, message: `want no value at a in the answer, got 2`, at: "turn 1"},
		{name: "bad path", check: of(eval.JSONCheck{Path: "$["}), trial: answering(`{}`), reason: eval.ReasonScorerFailed, message: `path "$[": jsonpath: unexpected eof at position 3`},
		{name: "schema", check: of(eval.JSONCheck{Schema: eval.JSON(`{"required":["a"]}`)}), trial: answering(`{"a":2}`), at: "turn 1"},
		{name: "schema that does not hold", check: of(eval.JSONCheck{Schema: eval.JSON(`{"required":["b"]}`)}), trial: answering(`{"a":2}`), reason: eval.ReasonWrongAnswer, message: `want the answer to satisfy its schema, got value: missing property 'b'`, at: "turn 1"},
		{name: "bad schema", check: of(eval.JSONCheck{Schema: eval.JSON(`{"type"`)}), trial: answering(`{}`), reason: eval.ReasonScorerFailed, message: `compile schema: decode JSON: unexpected EOF`},
		{name: "count", check: of(eval.JSONCheck{Tool: "mcp__desk__get_order2", Path: "items", Count: new(2)}), trial: pages(), at: "turn 1, call 1"},
		{name: "another count", check: of(eval.JSONCheck{Tool: "get_order2", Path: "items", Count: new(3)}), trial: pages(), reason: eval.ReasonMismatch, message: "want 3 items in items in the result of get_order2, got 2", at: "turn 1, call 1"},
		{name: "count of what has none", check: of(eval.JSONCheck{Tool: "get_order2", Count: new(3)}), trial: pages(), reason: eval.ReasonMismatch, message: `want 3 items in the result of get_order2, got {"items":[1,2]}`, at: "turn 1, call 1"},
		{name: "the latest result was a rejection", check: of(eval.JSONCheck{Tool: "get_order", Path: "total"}), reason: eval.ReasonUnexpectedError, message: `want a result of get_order, got the rejection "no such order: ORD-2"`, at: "turn 2, call 1"},
		{name: "no result", check: of(eval.JSONCheck{Tool: "escalate", Path: "total"}), reason: eval.ReasonNotSelected, message: `want a result of escalate, got none in 3 calls`},
	})
}

func pages() *score.Subject {
	s := trial([]string{"get_order2"}, turn("", made("get_order2", `{}`, ok(`{"items":[1,2]}`))))
	return &s
}

func TestCalled(t *testing.T) {
	of := func(c eval.CallCheck) eval.Check { return eval.Check{Called: &c} }
	call := func(tool, arguments string) eval.CallPattern {
		return eval.CallPattern{Tool: tool, Arguments: eval.JSON(arguments)}
	}
	unfound := searching(trial([]string{"other"}, turn("", search("orders")), turn("I could not.")))
	tried := trial([]string{"get_order"}, turn("", invalid("get_order", `{}`, "order_id is missing")), turn("Done."))
	unloaded := searching(trial(nil, turn("", invalid("get_order", `{}`, "It is not loaded.")), turn("Done.")))
	late := trial([]string{"get_order"}, turn("", invalid("get_order", `{}`, "not called: the trial's limit of 1 tool calls is reached")))
	quiet := trial([]string{"get_order"}, turn("Done."))
	refusing := trial([]string{"get_order"}, turn("I will not do that."))
	refusing.Stop = eval.StopRefused
	run(t, []row{
		{name: "called", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), at: "turn 1, call 1"},
		{name: "by its full name", check: of(eval.CallCheck{CallPattern: call("mcp__desk__get_order", "")}), at: "turn 1, call 1"},
		{name: "of another server", check: of(eval.CallCheck{CallPattern: call("mcp__shop__get_order", "")}), reason: eval.ReasonMissingTool, message: "want a call of mcp__shop__get_order, got none: the agent was given no such tool"},
		{name: "arguments match partially", check: of(eval.CallCheck{CallPattern: call("get_order", `{"order_id":{"$regex":"-2$"}}`)}), at: "turn 2, call 1"},
		{name: "other arguments", check: of(eval.CallCheck{CallPattern: call("get_order", `{"order_id":"ORD-3","deep":true}`)}), reason: eval.ReasonWrongArguments, message: `want a call of get_order with {"order_id":"ORD-3","deep":true}, got 0 with these arguments; the nearest, at turn 1, call 1: order_id: want "ORD-3", got "ORD-1"`, at: "turn 1, call 1"},
		{name: "not selected", check: of(eval.CallCheck{CallPattern: call("escalate", "")}), reason: eval.ReasonNotSelected, message: "want a call of escalate, got none in 3 calls"},
		{name: "no call at all, but an answer", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), trial: &quiet, reason: eval.ReasonNotSelected, message: "want a call of get_order, got none in 0 calls"},
		{name: "gave up", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), trial: silent(), reason: eval.ReasonGaveUp, message: "want a call of get_order, got nothing: the agent gave up"},
		{name: "refused", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), trial: &refusing, reason: eval.ReasonGaveUp, message: "want a call of get_order, got nothing: the agent gave up"},
		{name: "not discovered", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), trial: &unfound, reason: eval.ReasonNotDiscovered, message: "want a call of get_order, got none: no search brought the tool up"},
		{name: "tried without having found it", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), trial: &unloaded, reason: eval.ReasonNotDiscovered, message: `want a call of get_order, got none: no search brought the tool up; it tried without having found it, at turn 1, call 1: "It is not loaded."`},
		{name: "tried with invalid arguments", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), trial: &tried, reason: eval.ReasonWrongArguments, message: `want a call of get_order, got none; it tried, with invalid arguments, at turn 1, call 1: "order_id is missing"`},
		{name: "tried too late", check: of(eval.CallCheck{CallPattern: call("get_order", "")}), trial: &late, reason: eval.ReasonNotSelected, message: `want a call of get_order, got none; it tried too late, at turn 1, call 1: "not called: the trial's limit of 1 tool calls is reached"`},
		{name: "a search is no call", check: of(eval.CallCheck{CallPattern: call("search_tools", "")}), trial: &unfound, reason: eval.ReasonNotDiscovered, message: "want a call of search_tools, got none: no search brought the tool up"},
		{name: "as often", check: of(eval.CallCheck{CallPattern: call("get_order", ""), Times: new(2)}), at: "turn 1, call 1"},
		{name: "too often", check: of(eval.CallCheck{CallPattern: call("get_order", ""), Times: new(1)}), reason: eval.ReasonUnwantedCall, message: "want exactly 1 call of get_order, got 2, the first too many at turn 2, call 1", at: "turn 2, call 1"},
		{name: "too rarely", check: of(eval.CallCheck{CallPattern: call("get_order", ""), Min: new(3)}), reason: eval.ReasonNotSelected, message: "want at least 3 calls of get_order, got 2, the first at turn 1, call 1", at: "turn 1, call 1"},
		{name: "too rarely with these arguments", check: of(eval.CallCheck{CallPattern: call("get_order", `{"order_id":"ORD-1"}`), Min: new(2)}), reason: eval.ReasonWrongArguments, message: `want at least 2 calls of get_order with {"order_id":"ORD-1"}, got 1 with these arguments; the nearest, at turn 2, call 1: order_id: want "ORD-1", got "ORD-2"`, at: "turn 2, call 1"},
		{name: "in a range", check: of(eval.CallCheck{CallPattern: call("get_order", ""), Min: new(1), Max: new(2)}), at: "turn 1, call 1"},
		{name: "out of a range", check: of(eval.CallCheck{CallPattern: call("escalate", ""), Min: new(1), Max: new(2)}), reason: eval.ReasonNotSelected, message: "want 1 to 2 calls of escalate, got none in 3 calls"},
		{name: "a most alone", check: of(eval.CallCheck{CallPattern: call("get_order", ""), Max: new(2)}), at: "turn 1, call 1"},
		{name: "a most alone wants a call too", check: of(eval.CallCheck{CallPattern: call("escalate", ""), Max: new(2)}), reason: eval.ReasonNotSelected, message: "want 1 to 2 calls of escalate, got none in 3 calls"},
		{name: "a most of one", check: of(eval.CallCheck{CallPattern: call("escalate", ""), Max: new(1)}), reason: eval.ReasonNotSelected, message: "want exactly 1 call of escalate, got none in 3 calls"},
		{name: "a most of none", check: of(eval.CallCheck{CallPattern: call("escalate", ""), Max: new(0)})},
		{name: "never, and at most twice", check: of(eval.CallCheck{CallPattern: call("escalate", ""), Min: new(0), Max: new(2)})},
		{name: "more than at most once", check: of(eval.CallCheck{CallPattern: call("get_order", ""), Min: new(0), Max: new(1)}), reason: eval.ReasonUnwantedCall, message: "want at most 1 call of get_order, got 2, the first too many at turn 2, call 1", at: "turn 2, call 1"},
		{name: "any number", check: of(eval.CallCheck{CallPattern: call("escalate", ""), Min: new(0)})},
		{name: "turned around", check: not(of(eval.CallCheck{CallPattern: call("get_order", "")})), reason: eval.ReasonUnwantedCall, message: "want no call of get_order, got 2, the first at turn 1, call 1", at: "turn 1, call 1"},
		{name: "bad arguments", check: of(eval.CallCheck{CallPattern: call("get_order", `{`)}), reason: eval.ReasonScorerFailed, message: "read the expected arguments: decode JSON: unexpected EOF"},
	})
}

func TestNotCalled(t *testing.T) {
	of := func(tool, arguments string) eval.Check {
		return eval.Check{NotCalled: &eval.CallPattern{Tool: tool, Arguments: eval.JSON(arguments)}}
	}
	tried := trial([]string{"refund"}, turn("", invalid("refund", `{}`, "bad")), turn("Done."))
	run(t, []row{
		{name: "never called", check: of("escalate", "")},
		{name: "never with these arguments", check: of("refund", `{"amount":{"$gte":6}}`)},
		{name: "called", check: of("refund", `{"amount":5}`), reason: eval.ReasonUnwantedCall, message: `want no call of refund with {"amount":5}, got 1, the first at turn 2, call 2: refund {"order_id":"ORD-1","amount":5}`, at: "turn 2, call 2"},
		{name: "an invalid call does no harm", check: of("refund", ""), trial: &tried},
		{name: "turned around", check: not(of("escalate", "")), reason: eval.ReasonNotSelected, message: `want a call of escalate, got none`},
	})
}

func TestRejected(t *testing.T) {
	of := func(tool string, want eval.ExpectError) eval.Check {
		return eval.Check{Rejected: &eval.RejectedCheck{Tool: tool, ExpectError: want}}
	}
	unknown := trial([]string{"get_order"}, turn("", eval.ToolCall{Method: "tools/call", Tool: "drop_table", Invalid: "There is no such tool."}), turn("Done."))
	fine := trial([]string{"get_order"}, turn("", made("get_order", `{}`, ok("fine"))), turn("Done."))
	run(t, []row{
		{name: "by any", check: of("", eval.ExpectError{}), at: "turn 2, call 1"},
		{name: "by the tool", check: of("get_order", eval.ExpectError{Kind: eval.ErrorTool, Contains: "no such"}), at: "turn 2, call 1"},
		{name: "by the protocol", check: of("", eval.ExpectError{Kind: eval.ErrorProtocol, Code: new(-32000)}), at: "turn 2, call 2"},
		{name: "another text", check: of("get_order", eval.ExpectError{Contains: "must match"}), reason: eval.ReasonWrongError, message: `want a rejection that contains "must match" from get_order, got another text: "no such order: ORD-2"`, at: "turn 2, call 1"},
		{name: "another code", check: of("refund", eval.ExpectError{Code: new(-32602)}), reason: eval.ReasonWrongError, message: `want a rejection with code -32602 from refund, got the code -32000: "limit"`, at: "turn 2, call 2"},
		{name: "accepted", check: of("get_order", eval.ExpectError{Kind: eval.ErrorTool}), trial: &fine, reason: eval.ReasonNoError, message: `want a result with isError from get_order, got the answer "fine"`, at: "turn 1, call 1"},
		{name: "never called", check: of("escalate", eval.ExpectError{}), reason: eval.ReasonNotSelected, message: `want a rejection from escalate, got none in 3 calls`},
		{name: "no call at all", check: of("", eval.ExpectError{}), trial: silent(), reason: eval.ReasonGaveUp, message: `want a rejection, got no call`},
		{name: "unknown tool", check: of("drop_table", eval.ExpectError{Kind: eval.ErrorUnknownTool}), trial: &unknown, at: "turn 1, call 1"},
		{name: "no unknown tool", check: of("", eval.ExpectError{Kind: eval.ErrorUnknownTool}), reason: eval.ReasonNoError, message: `want a call of an unknown tool to be rejected as unknown, got none`},
		{name: "an invalid call is no rejection by a server", check: of("", eval.ExpectError{}), trial: &unknown, reason: eval.ReasonNoError, message: `want a rejection, got no call`},
		{name: "turned around", check: not(of("refund", eval.ExpectError{})), reason: eval.ReasonUnexpectedError, message: `want no rejection from refund, got the rejection "limit"`, at: "turn 2, call 2"},
	})
}

func TestScoresKeepTheirChecks(t *testing.T) {
	got := score.Checks(t.Context(), []eval.Check{
		{ID: "a", Title: "the total", Weight: new(2.0), Text: &eval.TextCheck{Contains: new("4")}},
		{ID: "b", Weight: new(0.0), Text: &eval.TextCheck{Contains: new("4")}},
		{ID: "j", Judge: &eval.JudgeCheck{Rubric: "Is it polite?"}},
		{ID: "n"},
	}, usual(), score.Options{})
	want := []eval.Score{
		{
			Check: "a", Title: "the total", Weight: new(2.0), Reason: eval.ReasonWrongAnswer, Message: `want an answer that contains "4", got "The total is 3, sorry."`, At: "turn 3",
			Expected: eval.JSON(`{"$contains":"4"}`), Actual: eval.JSON(`"The total is 3, sorry."`),
		},
		{
			Check: "b", Weight: new(0.0), Warning: true, Reason: eval.ReasonWrongAnswer, Message: `want an answer that contains "4", got "The total is 3, sorry."`, At: "turn 3",
			Expected: eval.JSON(`{"$contains":"4"}`), Actual: eval.JSON(`"The total is 3, sorry."`),
		},
		{Check: "j", Pending: true, Reason: eval.ReasonAwaitingJudge, Message: "no judge has spoken yet"},
		{Check: "n", Reason: eval.ReasonScorerFailed, Message: `check "n" asks for nothing`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("scores differ (-want +got):\n%s", diff)
	}
}

func TestExpectedAndActualAreBounded(t *testing.T) {
	long := make([]byte, 100_000)
	for i := range long {
		long[i] = 'x'
	}
	s := trial(nil, turn(string(long)))
	got := score.Checks(context.Background(), []eval.Check{equals(string(long) + "y")}, s, score.Options{})[0]
	for name, size := range map[string]int{"expected": len(got.Expected), "actual": len(got.Actual), "message": len(got.Message)} {
		if size == 0 || size > 4<<10 {
			t.Errorf("%s: got %d bytes, want some and at most 4 KiB", name, size)
		}
	}
	if !json.Valid(got.Expected) || !json.Valid(got.Actual) {
		t.Error("got a value that is no JSON after the cut")
	}
}
