package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
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
			return c.withDesk(cmd.Context(), args, func(d desk, run eval.Run) error {
				st, err := d.Resume(cmd.Context(), run)
				if err != nil {
					return err
				}
				paused := run.Control == eval.ControlPause
				local, ok := d.(here)
				switch {
				case st.State == eval.RunDone:
					return c.concludeStored(cmd.Context(), &f.showing, d, st.Run)
				case st.Carrier == eval.CarrierService:
					if err := f.elsewhere(); err != nil {
						return err
					}
					return c.leave(cmd.Context(), &f.showing, watch, d, st, "goes on")
				case paused && st.Owner != nil:
					c.print("%s goes on\n", st.ID)
					return nil
				case !ok:
					return usage("", "run %s is carried out by a process, and not by the farm", st.ID)
				}
				if err := f.tells(cmd.Context(), c); err != nil {
					return err
				}
				if run, err = c.takeUp(cmd.Context(), local.Store, st.Run, ceiling{}, nil); err != nil {
					return err
				}
				return c.carryOut(cmd.Context(), &f, local.Store, run)
			})
		},
	}
	f.add(cmd)
	addWatch(cmd, &watch)
	addCapabilities(cmd, &f.capabilities)
	return cmd
}

// concludeStored prints what a done run came to, with its code.
func (c *command) concludeStored(ctx context.Context, f *showing, d desk, run eval.Run) error {
	outputs, err := parseOutputs(f.outputs, f.json)
	if err != nil {
		return err
	}
	summary, err := d.Summary(ctx, run)
	if err != nil {
		return err
	}
	return c.conclude(ctx, outputs, f.quiet, d, summary)
}
