package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// BaseRun is the run that a baseline of a suite means on a branch: last-green, a name,
// with baseline: before it or not, or the id of a run. If there is none, that is
// ErrNotFound. An empty branch is one that nobody knows.
func BaseRun(ctx context.Context, s BaselineSource, suite, branch, name string) (eval.Run, error) {
	if name == eval.LastGreen {
		runs, err := s.ListRuns(ctx, store.RunFilter{Suite: suite, Branch: branch, Green: true, Limit: 1})
		if err == nil && len(runs) == 0 {
			err = fmt.Errorf("last green run: %w", store.ErrNotFound)
		}
		if err != nil {
			return eval.Run{}, err
		}
		return runs[0], nil
	}
	name, only := strings.CutPrefix(name, "baseline:")
	b, err := s.Baseline(ctx, suite, name, branch)
	if err == nil {
		return s.Run(ctx, b.Run)
	}
	if only || !errors.Is(err, store.ErrNotFound) {
		return eval.Run{}, err
	}
	run, err := s.Run(ctx, name)
	if err == nil && run.Parent != "" {
		err = fmt.Errorf("%s is a grading: %w", run.ID, store.ErrNotFound)
	}
	return run, err
}

// Against resolves the baseline that the gate of a requested run compares with, and
// freezes it into the request: name, or what the gate says if that is empty. A path in
// file:// is relative to the suite's folder; without files, such a baseline is refused.
// One that is not there is [eval.BaselineRef.Missing].
func Against(ctx context.Context, s BaselineSource, req *Request, name string, files bool) error {
	gate, suite := &req.Suite.Suite.Gate, req.Suite.Suite.Name
	if name != "" {
		gate.Baseline = name
	}
	if gate.Baseline == "" {
		return nil
	}
	ref := eval.BaselineRef{Name: gate.Baseline}
	if path, ok := eval.BaselineFile(gate.Baseline); ok {
		if !files {
			return refuse("name a baseline of the farm's store, or enqueue the suite where the file is", "a suite that is sent over the API cannot compare with %s, a file", gate.Baseline)
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(req.Suite.Dir, path)
		}
		arm, err := ReadArm(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			ref.Missing = "there is no file " + path
		case err != nil:
			return err
		default:
			ref.Run = arm.Run
			ref.Arm = req.attach(arm)
		}
		req.Baseline = &ref
		return nil
	}
	branch := req.branch()
	run, err := BaseRun(ctx, OnAccount(s, req.Tenant), suite, branch, gate.Baseline)
	switch {
	case errors.Is(err, store.ErrNotFound):
		ref.Missing = fmt.Sprintf("suite %s has no such baseline", suite)
		if gate.Baseline == eval.LastGreen {
			ref.Missing = fmt.Sprintf("no complete run of all of suite %s has passed", suite)
		}
		if branch != "" {
			ref.Missing += " on branch " + branch
		}
	case err != nil:
		return fmt.Errorf("baseline %s of suite %s: %w", gate.Baseline, suite, err)
	case run.State != eval.RunDone:
		ref.Missing = fmt.Sprintf("run %s is %s", run.ID, run.State)
	default:
		ref.Run = run.ID
		p, err := loadPast(ctx, s, run)
		if err != nil {
			return fmt.Errorf("baseline %s of suite %s: %w", gate.Baseline, suite, err)
		}
		history, err := p.history(ctx, s)
		if err != nil {
			return fmt.Errorf("history of run %s: %w", run.ID, err)
		}
		ref.Arm, ref.History = req.attach(p.arm), req.attach(history)
	}
	req.Baseline = &ref
	return nil
}

// attach gives the request a blob with an arm, and returns its sha256.
func (r *Request) attach(arm eval.Arm) string {
	b := blob.Pack(eval.Encode(arm))
	r.BaselineBlobs = append(r.BaselineBlobs, b)
	return b.SHA256
}

