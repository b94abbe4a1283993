// Package redislimit is the gate of a farm's limiter in its Redis.
//
// A rate is one number, the time when its bucket is full again; all rates of a call
// are taken in one script, together or not at all. What a provider allows and
// nobody has configured is found out: from the headers of its answers, and from
// what it refuses.
//
// Only the clock of Redis counts. The scripts are idempotent, because the client
// sends a command again when a connection breaks. Redis may lose everything at any
// moment: the permits of calls in flight are forgotten then, which costs a few
// refusals at worst. A key that nobody uses is forgotten after an hour.
package redislimit

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
)

const (
	// keep is how long a key is known that nobody uses.
	keep = time.Hour
	// knownMost bounds the keys that are known, and noteEvery is how often a process
	// notes that it uses one.
	knownMost = 1000
	noteEvery = 10 * time.Second
	// waitingFor is how long the word of a process counts.
	waitingFor = 10 * time.Second
)

// Options tune a Gate.
type Options struct {
	// Lease is how long a permit lives that nobody renews; 30 s by default.
	Lease time.Duration
}

// A Gate is a farm's gate. It is safe for concurrent use.
type Gate struct {
	client  redis.UniversalClient
	lease   time.Duration
	keys    keys
	scripts scripts

	mu    sync.Mutex // guards noted
	noted map[limit.Key]time.Time
}

var _ limit.Gate = (*Gate)(nil)

// New makes a gate on an open Redis, which must be of version 6.2 or newer. The
// namespace keeps farms apart that share it; New panics if it cannot be part of a
// key.
func New(client redis.UniversalClient, namespace string, o Options) *Gate {
	if namespace == "" || strings.ContainsAny(namespace, "{}") {
		panic(fmt.Sprintf("redislimit: %q cannot be a namespace", namespace))
	}
	if o.Lease <= 0 {
		o.Lease = 30 * time.Second
	}
	return &Gate{
		client: client, lease: o.Lease, keys: keys{namespace: namespace}, scripts: loadScripts(),
		noted: map[limit.Key]time.Time{},
	}
}

// Lease implements [limit.Gate].
func (g *Gate) Lease() time.Duration { return g.lease }

// Try implements [limit.Gate].
func (g *Gate) Try(ctx context.Context, key limit.Key, ask limit.Ask) (limit.Answer, error) {
	args := append([]any{ask.Permit, max(0, ask.Input), max(0, ask.Output), g.lease.Milliseconds()}, rate(ask.Rate)...)
	got, err := g.scripts.try.Run(ctx, g.client,
		[]string{g.keys.state(key), g.keys.leases(key), g.keys.charges(key), g.keys.turns(key)}, args...).Slice()
	if err != nil {
		return limit.Answer{}, fmt.Errorf("try %s: %w", key, err)
	}
	if len(got) != 4 {
		return limit.Answer{}, fmt.Errorf("try %s: %d words of an answer", key, len(got))
	}
	granted, _ := got[0].(int64)
	wait, _ := got[1].(int64)
	why, _ := got[2].(string)
	now, _ := got[3].(int64)
	g.note(ctx, key, now)
	return limit.Answer{
		Granted: granted == 1,
		Wait:    time.Duration(wait) * time.Millisecond,
		Why:     limit.Why(why),
	}, nil
}

// Renew implements [limit.Gate].
func (g *Gate) Renew(ctx context.Context, key limit.Key, permits []string) error {
	if len(permits) == 0 {
		return nil
	}
	args := []any{g.lease.Milliseconds()}
	for _, p := range permits {
		args = append(args, p)
	}
	err := g.scripts.renew.Run(ctx, g.client,
		[]string{g.keys.state(key), g.keys.leases(key), g.keys.charges(key)}, args...).Err()
	if err != nil {
		return fmt.Errorf("renew permits of %s: %w", key, err)
	}
	return nil
}

// Release implements [limit.Gate].
func (g *Gate) Release(ctx context.Context, key limit.Key, permit string, r limit.Report) error {
	// A wait that is not whole must not end early.
	pause := (max(0, r.Pause) + time.Millisecond - 1).Milliseconds()
	args := []any{permit, r.Input, r.Output, bit(r.Throttled), bit(r.Failed), pause}
	args = append(args, rate(r.Rate)...)
	for _, l := range []limit.Level{r.Standing.Requests, r.Standing.Tokens, r.Standing.Input, r.Standing.Output} {
		args = append(args, l.Limit, l.Remaining)
	}
	err := g.scripts.release.Run(ctx, g.client,
		[]string{g.keys.state(key), g.keys.leases(key), g.keys.charges(key), g.keys.turns(key), g.keys.history(key)},
		args...).Err()
	if err != nil {
		return fmt.Errorf("release a permit of %s: %w", key, err)
	}
	return nil
}

// Waiting implements [limit.Gate].
func (g *Gate) Waiting(ctx context.Context, key limit.Key, process string, n int) error {
	err := g.scripts.waiting.Run(ctx, g.client, []string{g.keys.waiting(key)},
		process, n, waitingFor.Milliseconds()).Err()
	if err != nil {
		return fmt.Errorf("show who waits for %s: %w", key, err)
	}
	return nil
}

// note writes down that a key is used, from time to time. It is only for show, so
// its failure is nobody's.
func (g *Gate) note(ctx context.Context, key limit.Key, redisNow int64) {
	now := time.Now()
	g.mu.Lock()
	due := now.Sub(g.noted[key]) >= noteEvery
	if due {
		if len(g.noted) >= knownMost {
			clear(g.noted)
		}
		g.noted[key] = now
	}
	g.mu.Unlock()
	if !due {
		return
	}
	_, _ = g.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		p.ZAdd(ctx, g.keys.known(), redis.Z{Score: float64(redisNow), Member: string(key)})
		p.ZRemRangeByRank(ctx, g.keys.known(), 0, -knownMost-1)
		p.PExpire(ctx, g.keys.known(), keep)
		return nil
	})
}

// rate is what scripts read of a rate.
func rate(r eval.Rate) []any {
	out := make([]any, 0, 5)
	for _, n := range []int{r.RequestsPerMinute, r.TokensPerMinute, r.InputTokensPerMinute, r.OutputTokensPerMinute, r.Concurrent} {
		out = append(out, max(0, n))
	}
	return out
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
