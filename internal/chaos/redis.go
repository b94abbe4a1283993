package chaos

import "context"

// RedisKilled is a kill -9 of Redis, which is there again at once, with what it had
// written.
func RedisKilled() Fault {
	return onRedis("Redis is killed", 0, nil, func(_ context.Context, f *Farm, _ Step) {
		f.redis.Kill9()
		f.redis.Restart()
	})
}

// RedisFrozen lets nobody hear of Redis for longer than a lease, though it holds all
// connections. Clients wait and ask again, so no log need say anything of it.
func RedisFrozen() Fault {
	return onRedis("Redis is frozen", 1.5, nil, func(ctx context.Context, f *Farm, s Step) {
		f.redis.Freeze()
		pass(ctx, s.For)
		f.redis.Thaw()
	})
}

// RedisWiped makes Redis forget everything.
func RedisWiped() Fault {
	return onRedis("Redis is wiped", 0, nil, func(_ context.Context, f *Farm, _ Step) { f.redis.FlushAll() })
}

// RedisAway is an outage of Redis that is longer than any lease.
func RedisAway() Fault {
	return onRedis("Redis is away", 1.5, []string{"msg=beat"}, func(ctx context.Context, f *Farm, s Step) {
		f.redis.Kill9()
		pass(ctx, max(s.For, f.o.Outage))
		f.redis.Restart()
	})
}

func onRedis(name string, leases float64, felt []string, do func(context.Context, *Farm, Step)) Fault {
	return Fault{Name: name, Leases: leases, felt: felt, befall: func(ctx context.Context, f *Farm, s Step) error {
		f.redisBusy.Lock()
		defer f.redisBusy.Unlock()
		do(ctx, f, s)
		return nil
	}}
}
