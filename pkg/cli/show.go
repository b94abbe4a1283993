package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

func (c *command) show() *cobra.Command {
	var variant string
	var full, frames, raw, asJSON bool
	cmd := &cobra.Command{
		Use:   "show [RUN [CASE [REPEAT]]]",
		Short: "Show a run, the trials of a case, or what one trial did",
		Long: `Show a run (default: the latest), the trials of one of its cases, or what one
trial did: each step with its calls, arguments and answers.

With --json, print the trial with its result and trajectory as one JSON
document; with --raw, the stored trajectory byte for byte; with --frames, the
raw messages between us and the server, one JSON document in a line.`,
		Example: `  evalfarm show latest customer-active-enterprise
  evalfarm show latest~1 order/workflow 1 --full
  evalfarm show latest order/workflow 1 --frames | jq .raw`,
		Args: args(0, 3, "a run, a case and a repeat"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withDesk(ctx, args, func(s desk, run eval.Run) error {
				o := c.page()
				o.Full = full
				one := frames || raw || asJSON
				if len(args) < 2 {
					if one {
						return usage("evalfarm show RUN CASE REPEAT, or the summary: evalfarm report RUN --json", "--frames, --raw and --json want one trial")
					}
					summary, err := s.Summary(ctx, run)
					if err != nil {
						return err
					}
					if err := report.Terminal(c.env.Stdout, summary, o); err != nil {
						return err
					}
					if err := c.printGradings(ctx, s, run); err != nil {
						return err
					}
					return c.printUnsent(ctx, s, run.ID)
				}
				trials, err := trialsOf(ctx, s, run, args[1], variant)
				if err != nil {
					return err
				}
				if len(args) < 3 && (!one || len(trials) != 1) {
					if one {
						return usage("evalfarm show RUN CASE REPEAT", "case %s has %d trials; --frames, --raw and --json want one", args[1], len(trials))
					}
					if err := fillIn(ctx, s, run, pointers(trials)); err != nil {
						return err
					}
					return report.ShowCase(c.env.Stdout, trials, o)
				}
				trial, err := oneTrial(trials, args)
				if err != nil {
					return err
				}
				if err := fillIn(ctx, s, run, []*report.Trial{&trial}); err != nil {
					return err
				}
				if frames {
					return c.printFrames(ctx, s, trial)
				}
				if raw {
					return c.printTrajectory(ctx, s, trial)
				}
				if err := complete(ctx, s, &trial); err != nil {
					return err
				}
				if asJSON {
					return report.TrialJSON(c.env.Stdout, trial)
				}
				return report.ShowTrial(c.env.Stdout, trial, o)
			})
		},
	}
	cmd.Flags().StringVar(&variant, "variant", "", "the variant, when the case runs in several")
	cmd.Flags().BoolVar(&full, "full", false, "show values uncut")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the trial as one JSON document")
	cmd.Flags().BoolVar(&raw, "raw", false, "print the stored trajectory byte for byte")
	cmd.Flags().BoolVar(&frames, "frames", false, "print the raw MCP messages of the trial as JSON lines")
	return cmd
}

// trialsOf finds the trials of a case, by variant and repeat, without their results.
func trialsOf(ctx context.Context, s reader, run eval.Run, caseID, variant string) ([]report.Trial, error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return nil, err
	}
	var ids, variants []string
	var trials []report.Trial
	order := eval.NewOrder(snap.Plan)
	for ordinal := range run.Trials {
		i, repeat, err := order.At(ordinal)
		if err != nil {
			return nil, err
		}
		cell := snap.Plan.Cells[i]
		ref, v := snap.Cases[cell.Case], snap.Variants[cell.Variant]
		if repeat == 1 {
			ids = append(ids, ref.ID)
		}
		if ref.ID != caseID {
			continue
		}
		if !slices.Contains(variants, v.ID) {
			variants = append(variants, v.ID)
		}
		if variant != "" && v.ID != variant {
			continue
		}
		t := report.Trial{Trial: eval.Trial{Run: run.ID, Ordinal: ordinal, Case: ref, Variant: v, Repeat: repeat, Seed: snap.Plan.SeedOf(ref.ID, repeat)}}
		trials = append(trials, t)
	}
	switch {
	case len(trials) > 0:
		slices.SortStableFunc(trials, func(a, b report.Trial) int {
			return slices.IndexFunc(snap.Variants, is(a.Variant)) - slices.IndexFunc(snap.Variants, is(b.Variant))
		})
		return trials, nil
	case len(variants) > 0:
		return nil, usage("", "case %s has no variant %q; it has %s", caseID, variant, fmt.Sprint(variants))
	default:
		hint := "evalfarm show " + run.ID
		if near := strictyaml.Closest(caseID, ids); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		return nil, usage(hint, "run %s has no case %q", run.ID, caseID)
	}
}

