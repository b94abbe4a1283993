package cli

import (
	"fmt"
	"time"

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
	if s.Origin != nil { // nothing of it can be run or judged here
		return hints
	}
	if s.Counts.Error+s.Counts.Unfinished > 0 {
		hints = append(hints, "evalfarm retry "+s.Run+more(s))
	}
	return append(hints, undecided(s)...)
}

// more is what has to be added to a command that is to go on with a run whose budget
// is used up: without it the command would begin nothing. It is empty for others.
func more(s eval.Summary) string {
	c := s.Coverage
	if c == nil || s.Outcome != eval.OutcomeBudgetExhausted {
		return ""
	}
	switch c.Short {
	case eval.ShortOfMoney:
		return fmt.Sprintf(" --budget-usd MORE  # %s is spent already", eval.USD(c.Budget.MicroUSD-c.LeftMicroUSD))
	case eval.ShortOfTokens:
		return fmt.Sprintf(" --budget-tokens MORE  # %d are taken already", c.Budget.Tokens-c.LeftTokens)
	case eval.ShortOfTime:
		return " --budget-time MORE  # from then on"
	case eval.ShortOfDayMoney:
		return "  # when the day has ended, at " + tomorrow(s.Finished).Format("2006-01-02 15:04 MST")
	default:
		return ""
	}
}

// forJudging is more for judges, which no time bounds.
func forJudging(s eval.Summary) string {
	if s.Coverage != nil && s.Coverage.Short == eval.ShortOfTime {
		return ""
	}
	return more(s)
}

// tomorrow is when the UTC day of a time ends, and with it what counts against the
// cap of a day.
func tomorrow(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	return time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
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
		hints = append(hints, "evalfarm judge "+s.Run+forJudging(s))
	}
	if person {
		hints = append(hints, "evalfarm review "+s.Run+" --reviewer NAME")
	}
	return hints
}
