package client_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/mcp/client"
)

// TestErrorIsRaw: code, message and data of an error come through, whatever the
// code, and big integers in it.
func TestErrorIsRaw(t *testing.T) {
	out := do(t.Context(), attach(t, open(t, hostileSpec(t, "calls"))), "custom-error")
	want := &eval.RPCError{Code: -32050, Message: "quota", Data: eval.JSON(`{"retryAfter":9007199254740993}`)}
	if diff := cmp.Diff(want, out.Error); diff != "" || out.Kind != eval.OutcomeProtocolError {
		t.Errorf("got %s, error (-want +got):\n%s", out.Kind, diff)
	}
	if out.ResponseBytes == 0 {
		t.Error("got 0 response bytes, want those of the error")
	}
}

// TestArgumentsAreRaw: big integers reach the server as they are.
func TestArgumentsAreRaw(t *testing.T) {
	a := attach(t, open(t, hostileSpec(t, "calls")))
	a.Call(t.Context(), "do", eval.JSON(`{"text":"<&>","big":9007199254740993}`))
	sent := string(a.Frames()[0].Raw)
	if !strings.Contains(sent, "9007199254740993") {
		t.Errorf("got %s, want the exact integer", sent)
	}
	if out := a.Call(t.Context(), "do", eval.JSON(`{"text":`)); out.Kind != eval.OutcomeFailed || out.Reason != eval.ReasonFarm {
		t.Errorf("got %+v, want our own fault", out)
	}
}

// TestLateAnswer: an answer after the timeout is a finding, and never the answer
// of another call.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	spec := hostileSpec(t, "calls")
	spec.Server.CallTimeout = 2 * time.Second // of the echo too
	s := open(t, spec)
	a := attach(t, s)
	if out := do(t.Context(), a, "sleep", "n", 3000); out.Reason != eval.ReasonTimeout {
		t.Fatalf("got %+v, want call_timeout", out)
	}
	eventually(t, func() bool { return hasFinding(s, "late_answer") })
	if out := do(t.Context(), a, "echo", "text", "x"); textOf(out) != "echo x" {
		t.Errorf("got %+v, want echo x", out)
	}
	eventually(t, func() bool { return strings.Contains(s.Stderr(), "notifications/cancelled") })
}

func TestFindings(t *testing.T) {
	for do1, code := range map[string]string{"twice": "duplicate_answer", "late-progress": "late_progress"} {
		s := open(t, hostileSpec(t, "calls"))
		if out := do(t.Context(), attach(t, s), do1); out.Kind != eval.OutcomeOK {
			t.Errorf("%s: got %+v, want ok", do1, out)
		}
		eventually(t, func() bool { return hasFinding(s, code) })
	}
}

// TestStderr: of a flood the head and the tail are kept.
func TestStderr(t *testing.T) {
	s := open(t, hostileSpec(t, "stderr-flood"))
	eventually(t, func() bool { return strings.Contains(s.Stderr(), "\nlast\n") })
	got := s.Stderr()
	if !strings.HasPrefix(got, "first\n") || !strings.Contains(got, "bytes left out") || len(got) > 40<<10 {
		t.Errorf("got %d bytes of stderr, %.20q…, want head and tail", len(got), got)
	}
}

// TestServerStopsReading: a server that reads no more cannot hold a trial beyond
// the call timeout, however much there is to write.
func TestServerStopsReading(t *testing.T) {
	t.Parallel()
	spec := hostileSpec(t, "calls")
	spec.Server.CallTimeout = 2 * time.Second
	a := attach(t, open(t, spec))
	if out := do(t.Context(), a, "stop-reading"); out.Kind != eval.OutcomeOK {
		t.Fatalf("got %+v, want ok", out)
	}
	big := strings.Repeat("x", 1<<20)
	for range 2 {
		if out := do(t.Context(), a, "echo", "text", big); out.Reason != eval.ReasonTimeout {
			t.Errorf("got %+v, want call_timeout", out)
		}
	}
}

func TestCancel(t *testing.T) {
	s := open(t, hostileSpec(t, "calls"))
	a := attach(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually(t, func() bool { return hasSent(a, "do") })
		cancel()
	}()
	if out := do(ctx, a, "hang"); out.Kind != eval.OutcomeCancelled {
		t.Errorf("got %+v, want cancelled", out)
	}
	if out := do(ctx, a, "echo"); out.Kind != eval.OutcomeCancelled {
		t.Errorf("with an ended context got %+v, want cancelled", out)
	}
	eventually(t, func() bool { return strings.Contains(s.Stderr(), "notifications/cancelled") })
}

