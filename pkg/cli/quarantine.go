package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/waiver"
)

func (c *command) quarantine() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "quarantine",
		Short: "Take flaky cases out of the gate for a while",
		Long: `Take flaky cases out of the gate until a date. They are still run, counted in
every rate and shown; they only do not decide the exit code. What is under
quarantine is frozen into a run when it is created.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(c.quarantineAdd(), c.quarantineRemove(), c.quarantineList())
	return cmd
}

func (c *command) quarantineAdd() *cobra.Command {
	var q eval.Quarantine
	var until string
	cmd := &cobra.Command{
		Use:   "add CASE --suite SUITE --until DATE --reason TEXT",
		Short: "Put a case, or one variant of it, under quarantine",
		Args:  args(1, 1, "one case"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			now := time.Now()
			q.Case, q.Made = args[0], now.UTC()
			switch {
			case q.Suite == "":
				return usage("evalfarm flaky names it", "quarantine add wants --suite")
			case q.Reason == "":
				return usage("", "quarantine add wants --reason: somebody will ask")
			case until == "":
				return usage("--until "+now.AddDate(0, 0, 14).Format(time.DateOnly), "quarantine add wants --until: a flaky case is to be mended")
			}
			var err error
			if q.Expires, err = waiver.Moment(until); err != nil {
				return usage("", "--until %s: want a date such as 2026-12-31, which begins at midnight UTC, or a time such as 2026-12-31T18:00:00Z", until)
			}
			switch {
			case !q.Expires.After(now):
				return usage("", "--until %s is past", until)
			case q.Expires.Sub(now) > longestQuarantine:
				return usage("at most "+now.Add(longestQuarantine).UTC().Format(time.DateOnly)+"; a waiver is for what takes longer", "--until %s is more than 90 days away", until)
			}
			if q.By == "" {
				q.By, _ = c.env.Lookup("USER")
			}
			return c.atStore(ctx, func(s store.Store) error {
				if err := inSuite(ctx, s, q); err != nil {
					return err
				}
				if err := s.SetQuarantine(ctx, q); err != nil {
					return err
				}
				c.print("%s of %s is under quarantine until %s\n", report.Line(eval.InVariant(q.Case, q.Variant), 80), report.Line(q.Suite, 60), q.Expires.Format(time.RFC3339))
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&q.Suite, "suite", "", "the `NAME` of the suite")
	flags.StringVar(&q.Variant, "variant", "", "only this `VARIANT` of the case, such as model=small")
	flags.StringVar(&until, "until", "", "the `DATE` from which it counts again, at most 90 days away")
	flags.StringVar(&q.Reason, "reason", "", "why, as a `TEXT`")
	flags.StringVar(&q.By, "by", "", "the `NAME` of who answers for it (default: $USER)")
	return cmd
}

// longestQuarantine is for how long at most nobody looks at a case.
const longestQuarantine = 90 * 24 * time.Hour

// inSuite refuses a case that the latest run of the suite did not have: it would be a
// typo that takes nothing out.
func inSuite(ctx context.Context, s store.Store, q eval.Quarantine) error {
	runs, err := s.ListRuns(ctx, store.RunFilter{Suite: q.Suite, Limit: 1})
	if err != nil {
		return err
	}
	if len(runs) == 0 {
		return usage("list them: evalfarm runs", "no run of a suite %q", q.Suite)
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, runs[0].Header, &snap); err != nil {
		return fmt.Errorf("snapshot of run %s: %w", runs[0].ID, err)
	}
	var cases, variants []string
	for _, cell := range snap.Plan.Cells {
		id, variant := snap.Cases[cell.Case].ID, snap.Variants[cell.Variant].ID
		if q.Covers(id, variant) {
			return nil
		}
		cases = append(cases, id)
		if id == q.Case {
			variants = append(variants, variant)
		}
	}
	what, word, known := "case", q.Case, cases
	if len(variants) > 0 {
		what, word, known = "variant", q.Variant, variants
	}
	slices.Sort(known)
	hint := ""
	if near := strictyaml.Closest(word, slices.Compact(known)); near != "" {
		hint = fmt.Sprintf("did you mean %q?", near)
	}
	return usage(hint, "the latest run of suite %s, %s, has no %s %q", q.Suite, runs[0].ID, what, word)
}

func (c *command) quarantineRemove() *cobra.Command {
	var name, variant string
	cmd := &cobra.Command{
		Use:   "rm CASE --suite SUITE",
		Short: "End a quarantine",
		Args:  args(1, 1, "one case"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.atStore(cmd.Context(), func(s store.Store) error {
				err := s.DropQuarantine(cmd.Context(), name, args[0], variant)
				if errors.Is(err, store.ErrNotFound) {
					return usage("list them: evalfarm flaky quarantine list", "%s of suite %q is under no quarantine", eval.InVariant(args[0], variant), name)
				}
				if err != nil {
					return err
				}
				c.print("%s of %s counts again\n", report.Line(eval.InVariant(args[0], variant), 80), report.Line(name, 60))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&name, "suite", "", "the `NAME` of the suite")
	cmd.Flags().StringVar(&variant, "variant", "", "the `VARIANT`, if the quarantine is of one")
	return cmd
}

func (c *command) quarantineList() *cobra.Command {
	var name string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what is under quarantine, and what was",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.atStore(cmd.Context(), func(s store.Store) error {
				qs, err := s.Quarantines(cmd.Context(), name)
				if err != nil {
					return err
				}
				if asJSON {
					if qs == nil {
						qs = []eval.Quarantine{}
					}
					return c.encode(qs)
				}
				if len(qs) == 0 {
					fmt.Fprintln(c.env.Stderr, "nothing is under quarantine")
					return nil
				}
				now := time.Now()
				w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
				for _, q := range qs {
					state := "expires in " + plural(int(q.Expires.Sub(now)/(24*time.Hour)), "day")
					if !now.Before(q.Expires) {
						state = "expired"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\tuntil %s\t%s\t%s\n", state, report.Line(q.Suite, 40), report.Line(eval.InVariant(q.Case, q.Variant), 60),
						q.Expires.Format(time.DateOnly), report.Line(q.By, 30), report.Line(q.Reason, 120))
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().StringVar(&name, "suite", "", "only those of this suite, by its `NAME`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// atStore is withStore for what the API does not have, below a command that it has.
func (c *command) atStore(ctx context.Context, fn func(store.Store) error) error {
	if c.serverURL != "" {
		return usage("run it where the store is, without --server-url and EVALFARM_SERVER_URL", "quarantines are kept in the farm's store, and its API does not show them")
	}
	return c.withStore(ctx, fn)
}
