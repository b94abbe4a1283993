package agent_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/agent"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/meter"
)

// A trial's time limit stands still while a model makes it wait, be it the agent's
// or the user's, and goes on where it stood.
func TestTimeLimitStandsStillWhileWaiting(t *testing.T) {
	const limit = time.Minute
	// Each call waits, says so, and then takes its time.
	slow := func(wait, call time.Duration, res llm.Response) llm.Model {
		return modelFunc(func(ctx context.Context, req llm.Request) (llm.Response, error) {
			req.Waits(true)
			time.Sleep(wait) // on the clock of synctest
			req.Waits(false)
			select {
			case <-ctx.Done():
				return llm.Response{WaitedMS: float64(wait.Milliseconds())}, ctx.Err()
			case <-time.After(call):
				res := res
				res.WaitedMS = float64(wait.Milliseconds())
				return res, nil
			}
		})
	}
	tests := []struct {
		name    string
		model   llm.Model
		user    llm.Model
		limit   time.Duration
		stop    eval.StopReason
		took    time.Duration // by the clock on the wall
		elapsed time.Duration // of the trial's own time
	}{
		{"a long wait and a short call", slow(10*time.Minute, 59*time.Second, say("Done.")), nil, limit, eval.StopDone, 659 * time.Second, 59 * time.Second},
		{"a long wait and a call that is too long", slow(10*time.Minute, 61*time.Second, say("Done.")), nil, limit, eval.StopTimeLimit, 660 * time.Second, time.Minute},
		{"waits between calls that are too long together", slow(5*time.Minute, 25*time.Second, use("escalate", "{}")), nil, limit, eval.StopTimeLimit, 960 * time.Second, time.Minute},
		{"no wait", slow(0, 25*time.Second, use("escalate", "{}")), nil, limit, eval.StopTimeLimit, time.Minute, time.Minute},
		{"the user waits", slow(0, 25*time.Second, say("Well?")), slow(time.Hour, 25*time.Second, say("Go on.")), limit, eval.StopTimeLimit, time.Hour + time.Minute, time.Minute},
		{"no limit", slow(time.Hour, time.Hour, say("Done.")), nil, 0, eval.StopDone, 2 * time.Hour, time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				trial := task(desk())
				trial.Case.Limits.Time = tt.limit
				if tt.user != nil {
					trial.Case.User = &eval.User{Model: "user"}
				}
				began := time.Now()
				done := agent.Loop{Model: tt.model, User: tt.user}.Run(t.Context(), trial)
				if done.Stop != tt.stop || time.Since(began) != tt.took || done.Elapsed != tt.elapsed {
					t.Errorf("%s after %v, %v of them its own; want %s, %v, %v", done.Stop, time.Since(began), done.Elapsed, tt.stop, tt.took, tt.elapsed)
				}
			})
		})
	}
}

// A cancel ends a trial while its time stands still.
func TestCancelWhileTheTimeLimitStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		trial := task(desk())
		trial.Case.Limits.Time = time.Minute
		done := agent.Loop{Model: modelFunc(func(ctx context.Context, req llm.Request) (llm.Response, error) {
			req.Waits(true)
			defer req.Waits(false)
			<-ctx.Done()
			return llm.Response{}, ctx.Err()
		})}.Run(ctx, trial)
		if done.Stop != eval.StopCancelled || done.Verdict != eval.Unfinished {
			t.Errorf("got %s, %s", done.Stop, done.Verdict)
		}
	})
}

// With a meter: a provider that is overloaded for longer than the time limit does
// not take the agent's time.
func TestOverloadIsNotTheAgentsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		provider := modelFunc(func(context.Context, llm.Request) (llm.Response, error) {
			if asked++; asked == 1 {
				return llm.Response{}, &llm.Error{Kind: llm.Overloaded, Wait: 25 * time.Second}
			}
			time.Sleep(20 * time.Second) // on the clock of synctest
			return say("Done."), nil
		})
		trial := task(desk())
		trial.Case.Limits.Time = 30 * time.Second
		done := agent.Loop{Model: meter.New(provider, meter.Options{Purse: meter.NewPurse(eval.Amount{})})}.Run(t.Context(), trial)
		if done.Stop != eval.StopDone || done.Elapsed.Round(time.Millisecond) != 20*time.Second || done.Times.ModelMS < 19_999 || done.Times.ModelMS > 20_001 {
			t.Errorf("%s after %v, %v ms in the model; want it done after 20 s", done.Stop, done.Elapsed, done.Times.ModelMS)
		}
		if waited := done.Times.BackoffMS; waited < 25_000 || waited > 26_000 {
			t.Errorf("waited %v ms, want those of the provider", waited)
		}
	})
}

// Calls that failed and are made again take nothing of the time limit. When it is
// over amid one of them, that is not the agent's doing.
func TestFailedCallsAreNotTheAgentsTime(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails int
		last  time.Duration // that the call after them takes
		stop  eval.StopReason
		want  eval.Verdict
	}{
		{"and then an answer", 3, 20 * time.Second, eval.StopDone, ""},
		{"and then none in time", 3, 31 * time.Second, eval.StopModelLost, eval.Error},
		{"a slow answer", 0, 31 * time.Second, eval.StopTimeLimit, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				provider := modelFunc(func(ctx context.Context, _ llm.Request) (llm.Response, error) {
					takes := tt.last
					if asked++; asked <= tt.fails {
						takes = 25 * time.Second
					}
					select {
					case <-ctx.Done():
						return llm.Response{}, ctx.Err()
					case <-time.After(takes):
					}
					if asked <= tt.fails {
						return llm.Response{}, &llm.Error{Kind: llm.Overloaded}
					}
					return say("Done."), nil
				})
				trial := task(desk())
				trial.Case.Limits.Time = 30 * time.Second
				done := agent.Loop{Model: meter.New(provider, meter.Options{Purse: meter.NewPurse(eval.Amount{})})}.Run(t.Context(), trial)
				if done.Stop != tt.stop || done.Verdict != tt.want {
					t.Errorf("%s, %q (%s), want %s, %q", done.Stop, done.Verdict, done.Message, tt.stop, tt.want)
				}
			})
		})
	}
}
