package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// runStatus is the document of `status --json`.
type runStatus struct {
	Run     string             `json:"run"`
	Suite   string             `json:"suite"`
	State   eval.RunState      `json:"state"`
	Control eval.Control       `json:"control"`
	Outcome eval.RunOutcome    `json:"outcome,omitempty"`
	Verdict eval.RunVerdict    `json:"verdict,omitempty"`
	Trials  int                `json:"trials"`
	Done    int                `json:"done"`
	Counts  eval.VerdictCounts `json:"counts"`
	// Outstanding trials are dispatched or wait for their next attempt.
	Outstanding int `json:"outstanding"`
	// Owner is the process on this machine that carries the run out.
	Owner *app.Owner `json:"owner,omitempty"`
	// Carrier is who is to carry it out. Of a service, Leader is the scheduler that
	// leads now.
	Carrier eval.Carrier `json:"carrier,omitempty"`
	Leader  string       `json:"leader,omitempty"`
	Tenant  string       `json:"tenant,omitempty"`
	Created time.Time    `json:"created"`
	// Ledger is what the run has taken and holds, of its Budget.
	Ledger      ledgerStatus `json:"ledger"`
	Budget      eval.Budget  `json:"budget,omitzero"`
	DayMicroUSD int64        `json:"day_microusd,omitempty"`
	// Schedule that started the run, and what all its runs may spend.
	Schedule         string `json:"schedule,omitempty"`
	ScheduleMicroUSD int64  `json:"schedule_microusd,omitempty"`
	// Live is what the run was doing when its scheduler last said so.
	Live *eval.Live `json:"live,omitempty"`
	// Notices of a done run.
	Notices []store.Notice `json:"notices,omitempty"`
}

func (c *command) status() *cobra.Command {
	var asJSON, exitStatus bool
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Where a run stands",
		Args:  args(0, 1, "at most one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withRun(ctx, args, func(s store.Store, run eval.Run) error {
				counts, err := s.Counts(ctx, run.ID)
				if err != nil {
					return err
				}
				out, err := s.Outstanding(ctx, run.ID)
				if err != nil {
					return err
				}
				st := runStatus{
					Run: run.ID, Suite: run.Suite, State: run.State, Control: run.Control, Outcome: run.Outcome, Verdict: run.Verdict,
					Trials: run.Trials, Done: counts.Total(), Counts: counts, Outstanding: len(out), Created: run.Created,
				}
				if st.Ledger, err = ledgerOf(ctx, s, run); err != nil {
					return err
				}
				st.Budget, st.DayMicroUSD = run.Budget, run.DayMicroUSD
				st.Schedule, st.ScheduleMicroUSD = run.Schedule, run.ScheduleMicroUSD
				if live, err := s.Live(ctx, run.ID); err == nil {
					st.Live = &live
				} else if !errors.Is(err, store.ErrNotFound) {
					return err
				}
				if owner, held := app.Locked(c.env.Home(), run.ID); held {
					st.Owner = &owner
				}
				st.Carrier, st.Tenant = run.Carrier, run.Tenant
				if run.Carrier == eval.CarrierService {
					leader, err := app.Leader(ctx, s)
					if err != nil && !errors.Is(err, store.ErrNotFound) {
						return err
					}
					st.Leader = leader.Holder
				}
				if st.Notices, err = s.Notices(ctx, run.ID, 0); err != nil {
					return err
				}
				if err := c.printStatus(st, asJSON); err != nil {
					return err
				}
				switch {
				case !exitStatus:
					return nil
				case run.State != eval.RunDone:
					return &codeError{eval.ExitInconclusive}
				case run.ExitCode != 0:
					return &codeError{eval.ExitCode(run.ExitCode)}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.Flags().BoolVar(&exitStatus, "exit-status", false, "exit with the run's code, 4 while it is not done")
	return cmd
}

// A ledgerStatus is a ledger whose spent money is null when a model was asked whose
// price nobody knows.
type ledgerStatus struct {
	eval.Ledger
	Spent spentStatus `json:"spent"`
}

type spentStatus struct {
	MicroUSD *int64 `json:"microusd"`
	Tokens   int64  `json:"tokens"`
}

// ledgerOf reads the ledger of a run, or of the run of a grading.
func ledgerOf(ctx context.Context, s store.Store, run eval.Run) (ledgerStatus, error) {
	l, err := s.Ledger(ctx, run.ID)
	if err != nil {
		return ledgerStatus{}, err
	}
	agents, judges, err := scheduler.Unpriced(ctx, s, run)
	out := ledgerStatus{Ledger: l, Spent: spentStatus{Tokens: l.Spent.Tokens}}
	if unknown := agents && l.Spent.Tokens > l.Judges.Tokens || judges && l.Judges.Tokens > 0; !unknown {
		out.Spent.MicroUSD = &l.Spent.MicroUSD
	}
	return out, err
}

func (c *command) printStatus(st runStatus, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(c.env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(st)
	}
	state := string(st.State)
	if st.State == eval.RunDone {
		state = fmt.Sprintf("done (%s, %s)", st.Outcome, st.Verdict)
	} else if st.Control != eval.ControlRun && st.State != eval.RunPaused {
		state += ", " + string(st.Control) + " asked"
	}
	parts := []string{st.Run, st.Suite, state, fmt.Sprintf("%d/%d", st.Done, st.Trials)}
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
		parts = append(parts, "no process of this machine carries it out; continue: evalfarm resume "+st.Run)
	}
	c.print("%s\n", strings.Join(parts, "  "))
	if line := spending(st); line != "" {
		c.print("  %s\n", line)
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
func spending(st runStatus) string {
	taken := st.Ledger.Ledger.Spent.Add(st.Ledger.Charged)
	var parts []string
	if taken.MicroUSD > 0 || st.Ledger.Held.MicroUSD > 0 {
		parts = append(parts, "spent "+eval.USD(taken.MicroUSD))
	}
	if held := st.Ledger.Held.MicroUSD; held > 0 {
		parts = append(parts, "held for running trials "+eval.USD(held))
	}
	if st.Budget.MicroUSD > 0 {
		parts = append(parts, "budget "+eval.USD(st.Budget.MicroUSD))
	}
	if st.DayMicroUSD > 0 {
		parts = append(parts, "of all runs of a day "+eval.USD(st.DayMicroUSD))
	}
	if st.ScheduleMicroUSD > 0 {
		parts = append(parts, fmt.Sprintf("of all runs of %s %s", st.Schedule, eval.USD(st.ScheduleMicroUSD)))
	}
	if st.Budget.Tokens > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", taken.Tokens, st.Budget.Tokens))
	}
	if st.Budget.Time > 0 && st.State != eval.RunDone {
		parts = append(parts, fmt.Sprintf("begins nothing more after %s", st.Created.Add(st.Budget.Time).Local().Format(time.TimeOnly)))
	}
	return strings.Join(parts, "  ")
}
