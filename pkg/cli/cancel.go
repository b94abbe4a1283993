package cli

import (
	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
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
			return c.withDesk(ctx, args, func(d desk, run eval.Run) error {
				st, err := d.Cancel(ctx, run)
				switch {
				case err != nil:
					return err
				case st.Carrier == eval.CarrierService:
					return c.leave(ctx, nil, false, d, st, "is cancelled")
				case st.Owner != nil:
					c.print("cancelling %s; process %d on %s ends it\n", st.ID, st.Owner.PID, st.Owner.Host)
				default:
					c.print("cancelled %s\n", st.ID)
				}
				return nil
			})
		},
	}
}
