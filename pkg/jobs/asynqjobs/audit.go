package asynqjobs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// Audit implements [jobs.Queue]. It has to be called at least every third of a
// lease for an outage between two calls not to pass unseen; calls of the other
// methods of [jobs.Queue] count too.
func (q *Queue) Audit(ctx context.Context, run string, js []jobs.Job) ([]jobs.Standing, error) {
	if len(js) == 0 {
		return nil, nil
	}
	f, err := q.lookUp(ctx, run, js)
	if err != nil {
		return nil, fmt.Errorf("audit run %s: %w", run, err)
	}
	now := time.Now()
	steady := q.contact.steady(now)
	out := make([]jobs.Standing, len(js))
	for i, j := range js {
		standing, odd := f[i].standing(j)
		switch {
		case !odd:
			q.absent.found(j)
		case q.absent.missed(j, now) && steady:
			standing = jobs.Missing
		}
		if standing == jobs.Expired && !steady {
			standing = jobs.Claimed
		}
		out[i] = standing
		if standing == jobs.Missing && f[i].state == "archived" {
			// It would block nothing, its number is used up, but nobody else cleans.
			_ = q.delete(ctx, j)
		}
	}
	q.absent.prune(run, now)
	return out, nil
}

// A finding is what Redis says of one attempt.
type finding struct {
	claim   claim
	claimed bool
	now     int64 // Redis time in ms
	current int
	done    bool
	state   string // of the asynq task, empty for none
}

// standing judges a finding. Odd is true for one that cannot last: if it does,
// the attempt is missing.
func (f finding) standing(j jobs.Job) (s jobs.Standing, odd bool) {
	if f.claimed && f.claim.attempt == j.Attempt {
		switch {
		case f.claim.till == markCommitted:
			return jobs.Committed, false
		case f.claim.till > f.now:
			return jobs.Claimed, false
		case f.claim.till != markReturned:
			return jobs.Expired, false
		}
	}
	switch {
	case f.done && f.current == j.Attempt:
		// Stored a moment ago, if the caller's view is old; else lost on the way.
		return jobs.Committed, true
	case f.state == "pending" || f.state == "scheduled" || f.state == "retry":
		return jobs.Queued, false
	}
	// Active: handed to a worker that has not claimed yet, or stuck. None: not there
	// yet, or gone.
	return jobs.Queued, true
}

// lookUp asks for everything in two pipelines.
func (q *Queue) lookUp(ctx context.Context, run string, js []jobs.Job) ([]finding, error) {
	ordinals := make([]string, len(js))
	for i, j := range js {
		ordinals[i] = strconv.Itoa(j.Ordinal)
	}
	var clock *redis.TimeCmd
	var epoch *redis.StringCmd
	var claims, current *redis.SliceCmd
	err := q.contact.watch(ctx, func() error {
		_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			clock = p.Time(ctx)
			p.SetNX(ctx, q.keys.epoch(), rand.Text(), 0)
			epoch = p.Get(ctx, q.keys.epoch())
			claims = p.HMGet(ctx, q.keys.claims(run), ordinals...)
			current = p.HMGet(ctx, q.keys.current(run), ordinals...)
			return nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	q.contact.remember(epoch.Val())
	out := make([]finding, len(js))
	var done []*redis.IntCmd
	var states []*redis.StringCmd
	var open []int
	for i, j := range js {
		f := finding{now: clock.Val().UnixMilli(), current: 1}
		if text, ok := claims.Val()[i].(string); ok {
			f.claim, f.claimed = parseClaim(text)
		}
		if text, ok := current.Val()[i].(string); ok {
			f.current, _ = strconv.Atoi(text)
		}
		if !f.claimed || f.claim.attempt != j.Attempt || f.claim.till == markReturned {
			open = append(open, i)
		}
		out[i] = f
	}
	if len(open) == 0 {
		return out, nil
	}
	err = q.contact.watch(ctx, func() error {
		_, err := q.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, i := range open {
				done = append(done, p.GetBit(ctx, q.keys.done(run), int64(js[i].Ordinal)))
				states = append(states, p.HGet(ctx, q.keys.task(js[i]), "state"))
			}
			return nil
		})
		if errors.Is(err, redis.Nil) {
			return nil // of a task that is not there
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for n, i := range open {
		out[i].done = done[n].Val() == 1
		out[i].state = states[n].Val()
	}
	return out, nil
}

// A claim is a claim as the scripts keep it.
type claim struct {
	attempt int
	till    int64
}

// The marks that scripts put in the place of a lease's end.
const (
	markReturned  = 0
	markCommitted = 1
)

func parseClaim(text string) (claim, bool) {
	f := strings.SplitN(text, "|", 4)
	if len(f) != 4 {
		return claim{}, false
	}
	attempt, err1 := strconv.Atoi(f[0])
	till, err2 := strconv.ParseInt(f[2], 10, 64)
	return claim{attempt: attempt, till: till}, err1 == nil && err2 == nil
}

// Supersede implements [jobs.Queue].
func (q *Queue) Supersede(ctx context.Context, js []jobs.Job) error {
	args := map[string][]any{}
	for _, j := range js {
		if args[j.Run] == nil {
			args[j.Run] = []any{keep}
		}
		args[j.Run] = append(args[j.Run], j.Ordinal, j.Attempt)
	}
	for run, args := range args {
		err := q.contact.watch(ctx, func() error {
			return q.scripts.supersede.Run(ctx, q.client,
				[]string{q.keys.current(run), q.keys.done(run)}, args...).Err()
		})
		if err != nil {
			return fmt.Errorf("supersede attempts of run %s: %w", run, err)
		}
	}
	return nil
}
