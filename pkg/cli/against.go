package cli

import (
	"context"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
)

// attach finds what a requested run is compared with: the arms of the gate's baseline,
// the trajectories of those of checks, and what people said of the judge. name is the baseline that was asked for,
// which must be there; empty leaves it to the suite. Without files, none may be in one.
func (c *command) attach(ctx context.Context, s scheduler.BaselineSource, req *scheduler.Request, name string, files bool) error {
	if path, ok := eval.BaselineFile(name); ok {
		name = "file://" + c.env.abs(path) // from here, and not from the suite's folder
	}
	if err := scheduler.Against(ctx, s, req, name, files); err != nil {
		return err
	}
	if base := req.Baseline; name != "" && base.Missing != "" {
		return usage("evalfarm baseline list", "--baseline %s: %s", report.Line(name, 200), report.Line(base.Missing, 300))
	}
	if err := scheduler.Agree(ctx, s, req); err != nil {
		return err
	}
	branch := ""
	if req.Git != nil {
		branch = req.Git.Branch
	}
	return scheduler.Attach(ctx, scheduler.OnAccount(s, req.Tenant), &req.Suite.Suite, branch, name)
}
