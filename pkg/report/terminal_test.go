package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

func terminal(t *testing.T, f *farm) string {
	t.Helper()
	var b strings.Builder
	if err := Terminal(&b, f.document(t).Summary, Options{Next: []string{"evalfarm show r-20261130-ABCDEF"}}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTwelveCasesFitOnAScreen(t *testing.T) {
	f := newFarm("tool-accuracy")
	for i := range 12 {
		f.script(fmt.Sprintf("case-%02d", i), pass(fmt.Sprintf("tool%d", i%6), 2))
	}
	out := terminal(t, f)
	if got := strings.Count(out, "\n"); got > 24 {
		t.Errorf("got %d lines, want at most 24:\n%s", got, out)
	}
	for i := range 12 {
		if want := fmt.Sprintf("✓ case-%02d ", i); !strings.Contains(out, want) {
			t.Errorf("the report does not list %q:\n%s", want, out)
		}
	}
	if want := "script 12/12 pass"; !strings.Contains(strings.Split(out, "\n")[0], want) {
		t.Errorf("the first line does not say %q:\n%s", want, out)
	}
	for _, word := range []string{"agent", "model", "success"} {
		if strings.Contains(out, word) {
			t.Errorf("the report of script cases says %q:\n%s", word, out)
		}
	}
}

func TestBigRunListsFailuresOnly(t *testing.T) {
	f := big()
	f.add(eval.CaseRef{ID: "listing", Kind: eval.KindCatalog}, eval.NewVariant(nil), &eval.Result{
		Verdict: eval.Pass, Scores: []eval.Score{{Check: "root_any_of", Warning: true}},
	})
	out := terminal(t, f)
	if got := strings.Count(out, "  ✗ case-"); got != 20 {
		t.Errorf("got %d failed cells listed, want 20:\n%s", got, out)
	}
	for _, want := range []string{"… 23 more fail\n", "! case-001  0/10 pass  unreachable: connection refused", "~ warnings: 1,", "… 2 more\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "✓ case-") {
		t.Errorf("the report lists cells that passed:\n%s", out)
	}
}

func TestScoresOfACell(t *testing.T) {
	score := func(check string, pass bool, message string) eval.Score {
		return eval.Score{Check: check, Pass: pass, Message: message}
	}
	tests := []struct {
		name string
		cell eval.CellStats
		want string
	}{
		{
			"all pass",
			eval.CellStats{Scores: []eval.Score{score("a", true, ""), score("b", true, "")}},
			"a:true: b:true:",
		},
		{
			"a later repeat failed",
			eval.CellStats{
				Scores:  []eval.Score{score("a", true, ""), score("b", true, "")},
				Failure: &eval.Failure{Repeat: 2, Scores: []eval.Score{score("b", false, "oops")}},
			},
			"a:true: b:false:oops",
		},
		{
			"the first repeat stopped early",
			eval.CellStats{
				Scores:  []eval.Score{score("a", false, "first")},
				Failure: &eval.Failure{Repeat: 2, Scores: []eval.Score{score("b", false, "second")}},
			},
			"a:false:first b:false:second",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, s := range scores(tt.cell) {
				got = append(got, fmt.Sprintf("%s:%t:%s", s.Check, s.Pass, s.Message))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