// fillIn gives trials their results. Those of a large part of a run are read in one
// go, since each by itself would be a request to a farm.
func fillIn(ctx context.Context, s reader, run eval.Run, trials []*report.Trial) error {
	const fewer = 100 // trials of which one is wanted
	if len(trials) > 1 && len(trials)*fewer > run.Trials {
		at := map[int]*report.Trial{}
		for _, t := range trials {
			at[t.Ordinal] = t
		}
		return s.EachResult(ctx, run.ID, func(row store.Row) error {
			if t := at[row.Ordinal]; t != nil {
				t.Row = &row
			}
			return nil
		})
	}
	for _, t := range trials {
		row, err := s.Result(ctx, run.ID, t.Ordinal)
		switch {
		case err == nil:
			t.Row = &row
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
	}
	return nil
}

func pointers(trials []report.Trial) []*report.Trial {
	out := make([]*report.Trial, len(trials))
	for i := range trials {
		out[i] = &trials[i]
	}
	return out
}

// is finds a variant by its id.
func is(v eval.Variant) func(eval.Variant) bool {
	return func(o eval.Variant) bool { return o.ID == v.ID }
}

// oneTrial picks the trial of a repeat.
func oneTrial(trials []report.Trial, args []string) (report.Trial, error) {
	repeat := 1
	if len(args) > 2 {
		var err error
		if repeat, err = strconv.Atoi(args[2]); err != nil {
			return report.Trial{}, usage("", "repeat %q is no number", args[2])
		}
	}
	var found []report.Trial
	var variants []string
	for _, t := range trials {
		if t.Repeat == repeat {
			found = append(found, t)
			variants = append(variants, t.Variant.ID)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return report.Trial{}, usage("", "case %s has no repeat %d", trials[0].Case.ID, repeat)
	default:
		return report.Trial{}, usage(fmt.Sprintf("--variant %q", variants[0]), "repeat %d of case %s ran in %d variants; choose one of %s", repeat, trials[0].Case.ID, len(found), fmt.Sprint(variants))
	}
}

// complete adds what showing one trial needs.
func complete(ctx context.Context, s reader, t *report.Trial) error {
	attempts, err := s.Attempts(ctx, t.Run, t.Ordinal)
	if err != nil {
		return err
	}
	t.Attempts = attempts
	if t.Row == nil || t.Row.Result.Trajectory == "" {
		return nil
	}
	t.Trajectory = &eval.Trajectory{}
	return blob.LoadJSON(ctx, s, t.Row.Result.Trajectory, t.Trajectory)
}

// printGradings lists the gradings of a run that has several.
func (c *command) printGradings(ctx context.Context, s reader, run eval.Run) error {
	gradings, err := s.Gradings(ctx, run.ID)
	if err != nil || len(gradings) < 2 {
		return err
	}
	c.print("\n")
	for _, g := range gradings {
		var snap eval.Snapshot
		if err := blob.LoadJSON(ctx, s, g.Header, &snap); err != nil {
			return err
		}
		by := "judges"
		if snap.Grading != nil {
			by = cmp.Or(snap.Grading.By, snap.Grading.Model, by)
		}
		state := string(cmp.Or(g.Outcome, eval.RunOutcome(g.State)))
		if g.ID == run.Grading {
			state += ", counts"
		}
		c.print("  grading %s  %s  %s\n", g.ID, report.Line(by, 60), state)
	}
	return nil
}

func (c *command) printTrajectory(ctx context.Context, s reader, t report.Trial) error {
	if t.Row == nil || t.Row.Result.Trajectory == "" {
		return usage("", "trial %s #%d has no stored trajectory", t.Case.ID, t.Repeat)
	}
	packed, err := s.GetBlob(ctx, t.Row.Result.Trajectory)
	if err != nil {
		return err
	}
	plain, err := blob.Unpack(packed)
	if err != nil {
		return err
	}
	c.print("%s", plain) // and no more: it has a hash
	return nil
}

func (c *command) printFrames(ctx context.Context, s reader, t report.Trial) error {
	if t.Row == nil || t.Row.Result.Frames == "" {
		return usage("", "trial %s #%d has no recorded frames", t.Case.ID, t.Repeat)
	}
	var frames []json.RawMessage
	if err := blob.LoadJSON(ctx, s, t.Row.Result.Frames, &frames); err != nil {
		return err
	}
	for _, f := range frames {
		c.print("%s\n", f)
	}
	return nil
}
