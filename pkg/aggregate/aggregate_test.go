package aggregate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry/telemetrytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a Committer that keeps what it is given. It takes a while, and
// fails while fail is set.
type memory struct {
	takes time.Duration

	mu      sync.Mutex // guards what is below
	batches [][]string // UIDs, a slice for each commit
	durable map[string]bool
	fail    error
}

func (m *memory) Commit(ctx context.Context, rs []eval.Record) ([]store.Stored, error) {
	<-time.After(m.takes) // in the bubble's time
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if m.fail != nil {
		return nil, m.fail
	}
	var uids []string
	var stored []store.Stored
	for _, r := range rs {
		uids = append(uids, r.UID)
		if m.durable == nil {
			m.durable = map[string]bool{}
		}
		known := m.durable[r.UID]
		m.durable[r.UID] = true
		if known {
			stored = append(stored, store.Stored{UID: r.UID, Run: r.Run, Ordinal: r.Ordinal, Outcome: r.Outcome})
			continue
		}
		stored = append(stored, store.Stored{UID: r.UID, Run: r.Run, Ordinal: r.Ordinal, Outcome: r.Outcome, Final: true, New: true})
	}
	m.batches = append(m.batches, uids)
	return stored, nil
}

func (m *memory) has(uid string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.durable[uid]
}

func record(i int) eval.Record {
	return eval.Record{UID: fmt.Sprintf("u%04d", i), Run: "r", Ordinal: i}
}

// start runs an aggregator until stop is called, which waits for its end.
func start(t *testing.T, a *Aggregator) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run: got %v, want nil", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

func TestPutReturnsWhenDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{takes: 5 * time.Millisecond}
		a := New(m, Options{})
		start(t, a)
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				if err := a.Put(t.Context(), record(i)); err != nil {
					t.Errorf("put %d: %v", i, err)
				}
				if !m.has(record(i).UID) {
					t.Errorf("record %d is not stored after Put returned", i)
				}
			})
		}
		wg.Wait()
	})
}

func TestPutsAreStoredInGroups(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		takes   time.Duration
		want    []int // sizes of the batches
	}{
		// The first commit takes what is there; the others gather meanwhile.
		{"a slow store", Options{}, 5 * time.Millisecond, []int{1, 10}},
		{"small batches", Options{Batch: 4}, 5 * time.Millisecond, []int{1, 4, 4, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &memory{takes: tt.takes}
				a := New(m, tt.options)
				start(t, a)
				var wg sync.WaitGroup
				wg.Go(func() { _ = a.Put(t.Context(), record(0)) })
				synctest.Wait()
				for i := 1; i <= 10; i++ {
					wg.Go(func() { _ = a.Put(t.Context(), record(i)) })
				}
				wg.Wait()
				var got []int
				for _, b := range m.batches {
					got = append(got, len(b))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("sizes of batches (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestBatchWaitsForCompany puts a second record while a batch gathers.
func TestBatchWaitsForCompany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{takes: 10 * time.Millisecond}
		a := New(m, Options{Window: 8 * time.Millisecond})
		start(t, a)
		if err := a.Put(t.Context(), record(0)); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { _ = a.Put(t.Context(), record(1)) })
		<-time.After(7 * time.Millisecond)
		wg.Go(func() { _ = a.Put(t.Context(), record(2)) })
		<-time.After(2 * time.Millisecond)
		wg.Go(func() { _ = a.Put(t.Context(), record(3)) })
		wg.Wait()
		want := [][]string{{"u0000"}, {"u0001", "u0002"}, {"u0003"}}
		if diff := cmp.Diff(want, m.batches); diff != "" {
			t.Errorf("batches (-want +got):\n%s", diff)
		}
	})
}

func TestStoreErrorReachesEveryWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		m := &memory{takes: 5 * time.Millisecond, fail: full}
		observed := 0
		a := New(m, Options{Observe: func(store.Stored) { observed++ }})
		start(t, a)
		errs := make([]error, 9)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = a.Put(t.Context(), record(i)) })
		}
		wg.Wait()
		for i, err := range errs {
			if !errors.Is(err, full) {
				t.Errorf("put %d: got error %v, want %v", i, err, full)
			}
		}
		if observed != 0 {
			t.Errorf("observed %d records of failed commits, want 0", observed)
		}
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		if err := a.Put(t.Context(), record(0)); err != nil {
			t.Errorf("put after the store recovered: %v", err)
		}
	})
}

