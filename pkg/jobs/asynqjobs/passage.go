package asynqjobs

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// Passages implements [jobs.Workplace]. An answer that names neither mark is of an
// entry that was lost with the memory of Redis.
func (q *Queue) Passages(ctx context.Context, cs []jobs.Claim) ([]jobs.Passage, error) {
	uids := uidsByRun(cs)
	answers := map[string]*redis.SliceCmd{}
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for run, of := range uids {
			answers[run] = p.HMGet(ctx, q.keys.passages(run), of...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask how far %d records have come: %w", len(cs), err)
	}
	next := map[string]int{}
	out := make([]jobs.Passage, len(cs))
	for i, c := range cs {
		out[i] = jobs.Unheard
		text, _ := answers[c.Job.Run].Val()[next[c.Job.Run]].(string)
		next[c.Job.Run]++
		switch p := jobs.Passage(text); p {
		case jobs.Underway, jobs.Stored:
			out[i] = p
		case jobs.Unheard:
		}
	}
	return out, nil
}

// Discard implements [jobs.Workplace].
func (q *Queue) Discard(ctx context.Context, cs []jobs.Claim) error {
	_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for run, of := range uidsByRun(cs) {
			p.HDel(ctx, q.keys.passages(run), of...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("discard the passages of %d records: %w", len(cs), err)
	}
	return nil
}

// uidsByRun sorts the uids of claims by run; within a run they keep their order.
func uidsByRun(cs []jobs.Claim) map[string][]string {
	out := map[string][]string{}
	for _, c := range cs {
		out[c.Job.Run] = append(out[c.Job.Run], c.UID)
	}
	return out
}
