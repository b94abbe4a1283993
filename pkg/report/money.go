package report

import (
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// headlineCost is the cost in a few characters; empty if there was none.
func headlineCost(c eval.Cost) string {
	switch {
	case c.MicroUSD == nil:
		return "cost unknown"
	case *c.MicroUSD == 0:
		return ""
	case *c.MicroUSD < 10_000:
		return eval.USD(*c.MicroUSD)
	default:
		return fmt.Sprintf("$%.2f", float64(*c.MicroUSD)/1e6)
	}
}

// money says what the run cost and how far its budget came.
func (p *page) money(s eval.Summary) {
	c := s.Cost
	var parts []string
	for _, one := range []struct {
		micro int64
		what  string
	}{
		{c.JudgeMicroUSD, "for judges"},
		{c.UncountedMicroUSD, "for attempts that do not count"},
		{c.ChargedMicroUSD, "charged for attempts that ended unseen"},
		{c.UnansweredMicroUSD, "at most for calls whose answer was lost"},
	} {
		if one.micro > 0 {
			parts = append(parts, eval.USD(one.micro)+" "+one.what)
		}
	}
	switch {
	case c.MicroUSD == nil:
		line := "unknown: nobody knows the price of " + strings.Join(c.Unpriced, ", ")
		if len(c.Unpriced) == 0 {
			line = "unknown: nobody said what each trial cost"
		}
		if c.KnownMicroUSD > 0 {
			line += "; what is known is " + eval.USD(c.KnownMicroUSD)
		}
		p.line(p.indent(2), text("cost").pad(9), text(line))
	case c.KnownMicroUSD > 0:
		line := eval.USD(c.KnownMicroUSD)
		if len(parts) > 0 {
			line += ", of it " + strings.Join(parts, ", ")
		}
		p.line(p.indent(2), text("cost").pad(9), text(line))
	}
	if s.Coverage != nil {
		if line := covered(*s.Coverage); line != "" {
			p.line(p.indent(2), text("budget").pad(9), text(line))
		}
	}
}

// covered says how far a budget came.
func covered(c eval.Coverage) string {
	caps := c.Budget.Words()
	if c.DayMicroUSD > 0 {
		caps = append(caps, eval.USD(c.DayMicroUSD)+" a day for all runs")
	}
	if c.ScheduleMicroUSD > 0 {
		caps = append(caps, eval.USD(c.ScheduleMicroUSD)+" for all runs of the schedule")
	}
	if len(caps) == 0 {
		return ""
	}
	line := strings.Join(caps, ", ")
	switch c.Short {
	case eval.ShortOfMoney:
		line += fmt.Sprintf("; used up but for %s, which is less than another trial may cost", eval.USD(c.LeftMicroUSD))
	case eval.ShortOfTokens:
		line += fmt.Sprintf("; used up but for %d, which is less than another trial may take", c.LeftTokens)
	case eval.ShortOfTime:
		line += "; the time is over"
	case eval.ShortOfDayMoney:
		line += "; what the day has left is less than another trial may cost"
	case eval.ShortOfScheduleMoney:
		line += "; what the schedule has left is less than another trial may cost"
	}
	return line + fmt.Sprintf("; %d of %d rounds complete", c.CompleteRounds, c.Rounds)
}
