package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestUser(t *testing.T) {
	beside := use("escalate", "{}")
	beside.Message.Text = "I look it up."
	type moves = []llm.Response
	tests := []struct {
		name  string
		user  eval.User
		agent moves
		plays moves // the model that plays the user
		want  []string
		stop  eval.StopReason
	}{
		{
			name: "lines in turn", user: eval.User{Turns: []string{"The blue one.", "Yes."}}, agent: moves{say("Which?"), say("Sure?"), say("Done.")},
			want: []string{"user: Refund it.", "agent: Which?", "user: The blue one.", "agent: Sure?", "user: Yes.", "agent: Done."}, stop: eval.StopDone,
		},
		{
			name: "a line only after a final answer", user: eval.User{Turns: []string{"Yes."}}, agent: moves{beside, say("Sure?"), say("Done.")},
			want: []string{"user: Refund it.", "agent: I look it up.", "tools/call desk:escalate {} ok", "agent: Sure?", "user: Yes.", "agent: Done."}, stop: eval.StopDone,
		},
		{
			name: "an agent that says nothing hears nothing", user: eval.User{Turns: []string{"Yes."}}, agent: moves{say("")},
			want: []string{"user: Refund it."}, stop: eval.StopDone,
		},
		{
			name: "a model plays the user", user: eval.User{Model: "fast"}, agent: moves{say("Which?"), say("Done.")}, plays: moves{say("The blue one."), say("Thanks. ###STOP###")},
			want: []string{"user: Refund it.", "agent: Which?", "user: The blue one.", "agent: Done."}, stop: eval.StopUser,
		},
		{
			name: "another word to stop", user: eval.User{Model: "fast", Stop: "OVER"}, agent: moves{say("Which?"), say("Done.")}, plays: moves{say("###STOP###"), say("OVER")},
			want: []string{"user: Refund it.", "agent: Which?", "user: ###STOP###", "agent: Done."}, stop: eval.StopUser,
		},
		{
			name: "as often as allowed", user: eval.User{Model: "fast", MaxTurns: 2}, agent: moves{say("Which?")}, plays: moves{say("That one."), say("That one."), say("Not heard.")},
			want: []string{"user: Refund it.", "agent: Which?", "user: That one.", "agent: Which?", "user: That one.", "agent: Which?"}, stop: eval.StopDone,
		},
		{
			name: "lines first, then the model", user: eval.User{Turns: []string{"Hm."}, Model: "fast"}, agent: moves{say("Which?")}, plays: moves{say("?"), say("###STOP###")},
			want: []string{"user: Refund it.", "agent: Which?", "user: Hm.", "agent: Which?"}, stop: eval.StopUser,
		},
		{
			name: "a silent user", user: eval.User{Model: "fast"}, agent: moves{say("Which?")}, plays: moves{say(" ")},
			want: []string{"user: Refund it.", "agent: Which?"}, stop: eval.StopUser,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h, u heard
			trial := task(desk())
			trial.Case.User = &tt.user
			done := agent.Loop{Model: moving(&h, tt.agent...), User: moving(&u, append(tt.plays, say(""))...)}.Run(t.Context(), trial)
			if diff := cmp.Diff(tt.want, transcript(done.Trajectory)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if done.Stop != tt.stop || done.Verdict != "" {
				t.Errorf("stop %s, verdict %q", done.Stop, done.Verdict)
			}
			if want := (eval.Usage{Input: 10 * len(u.requests), Output: 5 * len(u.requests)}); done.UserUsage != want {
				t.Errorf("the user's usage %+v, want %+v", done.UserUsage, want)
			}
			if want := (eval.Usage{Input: 10 * done.Counts.Turns, Output: 5 * done.Counts.Turns}); done.Usage != want {
				t.Errorf("usage %+v, want %+v", done.Usage, want)
			}
			checkConversation(t, h.last())
			if len(u.requests) > 0 {
				checkConversation(t, u.last())
			}
		})
	}
}

// TestUserTenTimes is the default of max_turns.
func TestUserTenTimes(t *testing.T) {
	trial := task(desk())
	trial.Case.User = &eval.User{Model: "fast"}
	done := agent.Loop{Model: moving(&heard{}, say("Which?")), User: moving(&heard{}, say("That one."))}.Run(t.Context(), trial)
	if done.Counts.Turns != 11 || done.Stop != eval.StopDone {
		t.Errorf("%d turns, stop %s", done.Counts.Turns, done.Stop)
	}
}

// TestUserHearsOnlyTheAgent shows the model that plays the user neither calls nor
// results nor the agent's system prompt.
func TestUserHearsOnlyTheAgent(t *testing.T) {
	beside := use("escalate", `{"secret":1}`)
	beside.Message.Text, beside.Message.Reasoning = "I look it up.", "The user lies."
	var u heard
	trial := task(desk())
	trial.Settings.System = "Secret prompt."
	trial.Case.User = &eval.User{Model: "fast", Persona: "Ada, in a hurry.", Goal: "Money back."}
	temperature := 1.0
	trial.UserSampling.Temperature = &temperature
	agent.Loop{Model: moving(&heard{}, beside, say("Sure?"), say("Done.")), User: moving(&u, say("Yes."), say("###STOP###"))}.Run(t.Context(), trial)
	want := []llm.Message{
		{Role: llm.User, Text: "(You begin the conversation.)"},
		{Role: llm.Assistant, Text: "Refund it."},
		{Role: llm.User, Text: "I look it up.\n\nSure?"},
		{Role: llm.Assistant, Text: "Yes."},
		{Role: llm.User, Text: "Done."},
	}
	if diff := cmp.Diff(want, u.last().Messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	req := u.last()
	if req.Trial.Role != "user" || req.Trial.Seed != 7 || req.Trial.Repeat != 2 || len(req.Tools) != 0 || *req.Sampling.Temperature != 1 {
		t.Errorf("asked %+v", req)
	}
	if !strings.Contains(req.System, "Ada, in a hurry.") || !strings.Contains(req.System, "Money back.") || strings.Contains(req.System, "Secret") {
		t.Errorf("system prompt %q", req.System)
	}
}

func TestUserIsLost(t *testing.T) {
	tests := []struct {
		name    string
		user    llm.Model
		reason  eval.Reason
		message string
	}{
		{"an overloaded model", failing(&llm.Error{Kind: llm.Overloaded}), eval.ReasonModelUnavailable, "the model that plays the user: overloaded"},
		{"a wrong key", failing(&llm.Error{Kind: llm.Auth}), eval.ReasonModelUnauthorized, "the model that plays the user: auth"},
		{"a filter", failing(&llm.Error{Kind: llm.ContentFilter}), eval.ReasonModelUnavailable, "the model that plays the user: content_filter"},
		{"another error", failing(errors.New("boom")), eval.ReasonFarm, "the model that plays the user: boom"},
		{"a refusal", moving(&heard{}, stopping(say("I cannot."), llm.StopRefused)), eval.ReasonModelUnavailable, "the model that plays the user refused: I cannot."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trial := task(desk())
			trial.Case.User = &eval.User{Model: "fast"}
			done := agent.Loop{Model: moving(&heard{}, say("Which?")), User: tt.user}.Run(t.Context(), trial)
			if done.Verdict != eval.Error || done.Reason != tt.reason || done.Stop != eval.StopModelLost || done.Message != tt.message {
				t.Errorf("got %s, %s, %s: %q", done.Verdict, done.Reason, done.Stop, done.Message)
			}
		})
	}
}
