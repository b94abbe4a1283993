package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) gc() *cobra.Command {
	var keep string
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Delete old runs and what nothing refers to",
		Long: `Delete the runs that ended longer ago than --keep, or than retention.runs of the
farm file says, and the blobs that nothing refers to any more. What is in use stays:
baselines, runs that one which is not done compares with, the last green run of each
suite, and that of each branch on which the suite was run in the 90 days before.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			age, err := parseAge("--keep", keep)
			if err != nil {
				return err
			}
			return c.withStore(cmd.Context(), func(s store.Store) error {
				got, err := s.Collect(cmd.Context(), time.Now().Add(-age), dryRun)
				if err != nil {
					return fmt.Errorf("collect: %w", err)
				}
				verb := "deleted"
				if dryRun {
					verb = "would delete"
				}
				c.print("%s %s and %s, %d bytes\n", verb, plural(got.Runs, "run"), plural(got.Blobs, "blob"), got.Bytes)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "30d", "keep runs that ended less than this `AGE` ago, as in 30d or 12h")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only say what would be deleted")
	return cmd
}

// retention is how long the operator wants done runs to be kept; 0 is for ever.
func (c *command) retention() (time.Duration, error) {
	age, err := parsed[farmfile.Age](c, "retention.runs")
	return time.Duration(age), err
}

// parseAge reads a flag with a duration that may also be given in days.
func parseAge(flag, s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 100_000 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, usage("", "%s %s: want a time such as 30d or 12h", flag, s)
	}
	return d, nil
}
