package aggregate

import (
	"cmp"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// labels gathers cells by label, value and kind.
type labels map[label]eval.VerdictCounts

type label struct {
	name, value string
	kind        eval.Kind
}

func (l labels) add(of map[string]string, c eval.CellStats) {
	for name, value := range of {
		key := label{name, value, c.Kind}
		sum := l[key]
		addCounts(&sum, c.Counts)
		l[key] = sum
	}
}

func (l labels) finish() []eval.LabelStats {
	var list []eval.LabelStats
	for key, counts := range l {
		list = append(list, eval.LabelStats{Label: key.name, Value: key.value, Kind: key.kind, Counts: counts, PassRate: passRate(counts)})
	}
	slices.SortFunc(list, func(a, b eval.LabelStats) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Kind, b.Kind))
	})
	return list
}
