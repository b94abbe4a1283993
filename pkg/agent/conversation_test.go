package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// checkConversation holds a request to what providers want.
func checkConversation(t *testing.T, req llm.Request) {
	t.Helper()
	for i, m := range req.Messages {
		want := llm.User
		if i%2 == 1 {
			want = llm.Assistant
		}
		if m.Role != want {
			t.Errorf("message %d is the %s's", i, m.Role)
		}
		if strings.TrimSpace(m.Text) == "" && len(m.Calls)+len(m.Results) == 0 {
			t.Errorf("message %d is empty", i)
		}
		if i == 0 {
			continue
		}
		calls := req.Messages[i-1].Calls
		if len(m.Results) != len(calls) {
			t.Fatalf("message %d answers %d of %d calls", i, len(m.Results), len(calls))
		}
		for j, r := range m.Results {
			if r.ID != calls[j].ID || r.Tool != calls[j].Tool {
				t.Errorf("message %d: result %d is of %s %s, want %s %s", i, j, r.Tool, r.ID, calls[j].Tool, calls[j].ID)
			}
		}
	}
}

func TestLoopFillsPlaceholders(t *testing.T) {
	var h, u heard
	trial := task(desk())
	trial.Case.Prompt, trial.Settings.System = "Refund {{order}}.", "You serve {{tenant}}."
	trial.Settings.Descriptions = map[string]string{"get_order": "Orders of {{tenant}}."}
	trial.Case.User = &eval.User{Turns: []string{"{{order}}, please."}, Model: "fast", Persona: "{{tenant}}'s friend", Goal: "{{order}} back"}
	trial.Lookup = lookup(map[string]string{"order": `"ORD-{{1}}"`, "tenant": `"acme"`})
	done := agent.Loop{Model: moving(&h, say("Which?"), say("Done.")), User: moving(&u, say("###STOP###"))}.Run(t.Context(), trial)
	want := []string{"user: Refund ORD-{{1}}.", "agent: Which?", "user: ORD-{{1}}, please.", "agent: Done."}
	if diff := cmp.Diff(want, transcript(done.Trajectory)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := h.last().System + "|" + done.Trajectory.System + "|" + done.Trajectory.Prompt; got != "You serve acme.|You serve acme.|Refund ORD-{{1}}." {
		t.Error(got)
	}
	described := slices.ContainsFunc(h.last().Tools, func(d llm.Tool) bool { return d.Name == "get_order" && d.Description == "Orders of acme." })
	if !described {
		t.Errorf("got tools %v, want the description of get_order filled", h.last().Tools)
	}
	for _, words := range []string{"acme's friend", "ORD-{{1}} back", "###STOP###"} {
		if !strings.Contains(u.last().System, words) {
			t.Errorf("the user's system prompt lacks %q", words)
		}
	}
	if trial.Case.User.Turns[0] != "{{order}}, please." {
		t.Error("the case was written to")
	}
	if trial.Settings.Descriptions["get_order"] != "Orders of {{tenant}}." {
		t.Error("the settings were written to")
	}
}

func TestLoopAsksAsTold(t *testing.T) {
	var h heard
	trial := task(desk())
	temperature := 0.5
	trial.Sampling = eval.Sampling{Temperature: &temperature, MaxOutputTokens: 77}
	trial.Settings.MaxOutputTokens = 1
	agent.Loop{Model: moving(&h, say("Done."))}.Run(t.Context(), trial)
	if diff := cmp.Diff(trial.Sampling, h.last().Sampling); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(llm.Trial{Case: "case", Repeat: 2, Seed: 7}, h.last().Trial); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestLoopKeepsWhatTheModelThought(t *testing.T) {
	var h heard
	first := use("escalate", "{}")
	first.Message.Opaque, first.Message.Reasoning, first.Message.Text = eval.JSON(`{"signed":1}`), "Hm.", "One moment."
	first.Model, first.ID, first.Word, first.Tries = "m-1", "r-1", "tool_use", 3
	first.Usage.CacheRead = 4
	done := agent.Loop{Model: moving(&h, first, say("Done."))}.Run(t.Context(), task(desk()))
	if got := h.last().Messages[1]; string(got.Opaque) != `{"signed":1}` || got.Reasoning != "Hm." {
		t.Errorf("the model got back %+v", got)
	}
	turn := done.Trajectory.Turns[0]
	if turn.Reasoning != "Hm." || turn.Text != "One moment." {
		t.Errorf("turn %+v", turn)
	}
	want := eval.Generation{Model: "m-1", ID: "r-1", Stop: "tool_use", Usage: eval.Usage{Input: 10, Output: 5, CacheRead: 4}, Tries: 3}
	got := *turn.Generation
	got.LatencyMS = 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if turn.Calls[0].ID != "c0" {
		t.Errorf("call id %q", turn.Calls[0].ID)
	}
}

func TestAnswerIsWhatWasSaidLast(t *testing.T) {
	beside := use("escalate", "{}")
	beside.Message.Text = "I hand it over."
	tests := []struct {
		name  string
		moves []llm.Response
		user  *eval.User
		want  string
	}{
		{"the final answer", []llm.Response{beside, say("Done.")}, nil, "Done."},
		{"nothing after a text beside a call", []llm.Response{beside, say("")}, nil, "I hand it over."},
		{"nothing at all", []llm.Response{say("")}, nil, ""},
		{"nothing since the user spoke", []llm.Response{say("Which?"), say("")}, &eval.User{Turns: []string{"That."}}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trial := task(desk())
			trial.Case.User = tt.user
			done := agent.Loop{Model: moving(&heard{}, tt.moves...)}.Run(t.Context(), trial)
			if done.Trajectory.Answer != tt.want {
				t.Errorf("answer %q, want %q", done.Trajectory.Answer, tt.want)
			}
		})
	}
}
