package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// What is said of a repeated cell is what its bound rests on, and what is missing.
func TestShown(t *testing.T) {
	tests := []struct {
		name   string
		bound  string
		counts eval.VerdictCounts
		want   string
	}{
		{"all passed", "3/3, p ≥ 0.37", eval.VerdictCounts{Pass: 3}, "3/3 pass, p ≥ 0.37"},
		{"all failed", "0/3, p ≤ 0.63", eval.VerdictCounts{Fail: 3}, "0/3 pass, p ≤ 0.63"},
		{"some passed", "2/3", eval.VerdictCounts{Pass: 2, Fail: 1}, "2/3 pass"},
		{"one has no verdict", "2/2, p ≥ 0.22", eval.VerdictCounts{Pass: 2, Error: 1, Unfinished: 2}, "2/2 pass, p ≥ 0.22, 1 error, 2 unfinished"},
		{"none has", "", eval.VerdictCounts{Unjudged: 3}, "0/3 pass"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := shown(eval.CellStats{Bound: tt.bound, Stats: eval.Stats{Counts: tt.counts}}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTrials(t *testing.T) {
	tests := []struct {
		name string
		of   []int // trials of each cell
		want string
	}{
		{"once", []int{1, 1, 1}, "n 3"},
		{"as often", []int{4, 4, 4}, "n 12 = 3 × 4"},
		{"some without a verdict", []int{4, 0, 4}, "n 8 = 2 × 4"},
		{"not as often", []int{4, 3}, "n 7 in 2 cells"},
		{"never", []int{0}, "n 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := eval.Summary{Kinds: map[eval.Kind]eval.Stats{}, Cells: []eval.CellStats{
				{Kind: eval.KindScript, Stats: eval.Stats{PassRate: eval.Rate95{N: 7}}},
			}}
			var all eval.Rate95
			for _, n := range tt.of {
				s.Cells = append(s.Cells, eval.CellStats{Kind: eval.KindAgent, Stats: eval.Stats{PassRate: eval.Rate95{N: n}}})
				all.N += n
				if n > 0 {
					all.Cells++
				}
			}
			s.Kinds[eval.KindAgent] = eval.Stats{PassRate: all}
			if got := trials(s, eval.KindAgent); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A script that ran once has one interval, and nothing of repeats.
func TestOneRepeatHasOneInterval(t *testing.T) {
	out := terminal(t, quickstart())
	if want := "\n  script   100.0 %  [75.8, 100.0]  n 12\n"; !strings.Contains(out, want) {
		t.Errorf("want %q in\n%s", want, out)
	}
	for _, word := range []string{"cases", "disagree", "runs", "≥", "tag "} {
		if strings.Contains(out, word) {
			t.Errorf("a suite without repeats says %q:\n%s", word, out)
		}
	}
}

// Tags and variants without end take no more than a few lines.
func TestGroupsAreFew(t *testing.T) {
	f := newFarm("wide")
	for i := range 20 {
		f.add(eval.CaseRef{ID: fmt.Sprintf("c%d", i), Kind: eval.KindAgent, Tags: []string{fmt.Sprintf("t%02d", i)}}, eval.NewVariant(nil), pass("get", 1), pass("get", 2))
	}
	out := terminal(t, f)
	if got := strings.Count(out, "\n  tag t"); got != groupLines {
		t.Errorf("got %d tags, want %d:\n%s", got, groupLines, out)
	}
	if want := "\n  … 8 more, in the JSON report\n"; !strings.Contains(out, want) {
		t.Errorf("want %q in\n%s", want, out)
	}
}

// A percentile that is hardly more than the maximum is not shown.
func TestHighPercentiles(t *testing.T) {
	tests := []struct {
		n        int
		p95, p99 string
	}{
		{58, "·", "·"}, {59, "95", "·"}, {298, "95", "·"}, {299, "95", "99"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.n, " values"), func(t *testing.T) {
			p95, p99 := high(eval.Percentiles{N: tt.n, P95: 95, P99: 99}, func(x float64) string { return fmt.Sprint(x) })
			if p95 != tt.p95 || p99 != tt.p99 {
				t.Errorf("got %q and %q, want %q and %q", p95, p99, tt.p95, tt.p99)
			}
		})
	}
}
