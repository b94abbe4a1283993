package eval

import "testing"

func trajectory() Trajectory {
	return Trajectory{
		Server:  ServerInfo{Name: "desk", Version: "1"},
		Listing: &Listing{Tools: 1, Fingerprint: "sha256:aa"},
		Turns: []Turn{
			{Step: "1", Calls: []ToolCall{{
				Method: "tools/call", Tool: "get_order", Arguments: JSON(`{"id":1}`),
				Outcome: Outcome{Kind: OutcomeOK, Result: JSON(`{"content":[]}`), LatencyMS: 3},
			}}},
			{Step: "2", Calls: []ToolCall{{
				Method: "resources/read", URI: "desk://a",
				Outcome: Outcome{Kind: OutcomeProtocolError, Error: &RPCError{Code: -32602, Message: "no"}},
			}}},
		},
	}
}

func TestTrajectoryHash(t *testing.T) {
	plain := trajectory().Hash()
	tests := []struct {
		name   string
		change func(*Trajectory)
		same   bool
	}{
		{"nothing", func(*Trajectory) {}, true},
		{"latency", func(t *Trajectory) { t.Turns[0].Calls[0].Outcome.LatencyMS = 900 }, true},
		{"stderr", func(t *Trajectory) { t.Stderr = "12:01 started" }, true},
		{"exit", func(t *Trajectory) { t.Exit = "signal: killed" }, true},
		{"detail", func(t *Trajectory) { t.Turns[0].Calls[0].Outcome.Detail = "EOF" }, true},
		{"findings", func(t *Trajectory) { t.Findings = []Finding{{Code: "stdout_noise"}} }, true},
		{"an answer", func(t *Trajectory) { t.Turns[0].Calls[0].Outcome.Result = JSON(`{"content":[1]}`) }, false},
		{"an argument", func(t *Trajectory) { t.Turns[0].Calls[0].Arguments = JSON(`{"id":2}`) }, false},
		{"the kind of an outcome", func(t *Trajectory) { t.Turns[0].Calls[0].Outcome.Kind = OutcomeToolError }, false},
		{"the reason of an outcome", func(t *Trajectory) { t.Turns[0].Calls[0].Outcome.Reason = ReasonTimeout }, false},
		{"an error's code", func(t *Trajectory) { t.Turns[1].Calls[0].Outcome.Error.Code = -32601 }, false},
		{"an error's message", func(t *Trajectory) { t.Turns[1].Calls[0].Outcome.Error.Message = "yes" }, false},
		{"an error gone", func(t *Trajectory) { t.Turns[1].Calls[0].Outcome.Error = nil }, false},
		{"a URI", func(t *Trajectory) { t.Turns[1].Calls[0].URI = "desk://b" }, false},
		{"a call more", func(t *Trajectory) { t.Turns[0].Calls = append(t.Turns[0].Calls, t.Turns[0].Calls[0]) }, false},
		{"a turn less", func(t *Trajectory) { t.Turns = t.Turns[:1] }, false},
		{"text moved to the next field", func(t *Trajectory) { t.Server.Name, t.Server.Version = "desk1", "" }, false},
		{"the listing", func(t *Trajectory) { t.Listing.Fingerprint = "sha256:bb" }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			changed := trajectory()
			tt.change(&changed)
			if same := changed.Hash() == plain; same != tt.same {
				t.Errorf("same hash after a change of %s: got %t, want %t", tt.name, same, tt.same)
			}
		})
	}
}
