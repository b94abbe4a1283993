package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/evalfarm/evalfarm/pkg/store"
)

// collectEvery is the time between two looks at what is too old.
const collectEvery = 24 * time.Hour

// collect deletes what ended longer ago than it is to be kept, at once and then
// every day, until ctx ends. What fails is tried again a day later: nobody waits
// for it.
func collect(ctx context.Context, s store.Store, keep time.Duration, log *slog.Logger) error {
	tick := time.NewTicker(collectEvery)
	defer tick.Stop()
	for {
		got, err := s.Collect(ctx, time.Now().Add(-keep), false)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			log.ErrorContext(ctx, "collect old runs", "keep", keep, "error", err)
		default:
			log.InfoContext(ctx, "collected old runs", "keep", keep, "runs", got.Runs, "blobs", got.Blobs, "bytes", got.Bytes)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
