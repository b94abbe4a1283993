package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/forecast"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) plan() *cobra.Command {
	var load loading
	var sel selecting
	var slots, judges int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan SUITE",
		Short: "Say what a run would take, before a cent is spent",
		Long: `Say what a run of a suite would take: trials, calls of models, tokens, money,
time, how far its budget reaches, and what difference its repeats could show.
Nothing is started.

Each number says what it rests on: on history, which is what trials of the same
case, variant and model took in the last 5 done runs of the suite; on the limits
of a trial, which it cannot exceed; or it is unknown. p95 is what 95 of 100 runs
stay below. Attempts that fail because of the farm or a provider come on top.`,
		Example: `  evalfarm plan suites/support-desk
  evalfarm plan suites/support-desk -n 10 --budget-usd 5
  evalfarm plan suites/support-desk --json | jq .cost_microusd.total`,
		Args: args(1, 1, "one suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			request, err := c.prepare(ctx, args[0], load, sel)
			if err != nil {
				return err
			}
			return c.withStore(ctx, func(s store.Store) error {
				f, _, err := foresee(ctx, s, request, defaultSlots(slots), cmp.Or(judges, defaultSlots(slots)))
				if err != nil {
					return explainEmpty(err, request.Suite)
				}
				if asJSON {
					return c.encode(f)
				}
				c.print("%s", strings.Join(planLines(f), "\n")+"\n")
				return nil
			})
		},
	}
	load.add(cmd)
	sel.add(cmd)
	flags := cmd.Flags()
	flags.IntVarP(&slots, "slots", "j", 0, "trials at once (default: 4 for each processor)")
	flags.IntVar(&judges, "judge-slots", 0, "trials judged at once (default: as many as --slots)")
	flags.BoolVar(&asJSON, "json", false, "print the plan as one JSON document")
	return cmd
}

// defaultSlots is how many trials a farm in this process runs at once.
func defaultSlots(asked int) int { return cmp.Or(asked, 4*runtime.NumCPU()) }

// foresee works out what the run of a request will take. The request comes back with
// the repeats that its budget decides on.
func foresee(ctx context.Context, s store.Store, req scheduler.Request, slots, judgeSlots int) (eval.Forecast, scheduler.Request, error) {
	of := req.Suite.Suite
	repeats := of.Repeats
	if req.Selection.Repeats > 0 {
		repeats.Fit = "" // so many, whatever the budget affords
	}
	if repeats.Fit != "" {
		req.Rounds = repeats.Min
	}
	run, snap, err := scheduler.Preview(req)
	if err != nil {
		return eval.Forecast{}, req, err
	}
	if problems := forecast.TooLittle(run, snap, of.Cases); len(problems) > 0 {
		return eval.Forecast{}, req, &scheduler.BudgetError{Problems: problems}
	}
	past, err := forecast.Read(ctx, s, snap, of.Cases)
	if err != nil {
		return eval.Forecast{}, req, err
	}
	left, err := leftOfDay(ctx, s, run.DayMicroUSD)
	if err != nil {
		return eval.Forecast{}, req, err
	}
	f := forecast.Make(forecast.Plan{
		Run: run, Snapshot: snap, Cases: of.Cases, Repeats: repeats, Own: of.CaseRepeats,
		Slots: slots, JudgeSlots: judgeSlots, Past: past, Day: left,
	})
	if f.Fit != nil {
		req.Rounds = f.Fit.Rounds
		if f.Fit.Rounds < f.Fit.Min {
			return f, req, fewRounds(f)
		}
	}
	return f, req, nil
}

// leftOfDay is what a cap of the day leaves; nil without one.
func leftOfDay(ctx context.Context, s store.Store, most int64) (*eval.DayLeft, error) {
	if most == 0 {
		return nil, nil
	}
	d, err := s.Day(ctx)
	if err != nil {
		return nil, err
	}
	return &eval.DayLeft{CapMicroUSD: most, LeftMicroUSD: d.Left(most)}, nil
}

// fewRounds says that a budget is too small for what its suite wants at least.
func fewRounds(f eval.Forecast) error {
	on := "the limits of its trials"
	if f.Fit.Basis == eval.BasisHistory {
		on = "what they took before"
	}
	return &scheduler.BudgetError{Problems: []string{fmt.Sprintf("by %s it affords %s, and the suite wants at least %d",
		on, plural(f.Fit.Rounds, "repeat"), f.Fit.Min)}}
}

