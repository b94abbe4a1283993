package cli

import (
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
)

var baselineName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (c *command) baseline() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Name runs to compare with",
		Long: `Name runs to compare with. An agent case whose trajectory check has no expected
calls is scored against the trajectories of a baseline: all its passing trials
of that case, of which the most similar one counts.`,
		Example: `  evalfarm baseline set main latest
  evalfarm run suites/support-desk --baseline main`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "set NAME RUN",
		Short: "Give a done run a name",
		Args:  args(2, 2, "a name and a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !baselineName.MatchString(args[0]) {
				return usage("letters, digits, dots, dashes and underscores, at most 64", "%q is no name for a baseline", args[0])
			}
			return c.withRun(cmd.Context(), args[1:], func(s store.Store, run eval.Run) error {
				if run.State != eval.RunDone {
					return usage("evalfarm resume "+run.ID, "run %s is %s; a baseline is a done run", run.ID, run.State)
				}
				if err := s.SetBaseline(cmd.Context(), store.Baseline{Suite: run.Suite, Name: args[0], Run: run.ID}); err != nil {
					return err
				}
				counts, err := s.Counts(cmd.Context(), run.ID)
				if err != nil {
					return err
				}
				if counts.Pass == 0 {
					fmt.Fprintf(c.env.Stderr, "warning: no trial of %s passed, so it has no trajectory to compare with\n", run.ID)
				}
				c.print("%s is the baseline %s of %s\n", run.ID, args[0], report.Line(run.Suite, 80))
				return nil
			})
		},
	}, &cobra.Command{
		Use:   "list",
		Short: "List the baselines of this store",
		Args:  args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(s store.Store) error {
				bs, err := s.Baselines(cmd.Context())
				if err != nil {
					return err
				}
				if len(bs) == 0 {
					fmt.Fprintln(c.env.Stderr, "no baselines; name one: evalfarm baseline set main latest")
				}
				for _, b := range bs {
					c.print("%-24s %-16s %s  %s\n", report.Line(b.Suite, 24), b.Name, b.Run, b.Made.Local().Format(time.DateTime))
				}
				return nil
			})
		},
	})
	return cmd
}
