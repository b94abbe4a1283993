package agent

import (
	"cmp"
	"context"
	"time"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/match"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// Defaults of repeat_until.
const (
	defaultPolls     = 10
	defaultPollEvery = time.Second
)

// poll makes a step's request until a value appears and returns the answer that
// has it. A rejection is returned at once: polling on would hide it.
func (r *run) poll(ctx context.Context, s eval.Step, turn *eval.Turn) (answer.Answer, *failure) {
	until := s.RepeatUntil
	wanted := operand(until.Equals)
	calls := cmp.Or(until.Max, defaultPolls)
	var last *failure
	for i := range calls {
		if i > 0 {
			if failed := r.wait(ctx, cmp.Or(until.Every, defaultPollEvery)); failed != nil {
				return answer.Answer{}, failed
			}
		}
		a, failed := r.request(ctx, s, turn, i > 0)
		if failed != nil || a.Rejected() {
			return a, failed
		}
		seen, found, err := match.Get(a.Value, until.Path)
		switch {
		case err != nil:
			return a, failf(eval.ReasonFarm, "repeat_until: %v", err)
		case found && len(match.Partial(wanted, seen)) == 0:
			return a, nil
		case found:
			last = failf(eval.ReasonPollExhausted, "%s: want %s, got %s at call %d of %d", until.Path, match.Show(wanted), match.Show(seen), i+1, calls).showing(wanted, seen)
		default:
			last = failf(eval.ReasonPollExhausted, "%s: want %s, got no such field at call %d of %d", until.Path, match.Show(wanted), i+1, calls).showing(wanted, a.Value)
		}
	}
	return answer.Answer{}, last
}

// wait sits out the time between two polls.
func (r *run) wait(ctx context.Context, d time.Duration) *failure {
	span := telemetry.Wait(ctx, "poll", r.c.Server)
	start := r.script.Now()
	err := r.script.Sleep(ctx, d)
	span.End()
	r.done.Times.BackoffMS += float64(r.script.Now().Sub(start)) / float64(time.Millisecond)
	if err == nil {
		return nil
	}
	if failed := r.interrupted(ctx); failed != nil {
		return failed
	}
	return failf(eval.ReasonFarm, "wait for the next poll: %v", err)
}
