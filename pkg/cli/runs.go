package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) runs() *cobra.Command {
	var filter store.RunFilter
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List runs, newest first",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return c.atDesk(ctx, func(d desk) error {
				runs, err := d.ListRuns(ctx, filter)
				if err != nil {
					return err
				}
				if asJSON {
					if runs == nil {
						runs = []eval.Run{}
					}
					return c.encode(runs)
				}
				if len(runs) == 0 {
					fmt.Fprintln(c.env.Stderr, "no runs yet; start one: evalfarm run SUITE")
					return nil
				}
				w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
				for _, r := range runs {
					verdict, took := string(r.State), ""
					if r.State == eval.RunDone {
						verdict, took = string(r.Verdict), r.Finished.Sub(r.Created).Round(time.Millisecond*100).String()
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%d trials\t%s\t%s\n", verdict, r.ID, report.Line(r.Suite, 60), r.Trials, r.Created.Local().Format("2006-01-02 15:04:05"), took)
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&filter.Suite, "suite", "", "only runs of this suite")
	cmd.Flags().BoolVar(&filter.Unfinished, "unfinished", false, "only runs that are not done")
	cmd.Flags().IntVar(&filter.Limit, "limit", 20, "at most this many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}
