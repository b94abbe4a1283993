package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) resume() *cobra.Command {
	var f carrying
	var watch bool
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run that was stopped or killed",
		Long: `Go on with a run that was stopped or killed. Trials with a stored result are
not repeated. Resuming a finished run prints its report and returns its code.

A run that is paused goes on. One that is a farm's goes on there, and the command
returns at once; --watch follows it to its end.`,
		Args: args(1, 1, "one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withRun(cmd.Context(), args, func(s store.Store, run eval.Run) error {
				run, err := whole(cmd.Context(), s, run)
				if err != nil {
					return err
				}
				if run.State == eval.RunDone {
					return c.concludeStored(cmd.Context(), &f.showing, s, run)
				}
				paused := run.Control == eval.ControlPause
				if paused {
					if err := s.SetControl(cmd.Context(), run.ID, eval.ControlRun); err != nil {
						return fmt.Errorf("resume run %s: %w", run.ID, err)
					}
				}
				_, held := app.Locked(c.env.Home(), run.ID)
				switch {
				case run.Carrier == eval.CarrierService:
					return c.leave(cmd.Context(), &f.showing, watch, s, run, "goes on")
				case paused && held:
					c.print("%s goes on\n", run.ID)
					return nil
				}
				if run, err = c.takeUp(cmd.Context(), s, run, ceiling{}, nil); err != nil {
					return err
				}
				return c.carryOut(cmd.Context(), &f, s, run)
			})
		},
	}
	f.add(cmd)
	addWatch(cmd, &watch)
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
func (c *command) concludeStored(ctx context.Context, f *showing, s store.Store, run eval.Run) error {
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
