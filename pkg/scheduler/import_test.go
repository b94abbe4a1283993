package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
)

// foreign is a run of 700 trials of one case, of which every other one passed, and
// which breaks off after so many.
func foreign(file string, most int) (f scheduler.Foreign, cut error) {
	cut = errors.New("killed")
	c := blob.Pack(eval.Encode(eval.Case{ID: "refund", Kind: eval.KindAgent}))
	f.Snapshot = eval.Snapshot{
		Suite: "tau", Variants: []eval.Variant{eval.NewVariant(nil)}, Origin: &eval.Origin{Format: "jsonl", File: file},
		Cases: []eval.CaseRef{{ID: "refund", Kind: eval.KindAgent, Blob: c.SHA256}},
		Plan:  eval.Plan{Cells: []eval.Cell{{Repeats: 700}}},
	}
	f.Blobs = []eval.Blob{c}
	f.Each = func(fn func(eval.Record) error) error {
		for i := range min(700, most) {
			verdict := []eval.Verdict{eval.Pass, eval.Fail}[i%2]
			if err := fn(eval.Record{Ordinal: 699 - i, CostMicroUSD: 2, Result: eval.Result{Verdict: verdict, CostMicroUSD: new(int64(2))}}); err != nil {
				return err
			}
		}
		if most < 700 {
			return cut
		}
		return nil
	}
	return f, cut
}

func open(t *testing.T) store.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestImportGoesOn breaks an import off and begins it again: until it is at its end
// the run is not done, and then it is as if nothing had been.
func TestImportGoesOn(t *testing.T) {
	s := open(t)
	broken, cut := foreign("a.jsonl", 600)
	if _, err := scheduler.Import(t.Context(), s, broken); !errors.Is(err, cut) {
		t.Fatalf("got error %v, want %v", err, cut)
	}
	runs, err := s.ListRuns(t.Context(), store.RunFilter{})
	if err != nil || len(runs) != 1 || runs[0].State == eval.RunDone || runs[0].Summary != "" {
		t.Fatalf("got %+v (error %v), want one run that is not done", runs, err)
	}
	if counts, err := s.Counts(t.Context(), runs[0].ID); err != nil || counts.Total() != 500 {
		t.Errorf("got %d results (error %v), want the first 500", counts.Total(), err)
	}
	whole, _ := foreign("a.jsonl", 700)
	got, err := scheduler.Import(t.Context(), s, whole)
	if err != nil {
		t.Fatal(err)
	}
	if got.Run != runs[0].ID || got.Counts != (eval.VerdictCounts{Pass: 350, Fail: 350}) || got.Cost.KnownMicroUSD != 1400 || got.Outcome != eval.OutcomeComplete {
		t.Errorf("got run %s, %+v, %d µ$, outcome %q; want run %s, 350 of each, 1400 µ$, complete", got.Run, got.Counts, got.Cost.KnownMicroUSD, got.Outcome, runs[0].ID)
	}
	run, err := s.Run(t.Context(), got.Run)
	if err != nil || run.State != eval.RunDone || run.Carrier != eval.CarrierImport || run.Cursor != 700 {
		t.Errorf("got %+v (error %v), want it done, imported, with its cursor at the end", run, err)
	}
	undisturbed, err := scheduler.Import(t.Context(), open(t), whole)
	if err != nil || undisturbed.Fingerprint != got.Fingerprint {
		t.Errorf("got fingerprint %s, want %s (error %v)", got.Fingerprint, undisturbed.Fingerprint, err)
	}
	again, err := scheduler.Import(t.Context(), s, whole)
	if err != nil || again.Run == got.Run {
		t.Errorf("got run %s for another import of the same (error %v), want another run", again.Run, err)
	}
}

// A mortal store dies once, in front of a step.
type mortal struct {
	store.Store
	die func(step string) error
}

func (m mortal) Dispatch(ctx context.Context, run string, marks []store.Mark) (store.Marked, error) {
	if err := m.die("dispatch"); err != nil {
		return store.Marked{}, err
	}
	return m.Store.Dispatch(ctx, run, marks)
}

func (m mortal) Commit(ctx context.Context, rs []eval.Record) ([]store.Stored, error) {
	if err := m.die("commit"); err != nil {
		return nil, err
	}
	return m.Store.Commit(ctx, rs)
}

func (m mortal) SetState(ctx context.Context, run string, s eval.RunState) error {
	if err := m.die("finalize"); err != nil {
		return err
	}
	return m.Store.SetState(ctx, run, s)
}

func (m mortal) Finish(ctx context.Context, r eval.Run, summary eval.Blob, notices ...store.Notice) error {
	if err := m.die("finish"); err != nil {
		return err
	}
	return m.Store.Finish(ctx, r, summary, notices...)
}

