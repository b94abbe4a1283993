package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/flake"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) flaky() *cobra.Command {
	var last int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "flaky [SUITE]",
		Short: "Rank the cells of a suite by how flaky they are",
		Long: `Look at the last done runs of a suite, that of the latest run if none is named,
and rank the cells that both passed and failed by how often they flipped: among
the repeats of a run, and from a run to the next. The number is a lower bound, so
that a cell which was tried more often comes before one that was merely unlucky.

A cell that flips more seldom than chance would have it has changed, and the run
since which it has is named. Runs in which the infrastructure failed are left out.
A cell whose case or checks changed has a history of its own since then.

●  passed   ○  failed   ◐  some repeats failed   !  no repeat passed or failed
·  was not run   –  under another case or other checks`,
		Example: `  evalfarm flaky support-desk --last 50
  evalfarm flaky quarantine add orders/refund --suite support-desk --until 2026-12-31 --reason "#412"`,
		Args: args(0, 1, "one suite at most"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if last < 2 {
				return usage("", "--last wants 2 runs at least")
			}
			return c.atDesk(ctx, func(d desk) error {
				var name string
				if len(args) > 0 {
					name = args[0]
				} else {
					run, err := c.resolveRun(ctx, d, "latest")
					if err != nil {
						return err
					}
					name = run.Suite
				}
				m, err := remember(ctx, d, name, last)
				if err != nil {
					return err
				}
				if asJSON {
					return c.encode(struct {
						Suite string `json:"suite"`
						flake.Memory
					}{name, m})
				}
				c.printMemory(name, m)
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&last, "last", 20, "look at so many `RUNS`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.AddCommand(c.quarantine())
	return cmd
}

// remember the last done runs of a suite.
func remember(ctx context.Context, s reader, name string, last int) (flake.Memory, error) {
	// Those that are not done yet do not count, and there are few of them.
	runs, err := s.ListRuns(ctx, store.RunFilter{Suite: name, Limit: 2*last + 20})
	if err != nil {
		return flake.Memory{}, err
	}
	runs = slices.DeleteFunc(runs, func(r eval.Run) bool { return r.State != eval.RunDone || r.Summary == "" })
	if len(runs) == 0 {
		return flake.Memory{}, usage("list them: evalfarm runs", "no done run of a suite %q", name)
	}
	var past []flake.Run
	for _, run := range slices.Backward(runs[:min(last, len(runs))]) {
		summary, err := loadSummary(ctx, s, run)
		if err != nil {
			return flake.Memory{}, err
		}
		var snap eval.Snapshot
		if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
			return flake.Memory{}, fmt.Errorf("snapshot of run %s: %w", run.ID, err)
		}
		past = append(past, flake.Of(snap, summary))
	}
	return flake.Remember(past), nil
}

func (c *command) printMemory(name string, m flake.Memory) {
	c.print("%s  %s", report.Line(name, 60), plural(len(m.Runs), "run"))
	if len(m.Runs) > 0 {
		c.print(" from %s to %s", m.Runs[0], m.Runs[len(m.Runs)-1])
	}
	if len(m.Storms) > 0 {
		c.print(", %s left out, in which the infrastructure failed", plural(len(m.Storms), "run"))
	}
	c.print("\n")
	w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
	for _, cell := range m.Cells {
		state := fmt.Sprintf("flaky ≥ %.2f", cell.Low)
		said := []string{
			fmt.Sprintf("flips %d of %d", cell.Flips, cell.Chances),
			fmt.Sprintf("failed %d of %d", cell.Failed, cell.Passed+cell.Failed),
			fmt.Sprintf("disagreement %.2f", cell.Disagreement),
		}
		if cell.Changed != "" {
			state = "changed"
			said = append([]string{fmt.Sprintf("at %s (p %.2g)", cell.Changed, cell.Few)}, said...)
		}
		if cell.MicroUSD != nil && *cell.MicroUSD > 0 {
			said = append(said, eval.USD(*cell.MicroUSD)+" of failed trials")
		}
		if cell.Since != "" {
			said = append(said, fmt.Sprintf("since %s, when its %s changed", cell.Since, strings.Join(cell.Why, " and ")))
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", state, strip(cell.History), report.Line(eval.InVariant(cell.Case, cell.Variant), 60), strings.Join(said, ", "))
	}
	_ = w.Flush() // a reader that went away is no error
	if m.Steady > 0 {
		c.print("%s always came to the same\n", plural(m.Steady, "cell"))
	}
}

// strip of a history, a character for each run.
func strip(marks []flake.Mark) string {
	var b strings.Builder
	for _, m := range marks {
		b.WriteString(map[flake.Mark]string{
			flake.Passed: "●", flake.Failed: "○", flake.Mixed: "◐", flake.Open: "!", flake.Absent: "·", flake.Before: "–",
		}[m])
	}
	return b.String()
}
