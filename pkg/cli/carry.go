package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/app"
	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/broker"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/telemetry/export"
)

// carrying holds the flags of every command that carries out a run here: run,
// resume and retry.
type carrying struct {
	showing
	slots    int
	judges   int
	broker   string
	redis    string
	lease    time.Duration
	grace    time.Duration
	failFast bool
	// traceFile gets the spans of the run.
	traceFile string
	told      *export.Telemetry
}

// showing holds the flags of every command that shows a run until its end.
type showing struct {
	progress string
	quiet    bool
	json     bool
	outputs  []string
	engine   string
	// capabilities that this process claims
	capabilities []string
}

func (f *showing) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.progress, "progress", "auto", "progress on standard error: auto, tty, plain or none")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "only the verdict, no progress")
	flags.BoolVar(&f.json, "json", false, "print the summary as one JSON document")
	flags.StringArrayVarP(&f.outputs, "output", "o", nil, "also write a report: `FORMAT[=PATH]` with junit, json or jsonl; PATH - is standard output")
}

// check finds mistakes in the flags.
func (f *showing) check(c *command) error {
	if _, err := parseOutputs(f.outputs, f.json); err != nil {
		return err
	}
	_, err := c.newProgress(f)
	return err
}

func (f *carrying) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVarP(&f.slots, "slots", "j", 0, "trials at once (default: 4 for each processor)")
	flags.IntVar(&f.judges, "judge-slots", 0, "trials judged at once (default: as many as --slots)")
	flags.StringVar(&f.broker, "broker", "embedded", "queue: embedded (in this process) or spawn (a redis-server from PATH)")
	flags.StringVar(&f.redis, "redis", "", "use the Redis at this `URL` as the queue of this run")
	flags.DurationVar(&f.lease, "lease", 45*time.Second, "how long a worker may be silent before its trial is tried again")
	flags.DurationVar(&f.grace, "grace", 10*time.Second, "how long running trials may go on after Ctrl-C")
	f.addEngine(cmd)
	flags.StringVar(&f.traceFile, "trace-file", "", "add the spans of the run to this `FILE`, as lines of OTLP/JSON")
	flags.BoolVar(&f.failFast, "fail-fast", false, "cancel the run at the first trial that fails")
	f.showing.add(cmd)
}

// config completes the configuration with the flags.
func (f *carrying) config(c *command) (app.Config, error) {
	conf := c.config()
	conf.Slots, conf.JudgeSlots, conf.Lease, conf.Grace = f.slots, f.judges, f.lease, f.grace
	conf.ContainerEngine = c.env.engine(f.engine)
	conf.Capabilities = f.capabilities
	err := checkCapabilities(f.capabilities)
	if err != nil {
		return conf, err
	}
	conf.Broker, err = f.brokerOptions(c)
	return conf, err
}

// check finds mistakes in the flags before anything is stored.
func (f *carrying) check(c *command) error {
	if err := f.showing.check(c); err != nil {
		return err
	}
	_, err := f.config(c)
	return err
}

func (f *carrying) brokerOptions(c *command) (broker.Options, error) {
	o := broker.Options{Logger: c.logger()}
	switch {
	case f.redis != "" && f.broker != "embedded":
		return o, usage("", "--redis and --broker are two answers to one question; give one")
	case f.redis != "":
		if err := broker.CheckURL(f.redis); err != nil {
			return o, usage("", "--redis: %s", err)
		}
		o.URL = f.redis
	case f.broker == "spawn":
		o.Kind = broker.Spawn
	case f.broker == "embedded":
		o.Kind = broker.Embedded
	default:
		return o, usage("", "--broker=%s: want embedded or spawn", f.broker)
	}
	return o, nil
}

// carryOut carries out a stored run, shows its progress and prints its report.
func (c *command) carryOut(ctx context.Context, f *carrying, s store.Store, run eval.Run) error {
	outputs, err := parseOutputs(f.outputs, f.json)
	if err != nil {
		return err
	}
	if err := f.tells(ctx, c); err != nil {
		return err
	}
	defer c.told(ctx, f.told)
	conf, err := f.config(c)
	if err != nil {
		return err
	}
	telling(&conf, f.told)
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return err
	}
	if run.Parent == "" {
		if err := capable(f.capabilities, snap); err != nil {
			return err
		}
	}
	if conf.Targets, err = c.targets(); err != nil {
		return err
	}
	queue := f.broker
	if f.redis != "" {
		queue = "redis"
	}
	watch, err := c.watchOver(ctx, &f.showing, queue, "stopping: running trials may finish; Ctrl-C again to abandon them", s, run)
	if err != nil {
		return err
	}
	observer := watch.observer()
	if f.failFast {
		observer.Stored = cancelAtFail(ctx, s, run, observer.Stored)
	}
	summary, err := app.Carry(ctx, conf, s, run.ID, observer)
	if err == nil {
		watch.ended(summary)
	}
	watch.stop()
	if errors.Is(err, app.ErrStopped) {
		saved := fmt.Sprintf("%d of %d trials are", watch.done(), run.Trials)
		if run.Parent != "" {
			saved = "what is judged is"
		}
		fmt.Fprintf(c.env.Stderr, "stopped: %s saved. continue: evalfarm %sresume %s\n", saved, c.again(), run.ID)
		return err
	}
	if held, ok := errors.AsType[*app.LockedError](err); ok {
		return locked(held)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w; continue: evalfarm %sresume %s", run.ID, err, c.again(), run.ID)
	}
	err = c.conclude(ctx, outputs, f.quiet, here{s, c}, summary)
	c.tellLocal(ctx, conf, s, run.ID)
	return err
}

