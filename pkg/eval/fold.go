package eval

import "fmt"

// Fold is the verdict over the scores of one trial, with the reason and the
// message of the score that decided.
//
//   - A check that could not be decided, because the farm or a dependency failed,
//     makes an error.
//   - Without a threshold one failed check is a fail. With one, the weighted mean
//     of all values decides.
//   - What still waits for a judge makes it unjudged, unless the outcome is the
//     same whatever the judge says.
//
// Warnings decide nothing. The verdict does not depend on the order of scores.
func Fold(scores []Score, threshold *float64) (Verdict, Reason, string) {
	var pending, failed *Score
	low, high, weight := 0.0, 0.0, 0.0 // of the weighted sum, whatever judges say
	for i := range scores {
		s := &scores[i]
		switch {
		case s.Reason.Infra():
			return Error, s.Reason, s.locate()
		case s.Warning:
			continue
		case s.Pending:
			if pending == nil {
				pending = s
			}
			high += s.weight()
		default:
			if !s.Pass && failed == nil {
				failed = s
			}
			low += s.weight() * s.Value
			high += s.weight() * s.Value
		}
		weight += s.weight()
	}
	if threshold != nil && weight > 0 {
		// Sums of shares such as 0.1 miss a bound by less than this.
		const slack = 1e-9
		switch {
		case low/weight+slack >= *threshold:
			return Pass, "", ""
		case high/weight+slack >= *threshold:
			return Unjudged, pending.Reason, pending.locate()
		case failed != nil:
			return Fail, failed.Reason, fmt.Sprintf("%.3g of the threshold %.3g; %s", low/weight, *threshold, failed.locate())
		default:
			return Fail, ReasonMismatch, fmt.Sprintf("%.3g of the threshold %.3g", low/weight, *threshold)
		}
	}
	switch {
	case failed != nil:
		return Fail, failed.Reason, failed.locate()
	case pending != nil:
		return Unjudged, pending.Reason, pending.locate()
	default:
		return Pass, "", ""
	}
}

func (s *Score) weight() float64 {
	if s.Weight == nil {
		return 1
	}
	return *s.Weight
}

// locate puts the check in front of its message.
func (s *Score) locate() string {
	if s.Message == "" {
		return s.Check
	}
	return s.Check + ": " + s.Message
}

// Regroup gives a group the value that follows from its parts.
func (s Score) Regroup() Score {
	verdict, best, mean, weight := Verdict(""), 0.0, 0.0, 0.0
	s.Reason, s.Message = "", ""
	passed, open := 0, 0
	for i := range s.Parts {
		p := &s.Parts[i]
		switch {
		case p.Reason.Infra():
			s.Reason, s.Message = p.Reason, p.locate()
			return s
		case p.Pending:
			open++
		case p.Pass:
			passed++
		}
		best = max(best, p.Value)
		mean += p.weight() * p.Value
		weight += p.weight()
	}
	failed := len(s.Parts) - passed - open
	if s.Group == GroupAny {
		s.Value = best
		verdict = decide(passed > 0, failed == len(s.Parts))
	} else {
		if weight > 0 {
			s.Value = mean / weight
		}
		verdict = decide(passed == len(s.Parts), failed > 0)
	}
	if s.Threshold != nil && open == 0 {
		verdict = decide(s.Value >= *s.Threshold, s.Value < *s.Threshold)
	}
	if s.Not && verdict != Unjudged {
		s.Value = 1 - s.Value
		verdict = decide(verdict == Fail, verdict == Pass)
	}
	s.Pass, s.Pending = verdict == Pass, verdict == Unjudged
	for i := range s.Parts {
		p := &s.Parts[i]
		if (s.Pending && p.Pending) || (!s.Pass && !s.Pending && !p.Pass) {
			s.Reason, s.Message = p.Reason, p.locate()
			break
		}
	}
	if !s.Pass && s.Reason == "" {
		s.Reason, s.Message = ReasonMismatch, fmt.Sprintf("%d of %d parts pass", passed, len(s.Parts))
	}
	return s
}

func decide(pass, fail bool) Verdict {
	switch {
	case pass:
		return Pass
	case fail:
		return Fail
	default:
		return Unjudged
	}
}
