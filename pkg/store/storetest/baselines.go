package storetest

import (
	"testing"
	"time"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

func testBaselines(t *testing.T, s store.Store) {
	ctx := t.Context()
	create(t, s, run1, 1)
	if err := s.SetBaseline(ctx, store.Baseline{Suite: "quickstart", Name: "main", Run: run1}); err == nil {
		t.Error("a run that is not done became a baseline")
	}
	_, err := s.Baseline(ctx, "quickstart", "main", "")
	notFound(t, "Baseline", err)
	for _, id := range []string{run1, "r-other"} {
		if id != run1 {
			create(t, s, id, 1)
		}
		r, err := s.Run(ctx, id)
		must(t, err)
		r.Outcome, r.Finished = eval.OutcomeComplete, when
		must(t, s.Finish(ctx, r, blob.Pack([]byte("{}"))))
		must(t, s.SetBaseline(ctx, store.Baseline{Suite: "quickstart", Name: "main", Run: id, Made: when, Note: "of " + id}))
	}
	notFound(t, "another suite's run", s.SetBaseline(ctx, store.Baseline{Suite: "elsewhere", Name: "main", Run: run1}))
	anywhere := store.Baseline{Suite: "quickstart", Name: "main", Run: "r-other", Made: when, Note: "of r-other"}
	there := store.Baseline{Suite: "quickstart", Name: "main", Branch: "next", Run: "r-other", Made: when.Add(time.Second)}
	must(t, s.SetBaseline(ctx, there))
	for branch, want := range map[string]store.Baseline{"": anywhere, "main": anywhere, "next": there} {
		b, err := s.Baseline(ctx, "quickstart", "main", branch)
		must(t, err)
		equal(t, "baseline on branch "+branch, b, want)
	}
	all, err := s.Baselines(ctx)
	must(t, err)
	equal(t, "all", all, []store.Baseline{anywhere, there})
	notFound(t, "delete of another branch", s.DeleteBaseline(ctx, "quickstart", "main", "else"))
	must(t, s.DeleteBaseline(ctx, "quickstart", "main", "next"))
	all, err = s.Baselines(ctx)
	must(t, err)
	equal(t, "all but one", all, []store.Baseline{anywhere})

	collected, err := s.Collect(ctx, when.Add(time.Hour), false)
	must(t, err)
	equal(t, "runs collected", collected.Runs, 1)
	_, err = s.Run(ctx, "r-other")
	must(t, err)
	_, err = s.Run(ctx, run1)
	notFound(t, "the run that is no baseline any more", err)
}

// testRunsInUse checks which runs Collect leaves although they are old, and that
// ListRuns finds what is green.
func testRunsInUse(t *testing.T, s store.Store) {
	ctx := t.Context()
	const day = 24 * time.Hour
	made := 0
	put := func(id string, age time.Duration, as func(*eval.Run, *eval.Snapshot)) {
		made++
		r := eval.Run{
			ID: id, Suite: "shop", State: eval.RunQueued, Control: eval.ControlRun, Carrier: eval.CarrierProcess,
			Attempts: 3, MaxLost: 10, Priority: 1, Created: when.Add(-age), Outcome: eval.OutcomeComplete, Verdict: eval.RunPass,
		}
		snap := eval.Snapshot{Suite: "shop", Git: &eval.Git{Branch: "main"}, Plan: eval.Plan{Seed: uint64(made)}}
		arm := blob.Pack([]byte("the arm of " + id))
		if as != nil {
			as(&r, &snap)
		}
		if snap.Baseline != nil {
			snap.Baseline.Arm = arm.SHA256
		}
		header := blob.Pack(eval.Encode(snap))
		r.Header = header.SHA256
		ended := r
		r.Outcome, r.Verdict = "", ""
		must(t, s.CreateRun(ctx, r, []eval.Blob{header, arm}))
		if ended.Verdict == "" {
			return
		}
		ended.Finished = r.Created
		must(t, s.Finish(ctx, ended, blob.Pack([]byte("{}"))))
	}
	on := func(branch string) func(*eval.Run, *eval.Snapshot) {
		return func(_ *eval.Run, snap *eval.Snapshot) { snap.Git.Branch = branch }
	}
	put("r-older", 9*day, nil)
	put("r-green", 8*day, nil)
	put("r-red", 7*day, func(r *eval.Run, _ *eval.Snapshot) { r.Verdict = eval.RunFail })
	put("r-part", 6*day, func(_ *eval.Run, snap *eval.Snapshot) { snap.Partial = true })
	put("r-cut", 5*day, func(r *eval.Run, _ *eval.Snapshot) { r.Outcome = eval.OutcomeBudgetExhausted })
	put("r-feature", 4*day, on("feature"))
	put("r-abandoned", 200*day, on("abandoned"))
	put("r-based", 300*day, on("elsewhere"))
	put("r-open", 3*day, func(r *eval.Run, snap *eval.Snapshot) {
		r.Verdict = ""
		snap.Baseline = &eval.BaselineRef{Name: "main", Run: "r-based"}
	})
	put("r-done", 2*day, func(r *eval.Run, snap *eval.Snapshot) {
		r.Verdict = eval.RunFail
		snap.Baseline = &eval.BaselineRef{Name: "main", Run: "r-older"}
	})

	for _, tc := range []struct {
		name   string
		filter store.RunFilter
		want   []string
	}{
		{"green", store.RunFilter{Suite: "shop", Green: true}, []string{"r-feature", "r-green", "r-older", "r-abandoned", "r-based"}},
		{"green of a branch", store.RunFilter{Branch: "main", Green: true}, []string{"r-green", "r-older"}},
		{"of a branch until then", store.RunFilter{Branch: "main", Until: when.Add(-6 * day)}, []string{"r-part", "r-red", "r-green", "r-older"}},
		{"of no such branch", store.RunFilter{Branch: "nothing"}, nil},
	} {
		runs, err := s.ListRuns(ctx, tc.filter)
		must(t, err)
		equal(t, tc.name, ids(runs), tc.want)
	}

	before := when.Add(-day)
	dry, err := s.Collect(ctx, before, true)
	must(t, err)
	got, err := s.Collect(ctx, before, false)
	must(t, err)
	equal(t, "runs collected", got.Runs, 6)
	equal(t, "runs that a dry run counts", dry.Runs, 6)
	left, err := s.ListRuns(ctx, store.RunFilter{})
	must(t, err)
	equal(t, "runs left", ids(left), []string{"r-open", "r-feature", "r-green", "r-based"})

	// The arm that a run was given lives as long as the run, whatever became of its base.
	_, err = s.Collect(ctx, time.Now().Add(time.Hour), false)
	must(t, err)
	if _, err := s.GetBlob(ctx, blob.Pack([]byte("the arm of r-open")).SHA256); err != nil {
		t.Errorf("got %v, want the arm of a run that is not done", err)
	}
	_, err = s.GetBlob(ctx, blob.Pack([]byte("the arm of r-done")).SHA256)
	notFound(t, "the arm of a run that is deleted", err)
}

func ids(runs []eval.Run) []string {
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return ids
}
