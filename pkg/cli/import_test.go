package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// TestImportOfOurOwn imports what we have exported: every trial comes back with all
// that its line says, and the numbers of the run are the same.
func TestImportOfOurOwn(t *testing.T) {
	s := newShop(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s.run("run", filepath.Join(root, "suites/support-desk"), "--case", "judged/*", "--case", "refund/*", "-n", "2", "--progress", "none", "-q", "-o", "jsonl=ours.jsonl")
	var was, is eval.Summary
	s.json(&was, 0, "report", "latest", "--json")
	if was.Kinds[eval.KindAgent].Counts.Total() < 10 || was.Usage.Total() == 0 || len(was.Tools) == 0 {
		t.Fatalf("got %+v, want a run worth importing", was)
	}
	s.json(&is, 0, "import", "jsonl", "ours.jsonl", "--suite", was.Suite, "--json")
	if is.Origin == nil || is.Origin.File != "ours.jsonl" {
		t.Errorf("got origin %+v, want ours.jsonl", is.Origin)
	}
	for name, pair := range map[string][2]any{
		"fingerprint": {was.Fingerprint, is.Fingerprint},
		"trials":      {was.Trials, is.Trials},
		"kinds":       {was.Kinds, is.Kinds},
		"cells":       {byName(was), byName(is)},
		"latency":     {was.Latency, is.Latency},
		"tools":       {was.Tools, is.Tools},
		"cost":        {was.Cost.MicroUSD, is.Cost.MicroUSD},
		"usage":       {[]eval.Usage{was.Usage, was.UserUsage, was.JudgeUsage}, []eval.Usage{is.Usage, is.UserUsage, is.JudgeUsage}},
		"causes":      {was.Causes, is.Causes},
		"labels":      {was.Labels, is.Labels},
		"metrics":     {was.Metrics, is.Metrics},
	} {
		if diff := gocmp.Diff(pair[0], pair[1]); diff != "" {
			t.Errorf("%s (-was +is):\n%s", name, diff)
		}
	}
	if out, code := s.run("report", "latest", "-o", "jsonl=again.jsonl"); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	if diff := gocmp.Diff(exported(t, filepath.Join(s.dir, "ours.jsonl")), exported(t, filepath.Join(s.dir, "again.jsonl"))); diff != "" {
		t.Errorf("lines (-was +is):\n%s", diff)
	}
}

// byName gives the cells of a summary by their names, without the texts that no line has.
func byName(s eval.Summary) []eval.CellStats {
	out := slices.Clone(s.Cells)
	for i := range out {
		out[i].Title, out[i].Workflow = "", false
		if f := out[i].Failure; f != nil {
			of := *f
			of.Stderr = ""
			out[i].Failure = &of
		}
	}
	slices.SortFunc(out, func(a, b eval.CellStats) int {
		return cmp.Or(cmp.Compare(a.Case, b.Case), cmp.Compare(a.Variant, b.Variant))
	})
	return out
}

// exported reads lines by what they are of, without what is another run's own.
func exported(t *testing.T, path string) map[string]map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for line := range bytes.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatal(err)
		}
		for _, own := range []string{"run", "suite_hash", "ordinal", "attempt", "trajectory"} {
			delete(fields, own)
		}
		out[fmt.Sprint(fields["case"], fields["variant"], fields["repeat"])] = fields
	}
	return out
}

// TestImportDocs runs what docs/import.md shows.
func TestImportDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/import.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := map[string]string{}
	for _, m := range regexp.MustCompile("(?ms)^```(json|sh)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1) {
		blocks[m[1]] += m[2]
	}
	s := newShop(t)
	s.file("results.jsonl", blocks["json"])
	ran := 0
	for line := range strings.Lines(blocks["sh"]) {
		ran++
		if out, err := s.shell(line); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	if ran != 5 {
		t.Errorf("the page shows %d commands, want 5", ran)
	}
}
