package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// noWait polls without waiting.
func noWait(context.Context, time.Duration) error { return nil }

func TestScript(t *testing.T) {
	const active = `{"status":"ACTIVE","region":"EU","n":9007199254740993}`
	type list = []string
	answers := func(o ...eval.Outcome) []eval.Outcome { return o }
	tests := []struct {
		name    string
		steps   list
		answers []eval.Outcome
		vars    map[string]string
		// want is a line for every score.
		want list
		// requests, where they matter.
		requests list
		// verdict and stop; empty means pass and done.
		verdict eval.Verdict
		stop    eval.StopReason
	}{
		// The value of an answer.
		{name: "text that is JSON", steps: list{`{"call":"t","expect":{"status":"ACTIVE"}}`}, answers: answers(texts(active)), want: list{"1: pass"}},
		{
			name: "text that differs", steps: list{`{"call":"t","expect":{"status":"SUSPENDED","n":9007199254740992}}`}, answers: answers(texts(active)),
			want: list{`1: mismatch: n: want 9007199254740992, got 9007199254740993; status: want "SUSPENDED", got "ACTIVE"`}, verdict: eval.Fail,
		},
		{name: "text with something after the JSON is text", steps: list{`{"call":"t","expect":"{} trailing"}`}, answers: answers(texts("{} trailing")), want: list{"1: pass"}},
		{name: "several blocks are an array", steps: list{`{"call":"t","expect":[{"a":1},"plain",3]}`}, answers: answers(texts(`{"a":1,"b":2}`, "plain", "3")), want: list{"1: pass"}},
		{name: "a block that is no text is itself", steps: list{`{"call":"t","expect":{"type":"image","mimeType":"image/png"}}`}, answers: answers(result(`{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}`)), want: list{"1: pass"}},
		{name: "no blocks are an empty list", steps: list{`{"call":"t","expect":[],"expect_count":0}`}, answers: answers(texts()), want: list{"1: pass"}},
		{name: "structured content alone", steps: list{`{"call":"t","expect":{"n":9007199254740993}}`}, answers: answers(result(`{"structuredContent":{"n":9007199254740993}}`)), want: list{"1: pass"}},
		{name: "structured content decides", steps: list{`{"call":"t","expect":{"a":1}}`}, answers: answers(both(`{"a":1}`, "the answer is one")), want: list{"1: pass"}},
		{
			name: "structured content decides though the text matches", steps: list{`{"call":"t","expect":{"a":1}}`}, answers: answers(both(`{"a":2}`, `{"a":1}`)),
			want: list{`1: mismatch: a: want 1, got 2 (in structuredContent; the text matches)`}, verdict: eval.Fail,
		},
		{name: "neither matches: structured content is shown", steps: list{`{"call":"t","expect":{"a":1}}`}, answers: answers(both(`{"a":2}`, `{"a":3}`)), want: list{`1: mismatch: a: want 1, got 2`}, verdict: eval.Fail},
		{name: "structured null is none", steps: list{`{"call":"t","expect":{"a":1}}`}, answers: answers(both(`null`, `{"a":1}`)), want: list{"1: pass"}},
		{
			name: "a result that is none", steps: list{`{"call":"t"}`}, answers: answers(result(`[1]`)),
			want: list{`1: protocol_violation: the result cannot be read: result: unexpected array`}, verdict: eval.Fail,
		},
		{name: "a content that is no list", steps: list{`{"call":"t"}`}, answers: answers(result(`{"content":"x"}`)), want: list{`1: protocol_violation: the result cannot be read: result.content: unexpected string`}, verdict: eval.Fail},
		{name: "a text that is a number", steps: list{`{"call":"t"}`}, answers: answers(result(`{"content":[{"type":"text","text":"x"},{"type":"text","text":5}]}`)), want: list{`1: protocol_violation: the result cannot be read: block 2.text: unexpected number`}, verdict: eval.Fail},
		{name: "an error result that is none", steps: list{`{"call":"t","expect_error":{}}`}, answers: answers(eval.Outcome{Kind: eval.OutcomeToolError, Result: eval.JSON(`"no"`)}), want: list{`1: protocol_violation: the result cannot be read: result: unexpected string`}, verdict: eval.Fail},

		// Text.
		{name: "expect_text is equality", steps: list{`{"call":"t","expect_text":"ab"}`}, answers: answers(texts("ab")), want: list{"1: pass"}},
		{name: "expect_text differs", steps: list{`{"call":"t","expect_text":"a"}`}, answers: answers(texts("ab")), want: list{`1: mismatch: text: want "a", got "ab"`}, verdict: eval.Fail},
		{name: "expect_text looks at text beside structured content", steps: list{`{"call":"t","expect_text":"one"}`}, answers: answers(both(`{"a":1}`, "one")), want: list{"1: pass"}},
		{name: "expect_text of JSON is the text", steps: list{`{"call":"t","expect_text":{"$regex":"^\\{"}}`}, answers: answers(texts(`{"a":1}`)), want: list{"1: pass"}},
		{name: "expect_text joins blocks", steps: list{`{"call":"t","expect_text":"a\nb"}`}, answers: answers(texts("a", "b")), want: list{"1: pass"}},
		{name: "expect_text matchers without a dollar", steps: list{`{"call":"t","expect_text":{"contains":"x"}}`}, answers: answers(texts("abc")), want: list{`1: mismatch: text: want something that contains "x", got "abc"`}, verdict: eval.Fail},

		// Counts.
		{name: "a count of blocks", steps: list{`{"call":"t","expect_count":3}`}, answers: answers(texts("a", "b", "c")), want: list{"1: pass"}},
		{name: "a count of a JSON array in one block", steps: list{`{"call":"t","expect_count":2}`}, answers: answers(texts("[1,2]")), want: list{"1: pass"}},
		{name: "a count of a structured array", steps: list{`{"call":"t","expect_count":2}`}, answers: answers(both("[1,2]", "two of them")), want: list{"1: pass"}},
		{name: "a structured object counts its blocks", steps: list{`{"call":"t","expect_count":2}`}, answers: answers(result(`{"structuredContent":{"result":[1,2]},"content":[{"type":"text","text":"1"},{"type":"text","text":"2"}]}`)), want: list{"1: pass"}},
		{name: "one object is one", steps: list{`{"call":"t","expect_count":1}`}, answers: answers(texts(active)), want: list{"1: pass"}},
		{name: "a wrong count", steps: list{`{"call":"t","expect_count":6}`}, answers: answers(texts("a", "b")), want: list{"1: count_mismatch: want 6 items, got 2"}, verdict: eval.Fail},

		// What must not be.
		{name: "expect_not holds", steps: list{`{"call":"t","expect_not":{"secret":{"$any":true}}}`}, answers: answers(texts(active)), want: list{"1: pass"}},
		{
			name: "expect_not fails", steps: list{`{"call":"t","expect_not":{"status":"ACTIVE"}}`}, answers: answers(texts(`{"status":"ACTIVE"}`)),
			want: list{`1: unexpected_match: want no match with {"status":"ACTIVE"}, got {"status":"ACTIVE"}`}, verdict: eval.Fail,
		},
		{
			name: "expect_not looks at the text beside structured content", steps: list{`{"call":"t","expect_not":{"a":1}}`}, answers: answers(both(`{"b":1}`, `{"a":1}`)),
			want: list{`1: unexpected_match: want no match with {"a":1}, got {"a":1}`}, verdict: eval.Fail,
		},
		{name: "all that fails is told, the first decides", steps: list{`{"call":"t","expect":{"a":1},"expect_count":2}`}, answers: answers(texts(`{"a":2}`)), want: list{"1: mismatch: a: want 1, got 2; want 2 items, got 1"}, verdict: eval.Fail},

		// Rejections.
		{name: "an unexpected tool error shows its text", steps: list{`{"call":"t","expect":{"a":1}}`}, answers: answers(toolError("no such customer")), want: list{`1: unexpected_error: want an answer, got the rejection "no such customer"`}, verdict: eval.Fail},
		{name: "an unexpected JSON-RPC error", steps: list{`{"call":"t"}`}, answers: answers(rpcError(-32603, "boom")), want: list{`1: unexpected_error: want an answer, got the rejection "boom"`}, verdict: eval.Fail},
		{name: "any rejection, by the tool", steps: list{`{"call":"t","expect_error":{"contains":"must match"}}`}, answers: answers(toolError("id: must match x")), want: list{"1: pass"}},
		{name: "any rejection, by the protocol", steps: list{`{"call":"t","expect_error":{"contains":"must match"}}`}, answers: answers(rpcError(-32602, "id: must match x")), want: list{"1: pass"}},
		{
			name: "a rejection's data counts as its text", steps: list{`{"call":"t","expect_error":{"contains":"must match"}}`},
			answers: answers(eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602, Message: "bad", Data: eval.JSON(`{"id":"must match"}`)}}), want: list{"1: pass"},
		},
		{name: "no rejection", steps: list{`{"call":"t","expect_error":{"kind":"tool","contains":"must match"}}`}, answers: answers(texts("fine")), want: list{`1: no_error: want a result with isError that contains "must match", got the answer "fine"`}, verdict: eval.Fail},
		{name: "another text", steps: list{`{"call":"t","expect_error":{"contains":"must match"}}`}, answers: answers(toolError("boom")), want: list{`1: wrong_error: want a rejection that contains "must match", got another text: "boom"`}, verdict: eval.Fail},
		{name: "kind tool, by the tool", steps: list{`{"call":"t","expect_error":{"kind":"tool"}}`}, answers: answers(toolError("x")), want: list{"1: pass"}},
		{name: "kind tool, by the protocol", steps: list{`{"call":"t","expect_error":{"kind":"tool"}}`}, answers: answers(rpcError(-32602, "x")), want: list{`1: wrong_error: want a result with isError, got a JSON-RPC error -32602: "x"`}, verdict: eval.Fail},
		{name: "kind tool, a result that quotes a JSON-RPC error", steps: list{`{"call":"t","expect_error":{"kind":"tool","contains":"-32602"}}`}, answers: answers(toolError("MCP error -32602: Invalid arguments")), want: list{"1: pass"}},
		{name: "kind protocol, a result that quotes a JSON-RPC error", steps: list{`{"call":"t","expect_error":{"kind":"protocol"}}`}, answers: answers(toolError("MCP error -32602: x")), want: list{`1: wrong_error: want a JSON-RPC error, got a result with isError: "MCP error -32602: x"`}, verdict: eval.Fail},
		{name: "kind protocol with its code", steps: list{`{"call":"t","expect_error":{"kind":"protocol","code":-32602}}`}, answers: answers(rpcError(-32602, "x")), want: list{"1: pass"}},
		{name: "another code", steps: list{`{"call":"t","expect_error":{"code":-32602}}`}, answers: answers(rpcError(-32603, "x")), want: list{`1: wrong_error: want a rejection with code -32602, got the code -32603: "x"`}, verdict: eval.Fail},
		{name: "a code is one of JSON-RPC", steps: list{`{"call":"t","expect_error":{"code":-32602}}`}, answers: answers(toolError("x")), want: list{`1: wrong_error: want a rejection with code -32602, got a result with isError: "x"`}, verdict: eval.Fail},
		{
			name: "a crash is no rejection", steps: list{`{"call":"t","expect_error":{}}`}, answers: answers(failed(eval.ReasonServerCrashed, "exit status 1")),
			want: list{"1: server_crashed: exit status 1"}, verdict: eval.Fail, stop: eval.StopServerLost,
		},
		{name: "a timeout is no rejection", steps: list{`{"call":"t","expect_error":{}}`}, answers: answers(failed(eval.ReasonTimeout, "")), want: list{"1: call_timeout: no answer"}, verdict: eval.Fail},
		{name: "a resource that is rejected", steps: list{`{"read":"x://1","expect_error":{"code":-32002}}`}, answers: answers(rpcError(-32002, "resource not found")), want: list{"1: pass"}},

		// Tools that the listing does not have.
		{name: "a missing tool is not called", steps: list{`{"call":"absent"}`}, want: list{`1: missing_tool: not called: the listing has no tool "absent"`}, verdict: eval.Fail},
		{name: "a missing tool fails though an error is expected", steps: list{`{"call":"absent","expect_error":{"kind":"any"}}`}, want: list{`1: missing_tool: not called: the listing has no tool "absent"`}, verdict: eval.Fail},
		{name: "an unknown tool, rejected by a result", steps: list{`{"call":"absent","expect_error":{"kind":"unknown_tool"}}`}, answers: answers(toolError("MCP error -32602: Tool absent not found")), want: list{"1: pass"}},
		{name: "an unknown tool, rejected by JSON-RPC", steps: list{`{"call":"absent","expect_error":{"kind":"unknown_tool","code":-32603}}`}, answers: answers(rpcError(-32603, "Unknown tool: absent")), want: list{"1: pass"}},
		{name: "an unknown tool, accepted", steps: list{`{"call":"absent","expect_error":{"kind":"unknown_tool"}}`}, answers: answers(texts("fine")), want: list{`1: no_error: want a rejection of the unknown tool, got the answer "fine"`}, verdict: eval.Fail},
		{name: "an unknown tool that is known", steps: list{`{"call":"t","expect_error":{"kind":"unknown_tool"}}`}, want: list{`1: wrong_error: not called: want tool "t" to be unknown, but the listing has it`}, verdict: eval.Fail},

		// Variables.
		{
			name: "an extracted value keeps its type", steps: list{
				`{"call":"a","extract":{"region":"region","n":"n","items":"$.items","all":"$.items[*].id"}}`,
				`{"call":"b","arguments":{"r":"{{region}}","n":"{{n}}","i":"{{items}}","t":"n={{n}}","all":"{{all}}","own":"{{own}}"}}`,
			}, answers: answers(texts(`{"region":"EU","n":9007199254740993,"items":[{"id":1},{"id":2}]}`), texts("x")), vars: map[string]string{"own": `true`},
			want:     list{"1: pass", "2: pass"},
			requests: list{"a ", `b {"all":[1,2],"i":[{"id":1},{"id":2}],"n":9007199254740993,"own":true,"r":"EU","t":"n=9007199254740993"}`},
		},
		{
			name: "a literal key comes before a path", steps: list{`{"call":"a","extract":{"x":"a.b"}}`, `{"call":"b","arguments":{"x":"{{x}}"}}`}, answers: answers(texts(`{"a.b":1,"a":{"b":2}}`), texts("x")),
			want: list{"1: pass", "2: pass"}, requests: list{"a ", `b {"x":1}`},
		},
		{
			name: "an extracted value comes before a var", steps: list{`{"call":"a","extract":{"x":"x"}}`, `{"call":"b","arguments":{"x":"{{x}}"}}`}, answers: answers(texts(`{"x":1}`), texts("x")), vars: map[string]string{"x": "2"},
			want: list{"1: pass", "2: pass"}, requests: list{"a ", `b {"x":1}`},
		},
		{
			name: "an extract that finds nothing fails its step; who needs it is not called; the others run", steps: list{
				`{"id":"look","call":"a","extract":{"region":"primaryRegion"}}`, `{"id":"use","call":"b","arguments":{"r":"{{region}}"}}`, `{"id":"other","call":"c"}`,
			}, answers: answers(texts(`{"region":"EU"}`), texts("x")),
			want: list{
				`look: extract_missing: extract region: nothing at primaryRegion in {"region":"EU"}`,
				"use: variable_missing: not called: {{region}} has no value; step look should have extracted it", "other: pass",
			}, requests: list{"a ", "c "}, verdict: eval.Fail,
		},
		{
			name: "a failed expectation still extracts", steps: list{`{"call":"a","expect":{"s":1},"extract":{"x":"x"}}`, `{"call":"b","arguments":{"x":"{{x}}"}}`}, answers: answers(texts(`{"s":2,"x":"y"}`), texts("x")),
			want: list{"1: mismatch: s: want 1, got 2", "2: pass"}, requests: list{"a ", `b {"x":"y"}`}, verdict: eval.Fail,
		},
		{name: "a variable that no step extracts", steps: list{`{"call":"a","arguments":{"x":"{{x}}"}}`}, want: list{"1: variable_missing: not called: {{x}} has no value, and no step extracts it"}, verdict: eval.Fail},
		{name: "variables in expectations", steps: list{`{"call":"a","expect":{"x":"{{x}}"},"expect_text":{"$contains":"{{y}}"}}`}, answers: answers(texts(`{"x":7}`)), vars: map[string]string{"x": "7", "y": `"x"`}, want: list{"1: pass"}},
		{name: "a var may be a matcher", steps: list{`{"call":"a","expect":{"x":"{{x}}"}}`}, answers: answers(texts(`{"x":7}`)), vars: map[string]string{"x": `{"$gte":5}`}, want: list{"1: pass"}},
		{
			name: "an extracted value is never a matcher", steps: list{`{"call":"a","extract":{"x":"x"}}`, `{"call":"b","expect":{"x":"{{x}}"}}`}, answers: answers(texts(`{"x":{"$any":true}}`)),
			want:    list{"1: pass", "2: mismatch: not called: the value of {{x}} has a key that begins with $, which an expectation would take for a matcher"},
			verdict: eval.Fail,
		},
		{
			name: "an extracted value is never a placeholder", steps: list{`{"call":"a","extract":{"x":"x"}}`, `{"call":"b","arguments":{"x":"{{x}}"}}`}, answers: answers(texts(`{"x":"{{secret}}"}`), texts("")), vars: map[string]string{"secret": `"s"`},
			want: list{"1: pass", "2: pass"}, requests: list{"a ", `b {"x":"{{secret}}"}`},
		},
		{
			name: "an extracted value as all the arguments", steps: list{`{"call":"a","extract":{"x":"x"}}`, `{"call":"b","arguments":"{{x}}"}`}, answers: answers(texts(`{"x":{"id":1}}`), texts("")),
			want: list{"1: pass", "2: pass"}, requests: list{"a ", `b {"id":1}`},
		},
		{
			name: "arguments that turn out to be no object", steps: list{`{"call":"a","extract":{"x":"x"}}`, `{"call":"b","arguments":"{{x}}"}`}, answers: answers(texts(`{"x":[1]}`)),
			want: list{"1: pass", "2: mismatch: not called: want an object of arguments, got [1]"}, verdict: eval.Fail,
		},
		{name: "variables in an expected error", steps: list{`{"call":"a","expect_error":{"contains":"{{x}}"}}`}, answers: answers(toolError("no ORD-1")), vars: map[string]string{"x": `"ORD-1"`}, want: list{"1: pass"}},

		// Resources.
		{
			name: "an exact opaque URI is handed over", steps: list{`{"call":"a","extract":{"uri":"report"}}`, `{"read":"{{uri}}","expect":{"ok":true},"expect_text":{"$contains":"ok"},"expect_count":1}`},
			answers: answers(texts(`{"report":"demo://r/%7e?q=A b&x#y"}`), result(`{"contents":[{"uri":"demo://r","mimeType":"application/json","text":"{\"ok\":true}"}]}`)),
			want:    list{"1: pass", "2: pass"}, requests: list{"a ", "read demo://r/%7e?q=A b&x#y"},
		},
		{name: "a blob is its base64", steps: list{`{"read":"x://1","expect":"AAEC","expect_text":"AAEC"}`}, answers: answers(result(`{"contents":[{"uri":"x://1","blob":"AAEC"}]}`)), want: list{"1: pass"}},

		// Polling.
		{name: "polls until the value appears", steps: list{`{"call":"j","repeat_until":{"path":"state","equals":"done"},"expect":{"n":3}}`}, answers: answers(texts(`{"state":"new"}`), texts(`{}`), texts(`{"state":"done","n":3}`)), want: list{"1: pass"}},
		{name: "polls by matcher", steps: list{`{"call":"j","repeat_until":{"path":"n","equals":{"$gte":2}}}`}, answers: answers(texts(`{"n":1}`), texts(`{"n":2}`)), want: list{"1: pass"}},
		{name: "polls at most max times", steps: list{`{"call":"j","repeat_until":{"path":"state","equals":"done","max":3}}`}, answers: answers(texts(`{}`), texts(`{}`), texts(`{"state":"new"}`)), want: list{`1: poll_exhausted: state: want "done", got "new" at call 3 of 3`}, verdict: eval.Fail},
		{name: "polls and never sees the field", steps: list{`{"call":"j","repeat_until":{"path":"state","equals":null,"max":1}}`}, answers: answers(texts(`{}`)), want: list{`1: poll_exhausted: state: want null, got no such field at call 1 of 1`}, verdict: eval.Fail},
		{name: "a rejection ends the polling", steps: list{`{"call":"j","repeat_until":{"path":"state","equals":"done"}}`}, answers: answers(texts(`{}`), toolError("gone")), want: list{`1: unexpected_error: want an answer, got the rejection "gone"`}, verdict: eval.Fail},
		{name: "a failure ends the polling", steps: list{`{"call":"j","repeat_until":{"path":"state","equals":"done"}}`}, answers: answers(failed(eval.ReasonTimeout, "after 1s")), want: list{`1: call_timeout: after 1s`}, verdict: eval.Fail},

		// Pages.
		{
			name: "follows the cursor", steps: list{`{"call":"l","arguments":{"q":"x"},"collect":{"items":"items","next":"next","unique":"id"},"expect":[{"id":1},{"id":2},{"id":3}],"expect_count":3,"extract":{"last":"$[2].id"}}`},
			answers: answers(texts(`{"items":[{"id":1}],"next":"c2"}`), texts(`{"items":[{"id":2},{"id":3}],"next":7}`), texts(`{"items":[],"next":null}`)),
			want:    list{"1: pass"}, requests: list{`l {"q":"x"}`, `l {"cursor":"c2","q":"x"}`, `l {"cursor":7,"q":"x"}`},
		},
		{name: "the text of all pages", steps: list{`{"call":"l","collect":{"items":"$","next":"$[1]"},"expect_text":"[1,2]\n[3]"}`}, answers: answers(texts(`[1,2]`), texts(`[3]`)), want: list{"1: pass"}},
		{name: "a poll for nothing is the farm's fault", steps: list{`{"call":"l","repeat_until":{"path":"x"}}`}, want: list{"1: farm: fill the placeholders: repeat_until has no equals"}, verdict: eval.Error, stop: eval.StopNotStarted},
		{
			name: "an argument of another name, an empty cursor ends", steps: list{`{"call":"l","collect":{"items":"$","next":"$[0].more","argument":"after"}}`}, answers: answers(texts(`[{"more":"a"}]`), texts(`[{"more":""}]`)),
			want: list{"1: pass"}, requests: list{"l ", `l {"after":"a"}`},
		},
		{name: "a cursor that comes again", steps: list{`{"call":"l","collect":{"items":"items","next":"next"}}`}, answers: answers(texts(`{"items":[1],"next":"a"}`), texts(`{"items":[1],"next":"a"}`)), want: list{`1: pages_endless: page 2: want a new cursor, got "a" again`}, verdict: eval.Fail},
		{name: "more pages than allowed", steps: list{`{"call":"l","collect":{"items":"items","next":"next","max":2}}`}, answers: answers(texts(`{"items":[],"next":"a"}`), texts(`{"items":[],"next":"b"}`)), want: list{`1: pages_endless: want an end after at most 2 pages, got a cursor for another one`}, verdict: eval.Fail},
		{name: "just as many pages as allowed", steps: list{`{"call":"l","collect":{"items":"items","next":"next","max":2}}`}, answers: answers(texts(`{"items":[],"next":"a"}`), texts(`{"items":[]}`)), want: list{"1: pass"}},
		{
			name: "an item that comes twice", steps: list{`{"call":"l","collect":{"items":"items","next":"next","unique":"id"}}`}, answers: answers(texts(`{"items":[{"id":"A"},{"id":"B"}],"next":"a"}`), texts(`{"items":[{"id":"A"}]}`)),
			want: list{`1: not_unique: item 3: want a new value at id, got "A", which item 1 has`}, verdict: eval.Fail,
		},
		{name: "an item without the value", steps: list{`{"call":"l","collect":{"items":"items","next":"next","unique":"id"}}`}, answers: answers(texts(`{"items":[{"x":1}]}`)), want: list{`1: not_unique: item 1: want a value at id, got {"x":1}`}, verdict: eval.Fail},
		{name: "a page without items", steps: list{`{"call":"l","collect":{"items":"items","next":"next"}}`}, answers: answers(texts(`{"item":[]}`)), want: list{`1: mismatch: page 1: want an array at items, got {"item":[]}`}, verdict: eval.Fail},
		{name: "a rejected page", steps: list{`{"call":"l","collect":{"items":"items","next":"next"}}`}, answers: answers(texts(`{"items":[],"next":"a"}`), toolError("stale cursor")), want: list{`1: unexpected_error: want an answer, got the rejection "stale cursor"`}, verdict: eval.Fail},
		{
			name: "pages add up to a list", steps: list{`{"call":"a","extract":{"all":"items"}}`, `{"call":"l","collect":{"items":"items","next":"next","same_as":"all"}}`},
			answers: answers(texts(`{"items":[{"id":1},{"$any":true}]}`), texts(`{"items":[{"id":1.0}],"next":"a"}`), texts(`{"items":[{"$any":true}]}`)), want: list{"1: pass", "2: pass"},
		},
		{name: "pages in another order", steps: list{`{"call":"l","collect":{"items":"items","next":"next","same_as":"all"}}`}, vars: map[string]string{"all": "[1,2]"}, answers: answers(texts(`{"items":[2,1]}`)), want: list{"1: not_same: not the list {{all}}: item 1: want 1, got 2"}, verdict: eval.Fail},
		{name: "pages that lack an item", steps: list{`{"call":"l","collect":{"items":"items","next":"next","same_as":"all"}}`}, vars: map[string]string{"all": "[1,2]"}, answers: answers(texts(`{"items":[1]}`)), want: list{"1: not_same: not the list {{all}}: want 2 items, got 1"}, verdict: eval.Fail},
		{name: "pages like a list that nobody extracted", steps: list{`{"call":"l","collect":{"items":"items","next":"next","same_as":"all"}}`}, want: list{"1: variable_missing: not called: {{all}} has no value, and no step extracts it"}, verdict: eval.Fail},
		{name: "pages like something that is no list", steps: list{`{"call":"l","collect":{"items":"items","next":"next","same_as":"all"}}`}, vars: map[string]string{"all": "1"}, answers: answers(texts(`{"items":[1]}`)), want: list{"1: not_same: want the list {{all}}, which is 1 and no list"}, verdict: eval.Fail},

		// The end of a session.
		{
			name: "after a crash the rest fails uncalled", steps: list{`{"call":"a"}`, `{"call":"b"}`, `{"read":"x://1"}`}, answers: answers(texts("x"), failed(eval.ReasonServerCrashed, "signal: killed")),
			want:    list{"1: pass", "2: server_crashed: signal: killed", "3: server_crashed: not called: the server's session had ended: signal: killed"},
			verdict: eval.Fail, stop: eval.StopServerLost,
		},
		{name: "after a timeout the rest is called", steps: list{`{"call":"a"}`, `{"call":"b"}`}, answers: answers(failed(eval.ReasonTimeout, "30s"), texts("x")), want: list{"1: call_timeout: 30s", "2: pass"}, verdict: eval.Fail},
		{name: "a failure of the farm is an error and ends the trial", steps: list{`{"call":"a"}`, `{"call":"b"}`}, answers: answers(failed(eval.ReasonUnauthorized, "401")), want: list{"1: unauthorized: 401"}, verdict: eval.Error, stop: eval.StopNotStarted},
		{
			name: "a failure of the farm outranks a step that failed", steps: list{`{"call":"a","expect_count":2}`, `{"call":"b"}`}, answers: answers(texts("x"), failed(eval.ReasonUnreachable, "refused")),
			want: list{"1: count_mismatch: want 2 items, got 1", "2: unreachable: refused"}, verdict: eval.Error, stop: eval.StopServerLost,
		},
		{name: "cancelled by the session", steps: list{`{"call":"a"}`, `{"call":"b"}`, `{"call":"c"}`}, answers: answers(texts("x"), eval.Outcome{Kind: eval.OutcomeCancelled, Detail: "drain"}), want: list{"1: pass"}, verdict: eval.Unfinished, stop: eval.StopCancelled},
		{name: "no steps are no pass", verdict: eval.Error},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tools, requests := answering(t, test.answers...)
			done := agent.Script{Sleep: noWait}.Run(t.Context(), script(t, test.steps...), lookup(test.vars), tools)
			if diff := cmp.Diff(test.want, scores(done)); diff != "" {
				t.Errorf("scores differ (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.requests, *requests); test.requests != nil && diff != "" {
				t.Errorf("requests differ (-want +got):\n%s", diff)
			}
			if want := or(test.verdict, eval.Pass); done.Verdict != want {
				t.Errorf("got verdict %s (%s), want %s", done.Verdict, done.Message, want)
			}
			if want := or(test.stop, eval.StopDone); done.Stop != want {
				t.Errorf("got stop %s, want %s", done.Stop, want)
			}
			if (done.Verdict == eval.Pass) != (done.Reason == "") {
				t.Errorf("got verdict %s with reason %q", done.Verdict, done.Reason)
			}
		})
	}
}

