package agent_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// TestCallsAtOnce counts how many calls a server has at the same time.
func TestCallsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		server := func() *fakeServer {
			s := desk()
			s.call = func(context.Context, string, eval.JSON) eval.Outcome {
				n := now.Add(1)
				for {
					if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
						break
					}
				}
				time.Sleep(time.Second) // on the clock of synctest
				now.Add(-1)
				return texts("ok")
			}
			return s
		}
		trial := task(server())
		trial.Servers = append(trial.Servers, agent.Server{Name: "other", Tools: server()})
		var calls []string
		for i := range 20 {
			calls = append(calls, "mcp__desk__escalate", fmt.Sprintf(`{"n":%d}`, i), "mcp__other__escalate", fmt.Sprintf(`{"n":%d}`, i))
		}
		begun := time.Now()
		done := agent.Loop{Model: moving(&heard{}, use(calls...), say("Done."))}.Run(t.Context(), trial)
		if most.Load() != 16 || time.Since(begun) != 3*time.Second {
			t.Errorf("%d calls at once, %v in all; want 16 and 3s", most.Load(), time.Since(begun))
		}
		if done.Counts.ToolCalls != 40 || len(done.Tools) != 40 {
			t.Errorf("%d calls, %d uses", done.Counts.ToolCalls, len(done.Tools))
		}
	})
}

// TestLoopIsDeterministic runs a trial with parallel calls of several servers,
// a search, a simulated user and odd answers again and again.
func TestLoopIsDeterministic(t *testing.T) {
	run := func() agent.Done {
		trial := task(desk())
		trial.Servers = append(trial.Servers, agent.Server{Name: "other", Tools: desk()})
		trial.Loading = eval.LoadingSearch
		trial.Case.User = &eval.User{Model: "fast"}
		var calls []string
		for i := range 30 {
			calls = append(calls, "mcp__desk__reject", "{}", "mcp__other__escalate", fmt.Sprintf(`{"n":%d}`, i), "nope", "[]")
		}
		loop := agent.Loop{
			Model: modelFunc(moving(&heard{}, use("search_tools", `{"query":"say no, hand over"}`), use(calls...), say("Done."), say("Bye.")).Generate),
			User:  moving(&heard{}, say("And now?"), say("###STOP###")),
		}
		return loop.Run(t.Context(), trial)
	}
	first := run()
	if first.Stop != eval.StopUser || first.Counts.ToolCalls != 60 {
		t.Fatalf("stop %s after %d calls", first.Stop, first.Counts.ToolCalls)
	}
	for range 20 {
		next := run()
		if got, want := next.Trajectory.Hash(), first.Trajectory.Hash(); got != want {
			t.Fatalf("trajectory hash %s, want %s", got, want)
		}
		if diff := cmp.Diff(first.Counts, next.Counts); diff != "" {
			t.Fatalf("counts, -first +next:\n%s", diff)
		}
	}
}

// A panic beside the goroutine that the worker guards is a failure of the farm,
// not the end of the worker.
func TestPanicInACall(t *testing.T) {
	s := desk()
	s.call = func(context.Context, string, eval.JSON) eval.Outcome { panic("out of order") }
	done := agent.Loop{Model: moving(&heard{}, use("escalate", `{"n":1}`), say("Done."))}.Run(t.Context(), task(s))
	if done.Verdict != eval.Error || done.Reason != eval.ReasonFarm {
		t.Errorf("got %s (%s): %s; want an error of the farm", done.Verdict, done.Reason, done.Message)
	}
}
