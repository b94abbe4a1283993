package asynqjobs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// An entry of the roster is one living worker.
type entry struct {
	slots        int
	capabilities []string
}

// roster reads which workers live, and drops those that have been dead for long.
func (q *Queue) roster(ctx context.Context) ([]entry, error) {
	var clock *redis.TimeCmd
	var workers *redis.MapStringStringCmd
	err := q.contact.watch(ctx, func() error {
		_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			clock = p.Time(ctx)
			workers = p.HGetAll(ctx, q.keys.workers())
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	now := clock.Val().UnixMilli()
	var living []entry
	var dead []string
	for worker, text := range workers.Val() {
		fields := append(strings.SplitN(text, "|", 3), "", "")
		till, _ := strconv.ParseInt(fields[0], 10, 64)
		slots, _ := strconv.Atoi(fields[1])
		switch {
		case till > now:
			living = append(living, entry{slots, strings.FieldsFunc(fields[2], func(r rune) bool { return r == '.' })})
		case till < now-time.Hour.Milliseconds():
			dead = append(dead, worker)
		}
	}
	if len(dead) > 0 {
		_ = q.client.HDel(ctx, q.keys.workers(), dead...).Err() // the next call tries again
	}
	return living, nil
}

// Slots implements [jobs.Queue].
func (q *Queue) Slots(ctx context.Context) (int, error) {
	living, err := q.roster(ctx)
	if err != nil {
		return 0, fmt.Errorf("count slots: %w", err)
	}
	sum := 0
	for _, e := range living {
		sum += e.slots
	}
	return sum, nil
}

// Capabilities implements [jobs.Queue].
func (q *Queue) Capabilities(ctx context.Context) ([][]string, error) {
	living, err := q.roster(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask what workers can do: %w", err)
	}
	all := make([][]string, len(living))
	for i, e := range living {
		all[i] = e.capabilities
	}
	return all, nil
}
