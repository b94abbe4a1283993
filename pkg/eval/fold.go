package eval

import "fmt"

// Fold is the verdict over the scores of one trial, with the reason and the
// message of the first score that decided. Warnings decide nothing. In this
// order:
//
//   - A check that was cancelled leaves the trial unfinished.
//   - A check that could not be decided, because the farm or a dependency failed,
//     makes an error.
//   - Without a threshold one failed check is a fail, whatever a judge may yet say
//     of another one. With a threshold the weighted mean of all values decides.
//   - What still waits for a judge makes it unjudged, unless the outcome is the
//     same whatever the judge says.
//
// The verdict does not depend on the order of scores.
func Fold(scores []Score, threshold *float64) (Verdict, Reason, string) {
	scores = deciding(scores)
	if s := first(scores, func(s Score) bool { return s.Reason == ReasonCancelled }); s != nil {
		return Unfinished, s.Reason, s.locate()
	}
	if s := first(scores, func(s Score) bool { return s.Reason.Infra() }); s != nil {
		return Error, s.Reason, s.locate()
	}
	if threshold != nil && len(scores) > 0 {
		return foldMean(scores, *threshold)
	}
	if s := first(scores, failed); s != nil {
		return Fail, s.Reason, s.locate()
	}
	if first(scores, waits) != nil {
		s := awaited(scores)
		return Unjudged, s.Reason, s.locate()
	}
	return Pass, "", ""
}

// foldMean decides by the weighted mean of the values, as far as it is known.
func foldMean(scores []Score, threshold float64) (Verdict, Reason, string) {
	mean := together(scores)
	switch {
	case reaches(mean.low, threshold):
		return Pass, "", ""
	case reaches(mean.high, threshold):
		s := awaited(scores)
		return Unjudged, s.Reason, s.locate()
	}
	message := fmt.Sprintf("want a mean of %.3g, got %.3g", threshold, mean.high)
	if mean.low < mean.high {
		message = fmt.Sprintf("want a mean of %.3g, got %.3g at best", threshold, mean.high)
	}
	if s := first(scores, failed); s != nil {
		return Fail, s.Reason, message + "; " + s.locate()
	}
	return Fail, ReasonMismatch, message
}

// reaches says whether a value is at least its bound. Sums of shares such as 0.1
// miss one by less than the slack.
func reaches(value, bound float64) bool { return value+1e-9 >= bound }

func failed(s Score) bool { return !s.Pass && !s.Pending }

func waits(s Score) bool { return s.Pending }

// deciding are the scores that are no warnings and weigh something.
func deciding(scores []Score) []Score {
	var out []Score
	for _, s := range scores {
		if !s.Warning && s.weight() > 0 {
			out = append(out, s)
		}
	}
	return out
}

// first is the first score for which it holds, or nil.
func first(scores []Score, holds func(Score) bool) *Score {
	for i := range scores {
		if holds(scores[i]) {
			return &scores[i]
		}
	}
	return nil
}

// awaited is the first pending score outside or inside of groups, or nil.
func awaited(scores []Score) *Score {
	for i := range scores {
		if len(scores[i].Parts) > 0 {
			if s := awaited(deciding(scores[i].Parts)); s != nil {
				return s
			}
		} else if scores[i].Pending {
			return &scores[i]
		}
	}
	return nil
}

func (s Score) weight() float64 {
	if s.Weight == nil {
		return 1
	}
	return *s.Weight
}

// locate puts the check in front of its message.
func (s Score) locate() string {
	switch {
	case s.Message == "":
		return s.Check
	case s.Check == "":
		return s.Message
	default:
		return s.Check + ": " + s.Message
	}
}
