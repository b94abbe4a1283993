package client_test

import (
	"strings"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// TestCallAbuse is what a server can do to a call, and what we make of it.
func TestCallAbuse(t *testing.T) {
	t.Parallel()
	const timeout = 3 * time.Second
	tests := []struct {
		do      string
		args    []any
		timeout bool // the row waits for the call timeout
		kind    eval.OutcomeKind
		reason  eval.Reason
		detail  string // in the detail
		result  string // in the raw result
		finding string
		dead    bool
	}{
		{do: "hang", timeout: true, kind: eval.OutcomeFailed, reason: eval.ReasonTimeout, detail: "no answer within 3s"},
		{do: "crash", kind: eval.OutcomeFailed, reason: eval.ReasonServerCrashed, detail: "exit status 7; stderr ends with: panic: boom", dead: true},
		{do: "crash-half", kind: eval.OutcomeFailed, reason: eval.ReasonServerCrashed, detail: "exit status 7", finding: "stdout_noise", dead: true},
		{do: "close-stdout", kind: eval.OutcomeFailed, reason: eval.ReasonStreamCut, detail: "closed its stdout", dead: true},
		{do: "huge", args: []any{"n", 3 << 20}, kind: eval.OutcomeFailed, reason: eval.ReasonOversize, detail: "over the frame limit", dead: true},
		{do: "huge", args: []any{"n", 1 << 20}, kind: eval.OutcomeOK, result: "yyyy"},
		{do: "null-result", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "no object: null"},
		{do: "array-result", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "no object: [1]"},
		{do: "neither", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "neither result nor error"},
		{do: "both", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "both result and error"},
		{do: "string-id", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "string id"},
		{do: "wrong-id", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "never asked"},
		{do: "float-id", kind: eval.OutcomeOK, result: `"text":"x"`},
		{do: "pretty", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "over several lines", finding: "stdout_noise"},
		{do: "batch", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "batch", finding: "stdout_noise"},
		{do: "glued", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "other text on the line", finding: "stdout_noise"},
		{do: "glued-behind", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "other text on the line", finding: "stdout_noise"},
		{do: "text-error", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: `no JSON-RPC error object: "nope"`},
		{do: "odd-is-error", kind: eval.OutcomeFailed, reason: eval.ReasonProtocolViolation, detail: "isError is no boolean"},
		{do: "debug", kind: eval.OutcomeOK, result: `"text":"ok"`, finding: "stdout_noise"},
		{do: "twice", kind: eval.OutcomeOK, result: `"text":"one"`},
		{do: "unknown-content", kind: eval.OutcomeOK, result: `{"content":[{"type":"hologram","x":1}]}`},
		{do: "no-content", kind: eval.OutcomeOK, result: `{"structuredContent":{"a":1}}`},
		{do: "empty-image", kind: eval.OutcomeOK, result: `"data":""`},
		{do: "bigint", kind: eval.OutcomeOK, result: `9007199254740993`},
		{do: "bad-utf8", kind: eval.OutcomeOK, result: "\"text\":\"\uFFFD\"", finding: "invalid_utf8"},
		{do: "tool-error", kind: eval.OutcomeToolError, result: "must match"},
		{do: "notes", args: []any{"n", 5000}, kind: eval.OutcomeOK, result: "done"},
		{do: "collide", kind: eval.OutcomeOK, result: "after"},
	}
	for _, tt := range tests {
		t.Run(tt.do, func(t *testing.T) {
			t.Parallel()
			spec := hostileSpec(t, "calls")
			if tt.timeout {
				spec.Server.CallTimeout = timeout
			}
			o := options()
			o.FrameLimit = 2 << 20
			s, err := client.NewOpener(o).Open(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			a := attach(t, s)
			out := do(t.Context(), a, tt.do, tt.args...)
			if out.Kind != tt.kind || out.Reason != tt.reason {
				t.Errorf("got %s %q (%s), want %s %q", out.Kind, out.Reason, out.Detail, tt.kind, tt.reason)
			}
			if !strings.Contains(out.Detail, tt.detail) {
				t.Errorf("got detail %q, want it to contain %q", out.Detail, tt.detail)
			}
			if !strings.Contains(string(out.Result), tt.result) {
				t.Errorf("got result %.200s, want it to contain %q", out.Result, tt.result)
			}
			if tt.finding != "" && !hasFinding(s, tt.finding) {
				t.Errorf("got findings %v, want %s", s.Findings(), tt.finding)
			}
			if s.Dead() != tt.dead {
				t.Errorf("got dead %t, want %t", s.Dead(), tt.dead)
			}
			next := do(t.Context(), a, "echo", "text", "again")
			if tt.dead {
				if next.Kind != eval.OutcomeFailed || next.Reason != tt.reason {
					t.Errorf("after death got %s %q, want failed %q", next.Kind, next.Reason, tt.reason)
				}
			} else if textOf(next) != "echo again" {
				t.Errorf("next call got %+v, want an echo", next)
			}
		})
	}
}
