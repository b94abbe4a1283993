package asynqjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	// traceparent is the header of the W3C trace context.
	traceparent = "traceparent"
	// maxPayload keeps jobs references: asynq writes the payload of every running
	// task again every five seconds.
	maxPayload = 448
	// maxRetry bounds failures of the surroundings, hours of them. Attempts are
	// counted elsewhere. It must not be 0: asynq compares it before it asks whether
	// an error is a failure.
	maxRetry = 50
	// timeout is asynq's; ours decide.
	timeout = 24 * time.Hour
)

// Enqueue implements [jobs.Queue]. A part of js may be in the queue when it
// fails; enqueueing all again is right. They go one after the other, or they would
// come out in another order.
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
		tasks[i] = asynq.NewTaskWithHeaders(taskType, payload, map[string]string{traceparent: j.Traceparent}, asynq.TaskID(j.Key()))
	}
	// A new one each time, because it remembers having registered the queue, which a
	// wiped Redis does not.
	queue := asynq.NewClientFromRedisClient(q.client)
	return q.contact.watch(ctx, func() error {
		if err := q.announce(ctx, js); err != nil {
			return err
		}
		for i, task := range tasks {
			_, err := queue.EnqueueContext(ctx, task, asynq.Queue(q.keys.queue(js[i].Requires)), asynq.MaxRetry(maxRetry), asynq.Timeout(timeout))
			if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) {
				return fmt.Errorf("enqueue %s: %w", js[i].Key(), err)
			}
		}
		return nil
	})
}

// announce tells workers which queues there are, before something is in them.
func (q *Queue) announce(ctx context.Context, js []jobs.Job) error {
	var sets []redis.Z
	known := map[string]bool{"": true}
	for _, j := range js {
		if !known[j.Requires] {
			known[j.Requires] = true
			sets = append(sets, redis.Z{Score: float64(time.Now().Unix()), Member: j.Requires})
		}
	}
	if len(sets) == 0 {
		return nil
	}
	if err := q.client.ZAdd(ctx, q.keys.requires(), sets...).Err(); err != nil {
		return fmt.Errorf("announce queues: %w", err)
	}
	return nil
}

// required lists what jobs of the last week require, beside nothing.
func (q *Queue) required(ctx context.Context) ([]string, error) {
	since := strconv.FormatInt(time.Now().Unix()-keep, 10)
	return q.client.ZRangeByScore(ctx, q.keys.requires(), &redis.ZRangeBy{Min: since, Max: "+inf"}).Result()
}

// Delete implements [jobs.Queue].
func (q *Queue) Delete(ctx context.Context, js []jobs.Job) error {
	if len(js) == 0 {
		return nil
	}
	// The inspector refuses queues that it does not know, and a wiped Redis does
	// not tell it of ours.
	names := map[string]bool{}
	for _, j := range js {
		names[q.keys.queue(j.Requires)] = true
	}
	err := q.contact.watch(ctx, func() error {
		return q.client.SAdd(ctx, asynqQueues, slices.Collect(maps.Keys(names))).Err()
	})
	if err != nil {
		return fmt.Errorf("delete jobs: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, j := range js {
		g.Go(func() error { return q.delete(ctx, j) })
	}
	return g.Wait()
}

// delete takes one task out, unless a worker has it.
func (q *Queue) delete(ctx context.Context, j jobs.Job) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	err := asynq.NewInspectorFromRedisClient(q.client).DeleteTask(q.keys.queue(j.Requires), j.Key())
	if err == nil || errors.Is(err, asynq.ErrTaskNotFound) || errors.Is(err, asynq.ErrQueueNotFound) {
		return nil
	}
	// asynq has no error of its own for a task that runs.
	state, stateErr := q.client.HGet(ctx, q.keys.task(j), "state").Result()
	if state == "active" || errors.Is(stateErr, redis.Nil) {
		return nil
	}
	return fmt.Errorf("delete %s: %w", j.Key(), err)
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
	var required []string
	err := q.contact.watch(ctx, func() (err error) {
		required, err = q.required(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget run %s: %w", run, err)
	}
	for _, requires := range append(required, "") {
		if err := q.purge(ctx, run, requires); err != nil {
			return fmt.Errorf("forget run %s: %w", run, err)
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

// purge drops what waits of a run in one of the queues.
func (q *Queue) purge(ctx context.Context, run, requires string) error {
	var lists []*redis.StringSliceCmd
	err := q.contact.watch(ctx, func() error {
		_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			p.SAdd(ctx, asynqQueues, q.keys.queue(requires))
			lists = append(lists, p.LRange(ctx, q.keys.asynq(requires, "pending"), 0, -1))
			for _, name := range []string{"scheduled", "retry", "archived"} {
				lists = append(lists, p.ZRange(ctx, q.keys.asynq(requires, name), 0, -1))
			}
			return nil
		})
		return err
	})
	if err != nil {
		return err
	}
	for _, list := range lists {
		for _, key := range list.Val() {
			if j, ok := jobs.ParseKey(key); ok && j.Run == run {
				j.Requires = requires
				if err := q.delete(ctx, j); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
