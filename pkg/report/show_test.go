package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// workflowTrial is the failing workflow of troubled, with what it did.
func workflowTrial() Trial {
	f := troubled()
	const cell = 4
	row := f.rows[cell]
	row.Result.Server = eval.ServerInfo{Name: "acme-tools", Version: "1.4", Protocol: "2025-11-25", Profile: "bare"}
	row.Result.Times = eval.Times{QueueMS: 1, ServerStartMS: 120, ToolMS: 42, TotalMS: 165}
	row.Result.Counts = eval.Counts{StepsPass: 1, StepsFail: 2, Turns: 2, ToolCalls: 3, Polls: 1, ResponseBytes: 4096, ContextTokens: 1024}
	row.Result.Reason = eval.ReasonCountMismatch
	ok := func(result string, ms float64) eval.Outcome {
		return eval.Outcome{Kind: eval.OutcomeOK, Result: eval.JSON(result), LatencyMS: ms}
	}
	long := `{"content":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"{\"zone\":\"US-EAST-1\",\"state\":\"HEALTHY\"}"},`, 5), ",") + `],"isError":false}`
	return Trial{
		Trial: eval.Trial{Run: f.run.ID, Ordinal: 4, Case: f.snap.Cases[cell], Variant: f.snap.Variants[cell], Repeat: 1},
		Row:   &row,
		Attempts: []store.Attempt{
			{N: 1, Worker: "w1", Outcome: eval.AttemptLost, Reason: eval.ReasonWorkerLost, Message: "no beat for 45s"},
			{N: 2, Worker: "w2", Outcome: eval.AttemptDone, Counts: true},
			{N: 1, Worker: "w1", Outcome: eval.AttemptDone, CostMicroUSD: 12_300},
		},
		Trajectory: &eval.Trajectory{
			Turns: []eval.Turn{
				{Step: "lookup-customer", Calls: []eval.ToolCall{{
					Method: "tools/call", Tool: "getCustomerStatus", Arguments: eval.JSON(`{"customerId":"CUST-4091"}`),
					Outcome: ok(`{"content":[{"type":"text","text":"{\"status\":\"ACTIVE\"}"}]}`, 2),
				}}},
				{Step: "check-zones", Calls: []eval.ToolCall{
					{Method: "tools/call", Tool: "getZoneHealthLogs", Arguments: eval.JSON(`{"zoneId":"US-EAST-1"}`), Outcome: eval.Outcome{
						Kind: eval.OutcomeToolError, Result: eval.JSON(`{"isError":true,"content":[{"type":"text","text":"still loading"}]}`),
					}},
					{Method: "tools/call", Tool: "getZoneHealthLogs", Arguments: eval.JSON(`{"zoneId":"US-EAST-1"}`), Outcome: ok(long, 40), Poll: true},
					{Method: "resources/read", URI: "acme://zones/US-EAST-1", Outcome: eval.Outcome{
						Kind: eval.OutcomeProtocolError, Error: &eval.RPCError{Code: -32002, Message: "resource not found"},
					}},
					{Method: "tools/call", Tool: "getZoneHealthLogs", Outcome: eval.Outcome{
						Kind: eval.OutcomeFailed, Reason: eval.ReasonServerCrashed, Detail: "exit status 3",
					}},
				}},
			},
			Stderr: "panic: index out of range\n\tat zones.go:12\n",
			Exit:   "exit status 3",
		},
	}
}

