package cli

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func (c *command) scheduler() *cobra.Command {
	var f carrying
	var load loading
	var sel selecting
	var listen, tokenFile string
	var resume []string
	cmd := &cobra.Command{
		Use:   "scheduler --redis URL --listen ADDR SUITE...",
		Short: "Run suites on a farm of workers",
		Long: `Start a run of each suite, keep their trials in the Redis queue, take results
from the workers, print each summary and exit with the worst verdict's code.

Workers join with: evalfarm worker --redis URL --blobs http://ADDR. They show a
token, which is read from --token-file or $EVALFARM_TOKEN; without either, one
is made and kept in the state folder.`,
		Args: args(0, -1, "suites"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if f.redis == "" {
				return usage("for a farm on this machine alone: evalfarm run SUITE", "scheduler wants --redis URL, which its workers share")
			}
			if len(args)+len(resume) == 0 {
				return usage("evalfarm scheduler --help", "scheduler wants a suite to run, or a run to resume")
			}
			outputs, err := parseOutputs(f.outputs, f.json)
			if err != nil {
				return err
			}
			if len(args)+len(resume) > 1 && slices.ContainsFunc(outputs, func(o output) bool { return o.path != "-" }) {
				return usage("evalfarm report RUN -o FORMAT=PATH writes them one by one", "-o with several runs would write them all to one file")
			}
			conf, err := f.config(c)
			if err != nil {
				return err
			}
			token, err := c.token(tokenFile)
			if err != nil {
				return err
			}
			var requests []scheduler.Request
			for _, arg := range args {
				loaded, err := c.load(arg, load)
				if err != nil {
					return err
				}
				if err := c.executable(loaded); err != nil {
					return err
				}
				req, err := c.request(ctx, loaded, sel)
				if err != nil {
					return err
				}
				requests = append(requests, req)
			}
			listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
			if err != nil {
				return fmt.Errorf("listen on %s: %w", listen, err)
			}
			defer listener.Close()
			return c.withStore(ctx, func(s store.Store) error {
				var runs []eval.Run
				for _, ref := range resume {
					run, err := resolveRun(ctx, s, ref)
					if err != nil {
						return err
					}
					runs = append(runs, run)
				}
				for _, req := range requests {
					run, err := scheduler.Create(ctx, s, req)
					if err != nil {
						return explainEmpty(err, req.Suite)
					}
					runs = append(runs, run)
				}
				for _, run := range runs {
					fmt.Fprintf(c.env.Stderr, "%s  %s  %s  workers join at http://%s\n", run.ID, run.Suite, plural(run.Trials, "trial"), listener.Addr())
				}
				var mu sync.Mutex
				worst := eval.ExitOK
				var failed error
				err := app.Schedule(ctx, app.SchedulerConfig{
					Config: conf, Listener: listener, Token: token,
					Done: func(_ eval.Run, summary eval.Summary) {
						mu.Lock()
						defer mu.Unlock()
						err := c.conclude(ctx, outputs, f.quiet, s, summary)
						if coded, ok := errors.AsType[*codeError](err); ok {
							worst = worse(worst, coded.code)
						} else if err != nil {
							failed = errors.Join(failed, err)
						}
					},
				}, s, runs, app.Observer{})
				if errors.Is(err, app.ErrStopped) {
					var ids []string
					for _, r := range runs {
						ids = append(ids, "--resume "+r.ID)
					}
					fmt.Fprintf(c.env.Stderr, "stopped; continue with the same --redis and --listen: evalfarm scheduler %s\n", strings.Join(ids, " "))
				}
				if err = errors.Join(err, failed); err != nil {
					return err
				}
				if worst != eval.ExitOK {
					return &codeError{worst}
				}
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.redis, "redis", "", "the Redis that the farm shares, as a `URL`")
	flags.DurationVar(&f.lease, "lease", 0, "how long a worker may be silent before its trial is tried again (default 45s)")
	flags.StringVar(&listen, "listen", "127.0.0.1:8090", "serve the API on this `ADDRESS`")
	flags.StringVar(&tokenFile, "token-file", "", "read the farm's token from this `FILE`")
	flags.StringArrayVar(&resume, "resume", nil, "go on with this `RUN` (repeatable)")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "only the verdicts")
	flags.BoolVar(&f.json, "json", false, "print each summary as a JSON document")
	flags.StringArrayVarP(&f.outputs, "output", "o", nil, "also write a report: `FORMAT[=PATH]` with junit, json or jsonl")
	f.broker = "embedded"
	load.add(cmd)
	sel.add(cmd)
	return cmd
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
