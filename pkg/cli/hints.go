package cli

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// next suggests commands that go on from a summary.
func next(s eval.Summary) []string {
	var hints []string
	for _, cell := range s.Cells {
		if cell.Failure != nil && cell.Failure.Verdict == eval.Fail {
			hints = append(hints, fmt.Sprintf("evalfarm show %s %s", s.Run, cell.Case))
			break
		}
	}
	if s.Counts.Error+s.Counts.Unfinished > 0 {
		hints = append(hints, "evalfarm retry "+s.Run)
	}
	return append(hints, undecided(s)...)
}

// undecided suggests who could decide what nobody has: a judge or, where none is
// named or there is nothing to compare with, a person.
func undecided(s eval.Summary) []string {
	judge, person := false, false
	for _, cell := range s.Cells {
		if cell.Counts.Unjudged == 0 {
			continue
		}
		switch f := cell.Failure; {
		case f != nil && (f.Reason == eval.ReasonNoJudge || f.Reason == eval.ReasonNoBaseline):
			person = true
		default:
			judge = true
		}
	}
	var hints []string
	if judge {
		hints = append(hints, "evalfarm judge "+s.Run)
	}
	if person {
		hints = append(hints, "evalfarm review "+s.Run+" --reviewer NAME")
	}
	return hints
}
