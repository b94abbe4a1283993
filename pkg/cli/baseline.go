package cli

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

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
		Long: `Name runs to compare with. The rules of a gate and evalfarm compare read what such
a run came to. An agent case whose trajectory check has no expected calls is scored
against its trajectories: all its passing trials of that case, of which the most
similar one counts. last-green needs no name: it is the last complete run of all of
the suite that passed.`,
		Example: `  evalfarm baseline set main latest
  evalfarm run suites/support-desk --baseline main`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(c.baselineSet(), c.baselineList(), c.baselineShow(), c.baselineNote(), c.baselineRemove(), c.baselineExport())
	return cmd
}

func (c *command) baselineSet() *cobra.Command {
	var b store.Baseline
	cmd := &cobra.Command{
		Use:   "set NAME RUN",
		Short: "Give a done run a name",
		Long: `Give a done run a name, which another run of its suite may have had before. With
--branch, the name means this run on that branch of git alone.`,
		Args: args(2, 2, "a name and a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			b.Name = args[0]
			if !baselineName.MatchString(b.Name) {
				return usage("letters, digits, dots, dashes and underscores, at most 64", "%q is no name for a baseline", b.Name)
			}
			if b.Name == eval.LastGreen || b.Name == "latest" {
				return usage("another name", "%s names the %s run already", b.Name, strings.ReplaceAll(b.Name, "-", " "))
			}
			if err := plainText("--branch", b.Branch); err != nil {
				return err
			}
			if err := plainText("--note", b.Note); err != nil {
				return err
			}
			return c.withRun(ctx, args[1:], func(s store.Store, run eval.Run) error {
				if run.State != eval.RunDone {
					return usage("evalfarm resume "+run.ID, "run %s is %s; a baseline is a done run", run.ID, run.State)
				}
				b.Suite, b.Run = run.Suite, run.ID
				if err := s.SetBaseline(ctx, b); err != nil {
					return err
				}
				counts, err := s.Counts(ctx, run.ID)
				if err != nil {
					return err
				}
				if counts.Pass == 0 {
					fmt.Fprintf(c.env.Stderr, "warning: no trial of %s passed, so it has no trajectory to compare with\n", run.ID)
				}
				c.print("%s is the baseline %s of %s\n", run.ID, b.Name, ofBaseline(b))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&b.Branch, "branch", "", "only on this `BRANCH` of git")
	cmd.Flags().StringVar(&b.Note, "note", "", "say why in this `TEXT`")
	return cmd
}

// plainText refuses a text that no list could show or no database keep.
func plainText(flag, text string) error {
	if len(text) > 1000 || !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		return usage("", "%s wants one line of at most 1000 bytes", flag)
	}
	return nil
}

// ofBaseline says what a baseline is one of.
func ofBaseline(b store.Baseline) string {
	of := report.Line(b.Suite, 80)
	if b.Branch != "" {
		of += " on branch " + report.Line(b.Branch, 80)
	}
	return of
}

func (c *command) baselineList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the baselines of this store",
		Args:  args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withStore(cmd.Context(), func(s store.Store) error {
				bs, err := s.Baselines(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					if bs == nil {
						bs = []store.Baseline{}
					}
					return c.encode(bs)
				}
				if len(bs) == 0 {
					fmt.Fprintln(c.env.Stderr, "no baselines; name one: evalfarm baseline set main latest")
				}
				w := tabwriter.NewWriter(c.env.Stdout, 0, 0, 2, ' ', 0)
				for _, b := range bs {
					name := b.Name
					if b.Branch != "" {
						name += " on " + report.Line(b.Branch, 40)
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", report.Line(b.Suite, 60), name, b.Run, b.Made.Local().Format(time.DateTime), report.Line(b.Note, 80))
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *command) baselineShow() *cobra.Command {
	var which whichBaseline
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show what a baseline is, and what its run came to",
		Args:  args(1, 1, "a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withStore(ctx, func(s store.Store) error {
				b, err := which.find(ctx, s, args[0])
				if err != nil {
					return err
				}
				run, err := s.Run(ctx, b.Run)
				if err != nil {
					return err
				}
				arm, err := armOf(ctx, s, run)
				if err != nil {
					return err
				}
				arm.Note = b.Note
				if asJSON {
					return c.encode(arm)
				}
				c.print("%s of %s\n", b.Name, ofBaseline(b))
				c.print("  run     %s  %s  %s\n", run.ID, run.Outcome, run.Verdict)
				c.print("  named   %s\n", b.Made.Local().Format(time.DateTime))
				if g := arm.Git; g != nil {
					dirty := ""
					if g.Dirty {
						dirty = ", changed"
					}
					c.print("  commit  %.12s%s  %s\n", report.Line(g.Commit, 64), dirty, report.Line(g.Branch, 80))
				}
				if b.Note != "" {
					c.print("  note    %s\n", report.Line(b.Note, 1000))
				}
				for _, kind := range []eval.Kind{eval.KindScript, eval.KindCatalog, eval.KindAgent} {
					var counts eval.VerdictCounts
					cells := 0
					for _, cell := range arm.Cells {
						if cell.Kind != kind {
							continue
						}
						cells++
						counts = counts.Plus(cell.Counts)
					}
					if cells > 0 {
						c.print("  %-7s %s, %d of %s passed\n", kind, plural(cells, "cell"), counts.Pass, plural(counts.Total(), "trial"))
					}
				}
				return nil
			})
		},
	}
	which.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print its arm as one JSON document")
	return cmd
}

func (c *command) baselineNote() *cobra.Command {
	var which whichBaseline
	cmd := &cobra.Command{
		Use:   "note NAME TEXT",
		Short: "Say of a baseline why it is one",
		Args:  args(2, 2, "a name and a text"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := plainText("a note", args[1]); err != nil {
				return err
			}
			return c.withStore(ctx, func(s store.Store) error {
				b, err := which.find(ctx, s, args[0])
				if err != nil {
					return err
				}
				b.Note = args[1]
				return s.SetBaseline(ctx, b)
			})
		},
	}
	which.add(cmd)
	return cmd
}

func (c *command) baselineRemove() *cobra.Command {
	var which whichBaseline
	cmd := &cobra.Command{
		Use:   "rm NAME",
		Short: "Take a name away; the run stays",
		Args:  args(1, 1, "a name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withStore(ctx, func(s store.Store) error {
				b, err := which.find(ctx, s, args[0])
				if err != nil {
					return err
				}
				if err := s.DeleteBaseline(ctx, b.Suite, b.Name, b.Branch); err != nil {
					return err
				}
				c.print("%s is no longer the baseline %s of %s\n", b.Run, b.Name, ofBaseline(b))
				return nil
			})
		},
	}
	which.add(cmd)
	return cmd
}

func (c *command) baselineExport() *cobra.Command {
	return &cobra.Command{
		Use:   "export RUN [FILE]",
		Short: "Write a run as a file to compare with",
		Long: `Write what comparisons and gates need of a done run as JSON, to a file or to
standard output: to be committed, or kept as an artefact of CI. baseline: file://FILE
in a gate, run --baseline file://FILE and compare take it.`,
		Example: `  evalfarm baseline export baseline:main baselines/support-desk.json`,
		Args:    args(1, 2, "a run and a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withStore(ctx, func(s store.Store) error {
				arm, err := c.arm(ctx, s, args[0], eval.Arm{})
				if err != nil {
					return err
				}
				doc, err := eval.EncodeArm(arm)
				if err != nil {
					return err
				}
				if len(args) < 2 || args[1] == "-" {
					c.print("%s", doc)
					return nil
				}
				f, err := os.Create(c.env.abs(args[1]))
				if err != nil {
					return fmt.Errorf("export run %s: %w", arm.Run, err)
				}
				_, err = f.Write(doc)
				if err = errors.Join(err, f.Close()); err != nil {
					return fmt.Errorf("export run %s: %w", arm.Run, err)
				}
				return nil
			})
		},
	}
}
