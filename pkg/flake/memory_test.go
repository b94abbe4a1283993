package flake

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// history makes runs of one cell: a word a run, with P, F, E for each trial; "-" is a
// run without the cell, "|" makes its checks others, "!" before a word a storm.
func history(text string) []Run {
	var runs []Run
	checks := "1"
	for word := range strings.FieldsSeq(text) {
		if word == "|" {
			checks += "1"
			continue
		}
		word, storm := strings.CutPrefix(word, "!")
		r := Run{ID: fmt.Sprintf("r%d", len(runs)+1), Storm: storm}
		if word != "-" {
			r.Cells = []Outcome{{
				Case: "c", Kind: eval.KindAgent, Conditions: map[string]string{eval.ConditionChecks: checks}, MicroUSD: new(100.0),
				Counts: eval.VerdictCounts{Pass: strings.Count(word, "P"), Fail: strings.Count(word, "F"), Error: strings.Count(word, "E")},
			}}
		}
		runs = append(runs, r)
	}
	return runs
}

func TestRemember(t *testing.T) {
	for _, test := range []struct {
		name, runs string
		// flips/chances, then the run since which it has changed, then the one with which
		// the history begins anew.
		want string
	}{
		{"steady", "P P P P", "steady"},
		{"nothing", "", "steady"},
		{"single repeats", "P F P P F", "3/4"},
		{"within runs", "PPP PFP PPP", "1/4"},
		{"an error is no flip", "P E P F", "1/2"},
		{"too few to call it a change", "P P P F F F", "1/5 few .1"},
		{"changed", "P P P P P F F F F F", "1/9 changed r6"},
		{"changed, with repeats", "PPP PPP FFF FFF", "1/7 changed r3"},
		{"no change: the repeats differ", "PPF PFF PFP FFP", "4/4"},
		{"a storm is left out", "P !F P F", "1/2"},
		{"other checks", "P F P | P P P", "steady"},
		{"other checks, and flaky again", "P F P | P F P", "2/2 since r4"},
		{"not run at the change", "P F - | - P F P", "2/2 since r5"},
		{"gone", "P F P -", "steady"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := Remember(history(test.runs))
			got := "steady"
			if len(m.Cells) > 0 {
				c := m.Cells[0]
				got = fmt.Sprintf("%d/%d", c.Flips, c.Chances)
				if c.Changed != "" {
					got += " changed " + c.Changed
				}
				if c.Few > 0.0999 && c.Few < 0.1001 {
					got += " few .1"
				}
				if c.Since != "" {
					got += " since " + c.Since
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestMarksAndMoney(t *testing.T) {
	m := Remember(history("PF | P - !F F PF E P"))
	want := Cell{
		Case: "c", Kind: eval.KindAgent, Passed: 3, Failed: 2, Flips: 3, Chances: 3, Low: m.Cells[0].Low, Disagreement: 0.6, Few: m.Cells[0].Few,
		MicroUSD: new(int64(200)), Since: "r2", Why: []string{eval.ConditionChecks},
		History: []Mark{Before, Passed, Absent, Failed, Mixed, Open, Passed},
	}
	if diff := cmp.Diff(want, m.Cells[0], cmp.Comparer(func(a, b float64) bool { return a-b < 1e-12 && b-a < 1e-12 })); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"r4"}, m.Storms); diff != "" {
		t.Error(diff)
	}
	unknown := history("P F F")
	unknown[1].Cells[0].MicroUSD = nil
	if got := Remember(unknown).Cells[0].MicroUSD; got != nil {
		t.Errorf("a failed trial of unknown cost: got %d", *got)
	}
}

// What flips more often comes first, and what has changed comes last.
func TestRank(t *testing.T) {
	var runs []Run
	for name, text := range map[string]string{"often": "P F P F P F P F P F", "rarely": "P P P P F P P P P P", "changed": "P P P P P F F F F F", "never": "F F F F F F F F F F"} {
		for i, r := range history(text) {
			if len(runs) <= i {
				runs = append(runs, Run{ID: r.ID})
			}
			r.Cells[0].Case = name
			runs[i].Cells = append(runs[i].Cells, r.Cells[0])
		}
	}
	m := Remember(runs)
	var got []string
	for _, c := range m.Cells {
		got = append(got, c.Case)
	}
	if diff := cmp.Diff([]string{"often", "rarely", "changed"}, got); diff != "" || m.Steady != 1 {
		t.Errorf("%d steady\n%s", m.Steady, diff)
	}
}

func TestStorm(t *testing.T) {
	of := func(errors int, most *float64) Run {
		return Of(eval.Snapshot{Validity: eval.Validity{MaxErrorRate: most}}, eval.Summary{Kinds: map[eval.Kind]eval.Stats{
			eval.KindAgent:  {Counts: eval.VerdictCounts{Pass: 100 - errors, Error: errors}},
			eval.KindScript: {Counts: eval.VerdictCounts{Pass: 1000}},
		}})
	}
	for _, test := range []struct {
		name   string
		errors int
		most   *float64
		want   bool
	}{
		{"none", 0, nil, false},
		{"as many as usual", 5, nil, false},
		{"more, among many trials of another kind", 6, nil, true},
		{"the suite takes them", 6, new(0.1), false},
		{"the suite takes none", 1, new(0.0), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := of(test.errors, test.most).Storm; got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// Whatever happened: the order has all trials, and a cell has no more flips than
// chances, and a mark for each run.
func TestRememberAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"P", "F", "PF", "PPF", "PFFFF", "E", "-", "|", "!F"})).Draw(t, "runs")
		runs := history(strings.Join(words, " "))
		m := Remember(runs)
		if len(m.Runs)+len(m.Storms) != len(runs) {
			t.Errorf("%d of %d runs", len(m.Runs)+len(m.Storms), len(runs))
		}
		for _, c := range m.Cells {
			if c.Flips > c.Chances || c.Low < 0 || c.Low > 1 || len(c.History) != len(m.Runs) || c.Few <= 0 || c.Disagreement <= 0 {
				t.Errorf("got %+v", c)
			}
			trials := 0
			var past []*Outcome
			for _, r := range runs {
				for _, o := range r.Cells {
					trials += o.Counts.Pass + o.Counts.Fail
					past = append(past, &o)
				}
			}
			if got := len(order(past)); got != trials {
				t.Errorf("an order of %d trials, want %d", got, trials)
			}
		}
	})
}