// announcing says how runs are announced.
type announcing struct {
	slots, judges int
	silent        bool
	// yes answers the question whether to go on.
	yes bool
}

func (f *announcing) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask whether to go on when the run may cost more than confirm_usd of farm.yaml")
}

// announce tells what runs will take before they are made, in a line each, and asks
// whether to go on when that is more than the operator lets pass. The requests come
// back with the repeats that their budgets decide on.
func (c *command) announce(ctx context.Context, s store.Store, how announcing, reqs ...scheduler.Request) ([]scheduler.Request, error) {
	var fs []eval.Forecast
	out := slices.Clone(reqs)
	for i, req := range reqs {
		if !costly(req) {
			continue
		}
		f, planned, err := foresee(ctx, s, req, how.slots, how.judges)
		if err != nil {
			return nil, explainEmpty(err, req.Suite)
		}
		out[i] = planned
		fs = append(fs, f)
		if !how.silent && (f.Cost.Total.Basis != eval.BasisNone || f.Affords != nil) {
			fmt.Fprintln(c.env.Stderr, planLine(f))
		}
	}
	from, err := c.microUSD("confirm_usd")
	if err != nil {
		return nil, err
	}
	question := confirmation(fs, from)
	if question == "" || how.yes || !c.interactive() {
		return out, nil
	}
	fmt.Fprint(c.env.Stderr, question)
	goOn, err := confirmed(ctx, c.env.Stdin)
	if err == nil && !goOn {
		err = usage("--yes goes on without a question", "not confirmed, so nothing was started")
	}
	return out, err
}

// costly says whether a run may cost something, or has a budget to look at.
func costly(req scheduler.Request) bool {
	of := req.Suite.Suite
	if of.Budget.Over(req.Budget) != (eval.Budget{}) || req.DayMicroUSD > 0 {
		return true
	}
	paid := false
	for _, m := range of.Models {
		paid = paid || !m.Free()
	}
	return paid && slices.ContainsFunc(of.Cases, func(c eval.Case) bool { return c.Kind == eval.KindAgent })
}

// interactive says whether somebody can be asked.
func (c *command) interactive() bool {
	in, ok := c.env.Stdin.(*os.File)
	return ok && c.env.StderrTTY && term.IsTerminal(int(in.Fd()))
}

// confirmation is the question to ask before runs begin that may cost more than a
// number of micro-dollars; empty if there is none to ask. A number of 0 never asks.
func confirmation(fs []eval.Forecast, from int64) string {
	var sum int64
	unknown := false
	for _, f := range fs {
		cost, known := f.Cost.Total.Known, f.Cost.Total.P95 != nil
		if most, capped := moneyOf(f.Affords); capped && (!known || cost > most) {
			cost, known = most, true // and never more
		}
		sum += cost
		unknown = unknown || !known
	}
	switch {
	case from == 0:
		return ""
	case unknown:
		return fmt.Sprintf("nobody knows what this will cost, and confirm_usd is %s. go on? [y/N] ", eval.USD(from))
	case sum > from:
		return fmt.Sprintf("this may cost %s, and confirm_usd is %s. go on? [y/N] ", about(sum), eval.USD(from))
	default:
		return ""
	}
}

// moneyOf is the most that a run can spend by its budget and by what is left of the
// day, and whether that is bounded.
func moneyOf(a *eval.Affordable) (most int64, capped bool) {
	if a == nil {
		return 0, false
	}
	most, capped = a.Budget.MicroUSD, a.Budget.MicroUSD > 0
	if a.Day != nil && (!capped || a.Day.LeftMicroUSD < most) {
		most, capped = a.Day.LeftMicroUSD, true
	}
	return most, capped
}

// confirmed reads an answer. Only y and yes are one to go on.
func confirmed(ctx context.Context, in io.Reader) (bool, error) {
	answer := make(chan string, 1)
	go func() { // ends with the process, if nobody answers
		line, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case a := <-answer:
		return a == "y" || a == "yes", nil
	}
}
