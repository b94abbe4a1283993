package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/blob/httpblob"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// A SchedulerConfig is what a scheduler process needs beside Config.
type SchedulerConfig struct {
	Config
	// Listener serves the API.
	Listener net.Listener
	// Health serves /healthz, /readyz and /metrics. Nil serves nothing.
	Health net.Listener
	// API is what it serves and to whom. What depends on the farm is filled in.
	API httpapi.Options
	// Keep is how long done runs are kept. Zero means for ever.
	Keep time.Duration
	// Done is told the summary of each run, one after the other.
	Done func(eval.Summary)
}

// lastNotices bounds how long a scheduler that has nothing more to do begins to send
// notices.
const lastNotices = 15 * time.Second

// Schedule is a farm's scheduler: it keeps runs moving, takes results from the
// stream, sends notices and serves the API. It returns when every run is done, or with
// ErrStopped when ctx ends.
func Schedule(ctx context.Context, c SchedulerConfig, s store.Store, runs []eval.Run) error {
	// One scheduler for each store: two would take each other's results from the
	// stream.
	unlock, err := lock(c.Home, "scheduler")
	if err != nil {
		return err
	}
	defer unlock()
	for _, r := range runs {
		unlock, err := own(ctx, c.Home, s, r)
		if err != nil {
			return err
		}
		defer unlock()
	}
	b, err := broker.Open(ctx, c.Broker)
	if err != nil {
		return err
	}
	defer b.Close()
	q := newQueues(c.Config, b, s.ID())
	_, gate := newLimiter(c.Config, b, "scheduler")
	farm := httpblob.Farm{ID: s.ID(), Version: c.Version, Lease: q.trials.Lease()}
	trials, judging, err := c.published(ctx, s, q, farm)
	if err != nil {
		return err
	}
	sender := c.Sender(s)
	agg, sched := newScheduler(c.Config, s, trials, judging, gate, sender, nil)
	defer c.leads(func() bool { return true })()
	defer c.watch(sched, q, gate)()

	base, stop := context.WithCancel(ctx)
	defer stop()
	g, base := errgroup.WithContext(base)
	g.Go(func() error { return settled(base, b.Run(base)) })
	g.Go(func() error { return settled(base, agg.Run(base)) })
	g.Go(func() error { return settled(base, sched.Run(base)) })
	g.Go(func() error { return settled(base, sender.Run(base)) })
	for _, queue := range []*asynqjobs.Queue{q.trials, q.judging} {
		g.Go(func() error {
			return settled(base, queue.Receive(base, func(ctx context.Context, rs []eval.Record) error { return agg.Put(ctx, rs...) }))
		})
	}
	if c.Keep > 0 {
		g.Go(func() error { return collect(base, s, c.Keep, c.logger()) })
	}
	g.Go(func() error {
		return serve(base, c.Listener, c.handler(c.API, s, q.trials.Lease()))
	})
	g.Go(func() error { return c.serveHealth(base, c.Health, readable(s)) })
	g.Go(func() error {
		defer stop()
		for _, r := range runs {
			if err := sched.Adopt(base, r.ID, false); err != nil {
				return err
			}
		}
		for _, r := range runs {
			summary, err := sched.Wait(base, r.ID)
			if err != nil {
				return err
			}
			sender.Wake()
			if c.Done != nil {
				c.Done(summary)
			}
		}
		// Nobody may come after us to send what the last run has left in the outbox.
		last, cancel := context.WithTimeout(base, lastNotices)
		defer cancel()
		if _, err := sender.Deliver(last, ""); err != nil {
			c.logger().WarnContext(base, "send the last notices", "error", err)
		}
		return nil
	})
	err = g.Wait()
	switch {
	case ctx.Err() != nil:
		return ErrStopped
	case errors.Is(err, context.Canceled):
		return nil // every run is done
	default:
		return err
	}
}

// handler is the API of the farm of a store.
func (c Config) handler(o httpapi.Options, s store.Store, lease time.Duration) http.Handler {
	o.Farm = httpblob.Farm{ID: s.ID(), Version: c.Version, Lease: lease}
	o.Store, o.Logger = s, c.logger()
	return httpapi.New(o)
}

