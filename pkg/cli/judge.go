package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

func (c *command) judge() *cobra.Command {
	var f carrying
	var rubric, model, answers string
	var all bool
	var more ceiling
	cmd := &cobra.Command{
		Use:   "judge RUN",
		Short: "Judge the stored trials of a run, without running an agent",
		Long: `Judge the stored trials of a run, without running an agent: those that nobody
has judged yet, because the judge was down or refused; with --all, every one
anew; with --rubric, every agent trial by a rubric of its own, beside its
checks; with --oracle, the metrics of a condition fixture by the file of answers
whose hash the fixture has, without a judge.

Judging adds a grading. What an earlier one said is kept; the newest complete
one counts.`,
		Example: `  evalfarm judge latest
  evalfarm judge latest --all --model strict
  evalfarm judge latest --rubric rubrics/politeness.md --model strict
  evalfarm judge latest --oracle ../held-out/oracle.yaml`,
		Args: args(1, 1, "one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withRun(ctx, args, func(s store.Store, run eval.Run) error {
				if err := judgeable(c, run); err != nil {
					return err
				}
				if err := f.check(c); err != nil {
					return err
				}
				if err := f.tells(ctx, c); err != nil {
					return err
				}
				switch {
				case answers != "" && (all || rubric != "" || model != ""):
					return usage("", "--oracle goes without --all, --rubric and --model: no model judges, and every trial is scored")
				case answers != "":
					return c.askOracle(ctx, &f, s, run, answers)
				}
				if rubric == "" {
					if err := forJudges(ctx, s, run); err != nil {
						return err
					}
					counts, err := s.Counts(ctx, run.ID)
					if err != nil {
						return err
					}
					if counts.Unjudged == 0 && !all {
						fmt.Fprintf(c.env.Stderr, "nothing of %s is open; --all judges anew\n", run.ID)
						return c.concludeStored(ctx, &f.showing, here{s, c}, run)
					}
				}
				if err := c.tellInterrupted(ctx, s, run); err != nil {
					return err
				}
				how, err := c.grading(ctx, s, run, rubric, model)
				if err != nil {
					return err
				}
				if run, err = c.takeUp(ctx, s, run, more, &how); err != nil {
					return err
				}
				g, n, err := scheduler.Grade(ctx, s, run, how, all || rubric != "")
				if err != nil {
					return err
				}
				fmt.Fprintf(c.env.Stderr, "grading %s: %s to judge\n", g.ID, plural(n, "trial"))
				return c.carryOut(ctx, &f, s, g)
			})
		},
	}
	f.add(cmd)
	more.add(cmd)
	cmd.Flags().StringVar(&rubric, "rubric", "", "judge every agent trial by the rubric in this `FILE`")
	cmd.Flags().StringVar(&model, "model", "", "the `NAME` of the model of the suite that judges, instead of the ones that its checks name (of --rubric: default that of its first judge check)")
	cmd.Flags().StringVar(&answers, "oracle", "", "score by the oracle in this `FILE`, whose sha256 the run knows")
	cmd.Flags().BoolVar(&all, "all", false, "judge anew what is judged already")
	cmd.AddCommand(c.calibrate())
	return cmd
}

// tellInterrupted names the gradings of a run that were begun and not ended: to
// go on with one costs less than to begin again.
func (c *command) tellInterrupted(ctx context.Context, s store.Store, run eval.Run) error {
	gradings, err := s.Gradings(ctx, run.ID)
	for _, g := range gradings {
		if g.State != eval.RunDone {
			fmt.Fprintf(c.env.Stderr, "the grading %s was interrupted; to go on with it: evalfarm %sresume %s\n", g.ID, c.again(), g.ID)
		}
	}
	return err
}

// judgeable says why a run cannot be graded now.
func judgeable(c *command, run eval.Run) error {
	if err := scheduler.Runnable(run); err != nil {
		return err
	}
	if owner, held := app.Locked(c.env.Home(), run.ID); held {
		return &app.LockedError{Run: run.ID, Owner: owner}
	}
	if run.State != eval.RunDone {
		return usage("evalfarm resume "+run.ID, "run %s is %s; it is judged as it goes on", run.ID, run.State)
	}
	return nil
}

// forJudges refuses a run of which something is open, and nothing is for a judge:
// the new grading would have nothing in the place of what others have said.
func forJudges(ctx context.Context, s store.Store, run eval.Run) error {
	var judges, others bool
	err := s.EachResult(ctx, run.ID, func(row store.Row) error {
		for _, score := range judgements(row.Result.Scores) {
			if len(score.Votes) > 0 || score.Pending && score.Reason != eval.ReasonNoJudge && score.Reason != eval.ReasonNoBaseline {
				judges = true
			} else {
				others = true
			}
		}
		return nil
	})
	if err != nil || judges || !others {
		return err
	}
	return usage(fmt.Sprintf("evalfarm review %s --reviewer NAME, or evalfarm judge %s --oracle FILE", run.ID, run.ID),
		"no check of run %s is for a judge", run.ID)
}

// grading says how to judge.
func (c *command) grading(ctx context.Context, s store.Store, run eval.Run, rubric, model string) (eval.Grading, error) {
	how := eval.Grading{Model: model}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return how, err
	}
	names := slices.Sorted(maps.Keys(snap.Models))
	if rubric != "" {
		text, err := os.ReadFile(c.env.abs(rubric))
		if err != nil {
			return how, usage("", "--rubric: %s", err)
		}
		if how.Rubric = strings.TrimSpace(string(text)); how.Rubric == "" {
			return how, usage("", "--rubric %s: the file is empty", rubric)
		}
		if how.Model = cmp.Or(model, snap.Judge); how.Model == "" {
			return how, usage("models of the run: "+strings.Join(names, ", "), "--rubric wants --model, the model that judges")
		}
	}
	if how.Model != "" && !slices.Contains(names, how.Model) {
		hint := "models of the run: " + strings.Join(names, ", ")
		if near := strictyaml.Closest(how.Model, names); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return how, usage(hint, "run %s has no model %q", run.ID, how.Model)
	}
	return how, nil
}
