package aggregate

import (
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/store"
)

// findings gathers findings by their code, because the details of noise are
// without end. The detail that is kept is that of the first trial.
type findings map[string]*finding

type finding struct {
	ordinal int
	detail  string
	count   int
}

func (f findings) add(r store.Row) {
	for _, found := range r.Result.Findings {
		one := f[found.Code]
		if one == nil {
			one = &finding{ordinal: r.Ordinal, detail: found.Detail}
			f[found.Code] = one
		}
		if r.Ordinal < one.ordinal {
			one.ordinal, one.detail = r.Ordinal, found.Detail
		}
		one.count += max(found.Count, 1)
	}
}

func (f findings) finish() []eval.Finding {
	var list []eval.Finding
	for _, code := range slices.Sorted(maps.Keys(f)) {
		list = append(list, eval.Finding{Code: code, Detail: f[code].detail, Count: f[code].count})
	}
	return list
}
