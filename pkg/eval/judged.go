package eval

import "slices"

// AwaitsJudge says whether the result has a check that only a judge can decide,
// whether or not one has spoken.
func (r Result) AwaitsJudge() bool { return slices.ContainsFunc(r.Scores, Score.awaits) }

func (s Score) awaits() bool { return s.Pending || slices.ContainsFunc(s.Parts, Score.awaits) }

// Judged is the result with what a grading says of it: the scores of judges in
// place of those that are pending, and the verdict folded anew. A judgement that
// failed leaves them pending and says why.
func (r Result) Judged(j Result) Result {
	said := map[string]Score{}
	for _, s := range j.Scores {
		said[s.Check] = s
	}
	r.Scores = judged(r.Scores, func(s Score) Score {
		if spoken, ok := said[s.Check]; ok {
			spoken.Weight, spoken.Warning, spoken.Title = s.Weight, s.Warning, s.Title
			return spoken
		}
		if j.Verdict == Error {
			s.Reason, s.Message = ReasonJudgeFailed, j.Message
		}
		return s
	})
	r.JudgeUsage = r.JudgeUsage.Add(j.JudgeUsage)
	r.Times.JudgeMS += j.Times.JudgeMS
	switch {
	case r.Reason == ReasonLimit: // no judge can save it
	case r.Verdict == Pass, r.Verdict == Fail, r.Verdict == Unjudged:
		r.Verdict, r.Reason, r.Message = Fold(r.Scores, r.Threshold)
	}
	return r
}

// judged replaces pending scores, also those inside groups, and values groups
// anew.
func judged(scores []Score, speak func(Score) Score) []Score {
	out := slices.Clone(scores)
	for i, s := range out {
		switch {
		case len(s.Parts) > 0 && s.awaits():
			s.Parts = judged(s.Parts, speak)
			out[i] = s.Regroup()
		case s.Pending:
			out[i] = speak(s)
		}
	}
	return out
}
