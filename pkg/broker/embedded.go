package broker

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// poolSize is enough for a farm's loops, one of which blocks on the stream, and
// for some fifty handlers that talk to Redis rarely.
const poolSize = 32

func openEmbedded(ctx context.Context) (*Broker, error) {
	m := miniredis.NewMiniRedis()
	client := redis.NewClient(&redis.Options{
		Addr:     "embedded",
		PoolSize: poolSize,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			c, err := m.Dial()
			if err != nil {
				return nil, err
			}
			return newPipe(c), nil
		},
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close()
		m.Close()
		return nil, fmt.Errorf("start the embedded redis: %w", err)
	}
	return &Broker{
		client:   client,
		describe: "embedded redis",
		run:      func(ctx context.Context) error { return age(ctx, m) },
		close:    func() error { m.Close(); return nil },
	}, nil
}

// age lets keys expire: the embedded server does not look at the clock itself.
// Each step sorts all keys, so a second apart is often enough.
func age(ctx context.Context, m *miniredis.Miniredis) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			now := time.Now()
			m.FastForward(now.Sub(last))
			last = now
		}
	}
}
