package answer_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestRead(t *testing.T) {
	tests := []struct {
		name, result      string
		value, text       string // value as JSON
		count             int
		structured, wrong bool
	}{
		{name: "JSON in a text block", result: `{"content":[{"type":"text","text":"{\"a\":9007199254740993}"}]}`, value: `{"a":9007199254740993}`, text: `{"a":9007199254740993}`, count: 1},
		{name: "plain text", result: `{"content":[{"type":"text","text":"hello"}]}`, value: `"hello"`, text: "hello", count: 1},
		{name: "an array in one block", result: `{"content":[{"type":"text","text":"[1,2,3]"}]}`, value: `[1,2,3]`, text: "[1,2,3]", count: 3},
		{name: "two blocks", result: `{"content":[{"type":"text","text":"1"},{"type":"text","text":"x"}]}`, value: `[1,"x"]`, text: "1\nx", count: 2},
		{name: "structured content goes first", result: `{"content":[{"type":"text","text":"1"}],"structuredContent":{"a":1}}`, value: `{"a":1}`, text: "1", structured: true, count: 1},
		{name: "null is no structured content", result: `{"content":[{"type":"text","text":"1"}],"structuredContent":null}`, value: `1`, text: "1", count: 1},
		{name: "an image is itself", result: `{"content":[{"type":"image","data":"AA=="}]}`, value: `{"data":"AA==","type":"image"}`, count: 1},
		{name: "a resource", result: `{"contents":[{"uri":"x://1","blob":"AA=="}]}`, value: `"AA=="`, text: "AA==", count: 1},
		{name: "nothing", result: `{}`, value: `[]`},
		{name: "content that is none", result: `{"content":"hello"}`, value: `null`, wrong: true},
		{name: "a block that is none", result: `{"content":[1]}`, value: `null`, wrong: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := answer.Read(eval.Outcome{Kind: eval.OutcomeOK, Result: eval.JSON(test.result)})
			if got := string(eval.Encode(a.Value)); got != test.value || a.Text != test.text || a.Structured != test.structured || a.Count() != test.count {
				t.Errorf("got %s %q structured %v count %d, want %s %q %v %d", got, a.Text, a.Structured, a.Count(), test.value, test.text, test.structured, test.count)
			}
			if (a.Unreadable != nil) != test.wrong {
				t.Errorf("got the error %v, want one: %v", a.Unreadable, test.wrong)
			}
		})
	}
}

func TestUnlike(t *testing.T) {
	tool := eval.Outcome{Kind: eval.OutcomeToolError, Result: eval.JSON(`{"content":[{"type":"text","text":"must match"}],"isError":true}`)}
	protocol := eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602, Message: "bad", Data: eval.JSON(`{"x":1}`)}}
	fine := eval.Outcome{Kind: eval.OutcomeOK, Result: eval.JSON(`{"content":[{"type":"text","text":"fine"}]}`)}
	tests := []struct {
		name    string
		outcome eval.Outcome
		want    eval.ExpectError
		reason  eval.Reason
		got     string
	}{
		{name: "any by the tool", outcome: tool},
		{name: "any by the protocol", outcome: protocol, want: eval.ExpectError{Kind: eval.ErrorAny}},
		{name: "the text of the data counts", outcome: protocol, want: eval.ExpectError{Contains: `"x":1`}},
		{name: "an answer", outcome: fine, reason: eval.ReasonNoError, got: `the answer "fine"`},
		{name: "no answer", outcome: eval.Outcome{Kind: eval.OutcomeFailed}, reason: eval.ReasonNoError, got: `the answer ""`},
		{name: "the tool wanted", outcome: protocol, want: eval.ExpectError{Kind: eval.ErrorTool}, reason: eval.ReasonWrongError, got: `a JSON-RPC error -32602: "bad {\"x\":1}"`},
		{name: "the protocol wanted", outcome: tool, want: eval.ExpectError{Kind: eval.ErrorProtocol}, reason: eval.ReasonWrongError, got: `a result with isError: "must match"`},
		{name: "a code wanted of a tool", outcome: tool, want: eval.ExpectError{Code: new(1)}, reason: eval.ReasonWrongError, got: `a result with isError: "must match"`},
		{name: "another code", outcome: protocol, want: eval.ExpectError{Code: new(1)}, reason: eval.ReasonWrongError, got: `the code -32602: "bad {\"x\":1}"`},
		{name: "another text", outcome: tool, want: eval.ExpectError{Contains: "Must"}, reason: eval.ReasonWrongError, got: `another text: "must match"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reason, got := answer.Read(test.outcome).Unlike(test.want)
			if reason != test.reason || got != test.got {
				t.Errorf("got %q %q, want %q %q", reason, got, test.reason, test.got)
			}
		})
	}
}

func TestInvalidArguments(t *testing.T) {
	says := func(kind eval.OutcomeKind, text string) eval.Outcome {
		return eval.Outcome{Kind: kind, Result: eval.Encode(map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})}
	}
	tests := []struct {
		name    string
		outcome eval.Outcome
		want    bool
	}{
		{name: "a JSON-RPC error", outcome: eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32602}}, want: true},
		{name: "another JSON-RPC error", outcome: eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32603}}},
		{name: "a result that quotes one", outcome: says(eval.OutcomeToolError, "MCP error -32602: x"), want: true},
		{name: "a result in a validator's words", outcome: says(eval.OutcomeToolError, "Input validation error: x"), want: true},
		{name: "another refusal", outcome: says(eval.OutcomeToolError, "no such order")},
		{name: "an answer that quotes one", outcome: says(eval.OutcomeOK, "MCP error -32602: x")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := answer.Read(test.outcome).InvalidArguments(); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestWanted(t *testing.T) {
	want := `a JSON-RPC error with code -1 that contains "x"`
	if got := answer.Wanted(eval.ExpectError{Kind: eval.ErrorProtocol, Code: new(-1), Contains: "x"}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShowing(t *testing.T) {
	hostile := "a\x1b[2J\u202eb\u200b\n\xff" + strings.Repeat("ä", 500)
	if diff := cmp.Diff(`"a\x1b[2J\u202eb\u200b\n\xff`, answer.Quote(hostile)[:28]); diff != "" {
		t.Errorf("quotes differ (-want +got):\n%s", diff)
	}
	if got, want := answer.Line("a\x1b[2J\u202e\nä\"", 100), `a\x1b[2J\u202e\nä"`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := answer.Line("aää", 4), "aä…"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzShowing(f *testing.F) {
	f.Add("a\x1b[2J\u202e\xff", 10)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(0, min(limit, 1000))
		for name, got := range map[string]string{"quote": answer.Quote(text), "line": answer.Line(text, limit)} {
			if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("%s: got %q, want nothing unseen", name, got)
			}
		}
		if got := answer.Line(text, limit); len(got) > limit+len("…") {
			t.Errorf("got %d bytes, want at most %d", len(got), limit)
		}
		cut := answer.Cut(eval.Encode(text))
		if !json.Valid(cut) || len(cut) > answer.MaxShown {
			t.Errorf("got %d bytes of %.40q, want JSON of at most %d", len(cut), cut, answer.MaxShown)
		}
	})
}
