package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/report"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
)

const refForms = "want an id, a prefix of one, or latest, latest~N, last-green or baseline:NAME, which may have SUITE@ before them"

// A reference is how a run is named on the command line.
type reference struct {
	text  string
	suite string // before the @; empty for any
	// One of these is set; back is -1 if it is not.
	back     int    // latest~N
	green    bool   // last-green
	baseline string // baseline:NAME
	id       string // an id, or a prefix of one
	// but is the id of a run that last-green is not.
	but string
}

// parseRef reads a reference.
func parseRef(text string) (reference, error) {
	ref := reference{text: text, back: -1}
	rest := text
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		ref.suite, rest = text[:i], text[i+1:]
		if ref.suite == "" || rest == "" {
			return ref, usage(refForms, "no run %q", text)
		}
	}
	name, baseline := strings.CutPrefix(rest, "baseline:")
	back, latest := strings.CutPrefix(rest, "latest")
	switch {
	case baseline && !baselineName.MatchString(name):
		return ref, usage("", "%q is no name for a baseline", name)
	case baseline:
		ref.baseline = name
	case rest == eval.LastGreen:
		ref.green = true
	case latest && back == "":
		ref.back = 0
	case latest:
		n, err := strconv.Atoi(strings.TrimPrefix(back, "~"))
		if err != nil || n < 0 || !strings.HasPrefix(back, "~") {
			return ref, usage("", "no run %q: %s", text, refForms)
		}
		ref.back = n
	case ref.suite != "":
		return ref, usage("", "no run %q: %s", text, refForms)
	case strings.HasPrefix(rest, "file://"):
		return ref, usage("evalfarm compare, gate and baseline take one", "%s is the arm of a run in a file, and no run", text)
	default:
		ref.id = rest
	}
	return ref, nil
}

// resolveRun finds the run that a reference names.
func (c *command) resolveRun(ctx context.Context, s reader, text string) (eval.Run, error) {
	ref, err := parseRef(text)
	if err != nil {
		return eval.Run{}, err
	}
	return c.runOf(ctx, s, ref, "")
}

// runOf finds the run of a reference. suite is that of last-green and of baseline:NAME
// where the reference has none; empty for any.
func (c *command) runOf(ctx context.Context, s reader, ref reference, suite string) (eval.Run, error) {
	switch {
	case ref.back >= 0:
		runs, err := s.ListRuns(ctx, store.RunFilter{Suite: ref.suite, Limit: ref.back + 1})
		if err != nil {
			return eval.Run{}, err
		}
		if len(runs) <= ref.back {
			of := "the store has"
			if ref.suite != "" {
				of = fmt.Sprintf("suite %s has", report.Line(ref.suite, 80))
			}
			return eval.Run{}, usage("start one: evalfarm run SUITE", "no run %q: %s %d", ref.text, of, len(runs))
		}
		return runs[ref.back], nil
	case ref.green:
		if ref.suite == "" {
			ref.suite = suite
		}
		return c.lastGreen(ctx, s, ref)
	case ref.baseline != "":
		b, err := c.baselineOf(ctx, s, ref, suite)
		if err != nil {
			return eval.Run{}, err
		}
		return s.Run(ctx, b.Run)
	default:
		return runOfID(ctx, s, ref.id)
	}
}

// runOfID finds a run by its id or a unique prefix of it, and a grading, or a run that
// confirms another one, by its id.
func runOfID(ctx context.Context, s reader, id string) (eval.Run, error) {
	if strings.Contains(id, ".g") || strings.Contains(id, ".c") {
		g, err := s.Run(ctx, id)
		if !errors.Is(err, store.ErrNotFound) {
			return g, err
		}
	}
	runs, err := s.ListRuns(ctx, store.RunFilter{Prefix: id, Limit: 4})
	if err != nil {
		return eval.Run{}, err
	}
	switch len(runs) {
	case 1:
		return runs[0], nil
	case 0:
		return eval.Run{}, usage("list them: evalfarm runs; a baseline is baseline:NAME", "no run %q in this store", id)
	}
	var ids []string
	for _, r := range runs {
		if r.ID == id {
			return r, nil
		}
		ids = append(ids, r.ID)
	}
	return eval.Run{}, usage("", "%q is the beginning of several runs: %s", id, strings.Join(ids, ", "))
}

