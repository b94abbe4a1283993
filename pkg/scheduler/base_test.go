package scheduler_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/blob"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/scheduler"
	"github.com/evalfarm/evalfarm/pkg/store"
	"github.com/evalfarm/evalfarm/pkg/store/sqlitestore"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// A shelf is a store with runs that are done.
type shelf struct {
	t *testing.T
	store.Store
}

func newShelf(t *testing.T) shelf {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "evalfarm.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return shelf{t, s}
}

// ending is how a run of two cases ended.
type ending struct {
	branch  string
	tenant  string
	prompt  string // of the second case
	cases   []string
	verdict eval.RunVerdict
	// counts of each cell.
	counts []eval.VerdictCounts
	open   bool
}

// wanted is the request of a run of two cases.
func wanted(branch, prompt string) scheduler.Request {
	of := eval.Suite{Name: "shop", Repeats: eval.Repeats{N: 4}, Models: map[string]eval.Model{"m": {Provider: "scripted"}}, Cases: []eval.Case{
		{ID: "a", Kind: eval.KindAgent, Model: "m", Prompt: "Say a."},
		{ID: "b", Kind: eval.KindAgent, Model: "m", Prompt: "Say b" + prompt},
	}}
	req := scheduler.Request{Suite: &suite.Loaded{Suite: of, Hash: "sha256:1"}, Seed: 1}
	if branch != "" {
		req.Git = &eval.Git{Commit: strings.Repeat("0", 40), Branch: branch}
	}
	return req
}

func (s shelf) run(id string, as ending) {
	s.t.Helper()
	req := wanted(as.branch, as.prompt)
	req.ID, req.Tenant, req.Selection.Cases = id, as.tenant, as.cases
	run, err := scheduler.Create(s.t.Context(), s, req)
	if err != nil {
		s.t.Fatal(err)
	}
	if as.open {
		return
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(s.t.Context(), s, run.Header, &snap); err != nil {
		s.t.Fatal(err)
	}
	run.Outcome, run.Verdict = eval.OutcomeComplete, as.verdict
	summary := eval.Summary{Run: id, Suite: "shop", Outcome: run.Outcome, Verdict: run.Verdict}
	for i, cell := range snap.Plan.Cells {
		c := eval.CellStats{Case: snap.Cases[cell.Case].ID, Kind: eval.KindAgent, Repeats: cell.Repeats}
		c.Counts = eval.VerdictCounts{Pass: cell.Repeats}
		if i < len(as.counts) {
			c.Counts = as.counts[i]
		}
		for _, v := range eval.Verdicts() {
			summary.Counts.Add(v, c.Counts.Of(v))
		}
		summary.Cells = append(summary.Cells, c)
	}
	if err := s.Finish(s.t.Context(), run, blob.Pack(eval.Encode(summary))); err != nil {
		s.t.Fatal(err)
	}
}

func (s shelf) name(name, branch, run string) {
	s.t.Helper()
	err := s.SetBaseline(s.t.Context(), store.Baseline{Suite: "shop", Name: name, Branch: branch, Run: run})
	if err != nil {
		s.t.Fatal(err)
	}
}

func TestBaseRun(t *testing.T) {
	s := newShelf(t)
	s.run("r-1", ending{branch: "main", verdict: eval.RunPass})
	s.run("r-2", ending{branch: "next", verdict: eval.RunPass})
	s.run("r-3", ending{branch: "main", verdict: eval.RunFail})
	s.run("r-4", ending{branch: "main", verdict: eval.RunPass, cases: []string{"a"}})
	s.name("main", "", "r-3")
	s.name("main", "next", "r-2")
	for _, tc := range []struct{ name, of, branch, want string }{
		{"a name", "main", "", "r-3"},
		{"a name on a branch that has its own", "main", "next", "r-2"},
		{"a name on a branch that has none", "main", "main", "r-3"},
		{"a name that says that it is one", "baseline:main", "", "r-3"},
		{"a run", "r-1", "next", "r-1"},
		{"a run is no name", "baseline:r-1", "", ""},
		{"nothing", "mane", "", ""},
		{"last green on any branch", "last-green", "", "r-2"},
		{"last green, not of a part", "last-green", "main", "r-1"},
		{"last green on a new branch", "last-green", "new", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run, err := scheduler.BaseRun(t.Context(), s, "shop", tc.branch, tc.of)
			if tc.want == "" && !errors.Is(err, store.ErrNotFound) || tc.want != "" && err != nil || run.ID != tc.want {
				t.Errorf("got run %q (%v), want %q", run.ID, err, tc.want)
			}
		})
	}
}

