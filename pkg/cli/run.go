package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/suite"
	"github.com/evalfarm/evalfarm/pkg/telemetry"
)

func (c *command) run() *cobra.Command {
	var f carrying
	var load loading
	var sel selecting
	var tape taping
	var tell announcing
	cmd := &cobra.Command{
		Use:   "run SUITE",
		Short: "Run a suite here and print its verdict",
		Long: `Run a suite with the whole farm in this process, print its verdict and leave
the results in the store. With --server-url, leave it to the farm there, and
follow it to its end.

SUITE is a suite file, a folder with a suite.yaml, a golden JSON file, or the
name of a suite under ./suites. Exit codes: evalfarm help exit-codes.`,
		Example: `  evalfarm run suites/quickstart
  evalfarm run golden.json --server "evalfarm demo acme"
  evalfarm run golden.json --server http://127.0.0.1:8080/mcp --json`,
		Args: args(1, 1, "one suite"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if c.serverURL != "" {
				if err := f.showing.check(c); err != nil {
					return err
				}
				return c.send(ctx, args[0], load, sel, ordering{baseline: load.baseline}, func(d desk, run eval.Run) error {
					return c.followRun(ctx, &f.showing, d, run)
				})
			}
			request, err := c.prepare(ctx, args[0], load, sel)
			if err != nil {
				return err
			}
			if err := f.check(c); err != nil {
				return err
			}
			if err := tape.put(c, &request.Suite.Suite); err != nil {
				return err
			}
			if err := f.tells(ctx, c); err != nil {
				return err
			}
			s, err := c.config().OpenStore(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := scheduler.Quarantine(ctx, s, &request); err != nil {
				return err
			}
			if err := c.attach(ctx, s, &request, load.baseline, true); err != nil {
				return err
			}
			tell.slots, tell.judges = defaultSlots(f.slots), cmp.Or(f.judges, defaultSlots(f.slots))
			tell.silent = f.quiet || f.progress == "none"
			planned, err := c.announce(ctx, s, tell, request)
			if err != nil {
				return err
			}
			// Before a run is made that could not be carried out here.
			if _, snap, err := scheduler.Preview(planned[0]); err == nil {
				if err := capable(f.capabilities, snap); err != nil {
					return err
				}
			}
			run, err := scheduler.Create(ctx, s, planned[0])
			if err != nil {
				return explainEmpty(err, request.Suite)
			}
			return c.carryOut(ctx, &f, s, run)
		},
	}
	f.add(cmd)
	addCapabilities(cmd, &f.capabilities)
	load.add(cmd)
	load.addGate(cmd)
	sel.add(cmd)
	tape.add(cmd)
	tell.add(cmd)
	cmd.Flags().StringVar(&load.baseline, "baseline", "", "compare with this `BASELINE`: a name, last-green, the id of a run, or file:// and a path; its trajectories are expected where a suite lists no calls")
	return cmd
}

// taping holds the flags that record and replay models.
type taping struct{ record, replay string }

func (f *taping) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.record, "record", "", "keep what models answer in this `DIR`")
	cmd.Flags().StringVar(&f.replay, "replay", "", "play back what models answered from this `DIR`; a call that was not recorded is an error")
}

// put puts the cassette into every model of a suite.
func (f *taping) put(c *command, s *eval.Suite) error {
	dir := cmp.Or(f.record, f.replay)
	switch {
	case dir == "":
		return nil
	case f.record != "" && f.replay != "":
		return usage("", "--record and --replay are two answers to one question; give one")
	case len(s.Models) == 0:
		return usage("", "the suite has no models to record or replay")
	}
	if info, err := os.Stat(c.env.abs(dir)); f.replay != "" && (err != nil || !info.IsDir()) {
		return usage("record one: evalfarm run SUITE --record "+dir, "--replay %s: there is no such folder", dir)
	}
	for name, m := range s.Models {
		m.Cassette = &eval.Cassette{Dir: c.env.abs(dir), Record: f.record != ""}
		s.Models[name] = m
	}
	return nil
}

// prepare loads a suite and makes a run's request of it.
func (c *command) prepare(ctx context.Context, arg string, load loading, sel selecting) (scheduler.Request, error) {
	loaded, err := c.load(arg, load)
	if err != nil {
		return scheduler.Request{}, err
	}
	if err := c.executable(loaded); err != nil {
		return scheduler.Request{}, err
	}
	request, err := c.request(loaded, sel)
	if err != nil {
		return request, err
	}
	if request.Waivers, err = c.approvedHere(ctx, loaded, arg); err != nil {
		return request, err
	}
	request.Git, request.Traceparent = gitState(ctx, loaded.Dir), c.caller() //nolint:contextcheck // the library reads a header into one of its own
	c.fewRepeats(&loaded.Suite, request.Selection)
	return request, c.doubts(loaded, request.Selection)
}

// caller is the trace context of what runs us, such as the step of a pipeline.
func (c *command) caller() string {
	v, _ := c.env.Lookup("TRACEPARENT")
	return telemetry.Caller(v)
}

