package report

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// rounds writes how far a run went whose repeats end when it is decided.
func (p *page) rounds(s eval.Summary) {
	if line := stopped(s); line != "" {
		p.line(p.indent(2), text("rounds").pad(9), text(line))
	}
}

// stopped says after how many rounds a run was decided, and how strict the look was at
// which it was; empty for a run that has a fixed number of repeats.
func stopped(s eval.Summary) string {
	q := s.Sequential
	if q == nil || len(q.Looks) == 0 {
		return ""
	}
	most := q.Looks[len(q.Looks)-1]
	line := fmt.Sprintf("decided after %d of %d rounds", q.Rounds, most)
	switch {
	case q.Decided:
	case q.Rounds == most:
		line = fmt.Sprintf("all %d rounds: no look before decided", most)
	case q.Rounds > 0:
		line = fmt.Sprintf("%d of %d rounds, and not decided", q.Rounds, most)
	default:
		return fmt.Sprintf("no look of %d rounds was due: the first is after round %d", most, q.Looks[0])
	}
	strictest := 0.0
	for _, r := range s.Rules {
		if r.Level > 0 && (strictest == 0 || r.Level < strictest) {
			strictest = r.Level
		}
	}
	if strictest > 0 {
		line += fmt.Sprintf("; intervals at the level of this look, %.3g one-sided", strictest)
	}
	return line
}
