package scheduler

import (
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// Preview freezes a suite into a run as Create does, and stores nothing. The cases
// of the snapshot are those of the suite, in their order.
func Preview(req Request) (eval.Run, eval.Snapshot, error) {
	run, snap, _, err := freeze(req, time.Now())
	return run, snap, err
}
