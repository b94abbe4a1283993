package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// tellPatience bounds how long a command begins to send notices at its end.
const tellPatience = 15 * time.Second

// listed is how many notices of all runs are listed.
const listed = 50

func (c *command) notifications() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notifications",
		Short: "Tell others of runs that are done",
		Long: `Tell others of runs that are done: the targets under notifications of the farm
file. A scheduler sends notices by itself, and again for a day where that fails;
run, resume and retry send those of targets with local: true, once.`,
		Example: `  evalfarm notifications test on-call
  evalfarm notifications list latest
  evalfarm notifications resend latest on-call`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := noArgs(cmd, args); err != nil {
				return err
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(c.listNotifications(), c.testNotification(), c.resendNotifications())
	return cmd
}

func (c *command) listNotifications() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [RUN]",
		Short: "List the notices of a run, or the latest ones of all runs",
		Args:  args(0, 1, "at most one run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			list := func(s store.Store, run string) error {
				ns, err := s.Notices(ctx, run, listed)
				if err != nil {
					return err
				}
				if asJSON {
					if ns == nil {
						ns = []store.Notice{}
					}
					return c.encode(ns)
				}
				if len(ns) == 0 {
					fmt.Fprintln(c.env.Stderr, "no notices: no target was to be told")
				}
				for _, n := range ns {
					c.print("%s  %s\n", n.Run, notice(n))
				}
				return nil
			}
			if len(args) == 0 {
				return c.withStore(ctx, func(s store.Store) error { return list(s, "") })
			}
			return c.withRun(ctx, args, func(s store.Store, run eval.Run) error { return list(s, run.ID) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func (c *command) testNotification() *cobra.Command {
	return &cobra.Command{
		Use:   "test TARGET",
		Short: "Send a target a message that is marked as a test, and say what happens",
		Long: `Send a target a message that is marked as a test, once, and say what happens. A
github_status gets none, since it would stay: whether its token may write one is
asked.`,
		Args: args(1, 1, "a target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, conf, err := c.target(args[0])
			if err != nil {
				return err
			}
			return c.withStore(cmd.Context(), func(s store.Store) error {
				if err := conf.Sender(s).Test(cmd.Context(), target); err != nil {
					return fmt.Errorf("test %s (%s): %w", target.Name, target.Kind(), err)
				}
				c.print("%s (%s) has taken the test message\n", target.Name, target.Kind())
				return nil
			})
		},
	}
}

func (c *command) resendNotifications() *cobra.Command {
	return &cobra.Command{
		Use:   "resend RUN [TARGET]",
		Short: "Send the notices of a run again that were not sent, or that of a target",
		Long: `Send the notices of a run again that were not sent; or, with TARGET, the one of
that target, whether it was sent, has failed or was never due. The notice keeps its
id, by which a receiver knows a second one.`,
		Args: args(1, 2, "a run and at most one target"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return c.withRun(ctx, args[:1], func(s store.Store, run eval.Run) error {
				if run.State != eval.RunDone {
					return usage("evalfarm status "+run.ID, "run %s is %s; a notice tells of a done run", run.ID, run.State)
				}
				targets, conf, err := c.resent(ctx, s, run, args[1:])
				if err != nil {
					return err
				}
				now := time.Now()
				for _, t := range targets {
					if err := s.PutNotice(ctx, store.Notice{Run: run.ID, Target: t, Due: now, Created: now}); err != nil {
						return err
					}
				}
				if _, err := conf.Sender(s).Deliver(ctx, run.ID); err != nil {
					return err
				}
				// Another process may have been faster; the outbox knows.
				ns, err := s.Notices(ctx, run.ID, 0)
				if err != nil {
					return err
				}
				all := true
				for _, n := range ns {
					if slices.Contains(targets, n.Target) {
						c.print("%s\n", notice(n))
						all = all && n.State == store.NoticeSent
					}
				}
				if !all {
					return errors.New("not every notice was sent")
				}
				return nil
			})
		},
	}
}

// resent names the targets to tell again: the one that is named, else those of the
// notices that were not sent.
func (c *command) resent(ctx context.Context, s store.Store, run eval.Run, named []string) ([]string, app.Config, error) {
	if len(named) > 0 {
		t, conf, err := c.target(named[0])
		return []string{t.Name}, conf, err
	}
	conf := c.config()
	var err error
	if conf.Targets, err = c.targets(); err != nil {
		return nil, conf, err
	}
	ns, err := s.Notices(ctx, run.ID, 0)
	if err != nil {
		return nil, conf, err
	}
	var names []string
	for _, n := range ns {
		switch known := slices.ContainsFunc(conf.Targets, func(t eval.Target) bool { return t.Name == n.Target }); {
		case n.State == store.NoticeSent:
		case !known:
			fmt.Fprintf(c.env.Stderr, "warning: the farm file has no target %s any more\n", n.Target)
		default:
			names = append(names, n.Target)
		}
	}
	if len(names) == 0 {
		return nil, conf, usage("evalfarm notifications resend "+run.ID+" TARGET", "run %s has no notice that was not sent", run.ID)
	}
	return names, conf, nil
}

// targets of the farm file.
func (c *command) targets() ([]eval.Target, error) {
	farm, err := c.farm()
	if farm == nil || err != nil {
		return nil, err
	}
	return farm.Targets, nil
}

// target finds one by its name.
func (c *command) target(name string) (eval.Target, app.Config, error) {
	conf := c.config()
	var err error
	if conf.Targets, err = c.targets(); err != nil {
		return eval.Target{}, conf, err
	}
	var names []string
	for _, t := range conf.Targets {
		if t.Name == name {
			return t, conf, nil
		}
		names = append(names, t.Name)
	}
	switch near := strictyaml.Closest(name, names); {
	case len(names) == 0:
		return eval.Target{}, conf, usage("see docs/notifications.md", "no farm file names a target under notifications")
	case near != "":
		return eval.Target{}, conf, usage(fmt.Sprintf("did you mean %q?", near), "the farm file has no target %q", name)
	default:
		return eval.Target{}, conf, usage("targets are "+strings.Join(names, ", "), "the farm file has no target %q", name)
	}
}

// tellLocal sends the notices of a run that this process has carried out. The run
// stands whether somebody hears of it or not.
func (c *command) tellLocal(ctx context.Context, conf app.Config, s store.Store, run string) {
	ctx, cancel := context.WithTimeout(ctx, tellPatience)
	defer cancel()
	ns, err := conf.LocalSender(s).Deliver(ctx, run)
	if err != nil {
		fmt.Fprintf(c.env.Stderr, "warning: nobody was told of run %s: %s\n", run, report.Line(err.Error(), 500))
	}
	for _, line := range unsent(ns) {
		fmt.Fprintf(c.env.Stderr, "warning: %s\n", line)
	}
	if len(unsent(ns)) > 0 {
		fmt.Fprintf(c.env.Stderr, "  again: evalfarm notifications resend %s\n", run)
	}
}

// printUnsent lists the notices of a run that were not sent.
func (c *command) printUnsent(ctx context.Context, s reader, run string) error {
	ns, err := s.Notices(ctx, run, 0)
	if err != nil {
		return err
	}
	for i, line := range unsent(ns) {
		if i == 0 {
			c.print("\n")
		}
		c.print("  %s\n", line)
	}
	return nil
}

// unsent says which notices wait or have failed.
func unsent(ns []store.Notice) []string {
	var lines []string
	for _, n := range ns {
		if n.State == store.NoticeWaiting || n.State == store.NoticeFailed {
			lines = append(lines, "notice  "+notice(n))
		}
	}
	return lines
}

// notice is where one stands, in a line.
func notice(n store.Notice) string {
	parts := []string{fmt.Sprintf("%-16s", n.Target), fmt.Sprintf("%-7s", n.State), tries(n.Tries)}
	switch {
	case !n.Ended.IsZero():
		parts = append(parts, n.Ended.Local().Format(time.DateTime))
	case n.Tries > 0:
		parts = append(parts, "again at "+n.Due.Local().Format(time.DateTime))
	}
	if n.Message != "" {
		parts = append(parts, report.Line(n.Message, 200))
	}
	return strings.Join(parts, "  ")
}

func tries(n int) string {
	if n == 1 {
		return "1 try"
	}
	return fmt.Sprintf("%d tries", n)
}