// TestCloseEndsCalls: nobody waits for a closed session.
func TestCloseEndsCalls(t *testing.T) {
	s := open(t, hostileSpec(t, "calls"))
	a := attach(t, s)
	go func() {
		eventually(t, func() bool { return hasSent(a, "do") })
		_ = s.Close()
	}()
	if out := do(t.Context(), a, "hang"); out.Kind != eval.OutcomeFailed || out.Reason != eval.ReasonFarm {
		t.Errorf("got %+v, want failed farm", out)
	}
	if s.Exit() != "" {
		t.Errorf("got exit %q, want none: we closed it", s.Exit())
	}
}

// TestProfiles: what is declared is what was recorded of each client.
func TestProfiles(t *testing.T) {
	want := map[string]string{
		client.ProfileBare:       `2025-11-25 {}`,
		client.ProfileFull:       `2025-11-25 {"roots":{"listChanged":true},"sampling":{},"elicitation":{"form":{},"url":{}}}`,
		client.ProfileClaudeCode: `2025-11-25 {"roots":{},"elicitation":{}}`,
		client.ProfileCodex:      `2025-06-18 {"elicitation":{"form":{},"url":{}}}`,
		client.ProfileOpencode:   `2025-11-25 {"roots":{}}`,
		client.ProfileGemini:     `2025-06-18 {"roots":{"listChanged":true}}`,
	}
	got := map[string]string{}
	for _, name := range client.Profiles() {
		var declared string
		srv := friendly(t)
		hooks := &server.Hooks{}
		hooks.AddBeforeInitialize(func(_ context.Context, _ any, m *mcp.InitializeRequest) {
			raw := eval.Encode(m.Params.Capabilities)
			declared = m.Params.ProtocolVersion + " " + string(raw)
		})
		server.WithHooks(hooks)(srv)
		s, err := client.OpenInProcess(t.Context(), srv, client.Spec{Name: "in", Profile: name})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Close()
		got[name] = declared
		if s.Info().Profile != name {
			t.Errorf("got profile %q, want %q", s.Info().Profile, name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("declared (-want +got):\n%s", diff)
	}
}

// TestElicitation: the answer satisfies the schema that the server asks with.
func TestElicitation(t *testing.T) {
	schema := map[string]any{
		"type": "object",
		"properties": map[string]any{
			"given":  map[string]any{"type": "string", "default": "kept"},
			"choice": map[string]any{"type": "string", "enum": []any{"red", "blue"}},
			"titled": map[string]any{"type": "string", "oneOf": []any{map[string]any{"const": "a", "title": "A"}}},
			"many":   map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"anyOf": []any{map[string]any{"const": "x", "title": "X"}}}},
			"none":   map[string]any{"type": "array", "items": map[string]any{"enum": []any{"x"}}},
			"mail":   map[string]any{"type": "string", "format": "email"},
			"long":   map[string]any{"type": "string", "minLength": 10},
			"short":  map[string]any{"type": "string", "maxLength": 2},
			"number": map[string]any{"type": "number", "minimum": 1.5},
			"whole":  map[string]any{"type": "integer", "minimum": 1.5},
			"below":  map[string]any{"type": "integer", "maximum": -3},
			"flag":   map[string]any{"type": "boolean"},
		},
		"required": []any{"choice"},
	}
	var got map[string]any
	srv := friendly(t)
	srv.AddTool(mcp.NewTool("elicit"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := srv.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: "?", RequestedSchema: schema}})
		if err != nil {
			return nil, err
		}
		got, _ = res.Content.(map[string]any)
		return mcp.NewToolResultText(string(res.Action)), nil
	})
	ts := newStreamable(t, srv)
	spec := urlSpec(ts, "")
	spec.Profile = client.ProfileCodex
	s := open(t, spec)
	if out := attach(t, s).Call(t.Context(), "elicit", nil); textOf(out) != "accept" {
		t.Fatalf("got %+v, want accept", out)
	}
	want := map[string]any{
		"given": "kept", "choice": "red", "titled": "a", "many": []any{"x"}, "none": []any{}, "mail": "user@example.com",
		"long": "textxxxxxx", "short": "te", "number": 1.5, "whole": 2.0, "below": -3.0, "flag": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("form (-want +got):\n%s", diff)
	}
}
