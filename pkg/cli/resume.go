package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) resume() *cobra.Command {
	var f carrying
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run that was stopped or killed",
		Long: `Go on with a run that was stopped or killed. Trials with a stored result are
not repeated. Resuming a finished run prints its report and returns its code.`,
		Args: args(1, 1, "one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withRun(cmd.Context(), args, func(s store.Store, run eval.Run) error {
				run, err := whole(cmd.Context(), s, run)
				if err != nil {
					return err
				}
				if run.State != eval.RunDone {
					return c.carryOut(cmd.Context(), &f, s, run)
				}
				return c.concludeStored(cmd.Context(), &f, s, run)
			})
		},
	}
	f.add(cmd)
	addCapabilities(cmd, &f.capabilities)
	return cmd
}

// whole is what there is to go on with: a grading that was interrupted, or else
// the run that it belongs to.
func whole(ctx context.Context, s store.Store, run eval.Run) (eval.Run, error) {
	if run.Parent == "" {
		return run, nil
	}
	of, err := s.Run(ctx, run.Parent)
	if err != nil || of.State != eval.RunDone || run.State == eval.RunDone {
		return of, err
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return run, err
	}
	if g := snap.Grading; g != nil && g.By != "" {
		return run, usage("start another one; what was scored before the last complete one counts", "the grading %s was %s's and cannot be gone on with", run.ID, g.By)
	}
	return run, nil
}

// concludeStored prints what a done run came to, with its code.
func (c *command) concludeStored(ctx context.Context, f *carrying, s store.Store, run eval.Run) error {
	outputs, err := parseOutputs(f.outputs, f.json)
	if err != nil {
		return err
	}
	summary, err := loadSummary(ctx, s, run)
	if err != nil {
		return err
	}
	return c.conclude(ctx, outputs, f.quiet, s, summary)
}
