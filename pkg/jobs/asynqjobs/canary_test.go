package asynqjobs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/broker"
)

// TestCanary notices when a new asynq changes what this package relies on, or
// mends what it works around.
func TestCanary(t *testing.T) {
	t.Parallel()
	for _, on := range []struct {
		name string
		open func() broker.Options
	}{
		{"embedded", func() broker.Options { return broker.Options{} }},
		{"redis", func() broker.Options { return broker.Options{URL: redistest.Start(t).URL()} }},
	} {
		client := open(t, on.open()).Client()
		for _, c := range []struct {
			name string
			test func(*testing.T, *canary)
		}{
			{"KeysAndStates", keysAndStates},
			{"NotAFailureIsNotCounted", notAFailureIsNotCounted},
			{"MaxRetryZeroArchivesEvenNoFailure", maxRetryZeroArchives},
			{"CancelRetriesWhateverTheHandlerSays", cancelRetries},
			{"LostLeaseEntryOrphansTask", lostLeaseEntry},
			{"TimesAreWholeSeconds", wholeSeconds},
			{"HeadersTravel", headersTravel},
			{"ClosedClientIsShared", sharedClient},
		} {
			t.Run(on.name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				c.test(t, newCanary(t, client))
			})
		}
	}
}

type canary struct {
	redis     redis.UniversalClient
	queue     string
	client    *asynq.Client
	inspector *asynq.Inspector
}

func newCanary(t *testing.T, client redis.UniversalClient) *canary {
	t.Helper()
	return &canary{
		redis: client, queue: t.Name(),
		client:    asynq.NewClientFromRedisClient(client),
		inspector: asynq.NewInspectorFromRedisClient(client),
	}
}

func (c *canary) enqueue(t *testing.T, id string, opts ...asynq.Option) {
	t.Helper()
	opts = append([]asynq.Option{asynq.TaskID(id), asynq.Queue(c.queue), asynq.Timeout(time.Hour), asynq.MaxRetry(50)}, opts...)
	if _, err := c.client.Enqueue(asynq.NewTaskWithHeaders("t", []byte("p"), map[string]string{"traceparent": "00-1"}), opts...); err != nil {
		t.Fatal(err)
	}
}

func (c *canary) serve(t *testing.T, h asynq.HandlerFunc) {
	t.Helper()
	s := asynq.NewServerFromRedisClient(c.redis, asynq.Config{
		Concurrency: 2, Queues: map[string]int{c.queue: 1}, LogLevel: asynq.FatalLevel,
		TaskCheckInterval: 10 * time.Millisecond, DelayedTaskCheckInterval: 20 * time.Millisecond,
		IsFailure:      func(err error) bool { return !errors.Is(err, errLater) },
		RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return 1500 * time.Millisecond },
	})
	if err := s.Start(h); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
}

var errLater = errors.New("later")