// lastGreen finds the last green run, on the branch that is checked out here if one is.
func (c *command) lastGreen(ctx context.Context, s reader, ref reference) (eval.Run, error) {
	branch := gitBranch(ctx, c.env.Dir)
	runs, err := s.ListRuns(ctx, store.RunFilter{Suite: ref.suite, Branch: branch, Green: true, Limit: 2})
	if err != nil {
		return eval.Run{}, err
	}
	runs = slices.DeleteFunc(runs, func(r eval.Run) bool { return r.ID == ref.but })
	if len(runs) == 0 {
		where, other := "", ""
		if ref.but != "" {
			other = "other "
		}
		if ref.suite != "" {
			where += " of " + report.Line(ref.suite, 80)
		}
		if branch != "" {
			where += " on branch " + report.Line(branch, 80)
		}
		return eval.Run{}, usage("evalfarm runs", "no run %q: no %scomplete run%s has passed", ref.text, other, where)
	}
	return runs[0], nil
}

// baselineOf finds the baseline that a reference names: that of the branch which is
// checked out here, else that of any.
func (c *command) baselineOf(ctx context.Context, s reader, ref reference, suite string) (store.Baseline, error) {
	if ref.suite == "" {
		ref.suite = suite
	}
	all, err := s.Baselines(ctx)
	if err != nil {
		return store.Baseline{}, err
	}
	branch := gitBranch(ctx, c.env.Dir)
	found := map[string]store.Baseline{} // by suite
	var suites []string
	for _, b := range all { // by branch, that of any first
		if b.Name != ref.baseline || ref.suite != "" && b.Suite != ref.suite || b.Branch != "" && b.Branch != branch {
			continue
		}
		if _, known := found[b.Suite]; !known {
			suites = append(suites, b.Suite)
		}
		found[b.Suite] = b
	}
	switch len(suites) {
	case 0:
		return store.Baseline{}, usage("list them: evalfarm baseline list", "no run %q: there is no such baseline", ref.text)
	case 1:
		return found[suites[0]], nil
	}
	slices.Sort(suites)
	return store.Baseline{}, usage(fmt.Sprintf("%s@baseline:%s", report.Line(suites[0], 80), ref.baseline),
		"%q is a baseline of several suites: %s", ref.text, report.Line(strings.Join(suites, ", "), 300))
}

// arm is what comparisons and gates need of the run that a reference names, or of the
// file. head is what it is to be compared with, if anything: last-green is not the head
// itself, but the green run before it.
func (c *command) arm(ctx context.Context, s reader, ref string, head eval.Arm) (eval.Arm, error) {
	if path, ok := eval.BaselineFile(ref); ok {
		arm, err := scheduler.ReadArm(c.env.abs(path))
		if err != nil {
			return arm, &usageError{message: err.Error(), hint: "evalfarm baseline export RUN FILE writes one", cause: err}
		}
		return arm, nil
	}
	named, err := parseRef(ref)
	if err != nil {
		return eval.Arm{}, err
	}
	named.but = head.Run
	run, err := c.runOf(ctx, s, named, head.Suite)
	if err != nil {
		return eval.Arm{}, err
	}
	arm, err := armOf(ctx, s, run)
	if err == nil && named.baseline != "" {
		b, err := c.baselineOf(ctx, s, named, head.Suite)
		arm.Note = b.Note
		return arm, err
	}
	return arm, err
}

// armOf is the arm of a run, which must be done.
func armOf(ctx context.Context, s reader, run eval.Run) (eval.Arm, error) {
	switch {
	case run.Parent != "":
		return eval.Arm{}, usage("name its run: "+run.Parent, "%s is a grading and cannot be compared", run.ID)
	case run.State != eval.RunDone:
		return eval.Arm{}, usage("evalfarm status "+run.ID, "run %s is %s; only a done run can be compared", run.ID, run.State)
	}
	return scheduler.ArmOf(ctx, s, run)
}

// withRun opens the store and finds a run; an empty ref means latest.
func (c *command) withRun(ctx context.Context, args []string, fn func(store.Store, eval.Run) error) error {
	ref := "latest"
	if len(args) > 0 {
		ref = args[0]
	}
	return c.withStore(ctx, func(s store.Store) error {
		run, err := c.resolveRun(ctx, s, ref)
		if err != nil {
			return err
		}
		return fn(s, run)
	})
}
