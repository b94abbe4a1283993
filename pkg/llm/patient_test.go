package llm_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/llm"
)

// moody fails with its errors, one a call, and then answers. A call takes what
// it costs on the clock.
type moody struct {
	fails []error
	cost  time.Duration
	clock *clock
	calls int
}

func (m *moody) Generate(context.Context, llm.Request) (llm.Response, error) {
	m.clock.now = m.clock.now.Add(m.cost)
	m.calls++
	if m.calls <= len(m.fails) {
		return llm.Response{}, m.fails[m.calls-1]
	}
	return llm.Response{ID: "r", Tries: 1}, nil
}

// A clock goes only when somebody sleeps.
type clock struct {
	now    time.Time
	sleeps []time.Duration
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	c.sleeps = append(c.sleeps, d)
	return ctx.Err()
}

func (c *clock) options(random float64) llm.PatientOptions {
	return llm.PatientOptions{
		Sleep: c.sleep,
		Now:   func() time.Time { return c.now },
		Rand:  func() float64 { return random },
	}
}

func times(n int, err error) []error {
	out := make([]error, n)
	for i := range out {
		out[i] = err
	}
	return out
}

func TestPatient(t *testing.T) {
	seconds := func(n ...float64) []time.Duration {
		out := make([]time.Duration, len(n))
		for i, f := range n {
			out[i] = time.Duration(f * float64(time.Second))
		}
		return out
	}
	wants := &llm.Error{Kind: llm.RateLimit, Wait: 5 * time.Second, WaitFrom: "retry-after"}
	busy := &llm.Error{Kind: llm.Overloaded}
	gone := &llm.Error{Kind: llm.Network}
	broke := &llm.Error{Kind: llm.Quota, Wait: time.Second}
	alien := errors.New("alien")
	for _, row := range []struct {
		name   string
		fails  []error
		random float64
		sleeps []time.Duration
		err    error
		calls  int
		waited float64
	}{
		{"answers at once", nil, 0.5, nil, nil, 1, 0},
		{"the provider's wait is the least", times(1, wants), 0, seconds(5), nil, 2, 5000},
		{"jitter on top, and more each time", times(3, wants), 0.5, seconds(5.5, 6, 7), nil, 4, 18500},
		{"backoff without a word", times(8, busy), 0.5, seconds(.5, 1, 2, 4, 8, 16, 30, 30), nil, 9, 91500},
		{"lost three times", times(3, gone), 0.5, seconds(.5, 1, 2), nil, 4, 3500},
		{"lost four times", times(4, gone), 0.5, seconds(.5, 1, 2), gone, 4, 0},
		{"busy does not count as lost", append(times(3, gone), busy, busy), 0.5, seconds(.5, 1, 2, 4, 8), nil, 6, 15500},
		{"a wait too long", times(1, &llm.Error{Kind: llm.RateLimit, Wait: 16 * time.Minute}), 0, nil, &llm.Error{}, 1, 0},
		{"waits too long in sum", times(4, &llm.Error{Kind: llm.RateLimit, Wait: 5 * time.Minute}), 0, seconds(300, 300, 300), &llm.Error{}, 4, 0},
		{"no wait helps", times(1, broke), 0.5, nil, broke, 1, 0},
		{"no error of a model", times(1, alien), 0.5, nil, alien, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &clock{now: noon()}
			m := &moody{fails: row.fails, clock: c}
			res, err := llm.Patient(m, c.options(row.random)).Generate(t.Context(), llm.Request{})
			if (err == nil) != (row.err == nil) || err != nil && !errors.Is(err, row.fails[row.calls-1]) {
				t.Fatalf("err = %v, want that of call %d", err, row.calls)
			}
			if diff := cmp.Diff(row.sleeps, c.sleeps); diff != "" {
				t.Errorf("sleeps (-want +got):\n%s", diff)
			}
			if m.calls != row.calls {
				t.Errorf("%d calls, want %d", m.calls, row.calls)
			}
			if err == nil && (res.Tries != row.calls || res.WaitedMS != row.waited || res.ID != "r") {
				t.Errorf("tries %d, waited %v ms, ID %q; want %d, %v, r", res.Tries, res.WaitedMS, res.ID, row.calls, row.waited)
			}
		})
	}
}

func TestPatientCountsFailedCallsAsWaiting(t *testing.T) {
	c := &clock{now: noon()}
	m := &moody{fails: times(2, &llm.Error{Kind: llm.Overloaded, Wait: time.Second}), cost: 100 * time.Millisecond, clock: c}
	res, err := llm.Patient(m, c.options(0)).Generate(t.Context(), llm.Request{})
	if err != nil || res.WaitedMS != 2200 {
		t.Errorf("waited %v ms, err %v; want 2200: two calls that failed and two waits, not the call that succeeded", res.WaitedMS, err)
	}
}

func TestPatientAndTheContext(t *testing.T) {
	busy := &llm.Error{Kind: llm.RateLimit, Wait: time.Minute}
	t.Run("a wait beyond the deadline is not begun", func(t *testing.T) {
		c := &clock{now: noon()}
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(24*time.Hour))
		defer cancel()
		deadline, _ := ctx.Deadline()
		c.now = deadline.Add(-30 * time.Second)
		_, err := llm.Patient(&moody{fails: times(1, busy), clock: c}, c.options(0)).Generate(ctx, llm.Request{})
		if !errors.Is(err, busy) || len(c.sleeps) != 0 {
			t.Errorf("err %v after sleeps %v; want the model's error and none", err, c.sleeps)
		}
	})
	t.Run("a wait ends with the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := llm.Patient(modelFunc(func() error { cancel(); return busy }), llm.PatientOptions{})
		if _, err := m.Generate(ctx, llm.Request{}); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v, want that of the context", err)
		}
	})
}

type modelFunc func() error

func (f modelFunc) Generate(context.Context, llm.Request) (llm.Response, error) {
	return llm.Response{}, f()
}
