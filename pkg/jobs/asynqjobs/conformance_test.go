package asynqjobs_test

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
	"github.com/evalfarm/evalfarm/pkg/jobs/jobstest"
)

// open opens a broker that ends with the test.
func open(tb testing.TB, o broker.Options) *broker.Broker {
	tb.Helper()
	b, err := broker.Open(context.Background(), o)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- b.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Errorf("Run: %v", err)
		}
		if err := b.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return b
}

// backend gives each caller of Open a queue on the broker's client.
func backend(t *testing.T, b *broker.Broker) jobstest.Backend {
	t.Helper()
	able := func(namespace string, only bool, capabilities ...string) jobstest.Farm {
		return asynqjobs.New(b.Client(), asynqjobs.Options{
			Namespace:       namespace,
			Capabilities:    capabilities,
			OnlyCapable:     only,
			Lease:           2 * time.Second,
			CheckInterval:   20 * time.Millisecond,
			ForwardInterval: 50 * time.Millisecond,
			Backoff:         10 * time.Millisecond,
		})
	}
	return jobstest.Backend{
		Open: func(namespace string) jobstest.Farm { return able(namespace, false) },
		Able: able,
		Wipe: func() {
			if err := b.Client().FlushAll(context.Background()).Err(); err != nil {
				t.Error(err)
			}
		},
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	jobstest.Exercise(t, func(t *testing.T) jobstest.Backend {
		return backend(t, open(t, broker.Options{}))
	})
}

func TestSpawned(t *testing.T) {
	t.Parallel()
	jobstest.Exercise(t, func(t *testing.T) jobstest.Backend {
		b := open(t, broker.Options{Kind: broker.Spawn})
		out := backend(t, b)
		// It comes back by itself, at once; a pause is what Freeze is for.
		pid := func() int {
			info, err := b.Client().Info(context.Background(), "server").Result()
			if err != nil {
				t.Error(err)
				return 0
			}
			_, rest, _ := strings.Cut(info, "process_id:")
			id, _ := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\n", 2)[0]))
			return id
		}
		var frozen int
		out.Freeze = func() {
			frozen = pid()
			_ = syscall.Kill(frozen, syscall.SIGSTOP)
		}
		out.Thaw = func() { _ = syscall.Kill(frozen, syscall.SIGCONT) }
		return out
	})
}

func TestRedis(t *testing.T) {
	t.Parallel()
	jobstest.Exercise(t, func(t *testing.T) jobstest.Backend {
		s := redistest.Start(t)
		out := backend(t, open(t, broker.Options{URL: s.URL()}))
		out.Wipe = s.FlushAll
		out.Kill, out.Restart = s.Kill9, s.Restart
		out.Freeze, out.Thaw = s.Freeze, s.Thaw
		return out
	})
}
