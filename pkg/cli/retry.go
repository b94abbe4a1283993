package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
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
			return c.withRun(cmd.Context(), args, func(s store.Store, run eval.Run) error {
				if run.Parent != "" {
					return usage("evalfarm judge "+run.Parent, "%s is a grading, which is never changed", run.ID)
				}
				if owner, held := app.Locked(c.env.Home(), run.ID); held {
					return &app.LockedError{Run: run.ID, Owner: owner}
				}
				if run.State == eval.RunFinalizing && run.Carrier == eval.CarrierService {
					return usage("", "run %s is being ended right now; try again in a moment", run.ID)
				}
				if due, err := dueForRetry(cmd.Context(), s, run, verdicts); err != nil {
					return err
				} else if due == 0 {
					fmt.Fprintf(c.env.Stderr, "nothing of %s to try again\n", run.ID)
					return c.concludeStored(cmd.Context(), &f.showing, s, run)
				}
				if run, err = c.takeUp(cmd.Context(), s, run, more, nil); err != nil {
					return err
				}
				n, err := s.Retry(cmd.Context(), run.ID, verdicts)
				if err != nil {
					return fmt.Errorf("retry run %s: %w", run.ID, err)
				}
				if run, err = s.Run(cmd.Context(), run.ID); err != nil {
					return err
				}
				fmt.Fprintf(c.env.Stderr, "%s of %s to try again\n", plural(n+run.Trials-run.Cursor, "trial"), run.ID)
				if run.Carrier == eval.CarrierService {
					return c.leave(cmd.Context(), &f.showing, watch, s, run, "goes on")
				}
				return c.carryOut(cmd.Context(), &f, s, run)
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

// dueForRetry counts the trials that a retry would run. Unfinished ones are those
// of the plan without a result.
func dueForRetry(ctx context.Context, s store.Store, run eval.Run, vs []eval.Verdict) (int, error) {
	counts, err := s.Counts(ctx, run.ID)
	if err != nil {
		return 0, err
	}
	due := 0
	for _, v := range vs {
		due += counts.Of(v)
		if v == eval.Unfinished {
			due += run.Trials - counts.Total()
		}
	}
	return due, nil
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
