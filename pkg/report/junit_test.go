package report

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func junit(t *testing.T, f *farm) (junitRun, []byte) {
	t.Helper()
	var buf bytes.Buffer
	if err := JUnit(&buf, f.document(t).Summary); err != nil {
		t.Fatal(err)
	}
	return parseJUnit(t, buf.Bytes()), buf.Bytes()
}

// outline is a line for each test case of a run.
func outline(run junitRun) []string {
	var lines []string
	for _, s := range run.Suites {
		for _, tc := range s.Cases {
			line := s.Name + " | " + tc.Name
			for kind, p := range map[string]*junitProblem{"failure": tc.Failure, "error": tc.Error, "skipped": tc.Skipped} {
				if p != nil {
					line += " | " + kind + " " + p.Type + " | " + p.Message
				}
			}
			lines = append(lines, line)
		}
	}
	return lines
}

func TestJUnitCases(t *testing.T) {
	run, _ := junit(t, troubled())
	want := []string{
		`tool-accuracy | customer-active-enterprise | failure mismatch | tier: want "ENTERPRISE_TIER", got "ENTERPRISE"`,
		`tool-accuracy | customer-unknown | failure call_timeout | call_timeout: no answer within 30s`,
		`tool-accuracy | customer-suspended`,
		`tool-accuracy | audit-workflow/lookup-customer`,
		`tool-accuracy | audit-workflow/check-zones | failure count_mismatch | count_mismatch: want 6 items, got 5`,
		`tool-accuracy | audit-workflow/verify-sla | failure variable_missing | variable_missing: nothing extracted the variable region`,
		`tool-accuracy | listing | failure catalog_rule | 1 of 9 rules broken`,
		`tool-accuracy | never-starts | error start_exited | start_exited: the server exited with status 1 before initialize`,
		`tool-accuracy | not-reached | skipped unfinished | unfinished`,
		`tool-accuracy | open | skipped unjudged | the judge refused`,
		`tool-accuracy [tenant=acme] | customer-suspended-acme`,
	}
	if diff := cmp.Diff(want, outline(run)); diff != "" {
		t.Errorf("test cases (-want +got):\n%s", diff)
	}
}

// TestJUnitWorkflowShowsWhatNoStepShows has a workflow that passed once and then
// met a server that did not start.
// A fail that does not fail the run must not turn CI red either.
func TestJUnitShowsToleratedFailsAsSkipped(t *testing.T) {
	s := troubled().document(t).Summary
	s.Tolerated = []eval.Kind{eval.KindScript, eval.KindCatalog}
	var buf bytes.Buffer
	if err := JUnit(&buf, s); err != nil {
		t.Fatal(err)
	}
	run := parseJUnit(t, buf.Bytes())
	if run.Failures != 0 {
		t.Errorf("%d failures, want none", run.Failures)
	}
	var told bool
	for _, line := range outline(run) {
		told = told || strings.Contains(line, "skipped mismatch | does not fail the run: tier")
	}
	if !told {
		t.Errorf("the fail is not told: %q", outline(run))
	}
}

func TestJUnitWorkflowShowsWhatNoStepShows(t *testing.T) {
	f := newFarm("flows")
	ok := pass("get", 1)
	f.add(eval.CaseRef{ID: "flow", Kind: eval.KindScript, Workflow: true}, eval.NewVariant(nil), ok, broken(eval.ReasonStartFailed, "no such file", "boom"))
	f.add(eval.CaseRef{ID: "dead", Kind: eval.KindScript, Workflow: true}, eval.NewVariant(nil), broken(eval.ReasonStartFailed, "no such file", "boom"))
	run, _ := junit(t, f)
	want := []string{
		"flows | flow/1",
		"flows | flow | error start_failed | start_failed: no such file",
		"flows | dead | error start_failed | start_failed: no such file",
	}
	if diff := cmp.Diff(want, outline(run)); diff != "" {
		t.Errorf("test cases (-want +got):\n%s", diff)
	}
	if got := run.Suites[0].Cases[1].Stderr; got != "boom" {
		t.Errorf("system-err: got %q, want %q", got, "boom")
	}
}

func TestJUnitSaysHowOftenACellWasTried(t *testing.T) {
	run, _ := junit(t, big())
	tc := run.Suites[0].Cases[7]
	want := &junitProperties{[]junitProperty{{"trials", "10"}, {"pass_rate", "70.0 %  [39.7, 89.2]  n 10"}, {"class", "flaky"}, {"bound", "7/10"}}}
	if diff := cmp.Diff(want, tc.Properties); diff != "" {
		t.Errorf("properties of %s (-want +got):\n%s", tc.Name, diff)
	}
	if want := "repeat 8 of 10\n"; tc.Failure == nil || !strings.HasPrefix(tc.Failure.Text, want) {
		t.Errorf("failure of %s: got %+v, want a text that begins with %q", tc.Name, tc.Failure, want)
	}
}

// TestJUnitWithXMLLint asks a parser that is not ours, where there is one.
func TestJUnitWithXMLLint(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("no xmllint here")
	}
	for i, s := range append(corpus(t)[1:], "plain") {
		_, raw := junit(t, hostile(s))
		file := filepath.Join(t.TempDir(), "junit.xml")
		if err := os.WriteFile(file, raw, 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(lint, "--noout", "--nonet", file).CombinedOutput(); err != nil {
			t.Errorf("text %d: xmllint: %v\n%s", i, err, out)
		}
	}
}