// fewRepeats warns of a run that has fewer repeats than its suite asks for.
func (c *command) fewRepeats(of *eval.Suite, sel suite.Selection) {
	matrix, err := suite.Expand(of, sel)
	if err != nil {
		return // creating the run says so
	}
	if few := matrix.FewRepeats(of); few != "" {
		fmt.Fprintf(c.env.Stderr, "warning: %s\n", few)
	}
}

// selecting holds the flags that narrow a suite.
type selecting struct {
	cases, tags, axes []string
	repeats           int
	seed              uint64
	attempts          int
	ceiling           ceiling
}

func (f *selecting) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.cases, "case", nil, "only cases whose id matches this `GLOB` (repeatable)")
	flags.StringArrayVar(&f.tags, "tag", nil, "only cases with this `TAG` (repeatable)")
	flags.StringArrayVar(&f.axes, "axis", nil, "only this `NAME=VALUE` of an axis (repeatable)")
	flags.IntVarP(&f.repeats, "repeats", "n", 0, "repeat every selected case `N` times")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of the order and of the trials (default: random)")
	flags.IntVar(&f.attempts, "attempts", 3, "failures of the farm after which a trial is an error")
	f.ceiling.add(cmd)
}

// selection is what the flags narrow a loaded suite to.
func (f *selecting) selection(of eval.Suite) (suite.Selection, error) {
	if f.repeats < 0 || f.attempts < 1 {
		return suite.Selection{}, usage("", "--repeats and --attempts want a positive number")
	}
	sel := suite.Selection{Cases: f.cases, Tags: f.tags, Repeats: f.repeats, Axes: map[string][]string{}}
	for _, glob := range f.cases {
		if _, err := filepath.Match(glob, ""); err != nil {
			return sel, usage("", "--case %s: %s", glob, err)
		}
	}
	for _, kv := range f.axes {
		name, value, ok := strings.Cut(kv, "=")
		if !ok {
			return sel, usage("", "--axis %s: want NAME=VALUE", kv)
		}
		if err := knownPoint(of, name, value); err != nil {
			return sel, err
		}
		sel.Axes[name] = append(sel.Axes[name], value)
	}
	return sel, nil
}

// request makes a run's request of a loaded suite and the flags.
func (c *command) request(loaded *suite.Loaded, f selecting) (scheduler.Request, error) {
	sel, err := f.selection(loaded.Suite)
	if err != nil {
		return scheduler.Request{}, err
	}
	seed := f.seed
	if seed == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails, as crypto/rand says
		seed = binary.BigEndian.Uint64(b[:])
	}
	budget, err := f.ceiling.budget()
	if err != nil {
		return scheduler.Request{}, err
	}
	farm, err := c.farm()
	if err != nil {
		return scheduler.Request{}, err
	}
	prices, err := c.furnish(&loaded.Suite, farm)
	if err != nil {
		return scheduler.Request{}, err
	}
	request := scheduler.Request{
		Suite: loaded, Selection: sel, Seed: seed, Version: version(), Attempts: f.attempts,
		Budget: budget, Prices: prices,
	}
	request.DayMicroUSD, err = c.microUSD("budgets.day_usd")
	return request, err
}

func knownPoint(s eval.Suite, name, value string) error {
	var axes []string
	for _, axis := range s.Axes {
		axes = append(axes, axis.Name)
		if axis.Name != name {
			continue
		}
		var values []string
		for _, p := range axis.Points {
			if p.Value == value {
				return nil
			}
			values = append(values, p.Value)
		}
		return usage("", "--axis %s=%s: the axis has %s", name, value, strings.Join(values, ", "))
	}
	if len(axes) == 0 {
		return usage("", "--axis %s=%s: the suite has no axes", name, value)
	}
	return usage("", "--axis %s=%s: the suite has the axes %s", name, value, strings.Join(axes, ", "))
}

// explainEmpty says what there would have been to select.
func explainEmpty(err error, loaded *suite.Loaded) error {
	if errors.Is(err, scheduler.ErrEmpty) {
		return fmt.Errorf("suite %s: %w; it has the cases %s", loaded.Suite.Name, err, caseNames(loaded.Suite))
	}
	return err
}

// caseNames lists the first few case ids of a suite, for a message.
func caseNames(s eval.Suite) string {
	var ids []string
	for i, c := range s.Cases {
		if i == 5 {
			ids = append(ids, fmt.Sprintf("and %d more", len(s.Cases)-i))
			break
		}
		ids = append(ids, c.ID)
	}
	return strings.Join(ids, ", ")
}

// gitState asks git for the commit and the branch of a folder; nil if there is none.
func gitState(ctx context.Context, dir string) *eval.Git {
	commit, err := exec.CommandContext(ctx, "git", "-C", dir, "rev-parse", "HEAD").Output()
	if err != nil {
		return nil
	}
	status, err := exec.CommandContext(ctx, "git", "-C", dir, "status", "--porcelain", "--untracked-files=no").Output()
	return &eval.Git{Commit: strings.TrimSpace(string(commit)), Branch: gitBranch(ctx, dir), Dirty: err != nil || len(status) > 0}
}

// gitBranch asks git for the branch of a folder; empty if none is checked out.
func gitBranch(ctx context.Context, dir string) string {
	branch, err := exec.CommandContext(ctx, "git", "-C", dir, "symbolic-ref", "--quiet", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(branch))
}
