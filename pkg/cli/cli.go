// Package cli is the command line: one file for each command, and what they
// share. Standard output is the answer, standard error is progress.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

// Main runs a command and returns its exit code. The first signal asks the
// command to stop in good order, the second ends the process at once.
func Main(env Env) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(env.Stderr, "evalfarm: bug: %v\n%s\nPlease report this, with the command that you ran.\n", p, debug.Stack())
			code = int(eval.ExitBug)
		}
	}()
	c := &command{env: env}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go c.listen(cancel)

	root := c.root()
	root.SetArgs(env.Args)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	return int(c.explain(ctx, err))
}

// listen turns the first signal into the end of the context, and the second into
// the end of the process: its servers end with it, since their guards see it go.
func (c *command) listen(cancel context.CancelCauseFunc) {
	first, ok := <-c.env.Signals
	if !ok {
		return
	}
	cancel(&interrupt{first})
	second, ok := <-c.env.Signals
	if !ok {
		return
	}
	if restore := c.restore.Load(); restore != nil {
		(*restore)()
	}
	os.Exit(int((&interrupt{second}).code()))
}

// command is what every subcommand shares: the outside world and the global
// flags.
type command struct {
	env      Env
	color    string
	farmFile string
	store    string
	// storeGiven says that the store comes from a flag.
	storeGiven bool
	blobs      string // where large blobs are; empty for what the state folder remembers
	verbose    bool
	log        struct{ level, format string }
	logLevel   slog.LevelVar
	// loaded is the farm file, once it has been looked for; nil if there is none.
	loaded *loadedFarm
	// warned is true when variables that mean nothing have been told of.
	warned bool
	// serverURL is the address of the farm that the command uses; empty for the store.
	serverURL string
	// traces is where people see the traces of trials that this process reads from a
	// store; of those that a farm's API shows, the farm says it.
	traces eval.TraceURL
	// restore gives the terminal back as it was, for an end in a hurry.
	restore atomic.Pointer[func()]
}

func (c *command) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "evalfarm",
		Short:         "Evaluate MCP tools, and the agents that use them",
		Long:          "evalfarm runs suites of cases against MCP servers, repeatedly and in parallel,\nand says with honest numbers what holds and what does not.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(cmd.CommandPath()+" --help", "%s", err)
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		switch c.color {
		case "auto", "always", "never":
			if err := c.settle(cmd); err != nil {
				return err
			}
			if aloof(cmd) {
				return nil
			}
			return c.travels(cmd)
		default:
			return usage("", "--color=%s: want auto, always or never", c.color)
		}
	}
	flags := root.PersistentFlags()
	flags.StringVar(&c.color, "color", "auto", "colour: auto, always or never")
	flags.StringVar(&c.farmFile, "config", "", "the farm `FILE` (default: $EVALFARM_CONFIG, else farm.yaml here or in the state folder)")
	flags.StringVar(&c.store, "store", "", "keep runs and their results in this SQLite file or PostgreSQL database, as a path or a postgres:// `URL` (default: evalfarm.db in the state folder)")
	flags.StringVar(&c.serverURL, "server-url", "", "use the farm whose API is at this `URL` instead of a store; the token comes from EVALFARM_TOKEN")
	flags.StringVar(&c.log.level, "log-level", "error", "least `LEVEL` of what is logged to standard error: debug, info, warn or error")
	flags.StringVar(&c.log.format, "log-format", "text", "`FORM` of the log: text or json")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "log what the farm does to standard error, as --log-level debug")
	group(root, "Run suites:", c.validate(), c.plan(), c.run(), c.enqueue(), c.follow(), c.pause(), c.resume(), c.retry(), c.cancel(), c.schedule())
	group(root, "Read runs:", c.status(), c.runs(), c.show(), c.report(), c.imports())
	group(root, "Decide by them:", c.compare(), c.gate(), c.baseline(), c.waivers(), c.flaky(), c.judge(), c.review())
	group(root, "Keep a farm:", c.scheduler(), c.worker(), c.configure(), c.doctor(), c.health(), c.makeToken(), c.notifications(), c.gc())
	group(root, "Write suites:", c.suites(), c.schema(), c.demo(), c.stub())
	root.AddCommand(c.version(), c.guard(), &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesHelp})
	return root
}

