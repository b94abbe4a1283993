package asynqjobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

const (
	// group is the consumer group of the result stream, and the name of its only
	// consumer. Two receivers at once are harmless: the store takes a record once.
	group = "agg"
	// batch is how many records are stored together.
	batch = 200
	// block is how long a read waits for records, and so how late Receive notices
	// that its context ended.
	block = 500 * time.Millisecond
)

// Receive implements [jobs.Stream]. It logs what fails and tries again; it
// returns nil when ctx ends.
func (q *Queue) Receive(ctx context.Context, put func(context.Context, []eval.Record) error) error {
	// At the start everything that is not settled is taken over at once: whoever
	// read it is probably the process that died before this one.
	var idle time.Duration
	var look time.Time
	pause := newPause()
	for ctx.Err() == nil {
		var entries []redis.XMessage
		var err error
		if !time.Now().Before(look) {
			entries, err = q.takeOver(ctx, idle)
			if err == nil && len(entries) == 0 {
				idle, look = q.o.Lease, time.Now().Add(q.o.Lease/2)
			}
		} else {
			entries, err = q.read(ctx)
		}
		if err == nil && len(entries) > 0 {
			err = q.store(ctx, entries, put)
		}
		if err == nil {
			pause.reset()
			continue
		}
		if redis.HasErrorPrefix(err, "NOGROUP") {
			// A new Redis, or one that was wiped.
			err = q.client.XGroupCreateMkStream(ctx, q.keys.results(), group, "0").Err()
			if err == nil || redis.HasErrorPrefix(err, "BUSYGROUP") {
				continue
			}
		}
		if ctx.Err() == nil {
			q.o.Logger.WarnContext(ctx, "receiving results", "error", err)
			pause.wait(ctx)
		}
	}
	return nil
}

// read waits for new entries.
func (q *Queue) read(ctx context.Context) ([]redis.XMessage, error) {
	streams, err := q.client.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: group, Streams: []string{q.keys.results(), ">"}, Count: batch, Block: block,
	}).Result()
	if errors.Is(err, redis.Nil) || err == nil && len(streams) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return streams[0].Messages, nil
}

// takeOver takes entries that were read at least idle ago and not settled.
func (q *Queue) takeOver(ctx context.Context, idle time.Duration) ([]redis.XMessage, error) {
	entries, _, err := q.client.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: q.keys.results(), Group: group, Consumer: group, MinIdle: idle, Start: "0-0", Count: batch,
	}).Result()
	return entries, err
}

// store hands entries to put until it takes them, and then forgets them.
func (q *Queue) store(ctx context.Context, entries []redis.XMessage, put func(context.Context, []eval.Record) error) error {
	var records []eval.Record
	settled := []string{q.keys.results()}
	args := []any{group}
	for _, e := range entries {
		text, _ := e.Values["record"].(string)
		var r eval.Record
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			q.o.Logger.ErrorContext(ctx, "dropping a result that cannot be read", "id", e.ID, "bytes", len(text), "error", err)
		} else {
			records = append(records, r)
		}
		settled = append(settled, q.keys.claims(r.Run), q.keys.passages(r.Run))
		args = append(args, e.ID, r.Ordinal, r.N, r.UID)
	}
	pause := newPause()
	for len(records) > 0 {
		err := put(ctx, records)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return fmt.Errorf("store results: %w", err)
		}
		q.o.Logger.WarnContext(ctx, "storing results", "records", len(records), "error", err)
		pause.wait(ctx)
	}
	// They are stored, so this much is done even if ctx has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := q.scripts.settle.Run(ctx, q.client, settled, args...).Err(); err != nil {
		return fmt.Errorf("settle results: %w", err) // they come again
	}
	return nil
}

// A pause grows from 50 ms to 5 s.
type pause struct{ next time.Duration }

func newPause() *pause { return &pause{50 * time.Millisecond} }

func (p *pause) reset() { p.next = 50 * time.Millisecond }

func (p *pause) wait(ctx context.Context) {
	t := time.NewTimer(p.next)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
	p.next = min(2*p.next, 5*time.Second)
}
