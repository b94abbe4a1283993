package cli_test

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/internal/demo"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// demoSuites are the shipped suites that talk to the demo server.
var demoSuites = []string{"quickstart", "tool-accuracy", "validation-boundary", "workflow-regression", "catalog"}

// failing lists what failed in a run: cases, and steps of workflows.
func failing(s eval.Summary) []string {
	failed := map[string]bool{}
	for _, cell := range s.Cells {
		switch {
		case cell.Counts.Pass == cell.Repeats:
		case cell.Workflow && cell.Failure != nil:
			for _, score := range cell.Failure.Scores {
				failed[cell.Case+"/"+score.Check] = true
			}
		default:
			failed[cell.Case] = true
		}
	}
	return slices.Sorted(maps.Keys(failed))
}

// withServer points every server of a suite at a command.
func withServer(t *testing.T, path, command string) []string {
	t.Helper()
	loaded, err := suite.Load(path, suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var args []string
	for name := range loaded.Suite.Servers {
		args = append(args, "--server", name+"="+command)
	}
	return args
}

// Each regression of the demo makes exactly the cases fail that its table names,
// and no others.
func TestEachBreakFailsExactlyItsCases(t *testing.T) {
	t.Parallel()
	for _, b := range demo.Breaks("acme") {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			for _, name := range demoSuites {
				var want []string
				for _, f := range b.Fails {
					if f.Suite == name {
						want = slices.Sorted(slices.Values(f.Cases))
					}
				}
				if underRace && len(want) == 0 {
					continue
				}
				path, err := filepath.Abs(filepath.Join("../../suites", name))
				if err != nil {
					t.Fatal(err)
				}
				code := 0
				if len(want) > 0 {
					code = 1
				}
				s := newShop(t)
				var summary eval.Summary
				args := append([]string{"run", path, "--json", "--progress", "none"}, withServer(t, path, "evalfarm demo acme --break "+b.Name)...)
				s.json(&summary, code, args...)
				if diff := cmp.Diff(want, failing(summary)); diff != "" {
					t.Errorf("suite %s with --break %s fails other cases (-want +got):\n%s", name, b.Name, diff)
				}
				for _, cell := range summary.Cells {
					if cell.Counts.Error > 0 {
						t.Errorf("suite %s: case %s is an error, want a verdict on the server", name, cell.Case)
					}
					if f := cell.Failure; f != nil && f.Message == "" {
						t.Errorf("suite %s: case %s failed without a message", name, cell.Case)
					}
				}
			}
		})
	}
}

func TestShippedSuitesPass(t *testing.T) {
	t.Parallel()
	for _, name := range demoSuites {
		t.Run(name, func(t *testing.T) {
			path, err := filepath.Abs(filepath.Join("../../suites", name))
			if err != nil {
				t.Fatal(err)
			}
			var summary eval.Summary
			newShop(t).json(&summary, 0, "run", path, "--json", "--progress", "none")
			if summary.Counts.Pass != summary.Trials || summary.Trials == 0 {
				t.Errorf("counts %+v of %d trials, want all to pass", summary.Counts, summary.Trials)
			}
		})
	}
}

// The reference servers are real programs of others, from npm. `make test`
// installs them.
func TestReferenceServersPass(t *testing.T) {
	t.Parallel()
	path, err := filepath.Abs("../../suites/reference-servers")
	if err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(filepath.Join(path, "node_modules/.bin/mcp-server-*")); len(found) == 0 {
		t.Fatal("the reference servers are not installed: run `make test`, or npm ci in suites/reference-servers")
	}
	var summary eval.Summary
	newShop(t).json(&summary, 0, "run", path, "--json", "--progress", "none")
	if summary.Counts.Pass != summary.Trials || summary.Trials == 0 {
		t.Errorf("counts %+v of %d trials, want all to pass", summary.Counts, summary.Trials)
	}
}