func TestRunGivesUpOnAStoreThatRefusesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		m := &memory{takes: time.Millisecond}
		a := New(m, Options{})
		ended := make(chan error, 1)
		go func() { ended <- a.Run(t.Context()) }()
		if err := a.Put(t.Context(), record(0)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // nothing to store is no failure
		m.mu.Lock()
		m.fail = full
		m.mu.Unlock()
		tries := 0
		for ; !errors.Is(a.Put(t.Context(), record(1)), ErrStopped); tries++ {
			time.Sleep(time.Second)
		}
		if err := <-ended; !errors.Is(err, full) {
			t.Errorf("Run: got %v, want %v", err, full)
		}
		if tries < 10 {
			t.Errorf("it gave up after %d tries, want it to be patient", tries)
		}
	})
}

func TestObserveSeesEveryRecordOnceAfterItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{takes: time.Millisecond}
		seen := map[string]int{}
		a := New(m, Options{Batch: 7, Observe: func(s store.Stored) {
			seen[s.UID]++
			if !m.has(s.UID) {
				t.Errorf("%s was observed before it was durable", s.UID)
			}
		}})
		stop := start(t, a)
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() { _ = a.Put(t.Context(), record(2*i), record(2*i+1)) })
		}
		wg.Wait()
		stop()
		for i := range 80 {
			if got := seen[record(i).UID]; got != 1 {
				t.Errorf("record %d was observed %d times, want 1", i, got)
			}
		}
	})
}

// TestStopLosesNothing stops in the middle of many puts. Whatever Put says must
// be true.
func TestStopLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &memory{takes: 3 * time.Millisecond}
		a := New(m, Options{Batch: 5})
		stop := start(t, a)
		const n = 60
		errs := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				<-time.After(time.Duration(i) * time.Millisecond / 4)
				errs[i] = a.Put(context.Background(), record(i))
			})
		}
		<-time.After(8 * time.Millisecond)
		stop()
		wg.Wait()
		stored, refused := 0, 0
		for i, err := range errs {
			switch {
			case err == nil:
				stored++
			case errors.Is(err, ErrStopped):
				refused++
			default:
				t.Errorf("put %d: got error %v, want nil or ErrStopped", i, err)
			}
			if (err == nil) != m.has(record(i).UID) {
				t.Errorf("put %d returned %v, stored is %t", i, err, m.has(record(i).UID))
			}
		}
		if stored == 0 || refused == 0 {
			t.Errorf("%d stored and %d refused: the test must see both", stored, refused)
		}
	})
}

func TestPutGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := New(&memory{}, Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		// Nobody runs the aggregator.
		if err := a.Put(ctx, record(0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v, want %v", err, context.DeadlineExceeded)
		}
	})
}

func BenchmarkPut(b *testing.B) {
	a := New(&memory{}, Options{})
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := a.Put(ctx, record(1)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	cancel()
	<-ended
}

func TestRecordsAreMeasuredOnce(t *testing.T) {
	metrics, meter := telemetrytest.NewMeter(t)
	synctest.Test(t, func(t *testing.T) {
		a := New(&memory{}, Options{Metrics: metrics})
		stop := start(t, a)
		done, lost := record(1), record(2)
		done.Outcome, done.Ended = eval.AttemptDone, time.Now().Add(-3*time.Second)
		lost.Outcome = eval.AttemptLost
		for _, rs := range [][]eval.Record{{done, done}, {done}, {lost}} {
			if err := a.Put(t.Context(), rs...); err != nil {
				t.Fatal(err)
			}
		}
		stop()
	})
	if got, want := meter.Series("evalfarm.attempts"), (map[string]float64{"lane=trials,outcome=done": 1, "lane=trials,outcome=lost": 1}); !maps.Equal(got, want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
	if got := meter.Total("evalfarm.store.lag"); got != 3 {
		t.Errorf("a lag of %v s in all, want 3: nobody knows when the lost one ended", got)
	}
}
