package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func (c *command) retry() *cobra.Command {
	var f carrying
	var only []string
	var more ceiling
	var watch bool
	cmd := &cobra.Command{
		Use:   "retry RUN",
		Short: "Try again the trials of a run that gave no verdict",
		Long: `Try again the trials of a run that ended as error or unfinished.

Trials that passed or failed keep their result: running only those again would
bias the rates. To run them again, start a new run. Those that are unjudged keep
the agent's work: evalfarm judge RUN asks the judge again. --only unjudged runs
their agents again all the same.

A run that is a farm's is tried again there, and the command returns at once;
--watch follows it to its end.`,
		Args: args(1, 1, "one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			verdicts, err := retryable(only)
			if err != nil {
				return err
			}
			return c.withDesk(cmd.Context(), args, func(d desk, run eval.Run) error {
				local, ok := d.(here)
				if ok = ok && run.Carrier != eval.CarrierService; ok {
					err = f.tells(cmd.Context(), c)
				} else {
					err = f.elsewhere()
				}
				if err != nil {
					return err
				}
				due, st, err := d.Retry(cmd.Context(), run, retrying{verdicts, more})
				switch {
				case err != nil:
					return err
				case due == 0:
					fmt.Fprintf(c.env.Stderr, "nothing of %s to try again\n", run.ID)
					return c.concludeStored(cmd.Context(), &f.showing, d, run)
				}
				fmt.Fprintf(c.env.Stderr, "%s of %s to try again\n", plural(due, "trial"), run.ID)
				if !ok {
					return c.leave(cmd.Context(), &f.showing, watch, d, st, "goes on")
				}
				return c.carryOut(cmd.Context(), &f, local.Store, st.Run)
			})
		},
	}
	f.add(cmd)
	addCapabilities(cmd, &f.capabilities)
	more.add(cmd)
	addWatch(cmd, &watch)
	cmd.Flags().StringSliceVar(&only, "only", []string{"error", "unfinished"}, "which `VERDICTS` to try again")
	return cmd
}

func retryable(names []string) ([]eval.Verdict, error) {
	var vs []eval.Verdict
	for _, n := range names {
		switch v := eval.Verdict(strings.TrimSuffix(n, "s")); v {
		case eval.Error, eval.Unjudged, eval.Unfinished:
			vs = append(vs, v)
		default:
			return nil, usage("passed and failed trials keep their result", "--only %s: want error, unjudged or unfinished", n)
		}
	}
	return vs, nil
}
