package asynqjobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hibiken/asynq"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

func TestContact(t *testing.T) {
	const lease = 40 * time.Second
	good := func() error { return nil }
	bad := func() error { return io.EOF }
	slow := func() error { time.Sleep(lease / 2); return nil }
	for _, c := range []struct {
		name  string
		calls func(t *testing.T, c *contact)
		want  time.Duration // from now until it is steady
	}{
		{"first contact", func(t *testing.T, c *contact) { _ = c.watch(t.Context(), good) }, lease},
		{"kept up", func(t *testing.T, c *contact) {
			for range 5 {
				_ = c.watch(t.Context(), good)
				time.Sleep(lease / 4)
			}
		}, 0},
		{"failed between", func(t *testing.T, c *contact) {
			for range 5 {
				_ = c.watch(t.Context(), good)
				time.Sleep(lease / 4)
			}
			_ = c.watch(t.Context(), bad)
			time.Sleep(time.Second)
			_ = c.watch(t.Context(), good)
		}, lease},
		{"slow answer", func(t *testing.T, c *contact) {
			for range 5 {
				_ = c.watch(t.Context(), good)
				time.Sleep(lease / 4)
			}
			_ = c.watch(t.Context(), slow)
		}, lease},
		{"long silence", func(t *testing.T, c *contact) {
			_ = c.watch(t.Context(), good)
			time.Sleep(2 * lease)
			_ = c.watch(t.Context(), good)
		}, lease},
		{"wiped", func(t *testing.T, c *contact) {
			_ = c.watch(t.Context(), good)
			c.remember("one")
			time.Sleep(lease)
			_ = c.watch(t.Context(), good)
			c.remember("two")
		}, lease},
		{"not wiped", func(t *testing.T, c *contact) {
			_ = c.watch(t.Context(), good)
			c.remember("one")
			time.Sleep(lease)
			_ = c.watch(t.Context(), good)
			c.remember("one")
		}, 0},
		{"the caller gave up", func(t *testing.T, c *contact) {
			_ = c.watch(t.Context(), good)
			time.Sleep(lease)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_ = c.watch(ctx, ctx.Err)
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := &contact{lease: lease}
				if k.steady(time.Now()) {
					t.Error("steady before any contact")
				}
				c.calls(t, k)
				if c.want > 0 {
					time.Sleep(c.want - 1)
					if k.steady(time.Now()) {
						t.Error("steady too early")
					}
					time.Sleep(1 * time.Nanosecond)
				}
				if !k.steady(time.Now()) {
					t.Error("not steady in time")
				}
			})
		})
	}
	k := &contact{lease: lease}
	if err := k.watch(t.Context(), bad); !errors.Is(err, io.EOF) {
		t.Errorf("watch: got %v, want the error passed on", err)
	}
	if k.steady(time.Now().Add(time.Hour)) {
		t.Error("steady without Redis")
	}
}

func TestAbsences(t *testing.T) {
	const lease = 10 * time.Second
	a := absences{lease: lease}
	j, start := jobs.Job{Run: "r", Attempt: 1}, time.Unix(1e9, 0)
	steps := []struct {
		name string
		at   time.Duration
		do   func(now time.Time) bool
		want bool
	}{
		{"first noticed", 0, func(now time.Time) bool { return a.missed(j, now) }, false},
		{"just before", lease - 1, func(now time.Time) bool { return a.missed(j, now) }, false},
		{"a whole lease", lease, func(now time.Time) bool { return a.missed(j, now) }, true},
		{"found", lease, func(time.Time) bool { a.found(j); return false }, false},
		{"missed anew", 2 * lease, func(now time.Time) bool { return a.missed(j, now) }, false},
		{"pruned too soon", 3 * lease, func(now time.Time) bool { a.prune("r", now); return len(a.runs["r"]) == 1 }, true},
		{"pruned", 7 * lease, func(now time.Time) bool { a.prune("r", now); return len(a.runs["r"]) == 1 }, false},
		{"noticed again", 8 * lease, func(now time.Time) bool { return a.missed(j, now) }, false},
		{"forgotten", 9 * lease, func(time.Time) bool { a.forget("r"); return len(a.runs) > 0 }, false},
	}
	for _, s := range steps {
		if got := s.do(start.Add(s.at)); got != s.want {
			t.Errorf("%s: got %t, want %t", s.name, got, s.want)
		}
	}
}

