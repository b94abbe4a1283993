package aggregate

import (
	"cmp"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// labels gathers cells by label, value and kind.
type labels map[label][]*cell

type label struct {
	name, value string
	kind        eval.Kind
}

func (l labels) add(of map[string]string, c *cell) {
	for name, value := range of {
		key := label{name, value, c.stats.Kind}
		l[key] = append(l[key], c)
	}
}

func (l labels) finish(n numbers) []eval.LabelStats {
	var list []eval.LabelStats
	for key, cells := range l {
		s := eval.LabelStats{Label: key.name, Value: key.value, Kind: key.kind, PassRate: n.rate(cells)}
		for _, c := range cells {
			s.Counts = s.Counts.Plus(c.stats.Counts)
		}
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b eval.LabelStats) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
