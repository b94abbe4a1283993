package redislimit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/limit"
)

// statesMost bounds the keys that people are shown: those used last.
const statesMost = 200

// States implements [limit.Gate].
func (g *Gate) States(ctx context.Context) ([]eval.LimitState, error) {
	now, err := g.client.Time(ctx).Result()
	if err != nil {
		return nil, fmt.Errorf("states of limits: %w", err)
	}
	known, err := g.client.ZRevRangeByScore(ctx, g.keys.known(), &redis.ZRangeBy{
		Min: strconv.FormatInt(now.Add(-keep).UnixMilli(), 10), Max: "+inf", Count: statesMost,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("states of limits: %w", err)
	}
	looks := make([]look, len(known))
	if len(known) > 0 {
		_, err = g.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for n, name := range known {
				looks[n] = g.look(ctx, p, limit.Key(name), now)
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("states of limits: %w", err)
		}
	}
	var out []eval.LimitState
	for n, name := range known {
		if len(looks[n].state.Val()) > 0 { // else it was forgotten
			out = append(out, looks[n].read(name, now))
		}
	}
	slices.SortFunc(out, func(a, b eval.LimitState) int { return cmp.Compare(a.Key, b.Key) })
	return out, nil
}

// A look is what is asked of one key.
type look struct {
	state, waiting *redis.MapStringStringCmd
	inFlight       *redis.IntCmd
	history        *redis.StringSliceCmd
}

func (g *Gate) look(ctx context.Context, p redis.Pipeliner, key limit.Key, now time.Time) look {
	return look{
		state:    p.HGetAll(ctx, g.keys.state(key)),
		waiting:  p.HGetAll(ctx, g.keys.waiting(key)),
		inFlight: p.ZCount(ctx, g.keys.leases(key), "("+strconv.FormatInt(now.UnixMilli(), 10), "+inf"),
		history:  p.LRange(ctx, g.keys.history(key), 0, -1),
	}
}

func (l look) read(key string, now time.Time) eval.LimitState {
	number := func(name string) float64 {
		f, _ := strconv.ParseFloat(l.state.Val()[name], 64)
		return f
	}
	s := eval.LimitState{
		Key:               key,
		InFlight:          int(l.inFlight.Val()),
		Concurrent:        int(number("in_force_c")),
		RequestsPerMinute: number("in_force_r"),
		Adaptive:          number("adaptive") == 1,
		Calls:             int64(number("calls")),
		RateLimited:       int64(number("refused")),
	}
	if until := time.UnixMilli(int64(number("paused"))); until.After(now) {
		s.PausedUntil = until.UTC()
	}
	for _, v := range l.waiting.Val() {
		n, at, _ := strings.Cut(v, "|")
		if milli(at).Add(waitingFor).After(now) {
			count, _ := strconv.Atoi(n)
			s.Waiting += count
		}
	}
	for _, v := range l.history.Val() {
		if c, ok := change(v); ok {
			s.History = append(s.History, c)
		}
	}
	return s
}

// change reads an entry of the history: at|concurrent|requests a minute|why.
func change(v string) (eval.LimitChange, bool) {
	f := strings.Split(v, "|")
	if len(f) != 4 {
		return eval.LimitChange{}, false
	}
	concurrent, err1 := strconv.Atoi(f[1])
	rpm, err2 := strconv.ParseFloat(f[2], 64)
	if err1 != nil || err2 != nil {
		return eval.LimitChange{}, false
	}
	return eval.LimitChange{At: milli(f[0]), Concurrent: concurrent, RequestsPerMinute: rpm, Why: f[3]}, true
}

// milli reads a time of Redis.
func milli(v string) time.Time {
	n, _ := strconv.ParseInt(v, 10, 64)
	return time.UnixMilli(n).UTC()
}