// last-green of a run on a tenant's account is a run on that account; a name is found
// whoever's it is.
func TestLastGreenOfTenant(t *testing.T) {
	s := newShelf(t)
	s.run("r-1", ending{tenant: "ours", verdict: eval.RunPass})
	s.run("r-2", ending{tenant: "theirs", verdict: eval.RunPass})
	s.name("released", "", "r-2")
	for _, tc := range []struct{ name, tenant, baseline, want string }{
		{"ours", "ours", "last-green", "r-1"},
		{"nobody's yet", "new", "last-green", ""},
		{"no account", "", "last-green", "r-2"},
		{"a name", "ours", "released", "r-2"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := wanted("", "")
			req.Tenant = tc.tenant
			if err := scheduler.Against(t.Context(), s, &req, tc.baseline, true); err != nil {
				t.Fatal(err)
			}
			if got := req.Baseline.Run; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// frozen are the arms of a request.
func frozen(t *testing.T, req scheduler.Request) map[string]eval.Arm {
	t.Helper()
	arms := map[string]eval.Arm{}
	for _, b := range req.BaselineBlobs {
		plain, err := blob.Unpack(b)
		if err != nil {
			t.Fatal(err)
		}
		if arms[b.SHA256], err = eval.DecodeArm(plain); err != nil {
			t.Fatal(err)
		}
	}
	return arms
}

// The history of a base adds up what is the same, and nothing else.
func TestHistory(t *testing.T) {
	s := newShelf(t)
	counts := func(a, b eval.VerdictCounts) []eval.VerdictCounts { return []eval.VerdictCounts{a, b} }
	three := eval.VerdictCounts{Pass: 3, Fail: 1}
	s.run("r-same", ending{branch: "main", counts: counts(three, three)})
	s.run("r-storm", ending{branch: "main", counts: counts(eval.VerdictCounts{Error: 4}, three)})
	s.run("r-part", ending{branch: "main", cases: []string{"a"}})
	s.run("r-prompt", ending{branch: "main", prompt: ", please", counts: counts(three, three)})
	s.run("r-branch", ending{branch: "next"})
	s.run("r-tenant", ending{branch: "main", tenant: "them"})
	s.run("r-open", ending{branch: "main", open: true})
	s.run("r-base", ending{branch: "main"})
	s.run("r-later", ending{branch: "main"})
	s.name("main", "", "r-base")

	req := wanted("main", "")
	req.Suite.Suite.Gate.Baseline = "main"
	if err := scheduler.Against(t.Context(), s, &req, "", true); err != nil {
		t.Fatal(err)
	}
	ref, arms := req.Baseline, frozen(t, req)
	if ref.Name != "main" || ref.Run != "r-base" || ref.Missing != "" || len(arms) != 2 {
		t.Fatalf("got %+v with %d arms, want that of r-base with its history", ref, len(arms))
	}
	of := func(arm eval.Arm) map[string]eval.VerdictCounts {
		got := map[string]eval.VerdictCounts{}
		for _, c := range arm.Cells {
			got[c.Case] = c.Counts
		}
		return got
	}
	base, history := arms[ref.Arm], arms[ref.History]
	if d := cmp.Diff(map[string]eval.VerdictCounts{"a": {Pass: 4}, "b": {Pass: 4}}, of(base)); d != "" || base.Runs != 1 {
		t.Errorf("the base is of %d runs\n%s", base.Runs, d)
	}
	want := map[string]eval.VerdictCounts{
		"a": {Pass: 4 + 3 + 4 + 3, Fail: 1 + 1}, // r-same, r-part, r-prompt
		"b": {Pass: 4 + 3, Fail: 1},             // r-same
	}
	if d := cmp.Diff(want, of(history)); d != "" || history.Runs != 4 {
		t.Errorf("the history is of %d runs, want 4\n%s", history.Runs, d)
	}

	run, err := scheduler.Create(t.Context(), s, req)
	if err != nil {
		t.Fatal(err)
	}
	var snap eval.Snapshot
	if err := blob.LoadJSON(t.Context(), s, run.Header, &snap); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(ref, snap.Baseline); d != "" {
		t.Errorf("the snapshot has another baseline\n%s", d)
	}
	if _, err := s.GetBlob(t.Context(), ref.History); err != nil {
		t.Errorf("got %v, want the history in the store", err)
	}
}

// A baseline that is not there is said, and no error.
func TestMissingBaselines(t *testing.T) {
	s := newShelf(t)
	s.run("r-open", ending{open: true})
	for _, tc := range []struct{ name, of, branch, want string }{
		{"a name", "main", "", "suite shop has no such baseline"},
		{"a name on a branch", "main", "next", "suite shop has no such baseline on branch next"},
		{"last green", "last-green", "", "no complete run of all of suite shop has passed"},
		{"a run that is not done", "r-open", "", "run r-open is queued"},
		{"a file", "file:///nowhere/base.json", "", "there is no file /nowhere/base.json"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req := wanted(tc.branch, "")
			req.Suite.Suite.Gate.Baseline = tc.of
			if err := scheduler.Against(t.Context(), s, &req, "", true); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(&eval.BaselineRef{Name: tc.of, Missing: tc.want}, req.Baseline); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBaselineFiles(t *testing.T) {
	s := newShelf(t)
	s.run("r-1", ending{verdict: eval.RunPass})
	run, err := s.Run(t.Context(), "r-1")
	if err != nil {
		t.Fatal(err)
	}
	arm, err := scheduler.ArmOf(t.Context(), s, run)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := eval.EncodeArm(arm)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	req := wanted("", "")
	req.Suite.Dir, req.Suite.Suite.Gate.Baseline = dir, "file://base.json"
	if err := os.WriteFile(filepath.Join(dir, "base.json"), doc, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := scheduler.Against(t.Context(), s, &req, "", true); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(arm, frozen(t, req)[req.Baseline.Arm]); d != "" || req.Baseline.History != "" {
		t.Errorf("got the history %q and another arm\n%s", req.Baseline.History, d)
	}
	// Sent over the API, a suite reads no file of the farm.
	if err := scheduler.Against(t.Context(), s, &req, "", false); err == nil || !strings.Contains(err.Error(), "sent over the API") {
		t.Errorf("got %v, want a refusal", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "base.json"), []byte("{\n  \"format\": \"x\"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	err = scheduler.Against(t.Context(), s, &req, "", true)
	if _, ok := errors.AsType[*scheduler.RefusedError](err); !ok || !strings.Contains(err.Error(), filepath.Join(dir, "base.json")+": 2:") {
		t.Errorf("got %v, want where the file is wrong", err)
	}
}
