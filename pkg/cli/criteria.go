package cli

import (
	"cmp"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/score"
)

// criteria are, in words, what a reviewer has to decide of a case's checks, by
// their ids: rubrics, and criteria that are sentences. Placeholders have the
// values that the variant gives them, or else stay.
func criteria(kase eval.Case, axes []eval.Axis, v eval.Variant) map[string]string {
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
	found := map[string]string{}
	var collect func([]eval.Check)
	collect = func(checks []eval.Check) {
		for _, c := range checks {
			if filled, err := score.Fill(c, lookup); err == nil {
				c = filled
			}
			if words := criterion(c); words != "" {
				found[c.ID] = words
			}
			collect(c.Any)
			collect(c.All)
		}
	}
	collect(kase.Checks)
	return found
}

// criterion is what a check wants in words; empty when it is no such check.
func criterion(c eval.Check) string {
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