func or[T ~string](v, otherwise T) T {
	if v == "" {
		return otherwise
	}
	return v
}

func TestListingThatCannotBeHad(t *testing.T) {
	tests := []struct {
		name    string
		listing eval.Outcome
		want    []string
		verdict eval.Verdict
		stop    eval.StopReason
	}{
		{
			name: "timeout", listing: failed(eval.ReasonTimeout, "30s"), verdict: eval.Fail, stop: eval.StopDone,
			want: []string{"1: call_timeout: not called: tools/list: 30s", "2: call_timeout: not called: tools/list: 30s"},
		},
		{
			name: "crash", listing: failed(eval.ReasonServerCrashed, "exit 1"), verdict: eval.Fail, stop: eval.StopServerLost,
			want: []string{"1: server_crashed: not called: tools/list: exit 1", "2: server_crashed: not called: the server's session had ended: exit 1"},
		},
		{
			name: "unauthorized", listing: failed(eval.ReasonUnauthorized, "401"), verdict: eval.Error, stop: eval.StopNotStarted,
			want: []string{"1: unauthorized: not called: tools/list: 401"},
		},
		{
			name: "rejected", listing: rpcError(-32601, "Method not found"), verdict: eval.Fail, stop: eval.StopDone,
			want: []string{`1: unexpected_error: not called: tools/list: want an answer, got the rejection "Method not found"`, `2: unexpected_error: not called: tools/list: want an answer, got the rejection "Method not found"`},
		},
		{name: "cancelled", listing: eval.Outcome{Kind: eval.OutcomeCancelled}, verdict: eval.Unfinished, stop: eval.StopCancelled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tools := &fakeTools{hasTool: func(context.Context, string) (bool, eval.Outcome) { return false, test.listing }}
			done := agent.Script{}.Run(t.Context(), script(t, `{"call":"a"}`, `{"call":"b","expect_error":{}}`), nil, tools)
			if diff := cmp.Diff(test.want, scores(done)); diff != "" {
				t.Errorf("scores differ (-want +got):\n%s", diff)
			}
			if done.Verdict != test.verdict || done.Stop != test.stop {
				t.Errorf("got %s, %s, want %s, %s", done.Verdict, done.Stop, test.verdict, test.stop)
			}
		})
	}
}

