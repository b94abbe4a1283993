package asynqjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

const (
	// taskType is the only kind of task in the queue.
	taskType = "trial"
	// maxPayload keeps jobs references: asynq writes the payload of every running
	// task again every five seconds.
	maxPayload = 448
	// maxRetry bounds failures of the surroundings, hours of them. Attempts are
	// counted elsewhere. It must not be 0: asynq compares it before it asks whether
	// an error is a failure.
	maxRetry = 50
	// timeout is asynq's; ours decide.
	timeout = 24 * time.Hour
	// together is how many commands are under way at once where asynq takes them
	// only one by one.
	together = 64
)

// Enqueue implements [jobs.Queue]. A part of js may be in the queue when it
// fails; enqueueing all again is right.
func (q *Queue) Enqueue(ctx context.Context, js []jobs.Job) error {
	if len(js) == 0 {
		return nil
	}
	tasks := make([]*asynq.Task, len(js))
	for i, j := range js {
		payload, err := json.Marshal(j)
		if err != nil {
			return fmt.Errorf("enqueue %s: %w", j.Key(), err)
		}
		if len(payload) > maxPayload {
			return fmt.Errorf("enqueue %s: the job takes %d bytes, at most %d are allowed", j.Key(), len(payload), maxPayload)
		}
		tasks[i] = asynq.NewTaskWithHeaders(taskType, payload, q.o.Headers(j), asynq.TaskID(j.Key()))
	}
	client := q.client
	if len(js) > 1 {
		// asynq has no batches, but this client makes some of concurrent commands.
		if batching, err := q.client.AutoPipeline(); err == nil {
			client = batching
		}
	}
	// A new one each time, because it remembers having registered the queue, which a
	// wiped Redis does not.
	queue := asynq.NewClientFromRedisClient(client)
	return q.contact.watch(ctx, func() error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(together)
		for i, task := range tasks {
			g.Go(func() error {
				_, err := queue.EnqueueContext(ctx, task,
					asynq.Queue(q.keys.queue()), asynq.MaxRetry(maxRetry), asynq.Timeout(timeout))
				if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
					return fmt.Errorf("enqueue %s: %w", js[i].Key(), err)
				}
				return nil
			})
		}
		return g.Wait()
	})
}

// Delete implements [jobs.Queue].
func (q *Queue) Delete(ctx context.Context, js []jobs.Job) error {
	if len(js) == 0 {
		return nil
	}
	// The inspector refuses queues that it does not know, and a wiped Redis does
	// not tell it of ours.
	err := q.contact.watch(ctx, func() error { return q.client.SAdd(ctx, asynqQueues, q.keys.queue()).Err() })
	if err != nil {
		return fmt.Errorf("delete jobs: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, j := range js {
		g.Go(func() error { return q.delete(ctx, j.Key()) })
	}
	return g.Wait()
}

// delete takes one task out, unless a worker has it.
func (q *Queue) delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := asynq.NewInspectorFromRedisClient(q.client).DeleteTask(q.keys.queue(), key)
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return nil
	}
	// asynq has no error of its own for a task that runs.
	state, stateErr := q.client.HGet(ctx, q.keys.task(key), "state").Result()
	if state == "active" || errors.Is(stateErr, redis.Nil) {
		return nil
	}
	return fmt.Errorf("delete %s: %w", key, err)
}

// Control implements [jobs.Queue].
func (q *Queue) Control(ctx context.Context, run string, c eval.Control) error {
	err := q.contact.watch(ctx, func() error {
		if c == eval.ControlRun {
			return q.client.Del(ctx, q.keys.control(run)).Err()
		}
		return q.client.Set(ctx, q.keys.control(run), string(c), 0).Err()
	})
	if err != nil {
		return fmt.Errorf("control run %s: %w", run, err)
	}
	return nil
}

// Forget implements [jobs.Queue]. Deliveries that wait are dropped too, or they
// would find a run without its memory and be carried out.
func (q *Queue) Forget(ctx context.Context, run string) error {
	q.absent.forget(run)
	var lists []*redis.StringSliceCmd
	err := q.contact.watch(ctx, func() error {
		_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.SAdd(ctx, asynqQueues, q.keys.queue())
			lists = append(lists, p.LRange(ctx, q.keys.asynq("pending"), 0, -1))
			for _, name := range []string{"scheduled", "retry", "archived"} {
				lists = append(lists, p.ZRange(ctx, q.keys.asynq(name), 0, -1))
			}
			return nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("forget run %s: %w", run, err)
	}
	for _, list := range lists {
		for _, key := range list.Val() {
			if strings.HasPrefix(key, run+":") {
				if err := q.delete(ctx, key); err != nil {
					return fmt.Errorf("forget run %s: %w", run, err)
				}
			}
		}
	}
	// A scheduler that was frozen may enqueue what it had in its hands when the run
	// ended, and nobody would know that it has been carried out.
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, q.keys.control(run), string(eval.ControlCancel), keep*time.Second)
		p.Del(ctx, q.keys.claims(run), q.keys.current(run), q.keys.done(run))
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget run %s: %w", run, err)
	}
	return nil
}
