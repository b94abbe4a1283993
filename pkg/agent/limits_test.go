package agent_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

func limits(l eval.Limits) func(*agent.Task) {
	return func(t *agent.Task) { t.Case.Limits = l }
}

// TestLoopTimes splits the time of a trial by a clock of its own.
func TestLoopTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(d time.Duration, r llm.Response) llm.Model {
			return modelFunc(func(_ context.Context, req llm.Request) (llm.Response, error) {
				time.Sleep(d) // on the clock of synctest
				if len(req.Messages) == 1 && req.Trial.Role == "" {
					r := use("escalate", "{}", "escalate", "{}")
					r.WaitedMS = 400
					return r, nil
				}
				r.WaitedMS = 400
				return r, nil
			})
		}
		trial := task(desk())
		trial.Case.User = &eval.User{Model: "fast"}
		trial.Servers[0].Tools.(*fakeServer).call = func(context.Context, string, eval.JSON) eval.Outcome {
			time.Sleep(300 * time.Millisecond) // on the clock of synctest
			return texts("ok")
		}
		done := agent.Loop{Model: slow(time.Second, say("Done.")), User: slow(2*time.Second, say("###STOP###"))}.Run(t.Context(), trial)
		want := eval.Times{ModelMS: 1200, UserMS: 1600, ToolMS: 300, BackoffMS: 1200}
		if diff := cmp.Diff(want, done.Times); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if want := 3100 * time.Millisecond; done.Elapsed != want {
			t.Errorf("elapsed %v, want %v", done.Elapsed, want)
		}
		if g := done.Trajectory.Turns[0].Generation; g.LatencyMS != 600 || g.WaitedMS != 400 {
			t.Errorf("generation %+v", g)
		}
	})
}

// TestLoopIsBroughtToAnEnd ends the context at every place where the loop waits.
func TestLoopIsBroughtToAnEnd(t *testing.T) {
	hang := func(ctx context.Context) { <-ctx.Done() }
	places := map[string]func(*agent.Task, *agent.Loop){
		"in a listing": func(t *agent.Task, _ *agent.Loop) { t.Servers[0].Tools = hangingListing{desk()} },
		"in the model": func(_ *agent.Task, l *agent.Loop) {
			l.Model = modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				hang(ctx)
				return llm.Response{}, &llm.Error{Kind: llm.Network, Err: ctx.Err()}
			})
		},
		"behind the model": func(_ *agent.Task, l *agent.Loop) {
			l.Model = modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				hang(ctx)
				return use("escalate", "{}"), nil
			})
		},
		"in calls": func(t *agent.Task, _ *agent.Loop) {
			t.Servers[0].Tools.(*fakeServer).call = func(ctx context.Context, _ string, _ eval.JSON) eval.Outcome {
				hang(ctx)
				return eval.Outcome{Kind: eval.OutcomeCancelled}
			}
		},
		"in the user": func(t *agent.Task, l *agent.Loop) {
			l.Model = moving(&heard{}, say("Hello."))
			t.Case.User = &eval.User{Model: "fast"}
			l.User = modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
				hang(ctx)
				return llm.Response{}, ctx.Err()
			})
		},
	}
	for name, arrange := range places {
		for _, onLimit := range []eval.OnLimit{"", eval.OnLimitScore, eval.OnLimitFail} {
			t.Run(name+", on_limit "+string(onLimit), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					trial := task(desk())
					trial.Case.Limits = eval.Limits{Time: time.Minute, OnLimit: onLimit}
					loop := agent.Loop{Model: moving(&heard{}, use("escalate", "{}", "escalate", "{}"))}
					arrange(&trial, &loop)
					done := loop.Run(t.Context(), trial)
					stop, verdict, reason := eval.StopTimeLimit, eval.Verdict(""), eval.Reason("")
					switch {
					case name == "in a listing":
						stop, verdict, reason = eval.StopNotStarted, eval.Error, eval.ReasonTimeout
					case onLimit == eval.OnLimitFail:
						verdict, reason = eval.Fail, eval.ReasonLimit
					}
					if done.Stop != stop || done.Verdict != verdict || done.Reason != reason {
						t.Errorf("got %q, %q, %q; want %q, %q, %q", done.Stop, done.Verdict, done.Reason, stop, verdict, reason)
					}
				})
			})
		}
		t.Run(name+", cancelled", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				trial := task(desk())
				trial.Case.Limits.Time = time.Minute
				loop := agent.Loop{Model: moving(&heard{}, use("escalate", "{}", "escalate", "{}"))}
				arrange(&trial, &loop)
				done := loop.Run(ctx, trial)
				if done.Stop != eval.StopCancelled || done.Verdict != eval.Unfinished || done.Reason != eval.ReasonCancelled {
					t.Errorf("got %q, %q, %q", done.Stop, done.Verdict, done.Reason)
				}
			})
		})
	}
}

// hangingListing is a server that never lists its tools.
type hangingListing struct{ *fakeServer }

func (hangingListing) ListTools(ctx context.Context) ([]eval.JSON, eval.Outcome) {
	<-ctx.Done()
	return nil, eval.Outcome{Kind: eval.OutcomeCancelled, Detail: ctx.Err().Error()}
}

// TestEndlessTrial has no limit and a model that never stops.
func TestEndlessTrial(t *testing.T) {
	n := 0
	trial := task(desk())
	done := agent.Loop{Model: modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
		n++
		return use("escalate", fmt.Sprintf(`{"n":%d}`, n)), nil
	})}.Run(t.Context(), trial)
	if done.Stop != eval.StopTurnLimit || done.Counts.Turns != 1000 || done.Verdict != "" {
		t.Errorf("stop %s after %d turns, verdict %q", done.Stop, done.Counts.Turns, done.Verdict)
	}
}