func TestStopOnFailure(t *testing.T) {
	tests := []struct {
		name    string
		answers []eval.Outcome
		want    []string
		stop    eval.StopReason
	}{
		{name: "leaves out the rest", answers: []eval.Outcome{texts("x"), toolError("no")}, want: []string{"1: pass", `2: unexpected_error: want an answer, got the rejection "no"`}, stop: eval.StopFailed},
		{name: "the last step stops nothing", answers: []eval.Outcome{texts("x"), texts("x"), toolError("no")}, want: []string{"1: pass", "2: pass", `3: unexpected_error: want an answer, got the rejection "no"`}, stop: eval.StopDone},
		{name: "a crash stays a crash", answers: []eval.Outcome{failed(eval.ReasonStreamCut, "EOF")}, want: []string{"1: stream_cut: EOF"}, stop: eval.StopServerLost},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tools, _ := answering(t, test.answers...)
			c := script(t, `{"call":"a"}`, `{"call":"b"}`, `{"call":"c"}`)
			c.StopOnFailure = true
			done := agent.Script{}.Run(t.Context(), c, nil, tools)
			if diff := cmp.Diff(test.want, scores(done)); diff != "" {
				t.Errorf("scores differ (-want +got):\n%s", diff)
			}
			if done.Stop != test.stop || done.Verdict != eval.Fail {
				t.Errorf("got %s, %s, want %s, fail", done.Stop, done.Verdict, test.stop)
			}
		})
	}
}

