package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// fakeTools is a session in which each method is a function.
type fakeTools struct {
	call    func(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome
	read    func(ctx context.Context, uri string) eval.Outcome
	hasTool func(ctx context.Context, tool string) (bool, eval.Outcome)
}

func (f *fakeTools) Call(ctx context.Context, tool string, arguments eval.JSON) eval.Outcome {
	return f.call(ctx, tool, arguments)
}

func (f *fakeTools) Read(ctx context.Context, uri string) eval.Outcome { return f.read(ctx, uri) }

func (f *fakeTools) ListTools(context.Context) ([]eval.JSON, eval.Outcome) {
	panic("a script asks for single tools only")
}

func (f *fakeTools) HasTool(ctx context.Context, tool string) (bool, eval.Outcome) {
	return f.hasTool(ctx, tool)
}

var _ agent.Tools = (*fakeTools)(nil)

// answering is a session that gives the answers in order, whatever is asked,
// and notes the requests. It lists every tool whose name does not begin with
// "absent".
func answering(t *testing.T, answers ...eval.Outcome) (*fakeTools, *[]string) {
	t.Helper()
	var requests []string
	next := func(request string) eval.Outcome {
		requests = append(requests, request)
		if len(answers) == 0 {
			t.Errorf("unexpected request %s", request)
			return eval.Outcome{Kind: eval.OutcomeOK}
		}
		a := answers[0]
		answers = answers[1:]
		return a
	}
	t.Cleanup(func() {
		if len(answers) > 0 {
			t.Errorf("%d answers were never asked for", len(answers))
		}
	})
	return &fakeTools{
		call: func(_ context.Context, tool string, arguments eval.JSON) eval.Outcome {
			return next(tool + " " + string(arguments))
		},
		read: func(_ context.Context, uri string) eval.Outcome { return next("read " + uri) },
		hasTool: func(_ context.Context, tool string) (bool, eval.Outcome) {
			return !strings.HasPrefix(tool, "absent"), eval.Outcome{Kind: eval.OutcomeOK}
		},
	}, &requests
}

// result is an answer with a raw result.
func result(raw string) eval.Outcome {
	return eval.Outcome{Kind: eval.OutcomeOK, Result: eval.JSON(raw), LatencyMS: 2, ResponseBytes: len(raw)}
}

// texts is an answer with a text block for each text.
func texts(blocks ...string) eval.Outcome {
	content := []any{}
	for _, text := range blocks {
		content = append(content, map[string]any{"type": "text", "text": text})
	}
	return result(string(eval.Encode(map[string]any{"content": content})))
}

// both is an answer with structured content beside a text.
func both(structured, text string) eval.Outcome {
	return result(fmt.Sprintf(`{"content":[{"type":"text","text":%s}],"structuredContent":%s}`, eval.Encode(text), structured))
}

// toolError is a result with isError.
func toolError(text string) eval.Outcome {
	o := texts(text)
	o.Kind = eval.OutcomeToolError
	return o
}

// rpcError is a JSON-RPC error.
func rpcError(code int, message string) eval.Outcome {
	return eval.Outcome{Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: code, Message: message}, LatencyMS: 2, ResponseBytes: 10}
}

// failed is the absence of an answer.
func failed(reason eval.Reason, detail string) eval.Outcome {
	return eval.Outcome{Kind: eval.OutcomeFailed, Reason: reason, Detail: detail, LatencyMS: 2}
}

// script makes a case of steps in their JSON form.
func script(tb testing.TB, steps ...string) eval.Case {
	tb.Helper()
	c := eval.Case{ID: "case", Kind: eval.KindScript}
	for i, raw := range steps {
		var s eval.Step
		dec := json.NewDecoder(strings.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&s); err != nil {
			tb.Fatalf("step %s: %v", raw, err)
		}
		if s.ID == "" {
			s.ID = fmt.Sprint(i + 1)
		}
		c.Steps = append(c.Steps, s)
	}
	return c
}

// lookup gives variables by name.
func lookup(values map[string]string) vars.Lookup {
	return func(name string) (json.RawMessage, bool) {
		value, ok := values[name]
		return json.RawMessage(value), ok
	}
}

// scores writes scores as "id: pass" or "id: reason: message".
func scores(done agent.Done) []string {
	var lines []string
	for _, s := range done.Scores {
		line := s.Check + ": pass"
		if !s.Pass {
			line = fmt.Sprintf("%s: %s: %s", s.Check, s.Reason, s.Message)
		}
		lines = append(lines, line)
	}
	return lines
}
