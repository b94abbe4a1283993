package asynqjobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hibiken/asynq"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
)

var trial = jobs.Job{
	Run: "r-20260101-abcdef", Ordinal: 999_999, Attempt: 13, Header: strings.Repeat("ab", 32),
	Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
}

// TestTask looks at a job as asynq has it: small, named after the attempt, in a
// queue of the namespace, with trace context, and untouched by what went wrong.
func TestTask(t *testing.T) {
	t.Parallel()
	b := open(t, broker.Options{})
	var logged bytes.Buffer
	q := asynqjobs.New(b.Client(), asynqjobs.Options{
		Namespace: "store1", Backoff: time.Hour, CheckInterval: 10 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	})
	if err := q.Enqueue(t.Context(), []jobs.Job{trial}); err != nil {
		t.Fatal(err)
	}
	in := asynq.NewInspectorFromRedisClient(b.Client())
	info, err := in.GetTaskInfo("trials-store1", "r-20260101-abcdef:999999:a13")
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Payload) > 200 {
		t.Errorf("payload: got %d bytes, want at most 200", len(info.Payload))
	}
	if info.MaxRetry != 50 || info.Timeout != 24*time.Hour || info.Retention != 0 {
		t.Errorf("options: got %d retries, timeout %s, retention %s, want 50, 24h, 0", info.MaxRetry, info.Timeout, info.Retention)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got := make(chan jobs.Job, 1)
	ended := make(chan error, 1)
	go func() {
		ended <- q.Serve(ctx, "w", 1, func(_ context.Context, j jobs.Job) error {
			got <- j
			return errors.New("the password is hunter2")
		})
	}()
	if j := <-got; j != trial {
		t.Errorf("in the handler: got %+v, want %+v", j, trial)
	}
	until(t, "retry", func() bool {
		info, err = in.GetTaskInfo("trials-store1", trial.Key())
		return err == nil && info.State == asynq.TaskStateRetry
	})
	if strings.Contains(info.LastErr, "hunter2") || info.Retried != 1 {
		t.Errorf("after a failure: got %q, retried %d, want no reason and 1", info.LastErr, info.Retried)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if !strings.Contains(logged.String(), "hunter2") {
		t.Errorf("log: got %q, want the reason", logged.String())
	}
}

func TestLaterIsNotCounted(t *testing.T) {
	t.Parallel()
	b := open(t, broker.Options{})
	q := asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s", CheckInterval: 10 * time.Millisecond})
	if err := q.Enqueue(t.Context(), []jobs.Job{trial}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Serve(ctx, "w", 1, func(context.Context, jobs.Job) error {
			return fmt.Errorf("paused: %w", &jobs.LaterError{After: time.Hour})
		})
	}()
	in := asynq.NewInspectorFromRedisClient(b.Client())
	var info *asynq.TaskInfo
	until(t, "retry", func() (ok bool) {
		var err error
		info, err = in.GetTaskInfo("trials-s", trial.Key())
		return err == nil && info.State == asynq.TaskStateRetry
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if info.Retried != 0 {
		t.Errorf("retried: got %d, want 0", info.Retried)
	}
	if left := time.Until(info.NextProcessAt); left < 59*time.Minute {
		t.Errorf("next delivery in %s, want in an hour", left)
	}
}

func TestEnqueueRefusesLargeJobs(t *testing.T) {
	t.Parallel()
	b := open(t, broker.Options{})
	q := asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s"})
	j := trial
	j.Run = strings.Repeat("r", 448)
	err := q.Enqueue(t.Context(), []jobs.Job{trial, j})
	if err == nil || !strings.Contains(err.Error(), "at most 448 are allowed") {
		t.Errorf("got %v, want an error about the size", err)
	}
	if keys, err := b.Client().Keys(t.Context(), "*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("keys: got %v, %v, want nothing enqueued", keys, err)
	}
}

func TestServeDropsForeignTasks(t *testing.T) {
	t.Parallel()
	b := open(t, broker.Options{})
	q := asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s", CheckInterval: 10 * time.Millisecond})
	foreign := asynq.NewClientFromRedisClient(b.Client())
	for i, payload := range []string{"", "[]", `{"run":"r"}`, `{"run":"r","ordinal":-1,"attempt":1}`} {
		_, err := foreign.Enqueue(asynq.NewTask("trial", []byte(payload)), asynq.Queue("trials-s"), asynq.TaskID(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Serve(ctx, "w", 1, func(_ context.Context, j jobs.Job) error {
			t.Errorf("handler got %+v, want nothing", j)
			return nil
		})
	}()
	in := asynq.NewInspectorFromRedisClient(b.Client())
	until(t, "the queue is empty", func() bool {
		info, err := in.GetQueueInfo("trials-s")
		return err == nil && info.Size == 0
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := q.Serve(t.Context(), "w", 0, nil); err == nil {
		t.Error("Serve with no slots: got no error")
	}
}

func TestReceiveDropsWhatItCannotRead(t *testing.T) {
	t.Parallel()
	// A real one: the embedded one forgets to remember what was not acknowledged.
	b := open(t, broker.Options{URL: redistest.Start(t).URL()})
	q := asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s"})
	stream := "evalfarm:{s}:results"
	for _, bad := range []string{"", "{", `{"uid":7}`} {
		if err := b.Client().Do(t.Context(), "XADD", stream, "*", "record", bad).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Client().Do(t.Context(), "XADD", stream, "*", "other", "field").Err(); err != nil {
		t.Fatal(err)
	}
	c := jobs.Claim{Job: trial, UID: "u", Worker: "w"}
	if err := q.Commit(t.Context(), c, eval.Record{UID: "u", Run: trial.Run, Ordinal: trial.Ordinal, N: trial.Attempt}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	got := make(chan []eval.Record, 1)
	go func() {
		ended <- q.Receive(ctx, func(_ context.Context, rs []eval.Record) error { got <- rs; return nil })
	}()
	if rs := <-got; len(rs) != 1 || rs[0].UID != "u" {
		t.Errorf("records: got %+v, want the good one", rs)
	}
	until(t, "the stream is empty", func() bool {
		n, err := b.Client().XLen(t.Context(), stream).Result()
		return err == nil && n == 0
	})
	if p, err := b.Client().XPending(t.Context(), stream, "agg").Result(); err != nil || p.Count != 0 {
		t.Errorf("entries not acknowledged: got %+v, %v, want none", p, err)
	}
	// Nor does a stored record leave a trace beside its bit.
	if n, err := b.Client().HLen(t.Context(), "evalfarm:{s}:claims:"+trial.Run).Result(); err != nil || n != 0 {
		t.Errorf("claims: got %d, %v, want none", n, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestNamespaceIsPartOfKeys(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a{b", "}"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("namespace %q: got a queue, want a panic", bad)
				}
			}()
			asynqjobs.New(nil, asynqjobs.Options{Namespace: bad})
		}()
	}
	b := open(t, broker.Options{})
	q := asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s7"})
	exerciseScripts(t, q)
	keys, err := b.Client().Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if key != "asynq:queues" && !strings.HasPrefix(key, "evalfarm:{s7}:") && !strings.HasPrefix(key, "asynq:{trials-s7}:") {
			t.Errorf("key %s is not of the namespace", key)
		}
	}
	if len(keys) < 6 {
		t.Errorf("keys: got %v, want those of a busy queue", keys)
	}
}

// exerciseScripts calls every script, and returns what they said.
func exerciseScripts(t *testing.T, q *asynqjobs.Queue) []string {
	t.Helper()
	ctx := t.Context()
	var said []string
	say := func(what string, v any, err error) { said = append(said, fmt.Sprintf("%s: %v %v", what, v, err)) }
	job := func(ordinal, attempt int) jobs.Job { return jobs.Job{Run: "r", Ordinal: ordinal, Attempt: attempt} }
	claim := func(ordinal, attempt int, uid string) jobs.Claim {
		return jobs.Claim{Job: job(ordinal, attempt), UID: uid, Worker: "w"}
	}
	say("enqueue", nil, q.Enqueue(ctx, []jobs.Job{job(0, 1), job(5, 1)}))
	for _, c := range []jobs.Claim{claim(0, 1, "a"), claim(0, 1, "a"), claim(0, 1, "b"), claim(123_456, 1, "ü\x00"), claim(1, 2, "c")} {
		g, err := q.Claim(ctx, c)
		say("claim", g, err)
	}
	say("return", nil, q.Return(ctx, claim(0, 1, "a")))
	say("supersede", nil, q.Supersede(ctx, []jobs.Job{job(0, 2), job(1, 2)}))
	say("control", nil, q.Control(ctx, "r", eval.ControlPause))
	g, err := q.Claim(ctx, claim(0, 2, "d"))
	say("claim", g, err)
	words, err := q.Beat(ctx, "w", 3, []jobs.Claim{claim(0, 1, "a"), claim(1, 2, "c"), claim(7, 1, "e"), claim(123_456, 1, "ü\x00")})
	say("beat", words, err)
	say("commit", nil, q.Commit(ctx, claim(1, 2, "c"), eval.Record{UID: "c"}))
	say("finish", nil, q.Finish(ctx, claim(7, 1, "e")))
	n, err := q.Slots(ctx)
	say("slots", n, err)
	audit, err := q.Audit(ctx, "r", []jobs.Job{job(0, 2), job(1, 2), job(7, 1), job(123_456, 1), job(5, 1)})
	say("audit", audit, err)
	return said
}

// TestScriptsAgree: the embedded Redis and a real one give the same answers, and
// so does one that lost its scripts between any two calls.
func TestScriptsAgree(t *testing.T) {
	t.Parallel()
	embedded := exerciseScripts(t, asynqjobs.New(open(t, broker.Options{}).Client(), asynqjobs.Options{Namespace: "s"}))
	for _, line := range embedded {
		if !strings.HasSuffix(line, "<nil>") {
			t.Errorf("embedded: %s", line)
		}
	}
	b := open(t, broker.Options{URL: redistest.Start(t).URL()})
	if d := cmp.Diff(embedded, exerciseScripts(t, asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s"}))); d != "" {
		t.Errorf("embedded and real Redis differ (-embedded +real):\n%s", d)
	}
	b.Client().AddHook(forgetful{})
	if d := cmp.Diff(embedded, exerciseScripts(t, asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s2"}))); d != "" {
		t.Errorf("with lost scripts (-before +after):\n%s", d)
	}
}

// TestResent: commands that reach Redis twice change nothing.
func TestResent(t *testing.T) {
	t.Parallel()
	for _, on := range []struct {
		name string
		open func(t *testing.T) broker.Options
	}{
		{"embedded", func(*testing.T) broker.Options { return broker.Options{} }},
		{"redis", func(t *testing.T) broker.Options { return broker.Options{URL: redistest.Start(t).URL()} }},
	} {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			b := open(t, on.open(t))
			once := exerciseScripts(t, asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "once"}))
			b.Client().AddHook(resending{})
			twice := exerciseScripts(t, asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "twice"}))
			if d := cmp.Diff(once, twice); d != "" {
				t.Errorf("answers (-once +twice):\n%s", d)
			}
			if n, err := b.Client().XLen(t.Context(), "evalfarm:{twice}:results").Result(); err != nil || n != 1 {
				t.Errorf("records on the stream: got %d, %v, want 1", n, err)
			}
		})
	}
}

// TestAsynqGivesUp: asynq can lose faith in a handler, after an outage as a rule.
// The handler works on undisturbed, and Serve waits for it.
func TestAsynqGivesUp(t *testing.T) {
	t.Parallel()
	b := open(t, broker.Options{})
	q := asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s", Backoff: time.Hour, CheckInterval: 10 * time.Millisecond})
	if err := q.Enqueue(t.Context(), []jobs.Job{trial}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	started, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- q.Serve(ctx, "w", 1, func(ctx context.Context, _ jobs.Job) error {
			close(started)
			<-release
			if err := ctx.Err(); err != nil {
				t.Errorf("the handler's context: %v", err)
			}
			return nil
		})
	}()
	<-started
	in := asynq.NewInspectorFromRedisClient(b.Client())
	until(t, "asynq gives up", func() bool {
		if err := in.CancelProcessing(trial.Key()); err != nil {
			t.Fatal(err)
		}
		info, err := in.GetTaskInfo("trials-s", trial.Key())
		return err == nil && info.State == asynq.TaskStateRetry
	})
	stop()
	select {
	case err := <-ended:
		t.Errorf("Serve returned %v while the handler was at work", err)
	case <-time.After(500 * time.Millisecond):
	}
	close(release)
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestDrainSettles: what a handler finishes while Serve drains is not delivered
// again.
func TestDrainSettles(t *testing.T) {
	t.Parallel()
	b := open(t, broker.Options{})
	q := asynqjobs.New(b.Client(), asynqjobs.Options{Namespace: "s", CheckInterval: 10 * time.Millisecond})
	if err := q.Enqueue(t.Context(), []jobs.Job{trial}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- q.Serve(ctx, "w", 1, func(own context.Context, _ jobs.Job) error {
			stop()
			<-ctx.Done()
			return own.Err()
		})
	}()
	if err := <-ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
	_, err := asynq.NewInspectorFromRedisClient(b.Client()).GetTaskInfo("trials-s", trial.Key())
	if !errors.Is(err, asynq.ErrTaskNotFound) {
		t.Errorf("task after the drain: got %v, want it gone", err)
	}
}