func TestDelay(t *testing.T) {
	q := New(nil, Options{Namespace: "s", Backoff: 5 * time.Second})
	for _, c := range []struct {
		name        string
		failures    int
		err         error
		least, most time.Duration
	}{
		{"first failure", 0, errHandler, 2500 * time.Millisecond, 5 * time.Second},
		{"third failure", 2, errHandler, 10 * time.Second, 20 * time.Second},
		{"last failure", 49, errHandler, 150 * time.Second, 300 * time.Second},
		{"worker died", 3, asynq.ErrLeaseExpired, time.Second, time.Second},
		{"later", 3, &jobs.LaterError{After: time.Minute}, time.Minute, time.Minute + time.Second},
		{"later, wrapped", 0, fmt.Errorf("x: %w", &jobs.LaterError{After: time.Minute}), time.Minute, time.Minute + time.Second},
		{"at once", 0, &jobs.LaterError{}, 0, time.Second},
	} {
		for range 20 {
			if got := q.delay(c.failures, c.err, nil); got < c.least || got > c.most {
				t.Errorf("%s: got %s, want %s to %s", c.name, got, c.least, c.most)
			}
		}
	}
}

func TestWholeSecond(t *testing.T) {
	base := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name string
		now  time.Time
		d    time.Duration
		want time.Time
	}{
		{"whole stays", base, 3 * time.Second, base.Add(3 * time.Second)},
		{"lengthened", base.Add(400 * time.Millisecond), 3 * time.Second, base.Add(4 * time.Second)},
		{"a hair", base.Add(1), 0, base.Add(time.Second)},
	} {
		if got := c.now.Add(wholeSecond(c.now, c.d)); !got.Equal(c.want) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// TestDeskIsFull: a delivery that finds all handlers at work, since asynq gave up
// on them and they did not, comes back later.
func TestDeskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(nil, Options{Namespace: "s", Lease: 4 * time.Second})
		release := make(chan struct{})
		d := &desk{
			q: q, log: slog.New(slog.DiscardHandler), free: make(chan struct{}, 1),
			h: func(context.Context, jobs.Job) error { <-release; return nil },
		}
		task := asynq.NewTask(taskType, []byte(`{"run":"r","ordinal":0,"attempt":1}`))
		first := make(chan error, 1)
		go func() { first <- d.ProcessTask(t.Context(), task) }()
		synctest.Wait()
		start := time.Now()
		err := d.ProcessTask(t.Context(), task)
		if later(err) == nil {
			t.Errorf("second delivery: got %v, want later", err)
		}
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("waited %s, want a quarter of the lease", waited)
		}
		close(release)
		if err := <-first; err != nil {
			t.Errorf("first delivery: %v", err)
		}
		d.busy.Wait()
	})
}

func FuzzParseClaim(f *testing.F) {
	for _, s := range []string{"", "1|u|0|w", "1|u|1700000000000|w|x", "x|u|1|w", "1|u|-5|w", "|||"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := parseClaim(s)
		if ok && strings.Count(s, "|") < 3 {
			t.Errorf("parseClaim(%q) = %+v, want a refusal", s, c)
		}
	})
}

// A job of a format that this build cannot read is the handler's to refuse, however it
// looks; what is no job at all is dropped.
func TestDeliveriesThatCannotBeRead(t *testing.T) {
	later := &jobs.LaterError{After: time.Second}
	for _, tt := range []struct {
		name, payload string
		format        int // that the handler is told; 0 if it is not
	}{
		{"a newer format", `{"format":99,"run":"r","ordinal":1,"attempt":1}`, 99},
		{"a newer format with another shape", `{"format":99,"run":{"id":"r"},"attempt":"first"}`, 99},
		{"of this format, broken", fmt.Sprintf(`{"format":%d,"run":{"id":"r"}}`, jobs.Format), 0},
		{"no JSON", `trial 1`, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			told := 0
			q := New(nil, Options{Namespace: "n"})
			d := &desk{q: q, log: q.o.Logger, free: make(chan struct{}, 1), h: func(_ context.Context, j jobs.Job) error {
				told = j.Format
				return later
			}}
			err := d.ProcessTask(t.Context(), asynq.NewTask(taskType, []byte(tt.payload)))
			if told != tt.format {
				t.Errorf("the handler was told of format %d, want %d", told, tt.format)
			}
			if want := tt.format > 0; errors.Is(err, later) != want {
				t.Errorf("got %v, want it delivered again: %t", err, want)
			}
		})
	}
}