// state is what the task's hash says, and what the inspector says.
func (c *canary) state(t *testing.T, id string) string {
	t.Helper()
	state, err := c.redis.HGet(t.Context(), "asynq:{"+c.queue+"}:t:"+id, "state").Result()
	if errors.Is(err, redis.Nil) {
		state, err = "none", nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// Audit and Forget read these keys, and these words.
func keysAndStates(t *testing.T, c *canary) {
	c.enqueue(t, "pending")
	c.enqueue(t, "scheduled", asynq.ProcessIn(time.Hour))
	started, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	want := map[string]string{"pending": "pending", "scheduled": "scheduled", "nobody": "none"}
	for id, state := range want {
		if got := c.state(t, id); got != state {
			t.Errorf("state of %s: got %s, want %s", id, got, state)
		}
	}
	key := "asynq:{" + c.queue + "}:"
	if got, err := c.redis.LRange(t.Context(), key+"pending", 0, -1).Result(); err != nil || len(got) != 1 || got[0] != "pending" {
		t.Errorf("pending list: got %v, %v", got, err)
	}
	if got, err := c.redis.ZRange(t.Context(), key+"scheduled", 0, -1).Result(); err != nil || len(got) != 1 || got[0] != "scheduled" {
		t.Errorf("scheduled set: got %v, %v", got, err)
	}
	if ok, err := c.redis.SIsMember(t.Context(), "asynq:queues", c.queue).Result(); err != nil || !ok {
		t.Errorf("asynq:queues does not hold the queue: %v", err)
	}
	c.serve(t, func(context.Context, *asynq.Task) error {
		close(started)
		<-release
		return nil
	})
	<-started
	if got := c.state(t, "pending"); got != "active" {
		t.Errorf("state of a running task: got %s, want active", got)
	}
	if info, err := c.inspector.GetTaskInfo(c.queue, "pending"); err != nil || info.State != asynq.TaskStateActive {
		t.Errorf("inspector: got %v, %v, want active", info, err)
	}
	if err := c.inspector.DeleteTask(c.queue, "pending"); err == nil || errors.Is(err, asynq.ErrTaskNotFound) {
		t.Errorf("delete of a running task: got %v, want an error of its own", err)
	}
}

// A delivery can be put off for ever.
func notAFailureIsNotCounted(t *testing.T, c *canary) {
	c.enqueue(t, "x", asynq.MaxRetry(1))
	c.serve(t, func(context.Context, *asynq.Task) error { return errLater })
	until(t, "retry", func() bool { return c.state(t, "x") == "retry" })
	info, err := c.inspector.GetTaskInfo(c.queue, "x")
	if err != nil || info.Retried != 0 {
		t.Errorf("retried: got %v, %v, want 0", info, err)
	}
}

// Why MaxRetry is never 0.
func maxRetryZeroArchives(t *testing.T, c *canary) {
	c.enqueue(t, "x", asynq.MaxRetry(0))
	c.serve(t, func(context.Context, *asynq.Task) error { return errLater })
	until(t, "archived", func() bool { return c.state(t, "x") == "archived" })
	if got, err := c.redis.ZRange(t.Context(), "asynq:{"+c.queue+"}:archived", 0, -1).Result(); err != nil || len(got) != 1 {
		t.Errorf("archive: got %v, %v, want the task", got, err)
	}
}

// Why CancelProcessing is not used: a handler that ends well is retried.
func cancelRetries(t *testing.T, c *canary) {
	c.enqueue(t, "x")
	started := make(chan struct{}, 1)
	c.serve(t, func(ctx context.Context, _ *asynq.Task) error {
		started <- struct{}{}
		<-ctx.Done()
		return nil
	})
	<-started
	until(t, "retry", func() bool {
		if err := c.inspector.CancelProcessing("x"); err != nil {
			t.Fatal(err)
		}
		return c.state(t, "x") == "retry"
	})
}

// Why an active task that nobody claims is missing after a while.
func lostLeaseEntry(t *testing.T, c *canary) {
	c.enqueue(t, "x")
	started, release, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.serve(t, func(context.Context, *asynq.Task) error {
		close(started)
		<-release
		defer close(ended)
		return nil
	})
	<-started
	if n, err := c.redis.ZRem(t.Context(), "asynq:{"+c.queue+"}:lease", "x").Result(); err != nil || n != 1 {
		t.Fatalf("remove the lease entry: got %d, %v", n, err)
	}
	close(release)
	<-ended
	until(t, "out of the active list", func() bool {
		return c.redis.LLen(t.Context(), "asynq:{"+c.queue+"}:active").Val() == 0
	})
	if got := c.state(t, "x"); got != "active" {
		t.Errorf("state of an orphan: got %s, want active; asynq has mended it", got)
	}
	if _, err := c.client.Enqueue(asynq.NewTask("t", nil), asynq.TaskID("x"), asynq.Queue(c.queue)); !errors.Is(err, asynq.ErrTaskIDConflict) {
		t.Errorf("enqueue of an orphan's id: got %v, want a conflict", err)
	}
}

// Why delays are lengthened to full seconds.
func wholeSeconds(t *testing.T, c *canary) {
	c.enqueue(t, "x")
	c.serve(t, func(context.Context, *asynq.Task) error { return errLater })
	until(t, "retry", func() bool { return c.state(t, "x") == "retry" })
	score, err := c.redis.ZScore(t.Context(), "asynq:{"+c.queue+"}:retry", "x").Result()
	if err != nil || score != float64(int64(score)) {
		t.Errorf("time of the retry: got %v, %v, want whole seconds", score, err)
	}
}

func headersTravel(t *testing.T, c *canary) {
	c.enqueue(t, "x")
	got := make(chan string, 1)
	c.serve(t, func(_ context.Context, task *asynq.Task) error {
		got <- task.Headers()["traceparent"]
		return nil
	})
	if h := <-got; h != "00-1" {
		t.Errorf("traceparent: got %q, want 00-1", h)
	}
}

// The broker closes its client, nobody else.
func sharedClient(t *testing.T, c *canary) {
	if err := c.client.Close(); err == nil {
		t.Error("close of a client on a shared connection: got no error")
	}
	if err := c.redis.Ping(t.Context()).Err(); err != nil {
		t.Errorf("ping afterwards: %v", err)
	}
}

// TestCanaryLostAck: asynq repeats a lost acknowledgement with a context that it
// has cancelled itself, so the task is delivered again a minute later. That is
// why a claim is refused when the attempt is done. asynq repeats after 5 s.
func TestCanaryLostAck(t *testing.T) {
	t.Parallel()
	client := open(t, broker.Options{}).Client()
	hook := &refusingAck{next: make(chan error, 1)}
	client.AddHook(hook)
	c := newCanary(t, client)
	c.enqueue(t, "x")
	c.serve(t, func(context.Context, *asynq.Task) error { return nil })
	select {
	case err := <-hook.next:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("context of the repeated acknowledgement: got %v, want it cancelled; asynq has mended it", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("asynq does not repeat the acknowledgement")
	}
	if got := c.state(t, "x"); got != "active" {
		t.Errorf("state: got %s, want active", got)
	}
}
