package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/compare"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

func (c *command) compare() *cobra.Command {
	var f comparing
	cmd := &cobra.Command{
		Use:   "compare BASE [HEAD]",
		Short: "Say what became better or worse from one run to another",
		Long: `Say what became better or worse from one run to another, or between the values
of an axis of one run.

BASE and HEAD are runs: an id, a prefix of one, latest, latest~N, last-green or
baseline:NAME, each but the first two with SUITE@ before it if need be; or
file:// and the path of an exported baseline. With --axis there is BASE alone,
and the other values of the axis are compared with the first one.

Cells are compared where their cases, checks and judges are the same, and the
conditions that the suite writes down. What else is not the same is told;
--strict refuses then.

The exit code is 0, and with --gate that of the answer: 0 not worse by more than
the margin, 1 worse, 4 not decided.`,
		Example: `  evalfarm compare latest~1 latest
  evalfarm compare baseline:main latest --gate
  evalfarm compare latest --axis model
  evalfarm compare latest --axis model=fast..careful --show all`,
		Args: args(1, 2, "a base and a head"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := f.check(args); err != nil {
				return err
			}
			return c.atDesk(ctx, func(d desk) error {
				all, err := c.comparisons(ctx, d, args, f)
				if err != nil {
					return err
				}
				if f.axis != "" && c.serverURL == "" {
					if run, err := d.Run(ctx, all[0].Head.Run); err == nil { // else it is an arm in a file
						f.suite = suite.Short(c.env.Dir, run.SuitePath)
					}
				}
				return c.printComparisons(all, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.axis, "axis", "", "compare the values of an axis of one run: `NAME`, NAME=BASE or NAME=BASE..HEAD")
	flags.StringVar(&f.show, "show", "", "list only these cells: regressed (and worse), improved (and better), or all")
	flags.BoolVar(&f.strict, "strict", false, "refuse to compare when anything but the commit is not the same")
	flags.BoolVar(&f.gate, "gate", false, "answer with the exit code")
	flags.BoolVar(&f.full, "full", false, "list all cells, and values uncut")
	flags.Float64Var(&f.options.Margin, "margin", 0.05, "the drop of the pass rate that is accepted, as a `SHARE`")
	flags.Float64Var(&f.options.Tolerance, "tolerance", 0.1, "the rise of latency and cost that is accepted, as a `SHARE`")
	flags.Float64Var(&f.options.Alpha, "alpha", 0.05, "the one-sided `ERROR` of bounds and tests")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON document: a comparison, or with --axis a list of them")
	return cmd
}

// comparing is how arms are compared.
type comparing struct {
	options            compare.Options
	axis, show         string
	strict, gate, full bool
	asJSON             bool
	// suite is where the suite of a run is that is compared along an axis.
	suite string
}

func (f comparing) check(args []string) error {
	switch o := f.options; {
	case f.axis != "" && len(args) > 1:
		return usage("evalfarm compare BASE --axis "+f.axis, "--axis compares the values of one run, and these are two")
	case f.axis == "" && len(args) < 2:
		return usage("evalfarm compare BASE HEAD, or BASE --axis NAME", "one run cannot be compared")
	case f.axis != "" && f.strict:
		return usage("", "--strict has no use with --axis: within a run, whatever is not the same is the axis's doing")
	case !slices.Contains([]string{"", "regressed", "improved", "all"}, f.show):
		return usage("", "--show=%s: want regressed, improved or all", f.show)
	case !(o.Margin > 0 && o.Margin < 1):
		return usage("with a margin of 0 nothing but an improvement could ever pass", "--margin=%v: want a share above 0 and below 1, such as 0.05 for 5 points", o.Margin)
	case !(o.Tolerance > 0):
		return usage("", "--tolerance=%v: want a share above 0, such as 0.1 for 10 %%", o.Tolerance)
	case !(o.Alpha > 0 && o.Alpha < 0.5):
		return usage("", "--alpha=%v: want an error above 0 and below 0.5", o.Alpha)
	}
	return nil
}

// changes that are listed; nil for those that are by default.
func (f comparing) changes() []eval.Change {
	switch f.show {
	case "regressed":
		return []eval.Change{eval.ChangeRegressed, eval.ChangeWorse}
	case "improved":
		return []eval.Change{eval.ChangeImproved, eval.ChangeBetter}
	case "all":
		return eval.Changes()
	}
	return nil
}

// comparisons are that of two arms, or those along an axis of one.
func (c *command) comparisons(ctx context.Context, d desk, args []string, f comparing) ([]eval.ArmComparison, error) {
	if f.axis != "" {
		return c.alongAxis(ctx, d, args[0], f)
	}
	head, err := c.arm(ctx, d, args[1], eval.Arm{})
	if err != nil {
		return nil, err
	}
	base, err := c.arm(ctx, d, args[0], head)
	if err != nil {
		return nil, err
	}
	if args[0] != args[1] && base.Run == head.Run {
		fmt.Fprintf(c.env.Stderr, "warning: %s and %s are the same run, %s\n", args[0], args[1], head.Run)
	}
	result := compare.Compare(base, head, f.options)
	if refused := compare.Refused(result.Differ); f.strict && len(refused) > 0 {
		return nil, usage("without --strict what can be compared is", "base and head are not the same: %s", differences(refused))
	}
	return []eval.ArmComparison{result}, trace(ctx, d, &result, arms{base: base, head: head})
}

// alongAxis compares values of an axis with the first of them.
func (c *command) alongAxis(ctx context.Context, d desk, ref string, f comparing) ([]eval.ArmComparison, error) {
	arm, err := c.arm(ctx, d, ref, eval.Arm{})
	if err != nil {
		return nil, err
	}
	axis, wanted, _ := strings.Cut(f.axis, "=")
	values := compare.Values(arm, axis)
	if len(values) == 0 {
		names := compare.Axes(arm)
		if len(names) == 0 {
			return nil, usage("", "run %s has no axes", arm.Run)
		}
		return nil, usage("it has "+report.Line(strings.Join(names, ", "), 300), "run %s has no axis %q", arm.Run, axis)
	}
	base, heads, ok := choose(values, wanted)
	switch {
	case !ok:
		return nil, usage("it has "+report.Line(strings.Join(values, ", "), 300), "axis %s of run %s has no values %q", axis, arm.Run, wanted)
	case len(heads) == 0:
		return nil, usage("", "axis %s of run %s has only one value: %s", axis, arm.Run, report.Line(base, 100))
	}
	// Several claims share the error.
	f.options.Alpha /= float64(len(heads))
	var all []eval.ArmComparison
	for _, head := range heads {
		result := compare.Compare(compare.AtValue(arm, axis, base), compare.AtValue(arm, axis, head), f.options)
		result.Axis, result.Base.Value, result.Head.Value = axis, base, head
		if err := trace(ctx, d, &result, arms{base: arm, head: arm}); err != nil {
			return nil, err
		}
		all = append(all, result)
	}
	return all, nil
}

// choose picks the base and the heads from the values of an axis: as BASE..HEAD says, or
// one of them and all others; empty is the first.
func choose(values []string, wanted string) (base string, heads []string, ok bool) {
	others := func(v string) []string {
		return slices.DeleteFunc(slices.Clone(values), func(o string) bool { return o == v })
	}
	if base = cmp.Or(wanted, values[0]); slices.Contains(values, base) {
		return base, others(base), true
	}
	for _, base := range values { // a value may have dots of its own
		if head, cut := strings.CutPrefix(wanted, base+".."); cut && slices.Contains(others(base), head) {
			return base, []string{head}, true
		}
	}
	return "", nil, false
}

// differences in a sentence.
func differences(ds []eval.Difference) string {
	const most = 8
	var words []string
	for i, d := range ds {
		if i == most {
			words = append(words, fmt.Sprintf("and %d more", len(ds)-most))
			break
		}
		word := d.Condition
		if d.Base != "" || d.Head != "" {
			word += fmt.Sprintf(" (%s → %s)", cmp.Or(d.Base, "not known"), cmp.Or(d.Head, "not known"))
		}
		words = append(words, report.Line(word, 160))
	}
	return strings.Join(words, ", ")
}

// printComparisons prints them, and gives the exit code that was asked for.
func (c *command) printComparisons(all []eval.ArmComparison, f comparing) error {
	if f.asJSON {
		document := any(all)
		if f.axis == "" {
			document = all[0]
		}
		if err := c.encode(document); err != nil {
			return err
		}
	} else {
		for i, one := range all {
			if i > 0 {
				c.print("\n")
			}
			o := c.page()
			o.Full = f.full
			if len(one.Cells) > 0 && one.Cells[0].Step != nil { // so the run is in the store
				o.Next = []string{fmt.Sprintf("evalfarm show %s %s", one.Head.Run, one.Cells[0].Case)}
			}
			o.Next = append(o.Next, afresh(one, f.suite)...)
			if err := report.Comparison(c.env.Stdout, one, f.changes(), o); err != nil {
				return err
			}
		}
	}
	if !f.gate {
		return nil
	}
	decisions := map[eval.Decision]bool{}
	for _, one := range all {
		decisions[one.Decision] = true
	}
	switch {
	case decisions[eval.DecisionFail]:
		return &codeError{eval.ExitGateFailed}
	case decisions[eval.DecisionInconclusive], decisions[eval.DecisionNone]:
		return &codeError{eval.ExitInconclusive}
	}
	return nil
}
