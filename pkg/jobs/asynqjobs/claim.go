package asynqjobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// valid keeps uids apart from what stands beside them in Redis.
func valid(c jobs.Claim) error {
	if c.UID == "" || strings.Contains(c.UID, "|") {
		return fmt.Errorf("claim %s: bad uid %q", c.Job.Key(), c.UID)
	}
	return nil
}

// Claim implements [jobs.Workplace].
func (q *Queue) Claim(ctx context.Context, c jobs.Claim) (jobs.Grant, error) {
	if err := valid(c); err != nil {
		return "", err
	}
	run := c.Job.Run
	got, err := q.scripts.claim.Run(ctx, q.client,
		[]string{q.keys.claims(run), q.keys.current(run), q.keys.done(run), q.keys.control(run)},
		c.Job.Ordinal, c.Job.Attempt, c.UID, c.Worker, q.o.Lease.Milliseconds(), keep).Text()
	if err != nil {
		return "", fmt.Errorf("claim %s: %w", c.Job.Key(), err)
	}
	return jobs.Grant(got), nil
}

// Return implements [jobs.Workplace].
func (q *Queue) Return(ctx context.Context, c jobs.Claim) error {
	if err := valid(c); err != nil {
		return err
	}
	err := q.scripts.giveBack.Run(ctx, q.client, []string{q.keys.claims(c.Job.Run)},
		c.Job.Ordinal, c.Job.Attempt, c.UID, c.Worker, keep).Err()
	if err != nil {
		return fmt.Errorf("return %s: %w", c.Job.Key(), err)
	}
	return nil
}

// Beat implements [jobs.Workplace]. With no slots it takes the worker off the
// list at once, which is how one that drains says so.
func (q *Queue) Beat(ctx context.Context, worker string, slots int, cs []jobs.Claim) ([]jobs.Word, error) {
	if len(cs) == 0 {
		if err := q.beat(ctx, worker, slots, "", nil).Err(); err != nil {
			return nil, fmt.Errorf("beat of worker %s: %w", worker, err)
		}
		return nil, nil
	}
	// One script for each run: in the embedded Redis the start of a script is most
	// of its cost.
	var runs []string
	byRun := map[string][]int{}
	for i, c := range cs {
		if err := valid(c); err != nil {
			return nil, err
		}
		if byRun[c.Job.Run] == nil {
			runs = append(runs, c.Job.Run)
		}
		byRun[c.Job.Run] = append(byRun[c.Job.Run], i)
	}
	words := make([]jobs.Word, len(cs))
	for _, run := range runs {
		var mine []jobs.Claim
		for _, i := range byRun[run] {
			mine = append(mine, cs[i])
		}
		got, err := q.beat(ctx, worker, slots, run, mine).StringSlice()
		if err != nil {
			return nil, fmt.Errorf("beat of worker %s: %w", worker, err)
		}
		if len(got) != len(mine)+1 {
			return nil, fmt.Errorf("beat of worker %s: %d words for %d claims", worker, len(got)-1, len(mine))
		}
		for n, i := range byRun[run] {
			words[i] = jobs.Word{UID: cs[i].UID, Control: eval.Control(got[0]), Superseded: got[n+1] == "1"}
		}
	}
	return words, nil
}

func (q *Queue) beat(ctx context.Context, worker string, slots int, run string, cs []jobs.Claim) *redis.Cmd {
	keys := []string{q.keys.workers()}
	args := []any{worker, slots, q.o.Lease.Milliseconds(), keep, eval.JoinCapabilities(q.o.Capabilities...)}
	if len(cs) > 0 {
		keys = append(keys, q.keys.claims(run), q.keys.current(run), q.keys.done(run), q.keys.control(run))
	}
	for _, c := range cs {
		args = append(args, c.Job.Ordinal, c.Job.Attempt, c.UID)
	}
	return q.scripts.beat.Run(ctx, q.client, keys, args...)
}

// Commit implements [jobs.Workplace].
func (q *Queue) Commit(ctx context.Context, c jobs.Claim, r eval.Record) error {
	if err := valid(c); err != nil {
		return err
	}
	record, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("commit %s: %w", c.Job.Key(), err)
	}
	run := c.Job.Run
	err = q.scripts.commit.Run(ctx, q.client,
		[]string{q.keys.claims(run), q.keys.current(run), q.keys.done(run), q.keys.passages(run), q.keys.results()},
		c.Job.Ordinal, c.Job.Attempt, c.UID, c.Worker, record, keep).Err()
	if err != nil {
		return fmt.Errorf("commit %s: %w", c.Job.Key(), err)
	}
	return nil
}

// Finish implements [jobs.Workplace].
func (q *Queue) Finish(ctx context.Context, c jobs.Claim) error {
	run := c.Job.Run
	err := q.scripts.finish.Run(ctx, q.client,
		[]string{q.keys.claims(run), q.keys.current(run), q.keys.done(run)},
		c.Job.Ordinal, c.Job.Attempt, keep).Err()
	if err != nil {
		return fmt.Errorf("finish %s: %w", c.Job.Key(), err)
	}
	return nil
}
