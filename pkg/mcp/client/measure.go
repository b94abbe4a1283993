package client

import (
	"context"
	"errors"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// measure measures a request of an attachment, unless it was not sent because the
// session had ended before.
func (a *Attachment) measure(ctx context.Context, method, tool string, out eval.Outcome) {
	if out.Kind == eval.OutcomeFailed && out.LatencyMS == 0 {
		return
	}
	a.s.metrics.Request(ctx, a.s.spec.Name, method, tool, out)
}

// measure counts a start of a server and what came of it.
func (o *Opener) measure(ctx context.Context, spec Spec, err error) {
	outcome := "ok"
	if err != nil {
		outcome = "cancelled"
		if failed, ok := errors.AsType[*StartError](err); ok {
			outcome = string(failed.Reason)
		}
	}
	o.o.Metrics.Start(ctx, spec.Name, outcome)
}