func TestToolCallLimit(t *testing.T) {
	const limit = "the trial's limit of 2 tool calls is reached"
	tests := []struct {
		name    string
		steps   []string
		onLimit eval.OnLimit
		calls   int
		want    []string
		verdict eval.Verdict
		message string
		stop    eval.StopReason
	}{
		{name: "not reached", steps: []string{`{"call":"a"}`, `{"call":"b"}`}, calls: 2, want: []string{"1: pass", "2: pass"}, verdict: eval.Pass, stop: eval.StopDone},
		{
			name: "steps beyond it fail uncalled", steps: []string{`{"call":"a"}`, `{"call":"b"}`, `{"call":"c"}`, `{"call":"d"}`}, calls: 2,
			want: []string{"1: pass", "2: pass", "3: limit: " + limit, "4: limit: not called: " + limit}, verdict: eval.Fail, message: "step 3: " + limit, stop: eval.StopToolCallLimit,
		},
		{name: "in the middle of polling", steps: []string{`{"call":"a","repeat_until":{"path":"x","equals":1}}`}, calls: 2, want: []string{"1: limit: " + limit}, verdict: eval.Fail, message: limit, stop: eval.StopToolCallLimit},
		{
			name: "on_limit fail outranks other failures", steps: []string{`{"call":"a","expect":1}`, `{"call":"b"}`, `{"call":"c"}`}, onLimit: eval.OnLimitFail, calls: 2,
			want: []string{"1: mismatch: want 1, got {}", "2: pass", "3: limit: " + limit}, verdict: eval.Fail, message: limit, stop: eval.StopToolCallLimit,
		},
		{
			name: "on_limit score tells the first failure", steps: []string{`{"call":"a","expect":1}`, `{"call":"b"}`, `{"call":"c"}`}, onLimit: eval.OnLimitScore, calls: 2,
			want: []string{"1: mismatch: want 1, got {}", "2: pass", "3: limit: " + limit}, verdict: eval.Fail, message: "step 1: want 1, got {}", stop: eval.StopToolCallLimit,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var answers []eval.Outcome
			for range test.calls {
				answers = append(answers, texts("{}"))
			}
			tools, _ := answering(t, answers...)
			c := script(t, test.steps...)
			c.Limits = eval.Limits{ToolCalls: 2, OnLimit: test.onLimit}
			done := agent.Script{Sleep: noWait}.Run(t.Context(), c, nil, tools)
			if diff := cmp.Diff(test.want, scores(done)); diff != "" {
				t.Errorf("scores differ (-want +got):\n%s", diff)
			}
			if done.Verdict != test.verdict || done.Stop != test.stop || done.Message != test.message {
				t.Errorf("got %s, %s, %q, want %s, %s, %q", done.Verdict, done.Stop, done.Message, test.verdict, test.stop, test.message)
			}
		})
	}
}

