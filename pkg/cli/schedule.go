package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/schedule"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

func (c *command) schedule() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Run suites again and again",
		Long: `Run suites again and again, at the times of a cron expression. The schedules are
those of the store: of farm.yaml, which evalfarm scheduler takes over when it
starts, and those that were added here. evalfarm scheduler --redis URL, without a
suite, starts their runs.`,
		Example: `  evalfarm schedule add nightly suites/support-desk --cron '30 2 * * *' --timezone Europe/Berlin --budget-usd 50
  evalfarm schedule list
  evalfarm schedule history nightly`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(c.scheduleList(), c.scheduleAdd(), c.schedulePause(), c.scheduleResume(), c.scheduleRemove(), c.scheduleRun(), c.scheduleHistory())
	return cmd
}

// withSchedule opens the store and finds a schedule.
func (c *command) withSchedule(ctx context.Context, name string, fn func(store.Store, store.Schedule) error) error {
	return c.withStore(ctx, func(s store.Store) error {
		found, err := s.Schedule(ctx, name)
		if !errors.Is(err, store.ErrNotFound) {
			if err != nil {
				return err
			}
			return fn(s, found)
		}
		all, err := s.Schedules(ctx)
		if err != nil {
			return err
		}
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		hint := "list them: evalfarm schedule list"
		if near := strictyaml.Closest(name, names); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", near, hint)
		}
		return usage(hint, "there is no schedule %q", name)
	})
}

// scheduleStatus is one of the document of `schedule list --json`.
type scheduleStatus struct {
	store.Schedule
	// Next are the times at which it is due, in its time zone.
	Next []time.Time `json:"next"`
	// Last is what became of the latest firing, and Verdict that of its run.
	Last    *eval.Firing    `json:"last,omitempty"`
	Verdict eval.RunVerdict `json:"verdict,omitempty"`
}

func (c *command) scheduleList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the schedules, and when they are due",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return c.withStore(ctx, func(s store.Store) error {
				all, err := s.Schedules(ctx)
				if err != nil {
					return err
				}
				now := time.Now()
				list := []scheduleStatus{}
				for _, one := range all {
					st, err := statusOf(ctx, s, one, now)
					if err != nil {
						return err
					}
					list = append(list, st)
				}
				if asJSON {
					return c.encode(list)
				}
				if len(list) == 0 {
					fmt.Fprintln(c.env.Stderr, "no schedules; add one: evalfarm schedule add NAME SUITE --cron '30 2 * * *'")
				}
				for _, st := range list {
					c.printSchedule(st, now)
				}
				return c.untaken(all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

// timesShown is how many times of a schedule people see.
const timesShown = 3

func statusOf(ctx context.Context, s store.Store, of store.Schedule, now time.Time) (scheduleStatus, error) {
	st := scheduleStatus{Schedule: of, Next: []time.Time{}}
	cron, err := schedule.Parse(of.Cron, of.Timezone)
	if err != nil {
		return st, err
	}
	zone, err := schedule.Zone(of.Timezone)
	if err != nil {
		return st, err
	}
	next := of.Due
	for len(st.Next) < timesShown && !of.Rests() {
		if next.After(now) {
			st.Next = append(st.Next, next.In(zone))
		}
		next = cron.Next(next)
		if next.Before(now) {
			next = cron.Next(now)
		}
	}
	firings, err := s.Firings(ctx, store.FiringFilter{Schedule: of.Name, Limit: 1})
	if err != nil || len(firings) == 0 {
		return st, err
	}
	st.Last = &firings[0]
	if st.Last.Run == "" {
		return st, nil
	}
	run, err := s.Run(ctx, st.Last.Run)
	if errors.Is(err, store.ErrNotFound) { // collected
		err = nil
	}
	st.Verdict = run.Verdict
	return st, err
}

// overdue is how late a firing is that nobody looks for.
const overdue = 2 * time.Minute

func (c *command) printSchedule(st scheduleStatus, now time.Time) {
	parts := []string{st.Name, st.Cron, st.Timezone, report.Line(st.Suite, 100)}
	if st.File != "" {
		parts = append(parts, "of "+report.Line(st.File, 100))
	}
	c.print("%s\n", strings.Join(parts, "  "))
	zone, err := schedule.Zone(st.Timezone)
	if err != nil {
		zone = time.UTC
	}
	switch late := now.Sub(st.Due.Add(st.Jitter)); {
	case st.PausedByHand:
		c.print("  paused; evalfarm schedule resume %s\n", st.Name)
	case st.Paused:
		c.print("  paused in that file\n")
	case late > overdue:
		c.print("  due since %s: no scheduler looks; start one: evalfarm scheduler --redis URL\n", clockTime(st.Due, zone))
	}
	if len(st.Next) > 0 {
		var times []string
		for _, at := range st.Next {
			times = append(times, clockTime(at, zone))
		}
		c.print("  next  %s\n", strings.Join(times, ", "))
	}
	if st.Last != nil {
		line := fmt.Sprintf("%s  %s", clockTime(st.Last.Due, zone), outcome(*st.Last))
		if st.Verdict != "" {
			line += "  " + string(st.Verdict)
		}
		c.print("  last  %s\n", line)
	}
	if st.Baseline != "" {
		c.print("  baseline %s\n", report.Line(st.Baseline, 200))
	}
	if st.Gate != "" {
		c.print("  gate %s\n", report.Line(st.Gate, 200))
	}
	switch {
	case st.BudgetMicroUSD > 0:
		c.print("  spent %s of %s\n", eval.USD(st.TakenMicroUSD), eval.USD(st.BudgetMicroUSD))
	case st.TakenMicroUSD > 0:
		c.print("  spent %s\n", eval.USD(st.TakenMicroUSD))
	}
}

// clockTime is a moment as clocks of a zone show it.
func clockTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2006-01-02 15:04 MST")
}