// group adds commands that the help shows together under a title.
func group(root *cobra.Command, title string, cmds ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range cmds {
		cmd.GroupID = title
	}
	root.AddCommand(cmds...)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		hint := cmd.CommandPath() + " --help"
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = "did you mean " + cmd.CommandPath() + " " + near[0] + "?"
		}
		return usage(hint, "%s knows no %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// args wants a number of arguments, with names for the message.
func args(low, high int, names string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, got []string) error {
		if len(got) < low || (high >= 0 && len(got) > high) {
			return usage(cmd.CommandPath()+" --help", "%s wants %s, got %d arguments", cmd.CommandPath(), names, len(got))
		}
		return nil
	}
}

// explain shows an error to a person and gives the exit code.
func (c *command) explain(ctx context.Context, err error) eval.ExitCode {
	code := exitCode(err)
	if stopped, ok := errors.AsType[*interrupt](context.Cause(ctx)); ok && err != nil {
		code = stopped.code()
		if errors.Is(err, app.ErrStopped) || errors.Is(err, context.Canceled) {
			return code
		}
	}
	if _, shown := errors.AsType[*codeError](err); err == nil || shown {
		return code
	}
	if problems, ok := errors.AsType[*suite.ProblemsError](err); ok {
		fmt.Fprint(c.env.Stderr, problems.Error())
		return code
	}
	fmt.Fprintf(c.env.Stderr, "error: %s\n", report.Line(err.Error(), 2000))
	if hint := hintOf(err); hint != "" {
		fmt.Fprintf(c.env.Stderr, "  %s\n", report.Line(hint, 2000))
	}
	return code
}

// hintOf is what to do about an error; empty if nothing is known.
func hintOf(err error) string {
	if u, ok := errors.AsType[*usageError](err); ok {
		return u.hint
	}
	if r, ok := errors.AsType[*scheduler.RefusedError](err); ok {
		return r.Hint
	}
	return ""
}

// logger logs to standard error what is at least of the level that was asked for.
func (c *command) logger() *slog.Logger {
	level := slog.LevelError
	if c.verbose {
		level = slog.LevelDebug
	} else if err := level.UnmarshalText([]byte(c.log.level)); err != nil {
		level = slog.LevelError
	}
	c.logLevel.Set(level)
	o := &slog.HandlerOptions{Level: &c.logLevel}
	var handler slog.Handler = slog.NewTextHandler(c.env.Stderr, o)
	if c.log.format == "json" {
		handler = slog.NewJSONHandler(c.env.Stderr, o)
	}
	return slog.New(telemetry.Logs(handler))
}

// colored says whether to colour an output that is a terminal or is none.
func (c *command) colored(tty bool) bool { return useColor(c.color, tty, c.env.Lookup) }

// print writes an answer; a reader that went away, as in `| head`, is no error.
func (c *command) print(format string, args ...any) {
	_, _ = fmt.Fprintf(c.env.Stdout, format, args...)
}

// encode prints one JSON document.
func (c *command) encode(v any) error {
	enc := json.NewEncoder(c.env.Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// config is what every composition is given.
func (c *command) config() app.Config {
	if env, ok := c.env.Lookup(blobsEnv); c.blobs == "" && ok && app.Shared(env) {
		c.blobs = env
	}
	path := c.store
	if path != "" && !strings.Contains(path, "://") {
		path = c.env.abs(path)
	}
	return app.Config{
		Home: c.env.Home(), Store: path, Blobs: c.blobs, Environ: c.env.Environ, Self: c.env.Self,
		Guard:   []string{c.env.Self, guardName},
		Version: version(), Logger: c.logger(), Traces: c.traces,
	}
}

// version of the build, from the module's version control stamp.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := strings.TrimPrefix(info.Main.Version, "v")
	if v == "" || v == "(devel)" {
		return "devel"
	}
	return v
}
