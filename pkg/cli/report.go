package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
)

func (c *command) report() *cobra.Command {
	var outputs []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "report [RUN]",
		Short: "Write the reports of a run from its stored results",
		Args:  args(0, 1, "at most one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			outs, err := parseOutputs(outputs, asJSON)
			if err != nil {
				return err
			}
			return c.withDesk(cmd.Context(), args, func(s desk, run eval.Run) error {
				summary, err := s.Summary(cmd.Context(), run)
				if err != nil {
					return err
				}
				err = c.conclude(cmd.Context(), outs, false, s, summary)
				if _, ok := errors.AsType[*codeError](err); ok {
					return nil // a report of a failed run is still a report
				}
				return err
			})
		},
	}
	cmd.Flags().StringArrayVarP(&outputs, "output", "o", nil, "`FORMAT[=PATH]` with junit, json or jsonl; PATH - is standard output")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the summary as one JSON document")
	return cmd
}

// loadSummary gives the stored summary of a done run, or makes one of a run as
// it stands.
func loadSummary(ctx context.Context, s reader, run eval.Run) (eval.Summary, error) {
	if run.State != eval.RunDone {
		return scheduler.Summarize(ctx, s, run)
	}
	var summary eval.Summary
	if err := blob.LoadJSON(ctx, s, run.Summary, &summary); err != nil {
		return eval.Summary{}, fmt.Errorf("summary of run %s: %w", run.ID, err)
	}
	return summary, nil
}
