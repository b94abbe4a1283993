package aggregate

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// contested is the mean disagreement of judges with themselves over the scores of a
// trial on which one has voted twice or more; 0 where there is none.
func contested(scores []eval.Score) float64 {
	var sum float64
	n := 0
	var look func([]eval.Score)
	look = func(scores []eval.Score) {
		for _, s := range scores {
			if passed, cast := tally(s.Votes); cast > 1 {
				sum += stats.Disagreement(passed, cast)
				n++
			}
			look(s.Parts)
		}
	}
	look(scores)
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// tally counts the votes that were cast, and those of them for a pass.
func tally(votes []eval.Vote) (passed, cast int) {
	for _, v := range votes {
		if v.Pass != nil {
			cast++
			passed += index(*v.Pass)
		}
	}
	return passed, cast
}
