package cli

import (
	"context"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// A reader is what commands read of runs: in the store, or over a farm's API.
type reader interface {
	blob.Store
	Run(ctx context.Context, id string) (eval.Run, error)
	ListRuns(ctx context.Context, f store.RunFilter) ([]eval.Run, error)
	Baselines(ctx context.Context) ([]store.Baseline, error)
	Gradings(ctx context.Context, run string) ([]eval.Run, error)
	Counts(ctx context.Context, run string) (eval.VerdictCounts, error)
	Ledger(ctx context.Context, run string) (eval.Ledger, error)
	Live(ctx context.Context, run string) (eval.Live, error)
	Events(ctx context.Context, run string, after int64, limit int) ([]eval.Event, error)
	EachResult(ctx context.Context, run string, fn func(store.Row) error) error
	Result(ctx context.Context, run string, ordinal int) (store.Row, error)
	Attempts(ctx context.Context, run string, ordinal int) ([]store.Attempt, error)
	Notices(ctx context.Context, run string, limit int) ([]store.Notice, error)
}
