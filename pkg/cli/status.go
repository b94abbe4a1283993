package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
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
	Owner   *app.Owner `json:"owner,omitempty"`
	Created time.Time  `json:"created"`
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
				if owner, held := app.Locked(c.env.Home(), run.ID); held {
					st.Owner = &owner
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

func (c *command) printStatus(st runStatus, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(c.env.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(st)
	}
	state := string(st.State)
	if st.State == eval.RunDone {
		state = fmt.Sprintf("done (%s, %s)", st.Outcome, st.Verdict)
	} else if st.Control != eval.ControlRun {
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
	case st.State != eval.RunDone:
		parts = append(parts, "no process of this machine carries it out; continue: evalfarm resume "+st.Run)
	}
	c.print("%s\n", strings.Join(parts, "  "))
	return nil
}
