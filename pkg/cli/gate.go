package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/gate"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func (c *command) gate() *cobra.Command {
	var policy, baseline string
	var explain, asJSON bool
	cmd := &cobra.Command{
		Use:   "gate [RUN]",
		Short: "Put the gate again to the stored results of a run",
		Long: `Put the gate again to the stored results of a run, and end with the exit code
that the run would have had. Nothing is run and nothing is stored. Without
flags that is the gate and the baseline that the run has frozen; reviews that
the run has got since are its own.`,
		Example: `  evalfarm gate --explain
  evalfarm gate latest --gate policy.yaml
  evalfarm gate latest --baseline latest~1`,
		Args: args(0, 1, "at most one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withDesk(ctx, args, func(s desk, run eval.Run) error {
				summary, err := c.gated(ctx, s, run, policy, baseline)
				if err != nil {
					return err
				}
				switch {
				case asJSON:
					err = c.encode(gateDocument{
						Run: summary.Run, Verdict: summary.Verdict, ExitCode: summary.ExitCode, Reasons: summary.Reasons,
						Baseline: summary.Baseline, Rules: summary.Rules, Exemptions: summary.Exemptions,
					})
				default:
					o := c.page()
					o.Explain = explain
					err = report.Gate(c.env.Stdout, summary, o)
				}
				if err == nil && summary.ExitCode != 0 {
					return &codeError{eval.ExitCode(summary.ExitCode)}
				}
				return err
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&policy, "gate", "", "decide by the rules in this `FILE`, in the place of those that the run has frozen")
	flags.StringVar(&baseline, "baseline", "", "compare with this `RUN`, or the one in file:// and a path")
	flags.BoolVar(&explain, "explain", false, "say of each rule by which formula and numbers it was decided")
	flags.BoolVar(&asJSON, "json", false, "print the decision as one JSON document")
	return cmd
}

// A gateDocument is what gate --json prints.
type gateDocument struct {
	Run        string            `json:"run"`
	Verdict    eval.RunVerdict   `json:"verdict"`
	ExitCode   int               `json:"exit_code"`
	Reasons    []string          `json:"reasons"`
	Baseline   *eval.BaselineRef `json:"baseline,omitempty"`
	Rules      []eval.RuleResult `json:"rules"`
	Exemptions []eval.Exemption  `json:"exemptions,omitempty"`
}

// gated is the summary of a run with what the gate says of it now: by a policy, if one
// is given, and against another run.
func (c *command) gated(ctx context.Context, s desk, run eval.Run, policy, baseline string) (eval.Summary, error) {
	summary, err := s.Summary(ctx, run)
	if err != nil {
		return summary, err
	}
	snap, err := snapshotOf(ctx, s, run)
	if err != nil {
		return summary, err
	}
	arms, err := scheduler.Arms(ctx, s, run, snap)
	if err != nil {
		return summary, err
	}
	if policy != "" {
		p, err := suite.LoadGate(c.env.abs(policy), frozen(snap), suite.Options{Base: c.env.Dir, Baseline: cmp.Or(baseline, snap.Gate.Baseline)})
		if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
			problems.Path = policy
			return summary, problems
		}
		if err != nil {
			return summary, usage("", "%s", err)
		}
		c.problems(p.Warnings)
		snap.Gate = p.Gate
		if snap.Agreement == nil && snap.Gate.Asks(eval.MetricJudgeAgreement) { // the run's own gate did not ask
			if snap.Agreement, err = scheduler.PastAgreement(ctx, s, snap, run.Created); err != nil {
				return summary, err
			}
		}
		// What the run has frozen for the baseline of its own gate is none of another's.
		if now := p.Gate.Baseline; baseline == "" && now != "" && (snap.Baseline == nil || snap.Baseline.Name != now) {
			baseline = now
		}
	}
	if baseline != "" {
		arm, err := c.arm(ctx, s, baseline, eval.Arm{Suite: run.Suite, Run: run.ID})
		if err != nil {
			return summary, err
		}
		arms = gate.Arms{Base: &arm}
		snap.Baseline = &eval.BaselineRef{Name: baseline, Run: arm.Run}
	}
	if snap.Agreement, err = scheduler.Agreement(ctx, s, run, snap); err != nil {
		return summary, err
	}
	gate.Decide(&summary, snap, arms)
	return summary, nil
}

func snapshotOf(ctx context.Context, s blob.Store, run eval.Run) (eval.Snapshot, error) {
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return snap, fmt.Errorf("load snapshot of run %s: %w", run.ID, err)
	}
	snap.Plan = snap.Plan.Until(run.Rounds)
	return snap, nil
}

// frozen is as much of a suite as a policy has to know.
func frozen(snap eval.Snapshot) eval.Suite {
	of := eval.Suite{Name: snap.Suite, Axes: snap.Axes, Models: snap.Models}
	for _, ref := range snap.Cases {
		c := eval.Case{ID: ref.ID, Kind: ref.Kind, Tags: ref.Tags}
		for _, judge := range ref.Judges {
			c.Checks = append(c.Checks, eval.Check{Judge: &eval.JudgeCheck{Model: judge}})
		}
		of.Cases = append(of.Cases, c)
	}
	return of
}
