package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) review() *cobra.Command {
	var reviewer string
	var all bool
	cmd := &cobra.Command{
		Use:   "review RUN",
		Short: "Score by hand what no check and no judge has decided",
		Long: `Score by hand the checks of agent trials that nobody has decided: criteria in
words, metrics for reviewers, and those of a judge that has not spoken. With
--all, also what a judge has decided.

You see what the agent did and the rubrics, but not which variant it was, nor
what it took: tokens, times and counts are shown once you have scored the trial.
The answers are kept as a grading of the run, which counts from the end of the
review. Quit with q at any time; what you have not scored stays open.`,
		Args: args(1, 1, "one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withRun(ctx, args, func(s store.Store, run eval.Run) error {
				if err := judgeable(c, run); err != nil {
					return err
				}
				if reviewer == "" {
					return usage("evalfarm review RUN --reviewer NAME", "a review is signed: --reviewer says by whom")
				}
				r := reviewing{c: c, store: s, run: run, by: reviewer, in: bufio.NewReader(c.env.Stdin)}
				return r.do(ctx, all)
			})
		},
	}
	cmd.Flags().StringVar(&reviewer, "reviewer", "", "`NAME` of who scores")
	cmd.Flags().BoolVar(&all, "all", false, "also score anew what a judge has decided")
	return cmd
}

// errQuit ends a review early.
var errQuit = errors.New("the reviewer has stopped")

// reviewing is a review under way.
type reviewing struct {
	c       *command
	store   store.Store
	run     eval.Run
	by      string
	in      *bufio.Reader
	grading eval.Run
	scored  int
}

// do goes through the trials that are open and finishes the grading.
func (r *reviewing) do(ctx context.Context, all bool) error {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, r.store, r.run.Header, &snap); err != nil {
		return err
	}
	var err error
	var n int
	r.grading, n, err = scheduler.Grade(ctx, r.store, r.run, eval.Grading{By: r.by}, all)
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintf(r.c.env.Stderr, "nothing of %s is open\n", r.run.ID)
	} else {
		fmt.Fprintf(r.c.env.Stderr, "%s to review. y: holds, n: does not, 0 to 1: in between, s: skip, q: quit\n", plural(n, "trial"))
	}
	due, err := r.store.Outstanding(ctx, r.grading.ID)
	if err != nil {
		return err
	}
	order := eval.NewOrder(snap.Plan)
	for i, d := range due {
		cell, repeat, err := order.At(d.Ordinal)
		if err != nil {
			return err
		}
		at := snap.Plan.Cells[cell]
		err = r.trial(ctx, fmt.Sprintf("%d of %d", i+1, n), snap, at, repeat, d)
		if errors.Is(err, errQuit) {
			break
		}
		if err != nil {
			return err
		}
	}
	return r.finish(ctx)
}

// trial shows one trial, asks for its open checks and stores the answers.
func (r *reviewing) trial(ctx context.Context, where string, snap eval.Snapshot, at eval.Cell, repeat int, d store.Trial) error {
	ref, v := snap.Cases[at.Case], snap.Variants[at.Variant]
	var kase eval.Case
	if err := blob.LoadJSON(ctx, r.store, ref.Blob, &kase); err != nil {
		return err
	}
	row, err := here{r.store, r.c}.Result(ctx, r.run.ID, d.Ordinal)
	if err != nil {
		return err
	}
	var tr eval.Trajectory
	if err := blob.LoadJSON(ctx, r.store, d.Subject, &tr); err != nil {
		return err
	}
	r.c.print("\n")
	t := report.Trial{Trial: eval.Trial{Run: r.run.ID, Ordinal: d.Ordinal, Case: ref, Variant: v, Repeat: repeat}, Row: &row, Trajectory: &tr}
	if err := report.Blind(r.c.env.Stdout, t, where, r.c.page()); err != nil {
		return err
	}
	scores, err := r.ask(row.Result.Scores, criteria(kase, snap.Axes, v))
	answered := slices.ContainsFunc(scores, func(s eval.Score) bool { return s.Message == eval.ScoredBy+r.by }) // else all was skipped
	if err != nil && (!errors.Is(err, errQuit) || !answered) {
		return err
	}
	if err := r.keep(ctx, d, scores); err != nil {
		return err
	}
	if answered {
		r.scored++
	}
	if err != nil {
		return err // what was answered before is kept
	}
	if !answered {
		return nil // it is open still, and may be scored later
	}
	return report.Unblind(r.c.env.Stdout, t, r.c.page())
}

