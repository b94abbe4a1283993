package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// Bench measures a store, which open returns empty: what the aggregator, the
// scheduler and reports ask of it.
func Bench(b *testing.B, open func(tb testing.TB) store.Store) {
	b.Run("Commit", func(b *testing.B) { benchCommit(b, open) })
	b.Run("Dispatch", func(b *testing.B) { benchDispatch(b, open) })
	b.Run("Large", func(b *testing.B) { benchLarge(b, open) })
}

// benchCommit stores results of about 1 KiB with one trajectory each, in
// batches; trials are dispatched outside of the measured time.
func benchCommit(b *testing.B, open func(tb testing.TB) store.Store) {
	for _, size := range []int{1, 10, 100, 200} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			db := open(b)
			Start(b, db, 10_000_000)
			next := 0
			for b.Loop() {
				b.StopTimer()
				Mark(b, db, next, next+size)
				rs := Records(next, next+size)
				next += size
				b.StartTimer()
				if _, err := db.Commit(context.Background(), rs); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

// benchLarge asks the questions of a scheduler and of a report of a run
// with many results.
func benchLarge(b *testing.B, open func(tb testing.TB) store.Store) {
	const trials = 50_000
	ctx := context.Background()
	db := open(b)
	Start(b, db, trials)
	for from := 0; from < trials; from += 1000 {
		Mark(b, db, from, from+1000)
		if _, err := db.Commit(ctx, Records(from, from+990)); err != nil {
			b.Fatal(err)
		}
	}
	for name, ask := range map[string]func() error{
		"Counts":      func() error { _, err := db.Counts(ctx, Load); return err },
		"Ledger":      func() error { _, err := db.Ledger(ctx, Load); return err },
		"Outstanding": func() error { _, err := db.Outstanding(ctx, Load); return err },
		"EachResult":  func() error { return db.EachResult(ctx, Load, func(store.Row) error { return nil }) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := ask(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchDispatch marks trials without holds, as a scheduler does that has no
// cap to keep.
func benchDispatch(b *testing.B, open func(tb testing.TB) store.Store) {
	for _, size := range []int{10, 1000} {
		b.Run(fmt.Sprint("marks=", size), func(b *testing.B) {
			db := open(b)
			Start(b, db, 1_000_000_000)
			next := 0
			for b.Loop() {
				Mark(b, db, next, next+size)
				next += size
			}
		})
	}
}
