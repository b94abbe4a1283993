package cli

import (
	"cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

// A criterion is what a reviewer has to decide: the words, and the least value
// with which it holds.
type criterion struct {
	words string
	least float64
}

// criteria are those of a case's checks, by their ids: rubrics, and criteria that
// are sentences. Placeholders have the values that the variant gives them, or else
// stay.
func criteria(kase eval.Case, axes []eval.Axis, v eval.Variant) map[string]criterion {
	lookup := func(name string) (eval.JSON, bool) {
		if value, ok := kase.Vars[name]; ok {
			return value, true
		}
		for _, axis := range axes {
			for _, p := range axis.Points {
				if value, ok := p.Vars[name]; ok && p.Value == v.Axes[axis.Name] {
					return value, true
				}
			}
		}
		return nil, false
	}
	found := map[string]criterion{}
	var collect func([]eval.Check)
	collect = func(checks []eval.Check) {
		for _, c := range checks {
			if filled, err := score.Fill(c, lookup); err == nil {
				c = filled
			}
			// Half way holds where the suite says nothing, as for a judge.
			found[c.ID] = criterion{words: inWords(c), least: *cmp.Or(c.Threshold, new(0.5))}
			collect(c.Any)
			collect(c.All)
		}
	}
	collect(kase.Checks)
	return found
}

// inWords is what a check wants in words; empty when it is no such check.
func inWords(c eval.Check) string {
	words := ""
	switch {
	case c.Judge != nil && c.Judge.Reference != "":
		words = c.Judge.Rubric + "\nno worse than: " + c.Judge.Reference
	case c.Judge != nil:
		words = c.Judge.Rubric
	case c.Text != nil && c.Text.Sentence:
		words = *cmp.Or(c.Text.Contains, new(""))
	}
	if words != "" && c.Not {
		return "not: " + words
	}
	return words
}
