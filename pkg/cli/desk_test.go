package cli_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/internal/demo"
	"github.com/evalfarm/evalfarm/internal/redistest"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/suite"
)

// supportDesk is the path of the suite and the tags of its cases.
func supportDesk(t *testing.T) (string, map[string][]string) {
	t.Helper()
	path, err := filepath.Abs("../../suites/support-desk")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := suite.Load(path, suite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tags := map[string][]string{}
	for _, c := range loaded.Suite.Cases {
		tags[c.ID] = c.Tags
	}
	return path, tags
}

// verdicts by the tag that says which one is right. A flaky agent has several.
func verdicts() map[string][]eval.Verdict {
	return map[string][]eval.Verdict{
		"expect-pass":     {eval.Pass},
		"expect-fail":     {eval.Fail},
		"flaky":           {eval.Pass, eval.Fail},
		"expect-unjudged": {eval.Unjudged},
	}
}

// seen are the verdicts that some trial of a cell has.
func seen(c eval.VerdictCounts) []eval.Verdict {
	var some []eval.Verdict
	for _, v := range eval.Verdicts() {
		if c.Of(v) > 0 {
			some = append(some, v)
		}
	}
	return some
}

// Every agent of the support desk gets the verdict that its case's tag says, and
// those that fail on purpose fail no build.
func TestEveryVerdictOfTheSupportDeskIsRight(t *testing.T) {
	t.Parallel()
	path, tags := supportDesk(t)
	args, least := []string{"run", path, "-n", "10", "--seed", "7", "--json", "--progress", "none"}, 50
	if underRace {
		args, least = append(args, "--case", "refund/*"), 10
	}
	var summary eval.Summary
	newShop(t).json(&summary, 0, args...)
	for _, cell := range summary.Cells {
		var want []eval.Verdict
		for tag, right := range verdicts() {
			if slices.Contains(tags[cell.Case], tag) {
				want = append(want, right...)
			}
		}
		if diff := cmp.Diff(want, seen(cell.Counts)); diff != "" {
			t.Errorf("case %s [%s] with tags %v (-want +got):\n%s", cell.Case, cell.Variant, tags[cell.Case], diff)
		}
	}
	if len(summary.Cells) < least {
		t.Errorf("got %d cells, want at least %d", len(summary.Cells), least)
	}
}

// Which queue carries the jobs, and how many workers take them, changes nothing of
// what agents do and judges say.
func TestSupportDeskIsTheSameOnEveryFarm(t *testing.T) {
	t.Parallel()
	if underRace {
		t.Skip("three runs of the whole suite; the kill tests take the same ways with less")
	}
	path, _ := supportDesk(t)
	var embedded, spawned eval.Summary
	args := []string{"run", path, "-n", "3", "--seed", "7", "--json", "--progress", "none"}
	newShop(t).json(&embedded, 0, args...)
	newShop(t).json(&spawned, 0, append(args, "--broker", "spawn")...)
	sameAs(t, spawned, embedded)
	f := newShop(t)
	sched, hands := farm(f, redistest.Start(t), path, 3, 3)
	sameAs(t, conclude(f, sched, hands, 0), embedded)
}

// Each regression of the desk makes exactly the good agents fail that its table
// names.
func TestEachBreakOfTheDeskFailsExactlyItsCases(t *testing.T) {
	t.Parallel()
	path, _ := supportDesk(t)
	for _, b := range demo.Breaks("desk") {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			server, code := "desk", 0
			if b.Name == "slow" { // fails a script case
				server, code = "desk-hurried", 1
			}
			var summary eval.Summary
			newShop(t).json(&summary, code, "run", path, "--tag", "expect-pass", "-n", "1", "--json", "--progress", "none",
				"--server", server+"=evalfarm demo desk --break "+b.Name)
			if diff := cmp.Diff(b.Fails[0].Cases, failing(summary)); diff != "" {
				t.Errorf("--break %s fails other cases (-want +got):\n%s", b.Name, diff)
			}
		})
	}
}
