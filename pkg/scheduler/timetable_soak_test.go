//go:build soak

package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// By the clock of the machine, two schedulers fire every minute once, for five
// minutes; one of them is stopped on the way, and another one comes.
func TestSoakSchedulersFireOnce(t *testing.T) {
	n := newNight(t, time.Now().UTC().Format(time.RFC3339), eval.Schedule{Cron: "* * * * *", Overlap: eval.OverlapSkip, CatchUp: eval.CatchUpOnce})
	first, err := n.store.Schedule(t.Context(), "nightly")
	if err != nil {
		t.Fatal(err)
	}
	var parts sync.WaitGroup
	start := func() (stop func()) {
		ctx, stop := context.WithCancel(t.Context())
		timetable := n.timetableBy(time.Now)
		parts.Go(func() { _ = timetable.Run(ctx) })
		return stop
	}
	one, other := start(), start()
	wait := func(firings int) {
		for {
			fs, err := n.store.Firings(t.Context(), store.FiringFilter{Schedule: "nightly"})
			if err != nil {
				t.Fatal(err)
			}
			if len(fs) >= firings {
				return
			}
			time.Sleep(time.Second)
		}
	}
	wait(2)
	one()
	wait(3)
	one = start()
	other()
	wait(5)
	one()
	parts.Wait()
	var want []string
	for i := range 5 {
		want = append(want, fmt.Sprint(first.Due.Add(time.Duration(i)*time.Minute).Format(clock), " started"))
	}
	n.expect(clock, want...)
}
