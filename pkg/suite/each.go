package suite

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// each makes one case per combination of the values of a case's each.
func (b *build) each(f *caseFile, c eval.Case) []eval.Case {
	at := f.Node().Get("each")
	if at == nil || !b.sound(at) {
		return []eval.Case{c}
	}
	total := 1
	values := map[string][]eval.JSON{}
	for _, field := range at.Fields {
		total *= len(field.Value.Items)
		if total == 0 || total > maxCases {
			b.report(field.Key.Pos, fmt.Sprintf("each makes no case, or more than %d", maxCases), "every name needs a list of values")
			return nil
		}
		for _, n := range field.Value.Items {
			values[field.Key.Text] = append(values[field.Key.Text], n.JSON())
		}
	}
	var out []eval.Case
	for i := range total {
		one := c
		one.ID = fmt.Sprintf("%s/%d", c.ID, i+1)
		if bad := badID(one.ID); bad != "" {
			b.report(f.Node().Get("id").Pos, fmt.Sprintf("%s is no id: %s", strictyaml.Quote(one.ID), bad), "")
			return nil
		}
		one.Vars = maps.Clone(c.Vars)
		if one.Vars == nil {
			one.Vars = map[string]eval.JSON{}
		}
		// The last name varies fastest.
		rest := i
		for _, field := range slices.Backward(at.Fields) {
			items := values[field.Key.Text]
			value := items[rest%len(items)]
			rest /= len(items)
			if !b.fill(field.Key.Pos, len(value)) {
				return nil
			}
			one.Vars[field.Key.Text] = value
		}
		out = append(out, one)
	}
	return out
}
