package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) scheduler() *cobra.Command {
	f := scheduling{carrying: carrying{broker: "embedded"}}
	cmd := &cobra.Command{
		Use:   "scheduler --redis URL --listen ADDR [SUITE...]",
		Short: "Carry out runs on a farm of workers",
		Long: `Without a suite, carry out the runs that are in the store and those that come,
until stopped: evalfarm enqueue puts them there. Several schedulers may serve one
store: one leads, the others stand by. SIGTERM leaves everything in the store.

With suites, start a run of each, keep their trials in the Redis queue, take
results from the workers, print each summary and exit with the worst verdict's
code.

Workers join with: evalfarm worker --redis URL --blobs http://ADDR. They show a
token, which is read from --token-file or $EVALFARM_TOKEN; without either, one
is made and kept in the state folder.

With --blobs file:///folder or s3://bucket/prefix?endpoint=URL&region=NAME
workers may be given the same address instead, and need no way to the scheduler.
The keys of a bucket are AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The state
folder remembers the address.

With --health it answers GET /healthz, /readyz and, for Prometheus, /metrics to
anybody who can reach that address, without a token.

What no flag says is read from the environment and farm.yaml: evalfarm config
explain.`,
		Args: args(0, -1, "suites"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if err := f.check(c, cmd, args); err != nil {
				return err
			}
			if app.Shared(f.blobs) { // else it is our own address, as workers see it
				c.blobs = f.blobs
			}
			requests, err := f.requests(ctx, c, args)
			if err != nil {
				return err
			}
			// Before a run is made that nobody could carry out.
			listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
			if err != nil {
				return fmt.Errorf("listen on %s: %w", f.listen, err)
			}
			defer listener.Close()
			if f.healthy, err = healthListener(ctx, f.health); err != nil {
				return err
			}
			if f.healthy != nil {
				defer f.healthy.Close()
			}
			if f.told, err = c.tells(ctx, "evalfarm-scheduler", "", f.health != ""); err != nil {
				return err
			}
			defer c.told(ctx, f.told)
			return c.withStore(ctx, func(s store.Store) error {
				if len(args)+len(f.resume) == 0 {
					return f.serve(ctx, c, s, listener)
				}
				// Nobody knows yet how many slots the workers will have.
				f.tell.silent = f.quiet
				requests, err := c.announce(ctx, s, f.tell, requests...)
				if err != nil {
					return err
				}
				runs, err := f.runs(ctx, c, s, requests)
				if err != nil {
					return err
				}
				return f.schedule(ctx, c, s, listener, runs)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", "", "the Redis that the farm shares, as a `URL`")
	flags.DurationVar(&f.lease, "lease", 0, "how long a worker may be silent before its trial is tried again (default 45s)")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8090", "serve the API on this `ADDRESS`")
	flags.StringVar(&f.health, "health", "", "answer /healthz, /readyz and /metrics on this `ADDRESS` (default: nowhere)")
	flags.DurationVar(&f.term, "leader-lease", 15*time.Second, "how long a leader may be silent before another scheduler leads")
	flags.StringVar(&f.blobs, "blobs", "", "where workers put large blobs, as file:///folder or s3://bucket/prefix: a `URL` (default: here)")
	flags.StringVar(&f.tokenFile, "token-file", "", "read the farm's token from this `FILE`")
	flags.StringVar(&f.baseline, "baseline", "", "compare with this `BASELINE`: a name, last-green, the id of a run, or file:// and a path; its trajectories are expected where a suite lists no calls")
	flags.StringArrayVar(&f.resume, "resume", nil, "go on with this `RUN` (repeatable)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "only the verdicts")
	flags.BoolVar(&f.json, "json", false, "print each summary as a JSON document")
	flags.StringArrayVarP(&f.outputs, "output", "o", nil, "also write a report: `FORMAT[=PATH]` with junit, json or jsonl")
	f.loading.add(cmd)
	f.selecting.add(cmd)
	f.tell.add(cmd)
	return cmd
}

// scheduling holds the flags of a scheduler.
type scheduling struct {
	carrying
	loading
	selecting
	tell      announcing
	listen    string
	health    string
	healthy   net.Listener // of health
	tokenFile string
	term      time.Duration
	blobs     string
	resume    []string
}

// check finds mistakes before anything is started.
func (f *scheduling) check(c *command, cmd *cobra.Command, args []string) error {
	switch runs := len(args) + len(f.resume); {
	case f.redis == "":
		return usage("for a farm on this machine alone: evalfarm run SUITE", "scheduler wants --redis URL, which its workers share, as a flag or in farm.yaml")
	case f.term < time.Second:
		return usage("", "--leader-lease wants a second at least")
	case runs == 0:
		service := []string{"redis", "lease", "listen", "health", "leader-lease", "token-file", "blobs", "verbose", "log-level", "log-format", "color", "config"}
		var stray error
		cmd.Flags().Visit(func(flag *pflag.Flag) {
			if !slices.Contains(service, flag.Name) {
				stray = usage("give it to evalfarm enqueue, or name a suite", "--%s is for runs that the scheduler is given, and it is given none", flag.Name)
			}
		})
		if stray != nil {
			return stray
		}
	case f.blobs != "" && !strings.HasPrefix(f.blobs, "http://") && !strings.HasPrefix(f.blobs, "https://") && checkBlobs(f.blobs) != nil:
		return checkBlobs(f.blobs)
	case runs > 1:
		outputs, err := parseOutputs(f.outputs, f.json)
		if err == nil && slices.ContainsFunc(outputs, func(o output) bool { return o.path != "-" }) {
			return usage("evalfarm report RUN -o FORMAT=PATH writes them one by one", "-o with several runs would write them all to one file")
		}
	}
	return f.carrying.check(c)
}

// requests loads the suites.
func (f *scheduling) requests(ctx context.Context, c *command, args []string) ([]scheduler.Request, error) {
	var requests []scheduler.Request
	for _, arg := range args {
		req, err := c.prepare(ctx, arg, f.loading, f.selecting)
		if err != nil {
			return nil, err
		}
		requests = append(requests, req)
	}
	return requests, nil
}

// runs finds the runs to resume and creates the others.
func (f *scheduling) runs(ctx context.Context, c *command, s store.Store, requests []scheduler.Request) ([]eval.Run, error) {
	// Beside a service, each would take results of the other from the stream.
	if leader, err := scheduler.Leader(ctx, s); err != nil {
		return nil, err
	} else if leader != "" {
		return nil, usage("evalfarm enqueue SUITE", "scheduler %s serves this store", leader)
	}
	var runs []eval.Run
	for _, ref := range f.resume {
		run, err := c.resolveRun(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		if run.Carrier == eval.CarrierService && run.State != eval.RunDone {
			return nil, usage("evalfarm scheduler without runs serves it", "run %s is one of the service", run.ID)
		}
		if run.State != eval.RunDone {
			if run, err = c.takeUp(ctx, s, run, ceiling{}, nil); err != nil {
				return nil, err
			}
		}
		runs = append(runs, run)
	}
	for _, req := range requests {
		if err := scheduler.Quarantine(ctx, s, &req); err != nil {
			return nil, err
		}
		if err := c.attach(ctx, s, &req, f.baseline, true); err != nil {
			return nil, err
		}
		run, err := scheduler.Create(ctx, s, req)
		if err != nil {
			return nil, explainEmpty(err, req.Suite)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// serve carries out what is in the store until ctx ends.
func (f *scheduling) serve(ctx context.Context, c *command, s store.Store, listener net.Listener) error {
	conf, err := f.config(c)
	if err != nil {
		return err
	}
	telling(&conf, f.told)
	farm, err := c.farm()
	if err != nil {
		return err
	}
	if farm != nil {
		conf.Tenants = map[string]scheduler.Tenant{}
		for _, t := range farm.Tenants {
			conf.Tenants[t.Name] = scheduler.Tenant{Trials: t.Trials, Weight: t.Weight}
		}
	}
	token, err := c.token(f.tokenFile)
	if err != nil {
		return err
	}
	if conf.Targets, err = c.targets(); err != nil {
		return err
	}
	keep, err := c.retention()
	if err != nil {
		return err
	}
	if err := c.reconcile(ctx, s); err != nil {
		return err
	}
	api, err := c.api(farm, token)
	if err != nil {
		return err
	}
	api.Create = c.sent(s, f.attempts)
	fmt.Fprintf(c.env.Stderr, "serving the store in %s; workers join at http://%s\n", conf.Home, listener.Addr())
	return app.Serve(ctx, app.ServiceConfig{
		Config: conf, Listener: listener, Health: f.healthy, API: api, Term: f.term, Keep: keep, Scheduled: c.scheduled(f.attempts),
		Led: func(holder string, us bool) {
			if us {
				fmt.Fprintf(c.env.Stderr, "scheduler %s leads\n", holder)
			} else {
				fmt.Fprintf(c.env.Stderr, "standing by; scheduler %s leads\n", report.Line(holder, 100))
			}
		},
		Done: func(summary eval.Summary) {
			fmt.Fprintf(c.env.Stderr, "%s  %s  %s  %s\n", summary.Run, report.Line(summary.Suite, 60), summary.Outcome, summary.Verdict)
		},
	}, s)
}

// schedule carries the runs to their ends and prints what they came to, those
// that are done already first.
func (f *scheduling) schedule(ctx context.Context, c *command, s store.Store, listener net.Listener, runs []eval.Run) error {
	outputs, err := parseOutputs(f.outputs, f.json)
	if err != nil {
		return err
	}
	conf, err := f.config(c)
	if err != nil {
		return err
	}
	telling(&conf, f.told)
	if conf.Targets, err = c.targets(); err != nil {
		return err
	}
	token, err := c.token(f.tokenFile)
	if err != nil {
		return err
	}
	keep, err := c.retention()
	if err != nil {
		return err
	}
	farm, err := c.farm()
	if err != nil {
		return err
	}
	api, err := c.api(farm, token)
	if err != nil {
		return err
	}
	worst := eval.ExitOK
	var failed error
	conclude := func(summary eval.Summary) {
		err := c.conclude(ctx, outputs, f.quiet, here{s, c}, summary)
		if coded, ok := errors.AsType[*codeError](err); ok {
			worst = worse(worst, coded.code)
		} else if err != nil {
			failed = errors.Join(failed, err)
		}
	}
	var live []eval.Run
	for _, run := range runs {
		if run.State == eval.RunDone {
			summary, err := loadSummary(ctx, s, run)
			if err != nil {
				return err
			}
			conclude(summary)
			continue
		}
		live = append(live, run)
		fmt.Fprintf(c.env.Stderr, "%s  %s  %s  workers join at http://%s\n", run.ID, run.Suite, plural(run.Trials, "trial"), listener.Addr())
	}
	if len(live) > 0 {
		err = app.Schedule(ctx, app.SchedulerConfig{
			Config: conf, Listener: listener, Health: f.healthy, API: api,
			Keep: keep, Done: conclude,
		}, s, live)
	}
	if errors.Is(err, app.ErrStopped) {
		var resume strings.Builder
		for _, r := range live {
			resume.WriteString(" --resume " + r.ID)
		}
		fmt.Fprintf(c.env.Stderr, "stopped; continue with the same --redis and --listen: evalfarm %sscheduler%s\n", c.again(), resume.String())
	}
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if worst != eval.ExitOK {
		return &codeError{worst}
	}
	return nil
}

// worse is the code that counts when several runs end: a failure of what is
// under test before trouble of ours, as within a run.
func worse(a, b eval.ExitCode) eval.ExitCode {
	order := []eval.ExitCode{eval.ExitGateFailed, eval.ExitInfra, eval.ExitInconclusive}
	for _, code := range order {
		if a == code || b == code {
			return code
		}
	}
	return max(a, b)
}

// token finds the farm's token, or makes one for the state folder.
func (c *command) token(file string) (string, error) {
	if file != "" {
		content, err := os.ReadFile(c.env.abs(file))
		if err != nil {
			return "", usage("", "--token-file: %s", err)
		}
		if t := strings.TrimSpace(string(content)); t != "" {
			return t, nil
		}
		return "", usage("", "--token-file %s is empty", file)
	}
	if t, ok := c.env.Lookup("EVALFARM_TOKEN"); ok && t != "" {
		return t, nil
	}
	token, _, err := app.Token(c.env.Home())
	return token, err
}
