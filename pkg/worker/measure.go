package worker

import (
	"context"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// measure measures an attempt that has a record, and how long commit takes.
func (w *Worker) measure(ctx context.Context, at *place, r eval.Record, commit func() error) error {
	m, lane := w.opts.Metrics, w.opts.Lane
	seen := telemetry.Exemplary(ctx, r)
	m.QueueWait(seen, lane, ms(r.Result.Times.QueueMS))
	m.Took(seen, at.kind(), ms(r.Result.Times.TotalMS))
	began := time.Now()
	err := commit()
	if err == nil {
		m.Committed(seen, lane, time.Since(began))
	}
	return err
}

// kind of attempt: that of its case, or judge.
func (at *place) kind() string {
	switch {
	case at.p == nil:
		return "unknown" // it panicked before
	case at.p.snap.Grading != nil:
		return "judge"
	default:
		return string(at.c.Kind)
	}
}

func ms(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