// ArmOf is the arm of a done run, from its snapshot and its stored summary.
func ArmOf(ctx context.Context, s blob.Store, run eval.Run) (eval.Arm, error) {
	p, err := loadPast(ctx, s, run)
	return p.arm, err
}

// past is a done run, as far as later ones are compared with it.
type past struct {
	run     eval.Run
	branch  string
	allowed float64 // share of errors
	summary eval.Summary
	arm     eval.Arm
}

func loadPast(ctx context.Context, s blob.Store, run eval.Run) (past, error) {
	p := past{run: run}
	var snap eval.Snapshot
	if err := blob.LoadJSON(ctx, s, run.Header, &snap); err != nil {
		return p, fmt.Errorf("snapshot of run %s: %w", run.ID, err)
	}
	if err := blob.LoadJSON(ctx, s, run.Summary, &p.summary); err != nil {
		return p, fmt.Errorf("summary of run %s: %w", run.ID, err)
	}
	if snap.Git != nil {
		p.branch = snap.Git.Branch
	}
	p.allowed = snap.Validity.ErrorRate()
	p.arm = eval.NewArm(snap, p.summary)
	return p, nil
}

// stormy says whether trouble of the farm, or of what it depends on, spoiled the run.
func (p past) stormy() bool {
	n := p.summary.Counts.Total()
	return n == 0 || float64(p.summary.Counts.Error) > p.allowed*float64(n)
}

const (
	// mostPooled bounds the runs of a history, and mostEarlier those that are looked at
	// for it.
	mostPooled  = 20
	mostEarlier = 40
)

// history pools the run with those before it: of the same suite, on the same account,
// on the same branch if that is known, and not spoiled. The counts of a cell are added
// up where all its conditions are those of the run's own, so that a trial of another
// model, or of another server, is never counted as one of this.
func (p past) history(ctx context.Context, s BaselineSource) (eval.Arm, error) {
	pooled := p.arm
	pooled.Cells = append([]eval.ArmCell{}, p.arm.Cells...)
	pooled.Tools, pooled.Kinds = nil, nil // percentiles cannot be added up
	at := map[string]int{}
	for i, c := range pooled.Cells {
		at[c.Key()] = i
	}
	runs, err := s.ListRuns(ctx, store.RunFilter{Suite: p.run.Suite, Branch: p.branch, Until: p.run.Created, Limit: mostEarlier})
	if err != nil {
		return pooled, err
	}
	for _, run := range runs {
		if pooled.Runs == mostPooled {
			break
		}
		if run.ID == p.run.ID || run.State != eval.RunDone || run.Tenant != p.run.Tenant {
			continue
		}
		earlier, err := loadPast(ctx, s, run)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return pooled, err
		}
		if earlier.stormy() {
			continue
		}
		adds := false
		for _, c := range earlier.arm.Cells {
			i, there := at[c.Key()]
			if !there || c.Conditions[eval.ConditionCase] == "" || !maps.Equal(c.Conditions, pooled.Cells[i].Conditions) {
				continue // what is not known is not known to be equal
			}
			into := &pooled.Cells[i]
			into.Planned += c.Planned
			into.Counts = into.Counts.Plus(c.Counts)
			adds = true
		}
		if adds {
			pooled.Runs++
		}
	}
	return pooled, nil
}

// ReadArm reads an arm from a file. Its errors name the path; that there is no file is
// [os.ErrNotExist].
func ReadArm(path string) (eval.Arm, error) {
	f, err := os.Open(path)
	if err != nil {
		return eval.Arm{}, fmt.Errorf("read baseline: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, eval.MaxArmBytes+1))
	if err != nil {
		return eval.Arm{}, fmt.Errorf("read baseline: %w", err)
	}
	arm, err := eval.DecodeArm(raw)
	if err != nil {
		return eval.Arm{}, refuse("a baseline file is what evalfarm baseline export writes", "baseline %s: %s", path, err)
	}
	return arm, nil
}