// locked says what to do about a run that another process carries out.
func locked(held *app.LockedError) error {
	return fmt.Errorf("%w; wait for it, or stop it with: evalfarm cancel %s", held, held.Run)
}

// cancelAtFail wraps an observer so that the first fail cancels the run. Trials
// that run already may end.
func cancelAtFail(ctx context.Context, s store.Store, run eval.Run, next func(store.Stored)) func(store.Stored) {
	var once sync.Once
	return func(st store.Stored) {
		next(st)
		if !st.Final || st.Run != run.ID && st.Parent != run.ID || st.Result.Verdict != eval.Fail {
			return
		}
		once.Do(func() {
			// Beside the aggregator, which tells us and must go on.
			go func() { _ = s.SetControl(ctx, run.ID, eval.ControlCancel) }()
		})
	}
}

// conclude prints what a run came to and turns its verdict into an exit code.
func (c *command) conclude(ctx context.Context, outputs []output, quiet bool, s reader, summary eval.Summary) error {
	summary = summary.Linked(c.traces)
	if !slices.ContainsFunc(outputs, func(o output) bool { return o.path == "-" }) {
		show := report.Terminal
		if quiet {
			show = report.Verdict
		}
		o := c.page()
		o.Next = next(summary)
		if err := show(c.env.Stdout, summary, o); err != nil {
			return fmt.Errorf("print report: %w", err)
		}
	}
	c.annotateRules(summary)
	for _, o := range outputs {
		if err := c.write(ctx, o, s, summary); err != nil {
			return err
		}
	}
	if summary.ExitCode != 0 {
		return &codeError{eval.ExitCode(summary.ExitCode)}
	}
	return nil
}

// page says how to print to standard output.
func (c *command) page() report.Options {
	o := report.Options{Width: 120, Color: c.colored(c.env.StdoutTTY)}
	if c.env.StdoutTTY {
		o.Width = c.env.Width()
	}
	return o
}

// An output is a report to write.
type output struct {
	name  string
	write report.Format
	path  string
}

// suffix is how the file ends that -o FORMAT writes when it names none.
func suffix(format string) string {
	if format == "junit" {
		return "xml"
	}
	return format
}

func parseOutputs(flags []string, json bool) ([]output, error) {
	formats := report.Formats()
	var outs []output
	if json {
		outs = append(outs, output{"json", formats["json"], "-"})
	}
	for _, f := range flags {
		format, path, _ := strings.Cut(f, "=")
		write, ok := formats[format]
		if !ok {
			names := slices.Sorted(maps.Keys(formats))
			return nil, usage("formats are "+strings.Join(names, ", "), "-o %s: unknown format %q", f, format)
		}
		if path == "" {
			path = "report." + suffix(format)
		}
		outs = append(outs, output{format, write, path})
	}
	stdout := 0
	for _, o := range outs {
		if o.path == "-" {
			stdout++
		}
	}
	if stdout > 1 {
		return nil, usage("", "two reports cannot both go to standard output")
	}
	return outs, nil
}

func (c *command) write(ctx context.Context, o output, s reader, summary eval.Summary) (err error) {
	d, err := document(ctx, s, summary)
	if err != nil {
		return fmt.Errorf("write %s report: %w", o.name, err)
	}
	w := c.env.Stdout
	if o.path != "-" {
		f, err := os.Create(c.env.abs(o.path))
		if err != nil {
			return fmt.Errorf("write %s report: %w", o.name, err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w = f
	}
	if err := o.write(w, d); err != nil {
		return fmt.Errorf("write %s report to %s: %w", o.name, o.path, err)
	}
	return nil
}

// document is all that a report may be made from.
func document(ctx context.Context, s reader, summary eval.Summary) (report.Document, error) {
	run, err := s.Run(ctx, summary.Run)
	if err != nil {
		return report.Document{}, err
	}
	d := report.Document{Summary: summary, Each: func(fn func(store.Row) error) error { return s.EachResult(ctx, run.ID, fn) }}
	return d, blob.LoadJSON(ctx, s, run.Header, &d.Snapshot)
}
