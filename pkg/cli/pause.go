package cli

import (
	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
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
			return c.withDesk(ctx, args, func(d desk, run eval.Run) error {
				if _, err := d.Pause(ctx, run); err != nil {
					return err
				}
				c.print("%s is paused; continue: evalfarm %sresume %s\n", run.ID, c.again(), run.ID)
				return nil
			})
		},
	}
}
