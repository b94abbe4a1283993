package cli

import (
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/farmfile"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) scheduleAdd() *cobra.Command {
	var f scheduleFlags
	cmd := &cobra.Command{
		Use:   "add NAME SUITE --cron EXPRESSION",
		Short: "Add a schedule",
		Long: `Add a schedule of a suite, which is loaded anew each time. It is loaded now too, so
that a mistake in it is seen at once.`,
		Example: `  evalfarm schedule add nightly suites/support-desk --cron '30 2 * * *' --timezone Europe/Berlin --budget-usd 50`,
		Args:    args(2, 2, "a name and a suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			added, err := f.schedule(c, args[0], args[1])
			if err != nil {
				return err
			}
			request, err := c.scheduled(3)(ctx, added)
			if err != nil {
				return err
			}
			request.Schedule, request.ScheduleMicroUSD = added.Name, added.BudgetMicroUSD
			if _, _, err := scheduler.Preview(request); err != nil {
				return explainEmpty(err, request.Suite)
			}
			return c.withStore(ctx, func(s store.Store) error {
				there, err := s.Schedule(ctx, added.Name)
				switch {
				case errors.Is(err, store.ErrNotFound):
				case err != nil:
					return err
				case there.File != "":
					return usage("take another name", "there is a schedule %s in %s", added.Name, report.Line(there.File, 200))
				default:
					return usage("take another name, or first: evalfarm schedule remove "+added.Name, "there is a schedule %s already", added.Name)
				}
				now := time.Now()
				if err := scheduler.PutSchedule(ctx, s, added, now); err != nil {
					return err
				}
				if there, err = s.Schedule(ctx, added.Name); err != nil {
					return err
				}
				st, err := statusOf(ctx, s, there, now)
				if err != nil {
					return err
				}
				if f.json {
					return c.encode(st)
				}
				c.printSchedule(st, now)
				return nil
			})
		},
	}
	f.add(cmd)
	return cmd
}

// scheduleFlags hold what a schedule says.
type scheduleFlags struct {
	eval.Schedule
	overlap, catchUp string
	set, axes        []string
	budget           dollars
	json             bool
}

func (f *scheduleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Cron, "cron", "", "when it is due: minute, hour, day of the month, month, day of the week, or @daily and the like")
	flags.StringVar(&f.Timezone, "timezone", "UTC", "IANA name of the `ZONE` whose clocks count")
	flags.DurationVar(&f.Jitter, "jitter", 0, "begin up to so much later, at most 24h")
	flags.StringVar(&f.overlap, "overlap", string(eval.OverlapSkip), "while a run of it is not done: skip, queue or cancel")
	flags.StringVar(&f.catchUp, "catch-up", string(eval.CatchUpOnce), "what was missed while no scheduler was there: skip, once or all")
	flags.IntVar(&f.CatchUpLimit, "catch-up-limit", 0, "how many --catch-up all makes up for, the latest (default 10)")
	flags.StringVar(&f.FinishBy, "finish-by", "", "begin nothing more after this `TIME` of day, as 06:00")
	flags.StringVar(&f.With, "with", "", "complete the suite from this `FILE` of servers, axes, limits and defaults")
	flags.StringArrayVar(&f.set, "set", nil, "set a suite variable: `NAME=VALUE`")
	flags.StringArrayVar(&f.Cases, "case", nil, "only cases whose id matches this `GLOB` (repeatable)")
	flags.StringArrayVar(&f.Tags, "tag", nil, "only cases with this `TAG` (repeatable)")
	flags.StringArrayVar(&f.axes, "axis", nil, "only this `NAME=VALUE` of an axis (repeatable)")
	flags.IntVarP(&f.Repeats, "repeats", "n", 0, "repeat every selected case `N` times")
	flags.StringVar(&f.Baseline, "baseline", "", "compare its runs with this `BASELINE`: a name, last-green, the id of a run, or file:// and a path")
	flags.StringVar(&f.Gate, "gate", "", "judge its runs by the gate of this policy `FILE`, which is loaded anew each time")
	flags.Var(&f.budget, "budget-usd", "spend at most so many `DOLLARS` in all runs of the schedule together")
	flags.StringVar(&f.Tenant, "tenant", "", "the `NAME` on whose account its runs are")
	flags.IntVar(&f.Priority, "priority", 0, "weigh its runs by `N` against others of the tenant (default 1)")
	flags.StringArrayVar(&f.Notifications, "notify", nil, "tell this `TARGET` of the farm file of its runs, and no other (repeatable)")
	flags.BoolVar(&f.json, "json", false, "print the schedule as one JSON document")
}

// schedule is what the flags say.
func (f *scheduleFlags) schedule(c *command, name, suite string) (eval.Schedule, error) {
	s := f.Schedule
	if !farmfile.ScheduleName.MatchString(name) {
		return s, usage("letters, digits, dots, dashes and underscores, at most 64", "%q is no name for a schedule", name)
	}
	if s.Cron == "" {
		return s, usage("each night at half past two: --cron '30 2 * * *'", "schedule add wants --cron")
	}
	s.Name, s.Overlap, s.CatchUp, s.BudgetMicroUSD = name, eval.Overlap(f.overlap), eval.CatchUp(f.catchUp), int64(f.budget)
	if problems := farmfile.CheckSchedule(s); len(problems) > 0 {
		p := problems[0]
		flag := map[string]string{"cases": "case", "notifications": "notify"}[p.Key]
		if flag == "" {
			flag = strings.ReplaceAll(p.Key, "_", "-")
		}
		return s, usage(p.Hint, "--%s: %s", flag, p.Message)
	}
	if err := c.knownTenant(s.Tenant); err != nil {
		return s, err
	}
	for _, name := range s.Notifications {
		if _, _, err := c.target(name); err != nil {
			return s, err
		}
	}
	if s.CatchUp == eval.CatchUpAll && s.CatchUpLimit == 0 {
		s.CatchUpLimit = farmfile.MaxCatchUp
	}
	var err error
	if s.Suite, err = c.findSuite(suite); err != nil {
		return s, err
	}
	if s.With != "" {
		s.With = c.env.abs(s.With)
	}
	if s.Gate != "" {
		s.Gate = c.env.abs(s.Gate)
	}
	if path, ok := eval.BaselineFile(s.Baseline); ok {
		s.Baseline = "file://" + c.env.abs(path)
	}
	if s.Vars, err = variables(f.set); err != nil {
		return s, err
	}
	for _, kv := range f.axes {
		axis, value, ok := strings.Cut(kv, "=")
		if !ok {
			return s, usage("", "--axis %s: want NAME=VALUE", kv)
		}
		if s.Axes == nil {
			s.Axes = map[string][]string{}
		}
		s.Axes[axis] = append(s.Axes[axis], value)
	}
	return s, nil
}
