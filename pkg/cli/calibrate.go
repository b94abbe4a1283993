package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/aggregate"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) calibrate() *cobra.Command {
	var ref string
	var asJSON bool
	var least float64
	cmd := &cobra.Command{
		Use:   "calibrate LABELS",
		Short: "Measure a judge against what humans said of the same trials",
		Long: `Measure the judge of a run against what humans said of the same trials:
confusion, sensitivity and specificity, agreement, Cohen's kappa and Gwet's AC1,
each with its 95 % interval, and the pass rate corrected for what the judge gets
wrong.

LABELS is a file of JSON lines: {"case": "refund/1", "repeat": 1, "pass": true},
with "variant" where the case ran in several and "check" where it has several
judge checks. Exit code 1: the agreement (AC1) is below the suite's min_agreement
or --min-agreement, or the judge tells nothing from nothing.`,
		Example: `  evalfarm judge calibrate labels.jsonl --run latest`,
		Args:    args(1, 1, "a file of labels"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withRun(ctx, []string{ref}, func(s store.Store, run eval.Run) error {
				sample, err := c.labelled(ctx, s, run, args[0])
				if err != nil {
					return err
				}
				var snap eval.Snapshot
				if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
					return err
				}
				if snap.MinAgreement > 0 { // else any will do
					least = max(least, snap.MinAgreement)
				}
				result, err := aggregate.Calibrate(sample)
				if err != nil && !errors.Is(err, aggregate.ErrUseless) {
					return usage("", "%s: %s", args[0], err)
				}
				show := report.Calibration
				if asJSON {
					show = report.CalibrationJSON
				}
				if printed := show(c.env.Stdout, result, c.page()); printed != nil {
					return printed
				}
				switch {
				case err != nil:
					fmt.Fprintf(c.env.Stderr, "%s\n", err)
				case result.AC1.Value == nil || *result.AC1.Value < least:
					fmt.Fprintf(c.env.Stderr, "the agreement is below the %.3g that is wanted\n", least)
				default:
					return nil
				}
				return &codeError{eval.ExitGateFailed}
			})
		},
	}
	cmd.Flags().StringVar(&ref, "run", "latest", "the `RUN` whose judge is measured")
	cmd.Flags().Float64Var(&least, "min-agreement", -1, "least agreement (Gwet's AC1) to accept")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the calibration as one JSON document")
	return cmd
}

// A humanLabel is what a person said of one check of one trial.
type humanLabel struct {
	Case    string `json:"case"`
	Variant string `json:"variant"`
	Repeat  int    `json:"repeat"`
	Check   string `json:"check"`
	Pass    *bool  `json:"pass"`
}

// labelled finds what the judge said of each labelled trial, and of the others.
func (c *command) labelled(ctx context.Context, s store.Store, run eval.Run, path string) (aggregate.Sample, error) {
	var sample aggregate.Sample
	labels, err := c.readLabels(path)
	if err != nil {
		return sample, err
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return sample, err
	}
	order := eval.NewOrder(snap.Plan)
	found := make([]int, len(labels))
	err = s.EachResult(ctx, run.ID, func(row store.Row) error {
		cell, repeat, err := order.At(row.Ordinal)
		if err != nil {
			return err
		}
		at := snap.Plan.Cells[cell]
		for _, score := range spoken(row.Result.Scores) {
			sample.Votes = append(sample.Votes, score.Votes)
			labelled := false
			for i, l := range labels {
				if l.Case != snap.Cases[at.Case].ID || l.Repeat != repeat || l.Variant != "" && l.Variant != snap.Variants[at.Variant].ID ||
					l.Check != "" && l.Check != score.Check {
					continue
				}
				found[i]++
				labelled = true
				sample.Labelled = append(sample.Labelled, aggregate.Labelled{Human: *l.Pass, Judge: score.Pass})
			}
			if !labelled {
				sample.Unlabelled = append(sample.Unlabelled, score.Pass)
			}
		}
		return nil
	})
	if err != nil {
		return sample, err
	}
	for i, n := range found {
		where := fmt.Sprintf("%s:%d", path, i+1)
		switch {
		case n == 0:
			fmt.Fprintf(c.env.Stderr, "%s: no judge has spoken on %s, repeat %d\n", where, report.Line(labels[i].Case, 80), labels[i].Repeat)
		case n > 1:
			return sample, usage(`add "variant" or "check"`, "%s: the label fits %d scores", where, n)
		}
	}
	return sample, nil
}

// spoken lists the scores in which a judge gave a verdict, those in groups too.
func spoken(scores []eval.Score) []eval.Score {
	var out []eval.Score
	for _, s := range scores {
		if len(s.Votes) > 0 && !s.Pending && !strings.HasPrefix(s.Message, eval.ScoredBy) {
			out = append(out, s)
		}
		out = append(out, spoken(s.Parts)...)
	}
	return out
}

// readLabels reads a file of labels, a line each.
func (c *command) readLabels(path string) ([]humanLabel, error) {
	f, err := os.Open(c.env.abs(path))
	if err != nil {
		return nil, usage("", "labels: %s", err)
	}
	defer f.Close()
	var labels []humanLabel
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		l := humanLabel{Repeat: 1}
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		dec.DisallowUnknownFields()
		err := dec.Decode(&l)
		if _, more := dec.Token(); err == nil && more != io.EOF {
			err = errors.New("text after the label")
		}
		switch {
		case err != nil:
			return nil, usage(`{"case": "refund/1", "repeat": 1, "pass": true}`, "%s:%d: %s", path, n, err)
		case l.Case == "" || l.Pass == nil:
			return nil, usage(`{"case": "refund/1", "repeat": 1, "pass": true}`, "%s:%d: a label has a case and a pass", path, n)
		}
		labels = append(labels, l)
	}
	if err := lines.Err(); err != nil {
		return nil, usage("", "%s: %s", path, err)
	}
	if len(labels) == 0 {
		return nil, usage("", "%s: no labels", path)
	}
	return labels, nil
}
