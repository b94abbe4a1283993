package worker

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/jobs"
)

// An OutdatedError ends a worker that was handed a job of a newer scheduler, which it
// cannot read.
type OutdatedError struct{ Format int }

func (e *OutdatedError) Error() string {
	return fmt.Sprintf("the farm's scheduler is newer than this worker: it dispatches jobs of format %d, and this worker reads up to %d; run the same version on both",
		e.Format, jobs.Format)
}

// outdate lets the worker drain, because of a job that it cannot read.
func (w *Worker) outdate(format int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.outdated != nil {
		return
	}
	w.outdated = &OutdatedError{format}
	close(w.old)
	w.log.Error("a job of a newer scheduler was handed back; taking no more", "format", format, "read", jobs.Format)
}
