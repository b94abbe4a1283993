package report

import (
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func TestImportedRun(t *testing.T) {
	f := newFarm("tau")
	f.snap.Origin = &eval.Origin{Format: "jsonl", File: "a\x1b[2Jb.jsonl", SHA256: strings.Repeat("5e", 32)}
	f.add(eval.CaseRef{ID: "refund", Kind: eval.KindAgent}, eval.NewVariant(nil), &eval.Result{Verdict: eval.Pass})
	out := terminal(t, f)
	for _, want := range []string{
		"  imported a␛b.jsonl  jsonl  sha256 5e5e5e5e5e5e\n",
		"cost     unknown: nobody said what each trial cost\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report does not say %q:\n%s", want, out)
		}
	}
	if first, _, _ := strings.Cut(out, "\n"); strings.Contains(first, "1.2s") {
		t.Errorf("the report says how long the import took: %s", first)
	}
}
