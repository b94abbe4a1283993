package asynqjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// maxTold bounds how many activities of one worker are shown.
const maxTold = 300

// Tell implements [jobs.Workplace].
func (q *Queue) Tell(ctx context.Context, worker string, as []eval.Activity) error {
	body, err := json.Marshal(as[:min(len(as), maxTold)])
	if err == nil {
		err = q.client.Set(ctx, q.keys.doing(worker), body, q.o.Lease).Err()
	}
	if err != nil {
		return fmt.Errorf("tell what worker %s does: %w", worker, err)
	}
	return nil
}

// Activities implements [jobs.Queue].
func (q *Queue) Activities(ctx context.Context) ([]eval.Activity, error) {
	var all []eval.Activity
	err := q.contact.watch(ctx, func() error {
		workers, err := q.client.HKeys(ctx, q.keys.workers()).Result()
		if err != nil || len(workers) == 0 {
			return err
		}
		told := make([]*redis.StringCmd, len(workers))
		_, err = q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, w := range workers {
				told[i] = p.Get(ctx, q.keys.doing(w))
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		for _, t := range told {
			var as []eval.Activity
			if json.Unmarshal([]byte(t.Val()), &as) == nil {
				all = append(all, as...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what workers do: %w", err)
	}
	return all, nil
}
