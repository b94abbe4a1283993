package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func TestLoopDetection(t *testing.T) {
	a, b, c := use("escalate", `{"n":1}`), use("escalate", `{"n":2}`), use("escalate", `{"n":3}`)
	type moves = []llm.Response
	tests := []struct {
		name  string
		moves moves // then an answer
		after int
		user  *eval.User
		// changing lets every answer differ.
		changing bool
		loop     bool
	}{
		{name: "the same five times", moves: moves{a, a, a, a, a}, loop: true},
		{name: "the same four times", moves: moves{a, a, a, a}},
		{name: "three times where three are too many", moves: moves{a, a, a}, after: 3, loop: true},
		{name: "two of three", moves: moves{a, a}, after: 3},
		{name: "one is no loop", moves: moves{a, b, c}, after: 1},
		{name: "after other calls", moves: moves{b, c, a, a, a}, after: 3, loop: true},
		{name: "with another between", moves: moves{a, a, b, a, a}, after: 3},
		{name: "keys in another order are the same", moves: moves{use("escalate", `{"x":1,"y":2}`), use("escalate", `{"y":2, "x":1}`)}, after: 2, loop: true},
		{name: "two in turn", moves: moves{a, b, a, b, a, b}, after: 3, loop: true},
		{name: "two in turn after another", moves: moves{c, a, b, a, b, a, b}, after: 3, loop: true},
		{name: "two in turn, not often enough", moves: moves{a, b, a, b, a}, after: 3},
		{name: "three in turn are none", moves: moves{a, b, c, a, b, c, a, b, c}, after: 3},
		{name: "other answers", moves: moves{a, a, a, a, a}, changing: true},
		{name: "the same at once is one turn", moves: moves{use("escalate", "{}", "escalate", "{}", "escalate", "{}", "escalate", "{}", "escalate", "{}")}},
		{name: "parallel calls again and again", moves: moves{use("escalate", "{}", "reject", "{}"), use("escalate", "{}", "reject", "{}")}, after: 2, loop: true},
		{name: "parallel calls in another order", moves: moves{use("escalate", "{}", "reject", "{}"), use("reject", "{}", "escalate", "{}"), c}, after: 2},
		{name: "invalid calls", moves: moves{use("nope", "{"), use("nope", "{")}, after: 2, loop: true},
		{name: "other invalid calls", moves: moves{use("nope", "{"), use("nope", "["), c}, after: 2},
		{name: "rejections", moves: moves{use("reject", "{}"), use("reject", "{}")}, after: 2, loop: true},
		{name: "the user speaks in between", moves: moves{a, say("Which?"), a, say("Really?"), a}, after: 2, user: &eval.User{Turns: []string{"That.", "Yes."}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trial := task(desk())
			trial.Settings.LoopAfter, trial.Case.User = tt.after, tt.user
			if tt.changing {
				n := 0
				trial.Servers[0].Tools.(*fakeServer).call = func(context.Context, string, eval.JSON) eval.Outcome {
					n++
					return texts(fmt.Sprint(n))
				}
			}
			done := agent.Loop{Model: moving(&heard{}, append(tt.moves, say("Done."))...)}.Run(t.Context(), trial)
			stop, turns := eval.StopDone, len(tt.moves)+1
			if tt.loop {
				stop, turns = eval.StopLoop, len(tt.moves)
			}
			if done.Stop != stop || done.Counts.Turns != turns || done.Verdict != "" {
				t.Errorf("%s after %d turns, verdict %q; want %s after %d", done.Stop, done.Counts.Turns, done.Verdict, stop, turns)
			}
			if found := strings.Contains(strings.Join(codes(done.Trajectory), " "), "loop"); found != tt.loop {
				t.Errorf("findings %v", codes(done.Trajectory))
			}
		})
	}
}
