package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/spool"
	"github.com/evalfarm/evalfarm/pkg/worker"
)

// moody is a queue that answers beats, refuses them or hangs.
type moody struct {
	*place
	mood atomic.Int32
}

const (
	answers int32 = iota
	refuses
	hangs
)

func (m *moody) Beat(ctx context.Context, id string, slots int, cs []jobs.Claim) ([]jobs.Word, error) {
	switch m.mood.Load() {
	case refuses:
		return nil, errors.New("the queue is away")
	case hangs:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return m.place.Beat(ctx, id, slots, cs)
}

// A fullDisk is a spool without records that holds one in memory while it is full.
type fullDisk struct {
	*spool.Spool
	full atomic.Bool
}

func (d *fullDisk) Kept() []eval.Record { return nil }

func (d *fullDisk) Held() int {
	if d.full.Load() {
		return 1
	}
	return 0
}

func (d *fullDisk) Flush() error { return errDiskFull }

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moody{place: &place{}}
		disk := &fullDisk{}
		w := worker.New(worker.Options{ID: "w", Slots: 1, Place: m, Spool: disk, Beat: time.Second, Grace: time.Minute})
		check := func(when, live, ready string) {
			t.Helper()
			synctest.Wait()
			for _, probe := range []struct {
				name string
				err  error
				want string
			}{{"live", w.Live(), live}, {"ready", w.Ready(), ready}} {
				if (probe.err == nil) != (probe.want == "") || probe.err != nil && !strings.Contains(probe.err.Error(), probe.want) {
					t.Errorf("%s: %s: got %v, want %q", when, probe.name, probe.err, probe.want)
				}
			}
		}
		check("before it runs", "", "the queue does not answer")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx) }()
		check("it beats", "", "")

		m.mood.Store(refuses)
		time.Sleep(10 * time.Minute)
		check("the queue is away", "", "the queue does not answer")
		m.mood.Store(answers)
		time.Sleep(time.Second)
		check("the queue is back", "", "")

		disk.full.Store(true)
		check("the disk is full", "", "the spool does not take records")
		disk.full.Store(false)

		m.mood.Store(hangs)
		time.Sleep(30 * time.Second)
		check("a beat hangs", "", "")
		time.Sleep(time.Minute)
		check("a beat hangs for long", "not come to its beat for 1m", "")

		stop()
		check("it was told to stop", "", "drains")
		if err := <-ended; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}
