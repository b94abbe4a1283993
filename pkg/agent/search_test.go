package agent_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// searching is a trial that loads tools by searching.
func searching() agent.Task {
	trial := task(desk())
	trial.Loading = eval.LoadingSearch
	return trial
}

func TestSearchLoads(t *testing.T) {
	var h heard
	done := agent.Loop{Model: moving(
		&h, use("search_tools", `{"query":"order"}`, "get_order", `{"order_id":"ORD-1"}`), use("get_order", `{"order_id":"ORD-1"}`),
		use("search_tools", `{"query":"money person","limit":2}`), use("search_tools", `{"query":"order","limit":1}`), use("search_tools", `{"query":"weather"}`), say("Done."),
	)}.Run(t.Context(), searching())
	want := []string{
		"user: Refund it.",
		`tools/search :search_tools {"query":"order"} ok`, `tools/call desk:get_order {"order_id":"ORD-1"} INVALID`,
		`tools/call desk:get_order {"order_id":"ORD-1"} ok`,
		`tools/search :search_tools {"limit":2,"query":"money person"} ok`,
		`tools/search :search_tools {"limit":1,"query":"order"} ok`,
		`tools/search :search_tools {"query":"weather"} ok`,
		"agent: Done.",
	}
	if diff := cmp.Diff(want, transcript(done.Trajectory)); diff != "" {
		t.Errorf("transcript, -want +got:\n%s", diff)
	}
	told := []string{
		"search_tools: Loaded 1 tools:\n- get_order: Look an order up.",
		"error of get_order: The tool get_order is not loaded; nothing was called. Find it with search_tools, then call it in your next message.",
		`get_order: get_order {"order_id":"ORD-1"}`,
		"search_tools: Loaded 2 tools:\n- issue_refund: Pay money back.\n- escalate: Hand over to a person.",
		"search_tools: Loaded 1 tools:\n- get_order: Look an order up.",
		"search_tools: No tool has any of these words. There are 4 tools; try other words.",
	}
	if diff := cmp.Diff(told, h.told()); diff != "" {
		t.Errorf("told, -want +got:\n%s", diff)
	}
	var offered [][]string
	for _, req := range h.requests {
		var names []string
		for _, d := range req.Tools {
			names = append(names, d.Name)
		}
		offered = append(offered, names)
	}
	all := []string{"search_tools", "get_order", "issue_refund", "escalate"}
	if diff := cmp.Diff([][]string{all[:1], all[:2], all[:2], all, all, all}, offered); diff != "" {
		t.Errorf("offered turn by turn, -want +got:\n%s", diff)
	}
	var loaded []string
	for _, o := range done.Trajectory.Tools {
		loaded = append(loaded, o.Server+" "+o.Tool)
	}
	if diff := cmp.Diff([]string{"desk get_order", "desk issue_refund", "desk escalate"}, loaded); diff != "" {
		t.Errorf("loaded, -want +got:\n%s", diff)
	}
	c := done.Counts
	if c.ToolSearches != 4 || c.ToolCalls != 1 || c.InvalidCalls != 1 || c.ToolErrors != 0 || len(done.Tools) != 1 {
		t.Errorf("counts %+v, uses %v", c, done.Tools)
	}
	size := 0
	for _, d := range h.last().Tools[1:] {
		size += len(eval.Encode(map[string]any{"name": d.Name, "description": d.Description, "inputSchema": d.Schema}))
	}
	first := h.requests[0].Tools[0]
	initial := len(eval.Encode(map[string]any{"name": first.Name, "description": first.Description, "inputSchema": first.Schema}))
	if c.LoadedToolTokens != (size+3)/4 || c.InitialToolTokens != (initial+3)/4 {
		t.Errorf("%d initial and %d loaded tokens, want %d and %d", c.InitialToolTokens, c.LoadedToolTokens, (initial+3)/4, (size+3)/4)
	}
}

func TestSearchCalls(t *testing.T) {
	tests := []struct {
		name      string
		arguments string
		invalid   bool
		lines     int // of the answer
	}{
		{"by a name", `{"query":"get_order"}`, false, 2},
		{"by a word of an argument", `{"query":"id"}`, false, 2},
		{"as many as asked for", `{"query":"order money person say","limit":2}`, false, 3},
		{"a whole number with a point", `{"query":"order money person say","limit":2.0}`, false, 3},
		{"no words", `{"query":"?"}`, false, 1},
		{"no query", `{}`, true, 0},
		{"an empty query", `{"query":""}`, true, 0},
		{"too many", `{"query":"order","limit":21}`, true, 0},
		{"none", `{"query":"order","limit":0}`, true, 0},
		{"half a tool", `{"query":"order","limit":0.5}`, true, 0},
		{"another argument", `{"query":"order","server":"desk"}`, true, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h heard
			done := agent.Loop{Model: moving(&h, use("search_tools", tt.arguments), say("Done."))}.Run(t.Context(), searching())
			got := h.last().Messages[2].Results[0]
			if got.Error != tt.invalid || (done.Counts.InvalidCalls == 1) != tt.invalid {
				t.Errorf("told %+v", got)
			}
			if n := strings.Count(got.Text, "\n") + 1; !tt.invalid && n != tt.lines {
				t.Errorf("%d lines, want %d: %s", n, tt.lines, got.Text)
			}
		})
	}
}

func TestLongDescriptionsAreCutInASearch(t *testing.T) {
	server := desk()
	server.pages = []string{page(tool("a", "word "+strings.Repeat("日本 ", 200), object))}
	trial := searching()
	trial.Servers[0].Tools = server
	var h heard
	agent.Loop{Model: moving(&h, use("search_tools", `{"query":"word"}`), say("Done."))}.Run(t.Context(), trial)
	if told := h.told()[0]; len(told) > 350 || !strings.HasSuffix(told, "…") || !utf8.ValidString(told) {
		t.Errorf("told %q", told)
	}
	if got := h.last().Tools[1].Description; len(got) < 1000 {
		t.Errorf("the definition has %d bytes of a description", len(got))
	}
}

func TestUnknownToolWhenSearching(t *testing.T) {
	var h heard
	agent.Loop{Model: moving(&h, use("get_weather", "{}"), say("Done."))}.Run(t.Context(), searching())
	want := `error of get_weather: There is no tool "get_weather"; nothing was called. Find tools with search_tools.`
	if got := h.told()[0]; got != want {
		t.Errorf("told %q", got)
	}
}
