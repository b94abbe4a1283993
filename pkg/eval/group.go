package eval

import "fmt"

// Regroup gives a group the value, pass, reason and message that follow from its
// parts. It is pending if parts that are could change whether it passes; its
// value is then the least that it can come to. A part that was cancelled, or
// that the farm could not decide, makes the group one. Other scores stay as they
// are.
func (s Score) Regroup() Score {
	if s.Group == "" {
		return s
	}
	parts := deciding(s.Parts)
	o := s.outlook()
	s.Value, s.Pass, s.Pending = o.low, !o.canFail, o.canFail && o.canPass
	s.Reason, s.Message = "", ""
	switch lost := first(parts, undecidable); {
	case lost != nil:
		s.Value, s.Pass, s.Pending = 0, false, false
		s.Reason, s.Message = lost.Reason, lost.locate()
	case s.Pending:
		p := awaited(parts)
		s.Reason, s.Message = p.Reason, p.locate()
	case !s.Pass:
		s.Reason, s.Message = s.whyNot(parts)
	}
	return s
}

func undecidable(s Score) bool { return s.Reason == ReasonCancelled || s.Reason.Infra() }

// whyNot says why a group did not pass.
func (s Score) whyNot(parts []Score) (Reason, string) {
	passed := 0
	for _, p := range parts {
		if p.Pass {
			passed++
		}
	}
	if s.Not {
		if s.Group == GroupAny {
			return ReasonUnexpectedMatch, fmt.Sprintf("want none of %d checks to pass, got %d", len(parts), passed)
		}
		return ReasonUnexpectedMatch, fmt.Sprintf("want not all of %d checks to pass, got %d", len(parts), passed)
	}
	message := fmt.Sprintf("want all of %d checks to pass, got %d", len(parts), passed)
	if s.Group == GroupAny {
		message = fmt.Sprintf("want one of %d checks to pass, got %d", len(parts), passed)
	}
	if p := first(parts, failed); p != nil {
		return p.Reason, message + "; " + p.locate()
	}
	return ReasonMismatch, message
}

// An outlook is what a score can still come to: its value lies between low and
// high, and it can fail, pass, or both.
type outlook struct {
	low, high        float64
	canFail, canPass bool
}

func (s Score) outlook() outlook {
	switch {
	case s.Group != "":
		return s.groupOutlook(deciding(s.Parts))
	case s.Pending:
		return outlook{low: 0, high: 1, canFail: true, canPass: true}
	default:
		return outlook{low: s.Value, high: s.Value, canFail: !s.Pass, canPass: s.Pass}
	}
}

// groupOutlook combines the parts that decide. A group without any passes.
func (s Score) groupOutlook(parts []Score) outlook {
	o := outlook{low: 1, high: 1, canPass: true}
	switch {
	case len(parts) == 0:
	case s.Group == GroupAny:
		o = best(parts)
	default:
		o = together(parts)
	}
	if s.Threshold != nil {
		o.canFail, o.canPass = !reaches(o.low, *s.Threshold), reaches(o.high, *s.Threshold)
	}
	if s.Not {
		o = outlook{low: 1 - o.high, high: 1 - o.low, canFail: o.canPass, canPass: o.canFail}
	}
	return o
}

// best is the outlook of scores of which one is enough.
func best(scores []Score) outlook {
	o := outlook{canFail: true}
	for _, score := range scores {
		p := score.outlook()
		o.low, o.high = max(o.low, p.low), max(o.high, p.high)
		o.canFail, o.canPass = o.canFail && p.canFail, o.canPass || p.canPass
	}
	return o
}

// together is the outlook of scores that are all needed, with their weighted
// mean.
func together(scores []Score) outlook {
	o := outlook{canPass: true}
	total := 0.0
	for _, score := range scores {
		p, weight := score.outlook(), score.weight()
		total += weight
		o.low, o.high = o.low+weight*p.low, o.high+weight*p.high
		o.canFail, o.canPass = o.canFail || p.canFail, o.canPass && p.canPass
	}
	o.low, o.high = o.low/total, o.high/total
	return o
}