// serve serves HTTP until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}
	stopped := context.AfterFunc(ctx, func() {
		// Requests are short; those that are not must not hold the process.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(grace)
	})
	defer stopped()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API: %w", err)
	}
	return nil
}

// A WorkerConfig is what a worker process needs beside Config, whose Blobs is the
// address of a folder or bucket, or the base URL of the scheduler.
type WorkerConfig struct {
	Config
	// Token that the scheduler wants to see, if Blobs is its base URL.
	Token string
	// Spool is the folder where records are kept until they are stored. It must be
	// on a local disk; all workers of a machine may share it.
	Spool string
	// Health serves /healthz, /readyz and /metrics, from before the worker joins until
	// it has drained. Nil serves nothing.
	Health net.Listener
}

// Work is a farm's worker. It returns when ctx has ended and it has drained.
func Work(ctx context.Context, c WorkerConfig) error {
	health := &health{}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	defer func() { stop(); <-ended }()
	go func() {
		defer close(ended)
		if err := c.serveHealth(serving, c.Health, httpapi.Probe{Live: health.live, Ready: health.ready}); err != nil {
			c.logger().ErrorContext(ctx, "serve the health of the worker", "error", err)
		}
	}()
	return c.work(ctx, health)
}

// work joins the farm and works there.
func (c WorkerConfig) work(ctx context.Context, health *health) error {
	blobs, err := c.doorway()
	if err != nil {
		return err
	}
	farm, err := join(ctx, blobs)
	if err != nil {
		return fmt.Errorf("join the farm at %s: %w", c.Blobs, err)
	}
	if farm.Version != c.Version {
		return fmt.Errorf("join the farm at %s: it runs evalfarm %s, this worker is %s; run the same version on both", c.Blobs, farm.Version, c.Version)
	}
	b, err := broker.Open(ctx, c.Broker)
	if err != nil {
		return err
	}
	defer b.Close()
	c.Lease = farm.Lease
	q := newQueues(c.Config, b, farm.ID)
	id := workerID()
	keeps, err := openSpools(c, farm.ID, id)
	if err != nil {
		return err
	}
	defer keeps.close()
	defer keeps.measure(c.Metrics)()
	pool := c.sessions(farm.ID, id)
	limiter, _ := newLimiter(c.Config, b, id)
	hands := newWorkers(c.Config, id, pool, q, limiter, blob.NewCache(blobs, blobCache),
		func(place jobs.Workplace) worker.Sink { return place }, keeps, Observer{})
	health.of(hands)
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	g, base := errgroup.WithContext(base)
	g.Go(func() error { return settled(base, b.Run(base)) })
	g.Go(func() error { return settled(base, pool.Run(base)) })
	g.Go(func() error { return settled(base, limiter.Run(base)) })
	g.Go(func() error {
		defer stop()
		working, stopWork := context.WithCancel(base)
		defer stopWork()
		defer context.AfterFunc(ctx, stopWork)()
		c.logger().InfoContext(ctx, "worker joined", "worker", id, "farm", farm.ID, "slots", c.slots())
		return work(working, hands)
	})
	err = g.Wait()
	pool.Close() //nolint:contextcheck // what is left is removed after the end, too
	return err
}

// join asks a scheduler which farm it has. One that does not listen is waited for:
// it may be about to, or about to come back.
func join(ctx context.Context, blobs doorway) (httpblob.Farm, error) {
	const patience = 30 * time.Second
	for begun := time.Now(); ; {
		farm, err := blobs.Farm(ctx)
		_, away := errors.AsType[*url.Error](err)
		if !away && !errors.Is(err, errNoFarm) || time.Since(begun) > patience {
			return farm, err
		}
		select {
		case <-ctx.Done():
			return farm, err
		case <-time.After(time.Second):
		}
	}
}

// TokenFile is the name of the token's file in the state folder.
const TokenFile = "token"

// Token reads the farm's token from the state folder, making one if there is
// none.
func Token(home string) (token, path string, err error) {
	path = filepath.Join(home, TokenFile)
	content, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(content)), path, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", path, fmt.Errorf("read the farm's token: %w", err)
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return "", path, fmt.Errorf("make the state folder: %w", err)
	}
	token = rand.Text()
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", path, fmt.Errorf("write the farm's token: %w", err)
	}
	return token, path, nil
}
