package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) pause() *cobra.Command {
	return &cobra.Command{
		Use:   "pause RUN",
		Short: "Let a run begin nothing new until it is resumed",
		Long: `Let a run begin nothing new: trials that run come to their end, the rest waits
until evalfarm resume RUN. The run is a farm's, or one of a process that runs.`,
		Args: args(1, 1, "one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withRun(ctx, args, func(s store.Store, run eval.Run) error {
				switch {
				case run.Parent != "":
					return usage("evalfarm pause "+run.Parent, "%s is a grading; it is paused with its run", run.ID)
				case run.State == eval.RunDone:
					return usage("", "run %s is done already: %s", run.ID, run.Outcome)
				case run.Control == eval.ControlCancel:
					return usage("", "run %s is being cancelled", run.ID)
				}
				_, held := app.Locked(c.env.Home(), run.ID)
				if !held && run.Carrier != eval.CarrierService {
					return usage("evalfarm resume "+run.ID, "no process carries run %s out, so there is nothing to pause", run.ID)
				}
				if err := s.SetControl(ctx, run.ID, eval.ControlPause); err != nil {
					return fmt.Errorf("pause run %s: %w", run.ID, err)
				}
				c.print("%s is paused; continue: evalfarm resume %s\n", run.ID, run.ID)
				return nil
			})
		},
	}
}
