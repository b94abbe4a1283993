package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/broker"
)

// redis looks at the queue's server, and at the clock of this machine beside that of
// the server, which all parts of a farm can see.
func (o Options) redis(ctx context.Context) []Finding {
	if o.Redis == "" && o.Part != "" {
		return []Finding{problem("redis", "none is set, and the "+o.Part+" needs one", "set redis in farm.yaml, or EVALFARM_REDIS")}
	}
	if o.Redis == "" {
		return []Finding{ok("redis", "none is set: a run in one process needs none, scheduler and worker do")}
	}
	e, err := broker.Examine(ctx, o.Redis, o.Now)
	if err != nil {
		message := strings.Replace(err.Error(), "; nothing was enqueued", "", 1)
		return []Finding{problem("redis", message, "start it, or correct redis: evalfarm config explain redis")}
	}
	return []Finding{server(e), persistence(e), clock(e)}
}

func server(e broker.Examination) Finding {
	const noeviction = "CONFIG SET maxmemory-policy noeviction, and the same in redis.conf"
	switch {
	case e.Problem != "" && e.Policy != "" && e.Policy != "noeviction":
		return problem("redis", e.Server+": "+e.Problem, noeviction)
	case e.Problem != "":
		return problem("redis", e.Server+": "+e.Problem, "use a Redis of version 6.2 or newer that takes writes")
	case e.Warning != "" && e.Policy != "" && e.Policy != "noeviction":
		return warning("redis", e.Server+": "+e.Warning, noeviction)
	case e.Warning != "":
		return warning("redis", e.Server+": "+e.Warning, "let this user run INFO, or look yourself")
	}
	return ok("redis", e.Server+", maxmemory-policy noeviction")
}

// persistence looks at whether a restart of the server loses what is in the queue.
// Nothing is lost for good then: the store knows what is missing. It only takes longer.
func persistence(e broker.Examination) Finding {
	switch {
	case e.Untold:
		return warning("redis", "it does not say whether it keeps an append-only file", "look at appendonly in redis.conf")
	case !e.AppendOnly:
		return warning("redis", "without an append-only file, or with one that cannot be written, a restart loses the queue; trials that had begun are done again",
			"CONFIG SET appendonly yes, and the same in redis.conf")
	}
	return ok("redis", "it keeps an append-only file")
}

const (
	// skewed is where clocks begin to differ visibly: in the times of results, and in
	// waits that are agreed on through Redis.
	skewed = time.Second
	// wrong is where they mislead: a third of a lease of 30 s, the shortest that is
	// sensible between machines.
	wrong = 10 * time.Second
)

func clock(e broker.Examination) Finding {
	off, way := e.Ahead, "ahead of"
	if off < 0 {
		off, way = -off, "behind"
	}
	off = max(0, off-e.RoundTrip/2)
	message := fmt.Sprintf("this machine is %s %s redis", off.Round(time.Millisecond), way)
	const advice = "synchronise the clocks of all machines, with NTP"
	switch {
	case off >= wrong:
		return problem("clock", message+": leases, budgets of a day and schedules go by it", advice)
	case off >= skewed:
		return warning("clock", message, advice)
	}
	return ok("clock", "as that of redis, within "+max(e.RoundTrip, off, time.Millisecond).Round(time.Millisecond).String())
}
