package report

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// confirmation writes what the fresh repeats of suspects came to.
func (p *page) confirmation(s eval.Summary) {
	c := s.Confirmation
	if c == nil {
		return
	}
	who := fmt.Sprintf("%d suspects", c.Cells)
	if c.Cells == 1 {
		who = "1 suspect"
	}
	line := fmt.Sprintf("%s tried again in %s: %d/%d pass", who, c.Run, c.Counts.Pass, c.Trials)
	if open := c.Counts.Error + c.Counts.Unjudged + c.Counts.Unfinished; open > 0 {
		line += fmt.Sprintf(", %d without a verdict", open)
	}
	if c.Outcome != eval.OutcomeComplete {
		line += ", " + string(c.Outcome)
	}
	if c.KnownMicroUSD > 0 {
		line += ", " + eval.USD(c.KnownMicroUSD)
	}
	p.line(p.indent(2), text("confirm").pad(9), text(line))
}
