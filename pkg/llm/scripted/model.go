// Package scripted is a model without a network: it follows a policy, the list
// of moves that a suite's author wrote for each case.
//
// What it answers is a pure function of the policy, of the trial's case, seed
// and role, and of the conversation. It keeps no state: from the conversation it
// works out again which way it went. So any worker may take any turn, a trial
// that is run again goes the same way, and so does a call that is made again,
// which also means that a failure of the script fails each time.
package scripted

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Name is what the model calls itself in its answers.
const Name = "scripted"

// Options of a model.
type Options struct {
	// Sleep waits until the latency of a move is over or ctx ends. Nil means a
	// real wait.
	Sleep func(ctx context.Context, d time.Duration) error
}

// A Model follows a policy. It implements [llm.Model].
type Model struct {
	policy eval.Policy
	sleep  func(ctx context.Context, d time.Duration) error
}

// New makes a model that follows a policy, which must not be changed any more.
func New(p eval.Policy, o Options) *Model {
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	return &Model{policy: p, sleep: o.Sleep}
}

// Generate makes the next move. After the last one it says nothing. It calls
// what the policy says, whether the tool is offered or not, and does not heed
// MustCall: a model that misbehaves is what a policy can be for.
//
// The error is an [*llm.Error] where the policy wants the call to fail, has no
// moves for the case, or holds a placeholder that cannot be read; otherwise that
// of the context.
func (m *Model) Generate(ctx context.Context, req llm.Request) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	key, moves := movesFor(m.policy, req.Trial.Case)
	if len(moves) == 0 {
		return llm.Response{}, &llm.Error{Kind: llm.BadRequest, Message: fmt.Sprintf("the policy has no moves for case %q", req.Trial.Case)}
	}
	next := walk{trial: req.Trial, heard: heard(req.Messages)}.next(key, moves)
	if next.LatencyMS > 0 {
		if err := m.sleep(ctx, milliseconds(next.LatencyMS)); err != nil {
			return llm.Response{}, err
		}
	}
	if f := next.Fail; f != nil {
		return llm.Response{}, &llm.Error{Kind: llm.Kind(f.Kind), Message: "the policy says so", Wait: milliseconds(f.RetryAfterMS), WaitFrom: waitFrom(f)}
	}
	return answer(req, next)
}

// answer is what a move says and calls.
func answer(req llm.Request, move eval.Move) (llm.Response, error) {
	message, err := fill(req.Messages, move)
	if err != nil {
		return llm.Response{}, &llm.Error{Kind: llm.BadRequest, Message: "the policy is wrong", Err: err}
	}
	stop := llm.StopEnd
	if len(message.Calls) > 0 {
		stop = llm.StopCalls
	}
	usage := estimate(req, message)
	if move.Usage != nil {
		usage = *move.Usage
	}
	return llm.Response{Message: message, Stop: stop, Word: string(stop), Usage: usage, Model: Name, Tries: 1}, nil
}

func waitFrom(f *eval.ScriptedFailure) string {
	if f.RetryAfterMS == 0 {
		return ""
	}
	return "retry_after"
}

func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