// outcome says in a line what became of a firing.
func outcome(f eval.Firing) string {
	text := string(f.Outcome)
	switch f.Outcome {
	case eval.FiringOverlap, eval.FiringLate, eval.FiringMissed, eval.FiringPaused:
		text = "skipped: " + text
	case eval.FiringStarted, eval.FiringQueued, eval.FiringFailed:
	}
	if f.Run != "" {
		text += "  " + f.Run
	}
	if f.Message != "" {
		text += "  " + report.Line(f.Message, 160)
	}
	return text
}

// untaken tells of schedules that are in the farm file and in no scheduler yet.
func (c *command) untaken(there []store.Schedule) error {
	farm, err := c.farm()
	if err != nil || farm == nil {
		return err
	}
	known := map[string]bool{}
	for _, s := range there {
		known[s.Name] = true
	}
	for _, s := range farm.Schedules {
		if !known[s.Name] {
			fmt.Fprintf(c.env.Stderr, "%s of %s is not there yet: evalfarm scheduler takes it over when it starts\n", s.Name, c.loaded.path)
		}
	}
	return nil
}

func (c *command) schedulePause() *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME",
		Short: "Start no more runs of a schedule",
		Long:  "Start no more runs of a schedule, until evalfarm schedule resume. What runs goes on.",
		Args:  args(1, 1, "a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSchedule(cmd.Context(), args[0], func(s store.Store, of store.Schedule) error {
				if err := s.PauseSchedule(cmd.Context(), of.Name); err != nil {
					return err
				}
				c.print("%s is paused\n", of.Name)
				return nil
			})
		},
	}
}

func (c *command) scheduleResume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume NAME",
		Short: "Start runs of a paused schedule again",
		Long:  "Start runs of a paused schedule again. What was due meanwhile is not made up for.",
		Args:  args(1, 1, "a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withSchedule(ctx, args[0], func(s store.Store, of store.Schedule) error {
				if of.Paused {
					return usage("take paused: true out of it, and start the scheduler again", "%s is paused in %s", of.Name, report.Line(of.File, 200))
				}
				cron, err := schedule.Parse(of.Cron, of.Timezone)
				if err != nil {
					return err
				}
				if err := s.ResumeSchedule(ctx, of.Name, cron.Next(time.Now())); err != nil {
					return err
				}
				now, err := s.Schedule(ctx, of.Name)
				if err != nil {
					return err
				}
				zone, err := schedule.Zone(of.Timezone)
				if err != nil {
					return err
				}
				c.print("%s is due at %s\n", of.Name, clockTime(now.Due, zone))
				return nil
			})
		},
	}
}

func (c *command) scheduleRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Forget a schedule and its history",
		Long:  "Forget a schedule and its history. Its runs stay, and those that run go on.",
		Args:  args(1, 1, "a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withSchedule(cmd.Context(), args[0], func(s store.Store, of store.Schedule) error {
				if of.File != "" {
					return usage("take it out of there, and start the scheduler again; or evalfarm schedule pause "+of.Name, "%s is written in %s", of.Name, report.Line(of.File, 200))
				}
				if err := s.DeleteSchedule(cmd.Context(), of.Name); err != nil {
					return err
				}
				c.print("%s is removed\n", of.Name)
				return nil
			})
		},
	}
}

func (c *command) scheduleRun() *cobra.Command {
	var asJSON bool
	var attempts int
	cmd := &cobra.Command{
		Use:   "run NAME",
		Short: "Start a run of a schedule now",
		Long: `Start a run of a schedule now, paused or not, beside whatever runs of it, and
print its id. The farm's scheduler carries it out; evalfarm watch RUN follows it.
It counts against the schedule's budget.`,
		Args: args(1, 1, "a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withSchedule(ctx, args[0], func(s store.Store, of store.Schedule) error {
				run, err := scheduler.FireByHand(ctx, s, of, time.Now().UTC(), c.scheduled(attempts))
				if err != nil {
					return err
				}
				if asJSON {
					return c.encode(run)
				}
				c.print("%s\n", run.ID)
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&attempts, "attempts", 3, "failures of the farm after which a trial is an error")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the run as one JSON document")
	return cmd
}

func (c *command) scheduleHistory() *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "history NAME",
		Short: "What became of a schedule's firings, newest first",
		Args:  args(1, 1, "a schedule"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withSchedule(ctx, args[0], func(s store.Store, of store.Schedule) error {
				firings, err := s.Firings(ctx, store.FiringFilter{Schedule: of.Name, Limit: limit})
				if err != nil {
					return err
				}
				if asJSON {
					if firings == nil {
						firings = []eval.Firing{}
					}
					return c.encode(firings)
				}
				if len(firings) == 0 {
					fmt.Fprintf(c.env.Stderr, "%s has not been due yet\n", of.Name)
				}
				zone, err := schedule.Zone(of.Timezone)
				if err != nil {
					return err
				}
				for _, f := range firings {
					c.print("%s  %s\n", clockTime(f.Due, zone), outcome(f))
				}
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "at most this many")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}
