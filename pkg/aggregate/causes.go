package aggregate

import (
	"cmp"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// causes counts trials without a pass or a fail by kind, verdict and reason.
type causes map[eval.Cause]int // with N 0

func (c causes) add(k eval.Kind, r eval.Result) {
	if r.Verdict != eval.Pass && r.Verdict != eval.Fail {
		c[eval.Cause{Kind: k, Verdict: r.Verdict, Reason: r.Reason}]++
	}
}

func (c causes) finish() []eval.Cause {
	var list []eval.Cause
	for one, n := range c {
		one.N = n
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b eval.Cause) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(b.N, a.N), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}
