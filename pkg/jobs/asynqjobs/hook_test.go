package asynqjobs_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
)

// forgetful makes the server lose its scripts before every one that is called by
// its hash.
type forgetful struct{}

func (forgetful) DialHook(next redis.DialHook) redis.DialHook { return next }

func (forgetful) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			if err := next(ctx, redis.NewStatusCmd(ctx, "script", "flush")); err != nil {
				return err
			}
		}
		return next(ctx, cmd)
	}
}

func (forgetful) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// resending does what the client does when a connection breaks at the worst
// moment: the server has carried a command out, the answer is lost, and the
// command is sent again.
type resending struct{}

func (resending) DialHook(next redis.DialHook) redis.DialHook { return next }

func (resending) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" || cmd.Name() == "eval" {
			again := redis.NewCmd(ctx, cmd.Args()...)
			_ = next(ctx, again)
		}
		return next(ctx, cmd)
	}
}

func (resending) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// refusingAck loses asynq's first report that a task is done, and tells in which
// state the context of the next one is.
type refusingAck struct {
	acks atomic.Int64
	next chan error
}

func (*refusingAck) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *refusingAck) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" && strings.Contains(cmd.String(), ":processed:") {
			if r.acks.Add(1) == 1 {
				cmd.SetErr(io.EOF)
				return io.EOF
			}
			select {
			case r.next <- ctx.Err():
			default:
			}
		}
		return next(ctx, cmd)
	}
}

func (*refusingAck) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