// hanging answers nothing until its context ends.
func hanging(ctx context.Context, _ string, _ eval.JSON) eval.Outcome {
	<-ctx.Done()
	return eval.Outcome{Kind: eval.OutcomeCancelled, Detail: context.Cause(ctx).Error()}
}

func known(context.Context, string) (bool, eval.Outcome) {
	return true, eval.Outcome{Kind: eval.OutcomeOK}
}

func TestTimeLimit(t *testing.T) {
	tests := []struct {
		name    string
		onLimit eval.OnLimit
		message string
	}{
		{name: "score", onLimit: eval.OnLimitScore, message: "step 1: the trial's time limit of 1m0s is reached"},
		{name: "fail", onLimit: eval.OnLimitFail, message: "the trial's time limit of 1m0s is reached"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := script(t, `{"call":"a"}`, `{"call":"b"}`)
				c.Limits = eval.Limits{Time: time.Minute, OnLimit: test.onLimit}
				done := agent.Script{}.Run(t.Context(), c, nil, &fakeTools{call: hanging, hasTool: known})
				want := []string{"1: limit: the trial's time limit of 1m0s is reached", "2: limit: not called: the trial's time limit of 1m0s is reached"}
				if diff := cmp.Diff(want, scores(done)); diff != "" {
					t.Errorf("scores differ (-want +got):\n%s", diff)
				}
				if done.Verdict != eval.Fail || done.Reason != eval.ReasonLimit || done.Stop != eval.StopTimeLimit || done.Message != test.message {
					t.Errorf("got %s, %s, %s, %q, want a fail by the time limit, %q", done.Verdict, done.Reason, done.Stop, done.Message, test.message)
				}
			})
		})
	}
}

func TestTimeLimitEndsAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := script(t, `{"call":"a","repeat_until":{"path":"x","equals":1,"max":100,"every_ns":25000000000}}`)
		c.Limits.Time = time.Minute
		call := func(context.Context, string, eval.JSON) eval.Outcome { return texts("{}") }
		done := agent.Script{}.Run(t.Context(), c, nil, &fakeTools{call: call, hasTool: known})
		if done.Stop != eval.StopTimeLimit || done.Counts.ToolCalls != 3 || done.Counts.Polls != 2 {
			t.Errorf("got %s after %d calls, %d of them polls, want time_limit, 3, 2", done.Stop, done.Counts.ToolCalls, done.Counts.Polls)
		}
		if done.Times.BackoffMS != 60_000 {
			t.Errorf("got %v ms of waits, want 60000", done.Times.BackoffMS)
		}
	})
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	calls := 0
	tools := &fakeTools{hasTool: known, call: func(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome {
		calls++
		if calls == 1 {
			return texts("x")
		}
		cancel(errors.New("a person said so"))
		return hanging(ctx, tool, arguments)
	}}
	done := agent.Script{}.Run(ctx, script(t, `{"call":"a","expect":"y"}`, `{"call":"b"}`, `{"call":"c"}`), nil, tools)
	if done.Verdict != eval.Unfinished || done.Reason != eval.ReasonCancelled || done.Stop != eval.StopCancelled {
		t.Errorf("got %s, %s, %s, want unfinished, cancelled, cancelled", done.Verdict, done.Reason, done.Stop)
	}
	if diff := cmp.Diff([]string{`1: mismatch: want "y", got "x"`}, scores(done)); diff != "" {
		t.Errorf("scores differ (-want +got):\n%s", diff)
	}
}