// TestImportDiesAnywhere ends an import in front of each of its steps, and begins it
// again: there is one run, with one result for each trial.
func TestImportDiesAnywhere(t *testing.T) {
	dead := errors.New("dead")
	whole, _ := foreign("a.jsonl", 700)
	for _, at := range []string{"dispatch 1", "commit 1", "dispatch 2", "commit 2", "finalize 1", "finish 1"} {
		t.Run(at, func(t *testing.T) {
			s := open(t)
			steps := map[string]int{}
			_, err := scheduler.Import(t.Context(), mortal{s, func(step string) error {
				steps[step]++
				if fmt.Sprint(step, " ", steps[step]) == at {
					return dead
				}
				return nil
			}}, whole)
			if !errors.Is(err, dead) {
				t.Fatalf("got error %v, want %v", err, dead)
			}
			got, err := scheduler.Import(t.Context(), s, whole)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := s.ListRuns(t.Context(), store.RunFilter{})
			if err != nil || len(runs) != 1 || runs[0].State != eval.RunDone {
				t.Errorf("got %+v (error %v), want one run that is done", runs, err)
			}
			if got.Counts != (eval.VerdictCounts{Pass: 350, Fail: 350}) || got.Cost.KnownMicroUSD != 1400 || got.Cost.UncountedMicroUSD != 0 {
				t.Errorf("got %+v, %d µ$, want 350 of each, 1400 µ$, each once", got.Counts, got.Cost.KnownMicroUSD)
			}
		})
	}
}

// TestImportIsItsOwn wants a new run where another file was being imported, and none
// that was given up.
func TestImportIsItsOwn(t *testing.T) {
	s := open(t)
	for _, file := range []string{"a.jsonl", "b.jsonl"} {
		broken, cut := foreign(file, 100)
		if _, err := scheduler.Import(t.Context(), s, broken); !errors.Is(err, cut) {
			t.Fatalf("got error %v, want %v", err, cut)
		}
	}
	runs, err := s.ListRuns(t.Context(), store.RunFilter{})
	if err != nil || len(runs) != 2 {
		t.Fatalf("got %d runs (error %v), want 2", len(runs), err)
	}
	for _, run := range runs {
		if err := scheduler.Cancel(t.Context(), s, run); err != nil {
			t.Fatal(err)
		}
	}
	whole, _ := foreign("a.jsonl", 700)
	got, err := scheduler.Import(t.Context(), s, whole)
	if err != nil || got.Run == runs[0].ID || got.Run == runs[1].ID {
		t.Errorf("got run %s (error %v), want one that nobody has cancelled", got.Run, err)
	}
}

func TestImportWantsAllTrials(t *testing.T) {
	f, _ := foreign("a.jsonl", 700)
	f.Each = func(fn func(eval.Record) error) error {
		return fn(eval.Record{Result: eval.Result{Verdict: eval.Pass}})
	}
	if _, err := scheduler.Import(t.Context(), open(t), f); err == nil || !strings.Contains(err.Error(), "got 1 of 700 trials") {
		t.Errorf("got error %v, want that trials are missing", err)
	}
	f.Each = func(fn func(eval.Record) error) error { return fn(eval.Record{Result: eval.Result{Verdict: "great"}}) }
	f.Snapshot.Plan.Cells[0].Repeats = 1
	if _, err := scheduler.Import(t.Context(), open(t), f); err == nil || !strings.Contains(err.Error(), `unknown verdict "great"`) {
		t.Errorf("got error %v, want that the record is damaged", err)
	}
}

// An imported run may be a baseline, and has no trajectory to compare with.
func TestImportedBaseline(t *testing.T) {
	s := open(t)
	whole, _ := foreign("a.jsonl", 700)
	got, err := scheduler.Import(t.Context(), s, whole)
	if err == nil {
		err = s.SetBaseline(t.Context(), store.Baseline{Suite: "tau", Name: "main", Run: got.Run})
	}
	if err != nil {
		t.Fatal(err)
	}
	check := &eval.TrajectoryCheck{}
	of := eval.Suite{Name: "tau", Cases: []eval.Case{{ID: "refund", Kind: eval.KindAgent, Checks: []eval.Check{{Trajectory: check}}}}}
	if err := scheduler.Attach(t.Context(), s, &of, "", "main"); err != nil || check.Baseline != "main" || len(check.Trajectories) > 0 {
		t.Errorf("got %+v (error %v), want the baseline without trajectories", check, err)
	}
}

func TestImportedRunsAreNotCarriedOut(t *testing.T) {
	done := eval.Run{ID: "r-1", Carrier: eval.CarrierImport, State: eval.RunDone}
	open := eval.Run{ID: "r-1", Carrier: eval.CarrierImport, State: eval.RunRunning}
	for name, test := range map[string]struct {
		err  error
		hint string
	}{
		"resume a done one":  {second(scheduler.Whole(t.Context(), nil, done)), "evalfarm report r-1"},
		"retry a done one":   {scheduler.Retryable(done), "evalfarm report r-1"},
		"resume an open one": {second(scheduler.Whole(t.Context(), nil, open)), "import the same file again to go on, or give it up: evalfarm cancel r-1"},
		"retry an open one":  {scheduler.Retryable(open), "import the same file again to go on, or give it up: evalfarm cancel r-1"},
		"pause an open one":  {scheduler.Pausable(open), "import the same file again to go on, or give it up: evalfarm cancel r-1"},
	} {
		refused, ok := errors.AsType[*scheduler.RefusedError](test.err)
		if !ok {
			t.Errorf("%s: got error %v, want that it is refused", name, test.err)
			continue
		}
		if diff := cmp.Diff(test.hint, refused.Hint); diff != "" {
			t.Errorf("%s: hint (-want +got):\n%s", name, diff)
		}
	}
	if err := scheduler.Runnable(eval.Run{Carrier: eval.CarrierService}); err != nil {
		t.Errorf("got error %v for a run of ours", err)
	}
}

func second(_ eval.Run, err error) error { return err }
