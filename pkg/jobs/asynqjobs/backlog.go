package asynqjobs

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Backlog is what waits in a queue.
type Backlog struct {
	// Jobs that wait for a worker, whatever they require, and how long the oldest has.
	// One that was put off waits for its time, not for a worker.
	Jobs   int
	Oldest time.Duration
	// Records on their way to the store.
	Records int
	// Workers that live, and their slots.
	Workers, Slots int
}

// Backlog reads what waits, in few commands whose cost does not grow with it.
func (q *Queue) Backlog(ctx context.Context) (Backlog, error) {
	var b Backlog
	living, err := q.roster(ctx)
	if err != nil {
		return b, fmt.Errorf("see what waits: %w", err)
	}
	for _, e := range living {
		if e.slots > 0 {
			b.Workers++
			b.Slots += e.slots
		}
	}
	required, err := q.required(ctx)
	if err != nil {
		return b, fmt.Errorf("see what waits: %w", err)
	}
	required = append(required, "")
	lengths, lasts := make([]*redis.IntCmd, len(required)), make([]*redis.StringCmd, len(required))
	var clock *redis.TimeCmd
	var records *redis.IntCmd
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		clock, records = p.Time(ctx), p.XLen(ctx, q.keys.results())
		for i, r := range required {
			lengths[i] = p.LLen(ctx, q.keys.asynq(r, "pending"))
			lasts[i] = p.LIndex(ctx, q.keys.asynq(r, "pending"), -1) // the next one that a worker gets
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // an empty list has no last
		return b, fmt.Errorf("see what waits: %w", err)
	}
	b.Records = int(records.Val())
	since := make([]*redis.StringCmd, len(required))
	_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, r := range required {
			since[i] = p.HGet(ctx, q.keys.asynq(r, "t:"+lasts[i].Val()), "pending_since")
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) { // a worker may have it by now
		return b, fmt.Errorf("see what waits: %w", err)
	}
	for i := range required {
		b.Jobs += int(lengths[i].Val())
		if ns, err := strconv.ParseInt(since[i].Val(), 10, 64); err == nil && lasts[i].Val() != "" {
			b.Oldest = max(b.Oldest, clock.Val().Sub(time.Unix(0, ns)))
		}
	}
	return b, nil
}
