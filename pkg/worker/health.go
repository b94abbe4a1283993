package worker

import (
	"errors"
	"fmt"
	"time"
)

// Live is nil while the worker comes round to its beats, whether or not the queue
// answers them: whose queue is away must not be killed for it, since its work goes
// on. It may be asked at any time, from any goroutine; so may Ready.
func (w *Worker) Live() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if late := time.Since(w.tried); late > max(w.opts.Place.Lease(), time.Minute) {
		return fmt.Errorf("the worker has not come to its beat for %s", late.Round(time.Second))
	}
	return nil
}

// Ready is nil while the worker takes trials.
func (w *Worker) Ready() error {
	if w.draining.Load() {
		return errors.New("the worker drains")
	}
	if w.clogged() {
		return errors.New("the spool does not take records")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.missed != nil {
		return errors.New("the queue does not answer") // the log has the reason
	}
	return nil
}
