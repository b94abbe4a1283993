package asynqjobs_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/jobs"
	"github.com/evalfarm/evalfarm/pkg/jobs/asynqjobs"
)

// window is how many jobs wait in the queue at most, as with the scheduler.
const window = 200

// BenchmarkTrip is the way of an empty trial: enqueued, served, claimed and
// ended, by Finish as in one process or by Commit as on a farm.
func BenchmarkTrip(b *testing.B) {
	for _, redis := range []struct {
		name string
		open func(*testing.B) broker.Options
	}{
		{"embedded", func(*testing.B) broker.Options { return broker.Options{} }},
		{"redis", func(b *testing.B) broker.Options { return broker.Options{URL: redistest.Start(b).URL()} }},
	} {
		for _, end := range []string{"finish", "commit"} {
			b.Run(redis.name+"/"+end, func(b *testing.B) {
				br := open(b, redis.open(b))
				q := asynqjobs.New(br.Client(), asynqjobs.Options{Namespace: "bench"})
				ctx, cancel := context.WithCancel(b.Context())
				var all sync.WaitGroup
				room := make(chan struct{}, window)
				all.Go(func() {
					_ = q.Serve(ctx, "w", 8, func(ctx context.Context, j jobs.Job) error {
						c := jobs.Claim{Job: j, UID: j.Key(), Worker: "w"}
						if g, err := q.Claim(ctx, c); err != nil || g != jobs.Granted {
							return fmt.Errorf("claim: %s, %w", g, err)
						}
						if end == "finish" {
							if err := q.Finish(ctx, c); err != nil {
								return err
							}
							<-room
							return nil
						}
						return q.Commit(ctx, c, eval.Record{UID: c.UID, Run: j.Run, Ordinal: j.Ordinal, N: j.Attempt})
					})
				})
				if end == "commit" {
					all.Go(func() {
						_ = q.Receive(ctx, func(_ context.Context, rs []eval.Record) error {
							for range rs {
								<-room
							}
							return nil
						})
					})
				}
				b.ResetTimer()
				var js []jobs.Job
				for i := range b.N {
					room <- struct{}{}
					js = append(js, jobs.Job{Run: "r-20260101-abcdef", Ordinal: i, Attempt: 1})
					if len(js) == window/4 || i == b.N-1 {
						if err := q.Enqueue(ctx, js); err != nil {
							b.Fatal(err)
						}
						js = js[:0]
					}
				}
				for range window { // the room is empty when all have ended
					room <- struct{}{}
				}
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
				cancel()
				all.Wait()
			})
		}
	}
}

// BenchmarkUpkeep is what the queue costs while trials run: an audit of a
// window, half of it claimed, and a beat for fifty claims.
func BenchmarkUpkeep(b *testing.B) {
	for _, redis := range []struct {
		name string
		open func(*testing.B) broker.Options
	}{
		{"embedded", func(*testing.B) broker.Options { return broker.Options{} }},
		{"redis", func(b *testing.B) broker.Options { return broker.Options{URL: redistest.Start(b).URL()} }},
	} {
		q := asynqjobs.New(open(b, redis.open(b)).Client(), asynqjobs.Options{Namespace: "bench"})
		var js []jobs.Job
		var cs []jobs.Claim
		for i := range window {
			js = append(js, jobs.Job{Run: "r", Ordinal: i, Attempt: 1})
		}
		if err := q.Enqueue(b.Context(), js); err != nil {
			b.Fatal(err)
		}
		for _, j := range js[:window/2] {
			c := jobs.Claim{Job: j, UID: j.Key(), Worker: "w"}
			if _, err := q.Claim(b.Context(), c); err != nil {
				b.Fatal(err)
			}
			cs = append(cs, c)
		}
		b.Run(redis.name+"/audit", func(b *testing.B) {
			for b.Loop() {
				if _, err := q.Audit(b.Context(), "r", js); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(redis.name+"/beat", func(b *testing.B) {
			for b.Loop() {
				if _, err := q.Beat(b.Context(), "w", 50, cs[:50]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
