package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/httpapi"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// runStatus is the document of `status --json`.
type runStatus struct {
	httpapi.Status
	// Owner is the process on this machine that carries the run out.
	Owner *app.Owner `json:"owner,omitempty"`
	// Confirmation is where the run stands that tries the suspects of this one again.
	Confirmation *httpapi.Status `json:"confirmation,omitempty"`
}

func (c *command) status() *cobra.Command {
	var asJSON, exitStatus bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Where a run stands",
		Args:  args(0, 1, "at most one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withDesk(ctx, args, func(d desk, run eval.Run) error {
				st, err := d.Status(ctx, run)
				if err != nil {
					return err
				}
				if st.Confirmation, err = confirming(ctx, d, run); err != nil {
					return err
				}
				if err := c.printStatus(st, asJSON); err != nil {
					return err
				}
				switch {
				case !exitStatus:
					return nil
				case st.State != eval.RunDone:
					return &codeError{eval.ExitInconclusive}
				case st.ExitCode != 0:
					return &codeError{eval.ExitCode(st.ExitCode)}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.Flags().BoolVar(&exitStatus, "exit-status", false, "exit with the run's code, 4 while it is not done")
	return cmd
}

// confirming is where the run stands that tries the suspects of a run again; nil if there
// is none.
func confirming(ctx context.Context, d desk, run eval.Run) (*httpapi.Status, error) {
	if run.Parent != "" || run.Confirms != "" {
		return nil, nil
	}
	again, err := d.Run(ctx, run.Confirmation())
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	st, err := d.Status(ctx, again)
	return &st.Status, err
}

func (c *command) printStatus(st runStatus, asJSON bool) error {
	if asJSON {
		return c.encode(st)
	}
	state := string(st.State)
	if st.State == eval.RunDone {
		state = fmt.Sprintf("done (%s, %s)", st.Outcome, st.Verdict)
	} else if st.Control != eval.ControlRun && st.State != eval.RunPaused {
		state += ", " + string(st.Control) + " asked"
	}
	parts := []string{report.Line(st.ID, 100), report.Line(st.Suite, 200), report.Line(state, 200), fmt.Sprintf("%d/%d", st.Done, st.Trials)}
	for _, v := range eval.Verdicts() {
		if n := st.Counts.Of(v); n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", v, n))
		}
	}
	switch {
	case st.Owner != nil:
		parts = append(parts, fmt.Sprintf("process %d on %s", st.Owner.PID, st.Owner.Host))
	case st.State == eval.RunDone:
	case st.Carrier == eval.CarrierService && st.Leader != "":
		parts = append(parts, "scheduler "+report.Line(st.Leader, 100))
	case st.Carrier == eval.CarrierService:
		parts = append(parts, "no scheduler leads the farm; start one: evalfarm scheduler --redis URL")
	default:
		parts = append(parts, "no process of this machine carries it out; continue: evalfarm resume "+st.ID)
	}
	c.print("%s\n", strings.Join(parts, "  "))
	if line := spending(st.Run, st.Ledger.Known()); line != "" {
		c.print("  %s\n", line)
	}
	if of := st.Confirmation; of != nil {
		c.print("  %s tries suspects again  %s  %d/%d\n", report.Line(of.ID, 100), of.State, of.Done, of.Trials)
	}
	if st.Live != nil {
		now := time.Now()
		if age := now.Sub(st.Live.At); age > 10*time.Second {
			c.print("  as of %s ago:\n", short(age))
		}
		for _, line := range liveLines(*st.Live, now) {
			c.print("%s\n", line)
		}
	}
	for _, line := range unsent(st.Notices) {
		c.print("  %s\n", line)
	}
	return nil
}

// spending says what a run has taken, and of how much.
func spending(run eval.Run, l eval.Ledger) string {
	taken := l.Spent.Add(l.Charged)
	var parts []string
	if taken.MicroUSD > 0 || l.Held.MicroUSD > 0 {
		parts = append(parts, "spent "+eval.USD(taken.MicroUSD))
	}
	if held := l.Held.MicroUSD; held > 0 {
		parts = append(parts, "held for running trials "+eval.USD(held))
	}
	if run.Budget.MicroUSD > 0 {
		parts = append(parts, "budget "+eval.USD(run.Budget.MicroUSD))
	}
	if run.DayMicroUSD > 0 {
		parts = append(parts, "of all runs of a day "+eval.USD(run.DayMicroUSD))
	}
	if run.ScheduleMicroUSD > 0 {
		parts = append(parts, fmt.Sprintf("of all runs of %s %s", run.Schedule, eval.USD(run.ScheduleMicroUSD)))
	}
	if run.Budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", taken.Tokens, run.Budget.Tokens))
	}
	if run.Budget.Time > 0 && run.State != eval.RunDone {
		parts = append(parts, fmt.Sprintf("begins nothing more after %s", run.Created.Add(run.Budget.Time).Local().Format(time.TimeOnly)))
	}
	return strings.Join(parts, "  ")
}
