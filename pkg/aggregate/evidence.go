package aggregate

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

const (
	// confidence of all intervals of a summary and of a calibration.
	confidence = 0.95
	// tolerance is how often a stable cell may do otherwise.
	tolerance = 0.1
	// mostRepeats is the largest k of pass@k and pass^k.
	mostRepeats = 10
)

// evidence is what some passes in some trials show of a cell. It is looked up for
// cells that are alike, of which there are many.
type evidence map[outcome]*shown

type outcome struct{ passed, trials int }

type shown struct {
	of stats.Case
	// passAtK and passHatK begin at k = 1.
	passAtK, passHatK []float64
	disagreement      float64
	class, bound      string
}

func (e evidence) of(c eval.VerdictCounts) *shown {
	key := outcome{c.Pass, c.Pass + c.Fail}
	if e[key] == nil {
		e[key] = show(key.passed, key.trials)
	}
	return e[key]
}

func show(passed, n int) *shown {
	s := &shown{of: stats.Passed(passed, n), disagreement: stats.Disagreement(passed, n)}
	for k := 1; k <= min(n, mostRepeats); k++ {
		s.passAtK = append(s.passAtK, stats.PassAtK(passed, n, k))
		s.passHatK = append(s.passHatK, stats.PassHatK(passed, n, k))
	}
	class := stats.Classify(passed, n, tolerance, confidence)
	s.class = string(class.Stability)
	switch class.Stability {
	case stats.StablePass, stats.PassUnconfirmed:
		s.bound = fmt.Sprintf("%d/%d, p ≥ %.2f", passed, n, class.Lower)
	case stats.StableFail, stats.FailUnconfirmed:
		s.bound = fmt.Sprintf("%d/%d, p ≤ %.2f", passed, n, class.Upper)
	case stats.Flaky:
		s.bound = fmt.Sprintf("%d/%d", passed, n)
	case stats.NoData:
	}
	return s
}
