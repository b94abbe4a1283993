package scheduler

import (
	"context"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// A QuarantineSource is where quarantines are found.
type QuarantineSource interface {
	Quarantines(ctx context.Context, suite string) ([]eval.Quarantine, error)
}

// Quarantine gives a request the quarantines of its suite as they are now. Expired
// ones are among them, so that the run can say that they do nothing.
func Quarantine(ctx context.Context, s QuarantineSource, req *Request) (err error) {
	req.Quarantines, err = s.Quarantines(ctx, req.Suite.Suite.Name)
	return err
}