// supportTrial is an agent that looked an order up and did not escalate.
func supportTrial() Trial {
	text := func(s string) eval.Outcome {
		return eval.Outcome{Kind: eval.OutcomeOK, Result: eval.JSON(`{"content":[{"type":"text","text":` + string(eval.Encode(s)) + `}]}`), LatencyMS: 3}
	}
	generation := func(in, out int, stop string) *eval.Generation {
		return &eval.Generation{Model: "claude-haiku-4-5", Stop: stop, Usage: eval.Usage{Input: in, Output: out}, LatencyMS: 800}
	}
	return Trial{
		Trial: eval.Trial{
			Run: "r-20261130-ABCDEF", Case: eval.CaseRef{ID: "refund/over-limit", Kind: eval.KindAgent},
			Variant: eval.NewVariant(map[string]string{"model": "fast"}), Repeat: 2,
		},
		Row: &store.Row{Result: eval.Result{
			Verdict: eval.Fail, Reason: eval.ReasonNotSelected, Message: "called escalate: want a call of escalate, got none", Stop: eval.StopDone,
			Server: eval.ServerInfo{Name: "desk", Version: "1.4"},
			Counts: eval.Counts{Turns: 2, ToolCalls: 2, InvalidCalls: 1, ResponseBytes: 40, ContextTokens: 10},
			Times:  eval.Times{ModelMS: 1600, ToolMS: 6, JudgeMS: 900, BackoffMS: 2000, TotalMS: 4600},
			Usage:  eval.Usage{Input: 900, CacheRead: 300, Output: 80}, JudgeUsage: eval.Usage{Input: 700, Output: 60},
			Scores: []eval.Score{
				{Check: "called get_order", Value: 1, Pass: true},
				{Check: "called escalate", Reason: eval.ReasonNotSelected, Message: "want a call of escalate, got none", At: "turn 2"},
				{Check: "trajectory", Value: 0.5, Reason: eval.ReasonNotSelected, Message: "0.5 of 0.8", Differences: []string{"Missing: escalate {}"}},
				{Check: "tone", Pass: true, Value: 1, Votes: []eval.Vote{
					{Pass: new(true), Value: 1, Text: "It stays polite."}, {Pass: new(false), Text: "It is curt."}, {Pass: new(true), Value: 1, Text: "Polite enough."},
				}},
				{Check: "policy", Pending: true, Reason: eval.ReasonJudgeRefused, Message: "I cannot help with that."},
			},
		}},
		Trajectory: &eval.Trajectory{
			System: "You are a support agent.", Prompt: "Refund order ORD-20240815 in full.", Answer: "Done.",
			Turns: []eval.Turn{
				{
					User: "Refund order ORD-20240815 in full.", Text: "Let me look.", Reasoning: "The order first.", Generation: generation(400, 40, "tool_use"),
					Calls: []eval.ToolCall{
						{Method: "tools/call", Server: "desk", Tool: "get_order", Arguments: eval.JSON(`{"order_id":"ORD-20240815"}`), Outcome: text(`{"status":"SHIPPED"}`), CutBytes: 12},
						{Method: "tools/call", Server: "desk", Tool: "get_order", RawArguments: `{"order_id":`, Invalid: "the arguments are no JSON object"},
					},
				},
				{Text: "Done.", Generation: generation(500, 40, "end_turn")},
			},
		},
	}
}

func TestShowGolden(t *testing.T) {
	whole := workflowTrial()
	bare := whole
	bare.Trajectory, bare.Attempts = nil, nil
	waiting := Trial{Trial: whole.Trial}
	waiting.Repeat = 2
	acme := Trial{Trial: whole.Trial, Row: &store.Row{Result: *pass("getCustomerStatus", 3)}}
	acme.Variant = eval.NewVariant(map[string]string{"tenant": "acme"})
	tests := []struct {
		name  string
		write func(w *bytes.Buffer) error
	}{
		{"show-case", func(w *bytes.Buffer) error {
			return ShowCase(w, []Trial{bare, waiting, acme}, Options{Next: []string{"evalfarm show r-20261130-ABCDEF audit-workflow 1"}})
		}},
		{"show-no-trials", func(w *bytes.Buffer) error { return ShowCase(w, nil, Options{}) }},
		{"show-trial", func(w *bytes.Buffer) error { return ShowTrial(w, whole, Options{Width: 80}) }},
		{"show-agent", func(w *bytes.Buffer) error { return ShowTrial(w, supportTrial(), Options{Width: 100}) }},
		{"show-agent-json", func(w *bytes.Buffer) error { return TrialJSON(w, supportTrial()) }},
		{"show-trial-full", func(w *bytes.Buffer) error { return ShowTrial(w, whole, Options{Width: 80, Full: true}) }},
		{"show-trial-without-trajectory", func(w *bytes.Buffer) error { return ShowTrial(w, bare, Options{}) }},
		{"show-trial-waiting", func(w *bytes.Buffer) error { return ShowTrial(w, waiting, Options{}) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var buf bytes.Buffer
			if err := tt.write(&buf); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, buf.Bytes())
		})
	}
}
