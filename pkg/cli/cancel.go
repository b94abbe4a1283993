package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) cancel() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel [RUN]",
		Short: "Cancel a run; what is finished is kept",
		Long: `Cancel a run, here or in another terminal. Finished trials keep their results,
the rest is unfinished. RUN defaults to the latest.`,
		Args: args(0, 1, "at most one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withRun(ctx, args, func(s store.Store, run eval.Run) error {
				if run.State == eval.RunDone {
					return usage("", "run %s is done already: %s", run.ID, run.Outcome)
				}
				if err := s.SetControl(ctx, run.ID, eval.ControlCancel); err != nil {
					return fmt.Errorf("cancel run %s: %w", run.ID, err)
				}
				if run.Carrier == eval.CarrierService {
					return c.leave(ctx, nil, false, s, run, "is cancelled")
				}
				if owner, held := app.Locked(c.env.Home(), run.ID); held {
					c.print("cancelling %s; process %d on %s ends it\n", run.ID, owner.PID, owner.Host)
					return nil
				}
				// Nobody carries it out, so nobody but us can end it.
				run.Control = eval.ControlCancel
				if _, err := scheduler.End(ctx, s, run, eval.OutcomeRunCancelled); err != nil {
					return fmt.Errorf("cancel run %s: %w", run.ID, err)
				}
				c.print("cancelled %s\n", run.ID)
				return nil
			})
		},
	}
}
