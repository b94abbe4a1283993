package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) follow() *cobra.Command {
	var f showing
	cmd := &cobra.Command{
		Use:   "watch [RUN]",
		Short: "Follow a run that is carried out elsewhere until its end",
		Long: `Follow a run that a farm or another process carries out: the same progress,
report and exit code as evalfarm run. Ctrl-C ends only the watching. RUN
defaults to the latest.`,
		Args: args(0, 1, "at most one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := f.check(c); err != nil {
				return err
			}
			return c.withDesk(ctx, args, func(d desk, run eval.Run) error {
				if run.Parent != "" {
					var err error
					if run, err = d.Run(ctx, run.Parent); err != nil {
						return err
					}
				}
				if _, local := d.(here); local && run.State != eval.RunDone && run.Carrier != eval.CarrierService {
					if err := scheduler.Runnable(run); err != nil {
						return err
					}
					if _, held := app.Locked(c.env.Home(), run.ID); !held {
						return usage("evalfarm resume "+run.ID, "no process of this machine carries run %s out", run.ID)
					}
				}
				return c.followRun(ctx, &f, d, run)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// addWatch adds the flag that follows a run of a farm.
func addWatch(cmd *cobra.Command, watch *bool) {
	cmd.Flags().BoolVar(watch, "watch", false, "follow a run of a farm to its end")
}

// leave leaves a run to the farm whose it is, and says what becomes of it; or it
// follows the run to its end.
func (c *command) leave(ctx context.Context, f *showing, watch bool, d desk, st runStatus, becomes string) error {
	switch {
	case watch:
		return c.followRun(ctx, f, d, st.Run)
	case st.Leader == "":
		c.print("%s %s once a scheduler leads the farm\n", st.ID, becomes)
	default:
		c.print("%s %s; scheduler %s has it\n", st.ID, becomes, report.Line(st.Leader, 100))
	}
	return nil
}

// followEvery is how often a run that others carry out is looked at.
const followEvery = 500 * time.Millisecond

// followRun shows the progress of a run that others carry out, by what the store
// says, until it is done, and prints its report.
func (c *command) followRun(ctx context.Context, f *showing, d desk, run eval.Run) error {
	if run.State == eval.RunDone {
		return c.concludeStored(ctx, f, d, run)
	}
	if st, err := d.Status(ctx, run); err == nil && st.Leader == "" && run.Carrier == eval.CarrierService {
		fmt.Fprintln(c.env.Stderr, "no scheduler leads the farm now; the run waits for one: evalfarm scheduler --redis URL")
	}
	// What happened before is not told again.
	news := &news{run: run.ID}
	if _, err := news.read(ctx, d); err != nil {
		return err
	}
	w, err := c.watchOver(ctx, f, "farm", "the run goes on without us; watch it again: evalfarm "+c.again()+"watch "+run.ID, d, run)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.afar = true
	w.mu.Unlock()
	run, err = w.follow(ctx, d, news)
	w.stop()
	if err != nil {
		return err
	}
	return c.concludeStored(ctx, f, d, run)
}

// follow tells what happens to a run until it is done.
func (w *watching) follow(ctx context.Context, s reader, news *news) (eval.Run, error) {
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		// First the run: what is told when it is done is all.
		run, err := s.Run(ctx, news.run)
		if err != nil {
			return run, cmp.Or(ctx.Err(), err)
		}
		results, err := news.read(ctx, s)
		if err != nil {
			return run, cmp.Or(ctx.Err(), err)
		}
		counts, err := s.Counts(ctx, run.ID)
		if err != nil {
			return run, cmp.Or(ctx.Err(), err)
		}
		w.mu.Lock()
		w.counts = counts
		w.planned(run)
		w.mu.Unlock()
		for _, e := range results {
			if err := w.tell(ctx, s, e); err != nil {
				return run, cmp.Or(ctx.Err(), err)
			}
		}
		if run.State == eval.RunDone {
			return run, nil
		}
		select {
		case <-ctx.Done():
			return run, ctx.Err()
		case <-ticker.C:
		}
	}
}

// tell shows the result that an event is of, if it still stands.
func (w *watching) tell(ctx context.Context, s reader, e eval.Event) error {
	w.mu.Lock()
	cell, repeat, err := w.order.At(e.Ordinal)
	w.mu.Unlock()
	if err != nil {
		return nil //nolint:nilerr // of a plan that is not this one: nothing to show
	}
	at := w.snap.Plan.Cells[cell]
	done := Finished{Case: w.snap.Cases[at.Case].ID, Variant: w.snap.Variants[at.Variant].ID, Repeat: repeat, Verdict: e.Verdict}
	if e.Verdict != eval.Pass {
		row, err := s.Result(ctx, e.Run, e.Ordinal)
		switch {
		case errors.Is(err, store.ErrNotFound): // it is being tried again
			return nil
		case err != nil:
			return err
		case row.Result.AwaitsJudge(): // it is told once it is judged
			return nil
		}
		done.Verdict, done.Reason, done.Message = row.Result.Verdict, row.Result.Reason, row.Result.Message
		done.TraceURL = row.TraceURL
	}
	w.progress.Result(done)
	return nil
}

// news reads the results of a run as they come.
type news struct {
	run string
	seq int64
}

// read gives the results since the last time.
func (n *news) read(ctx context.Context, s reader) ([]eval.Event, error) {
	const page = 1000
	var results []eval.Event
	for {
		es, err := s.Events(ctx, n.run, n.seq, page)
		if err != nil {
			return nil, err
		}
		for _, e := range es {
			n.seq = e.Seq
			if e.Kind == "result" {
				results = append(results, e)
			}
		}
		if len(es) < page {
			return results, nil
		}
	}
}