// ask goes through the checks that a person may decide, and says what each wants.
// When the reviewer stops, it returns what was answered before.
func (r *reviewing) ask(scores []eval.Score, wanted map[string]criterion) ([]eval.Score, error) {
	var out []eval.Score
	for _, s := range scores {
		if len(s.Votes) == 0 && strings.HasPrefix(s.Message, eval.ScoredBy) { // by a person or an oracle: it stands
			out = append(out, s)
			continue
		}
		if len(s.Parts) > 0 {
			parts, err := r.ask(s.Parts, wanted)
			out = append(out, parts...)
			if err != nil {
				return out, err
			}
			continue
		}
		if !s.Pending && len(s.Votes) == 0 {
			continue
		}
		if words := wanted[s.Check].words; words != "" && words != s.Title && words != s.Check {
			lines, _ := report.Lines(words, 0, 100)
			r.c.print("  %s\n", strings.Join(lines, "\n  "))
		}
		answer, err := r.answer(s, cmp.Or(wanted[s.Check].least, 0.5))
		if err != nil {
			return out, err
		}
		out = append(out, answer)
	}
	return out, nil
}

// answer reads one score, which holds from a least value on.
func (r *reviewing) answer(s eval.Score, least float64) (eval.Score, error) {
	question := s.Check
	if s.Title != "" {
		question += " (" + s.Title + ")"
	}
	for {
		r.c.print("  %s? [y/n/0..1/s/q] ", report.Line(question, 200))
		line, err := r.in.ReadString('\n')
		if err != nil && (err != io.EOF || line == "") {
			return s, errQuit
		}
		said := eval.Score{Check: s.Check, Title: s.Title, Message: eval.ScoredBy + r.by, Votes: s.Votes}
		switch word := strings.TrimSpace(strings.ToLower(line)); word {
		case "y", "yes":
			said.Pass, said.Value = true, 1
		case "n", "no":
			said.Reason = eval.ReasonJudgedBad
		case "s", "skip":
			return s, nil
		case "q", "quit":
			return s, errQuit
		default:
			v, err := strconv.ParseFloat(word, 64)
			if err != nil || !(v >= 0 && v <= 1) {
				r.c.print("  y, n, a number from 0 to 1, s or q\n")
				continue
			}
			said.Value, said.Pass = v, v >= least
			if !said.Pass {
				said.Reason = eval.ReasonJudgedBad
			}
		}
		return said, nil
	}
}

// keep stores what the reviewer said of one trial.
func (r *reviewing) keep(ctx context.Context, d store.Trial, scores []eval.Score) error {
	return keep(ctx, r.store, r.grading.ID, said(r.grading.ID, "reviewer "+r.by, d, scores))
}

// finish makes the grading count. Trials that were not scored keep what they had.
func (r *reviewing) finish(ctx context.Context) error {
	for {
		due, err := r.store.Outstanding(ctx, r.grading.ID) // a few thousand at a time
		if err != nil {
			return err
		}
		if len(due) == 0 {
			break
		}
		for _, d := range due {
			row, err := r.store.Result(ctx, r.run.ID, d.Ordinal)
			if err != nil {
				return err
			}
			if err := r.keep(ctx, d, judgements(row.Result.Scores)); err != nil {
				return err
			}
		}
	}
	summary, err := scheduler.EndGrading(ctx, r.store, r.grading)
	if err != nil {
		return err
	}
	r.c.print("\n%s scored\n", plural(r.scored, "trial"))
	return report.Verdict(r.c.env.Stdout, summary, r.c.page())
}

// judgements are the scores that judges and reviewers gave.
func judgements(scores []eval.Score) []eval.Score {
	var out []eval.Score
	for _, s := range scores {
		if len(s.Votes) > 0 || s.Pending || strings.HasPrefix(s.Message, eval.ScoredBy) {
			out = append(out, s)
		}
		out = append(out, judgements(s.Parts)...)
	}
	return out
}
