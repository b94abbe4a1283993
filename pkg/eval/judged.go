package eval

import (
	"fmt"
	"slices"
)

// AwaitsJudge says whether the result has a check that is for a judge to decide.
func (r Result) AwaitsJudge() bool {
	return anyScore(r.Scores, func(s Score) bool { return s.Pending && s.Reason == ReasonAwaitingJudge })
}

// Open says whether the result has a check that nobody has decided.
func (r Result) Open() bool { return anyScore(r.Scores, pending) }

func pending(s Score) bool { return s.Pending }

// anyScore looks inside groups too.
func anyScore(scores []Score, holds func(Score) bool) bool {
	return slices.ContainsFunc(scores, func(s Score) bool { return holds(s) || anyScore(s.Parts, holds) })
}

// Judged is the result with what a grading says of it: its scores in place of
// those that are pending, those of checks that the result does not know behind
// them, and the verdict folded anew. A judgement that failed leaves scores
// pending and says why.
func (r Result) Judged(j Result) Result {
	// A verdict that did not come of the scores (an error, a limit that fails the
	// trial, a server under test that crashed) is not for a judge to change.
	own, _, _ := Fold(r.Scores, r.Threshold)
	folded := own == r.Verdict
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
	for _, s := range j.Scores {
		if !anyScore(r.Scores, func(own Score) bool { return own.Check == s.Check }) {
			r.Scores = append(r.Scores, s)
		}
	}
	r.JudgeUsage = r.JudgeUsage.Add(j.JudgeUsage)
	if j.JudgeCostMicroUSD != nil {
		r.JudgeCostMicroUSD = j.JudgeCostMicroUSD
	}
	r.Times.LimiterMS += j.Times.LimiterMS
	r.Times.BackoffMS += j.Times.BackoffMS
	r.Times.JudgeMS += j.Times.JudgeMS
	if folded {
		r.Verdict, r.Reason, r.Message = Fold(r.Scores, r.Threshold)
		r = r.Excused()
	}
	return r
}

// Excused makes an error of a fail in which a dependency broke down: an agent that
// copes passes, but one that does not is not to blame.
func (r Result) Excused() Result {
	if r.Verdict == Fail && r.Broken != "" {
		r.Verdict, r.Message = Error, fmt.Sprintf("a server broke down, and then the agent failed: %s: %s", r.Reason, r.Message)
		r.Reason = r.Broken
	}
	return r
}

// CarryOver adds to the scores of a grading those of an earlier one that it is
// silent on, as far as they are of checks which the result leaves open.
func (r Result) CarryOver(before, scores []Score) []Score {
	for _, s := range before {
		is := func(other Score) bool { return other.Check == s.Check }
		open := anyScore(r.Scores, func(own Score) bool { return own.Pending && own.Check == s.Check })
		if open && !s.Pending && !slices.ContainsFunc(scores, is) {
			scores = append(scores, s)
		}
	}
	return scores
}

// judged replaces pending scores, also those inside groups, and values groups
// anew.
func judged(scores []Score, speak func(Score) Score) []Score {
	out := slices.Clone(scores)
	for i, s := range out {
		switch {
		case anyScore(s.Parts, pending):
			s.Parts = judged(s.Parts, speak)
			out[i] = s.Regroup()
		case s.Pending:
			out[i] = speak(s)
		}
	}
	return out
}

// Checks lists what the grading asks judges of a trial of a case: the judge checks
// of the case, or its own rubric, which is for agents.
func (g Grading) Checks(c Case) []Check {
	switch {
	case c.Kind != KindAgent:
		return nil
	case g.Rubric != "":
		return []Check{{ID: "rubric", Judge: &JudgeCheck{Rubric: g.Rubric, Model: g.Model}}}
	}
	var out []Check
	var collect func([]Check)
	collect = func(cs []Check) {
		for _, c := range cs {
			if c.Judge != nil {
				j := *c.Judge
				if g.Model != "" {
					j.Model = g.Model
				}
				c.Judge = &j
				out = append(out, c)
			}
			collect(c.Any)
			collect(c.All)
		}
	}
	collect(c.Checks)
	return out
}
