// Package judge asks a model for a verdict on what an agent did.
//
// What is judged is hostile text: an agent, a tool or a server may try to talk
// to the judge. So the material stands behind the rubric, between fences that it
// cannot contain, and the verdict is a tool call, or a JSON object that is the
// whole answer, never a word in a text. A judge that refuses, or whose verdict cannot
// be read, has not spoken: the check stays open.
package judge

import (
	"context"
	"fmt"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// A Judge scores trajectories with a model.
type Judge struct {
	Model    llm.Model
	Sampling eval.Sampling
	// Now measures the calls. Nil means time.Now.
	Now func() time.Time
}

// A Ruling is what a judge came to, and what it took.
type Ruling struct {
	Score eval.Score
	Usage eval.Usage
	// ModelMS is the time in model calls, WaitedMS that spent waiting for providers
	// before them, LimiterMS that spent waiting for a place of our own limiter.
	ModelMS, WaitedMS, LimiterMS float64
}

// Rule asks for as many votes as the check wants and lets the majority decide.
// An error says that the model could not be asked; nothing is decided then.
func (j Judge) Rule(ctx context.Context, check eval.Check, of llm.Trial, tr eval.Trajectory) (Ruling, error) {
	c := *check.Judge
	if j.Now == nil {
		j.Now = time.Now
	}
	r := Ruling{Score: eval.Score{Check: check.ID, Title: check.Title, Pending: true}}
	for n := 1; n <= max(1, c.Votes); n++ {
		of.Role = fmt.Sprintf("judge/%d", n)
		vote, err := j.vote(ctx, c, of, tr, &r)
		if err != nil {
			return r, err
		}
		r.Score.Votes = append(r.Score.Votes, vote)
	}
	r.Score = decide(r.Score, check)
	return r, nil
}

// vote asks once, or about a pair in both orders.
func (j Judge) vote(ctx context.Context, c eval.JudgeCheck, of llm.Trial, tr eval.Trajectory, r *Ruling) (eval.Vote, error) {
	if c.Reference != "" {
		return j.pair(ctx, c, of, tr, r)
	}
	response, err := j.ask(ctx, singleRequest(c.Rubric, tr, j.Sampling, of), r)
	if err != nil {
		return eval.Vote{}, err
	}
	return readVerdict(response), nil
}

// pair shows the two answers in both orders. A win counts only if both agree
// (Zheng et al. 2023, arXiv 2306.05685, on position bias).
func (j Judge) pair(ctx context.Context, c eval.JudgeCheck, of llm.Trial, tr eval.Trajectory, r *Ruling) (eval.Vote, error) {
	var said [2]choice
	role := of.Role
	for order, pair := range [2][2]string{{tr.Answer, c.Reference}, {c.Reference, tr.Answer}} {
		of.Role = fmt.Sprintf("%s/order%d", role, order+1)
		response, err := j.ask(ctx, pairRequest(c.Rubric, tr, pair, j.Sampling, of), r)
		if err != nil {
			return eval.Vote{}, err
		}
		if said[order] = readChoice(response); said[order].reason != "" {
			return eval.Vote{Text: said[order].text, Reason: said[order].reason}, nil
		}
	}
	// A is the trial's own answer, which is the second one in the second order.
	winner, _ := stats.PositionSwap(said[0].prefers(stats.PreferA, stats.PreferB), said[1].prefers(stats.PreferB, stats.PreferA))
	vote := eval.Vote{Pass: new(winner != stats.PreferB), Text: said[0].text}
	switch winner {
	case stats.PreferA:
		vote.Value = 1
	case stats.PreferTie:
		vote.Value = 0.5
	case stats.PreferB:
	}
	return vote, nil
}

// ask makes one call and counts it.
func (j Judge) ask(ctx context.Context, req llm.Request, r *Ruling) (llm.Response, error) {
	start := j.Now()
	response, err := j.Model.Generate(ctx, req)
	r.WaitedMS += response.WaitedMS
	r.LimiterMS += response.LimiterMS
	if err != nil {
		return response, err
	}
	r.Usage = r.Usage.Add(response.Usage)
	r.ModelMS += max(0, float64(j.Now().Sub(start).Microseconds())/1000-response.WaitedMS-response.LimiterMS)
	return response, nil
}

// decide makes a score of the votes: the strict majority of those that are one,
// or their mean when the check has a threshold. A check that is turned around
// wants the judge to say no.
func decide(s eval.Score, check eval.Check) eval.Score {
	var votes []*bool
	var sum float64
	n := 0
	for _, v := range s.Votes {
		votes = append(votes, v.Pass)
		switch {
		case v.Pass != nil:
			n++
			sum += v.Value
		case s.Reason == "":
			s.Reason, s.Message = v.Reason, v.Text
		}
	}
	if n == 0 {
		return s
	}
	s.Value, s.Reason, s.Message = sum/float64(n), "", ""
	majority := stats.JudgeMajority(votes)
	if check.Threshold == nil && majority == stats.MajorityTie {
		s.Reason, s.Message = eval.ReasonJudgeTied, fmt.Sprintf("%d votes for, %d against", n/2, n/2)
		return s
	}
	says := majority == stats.MajorityPass
	if check.Threshold != nil {
		says = s.Value >= *check.Threshold
	}
	for _, v := range s.Votes {
		if v.Pass != nil && *v.Pass == says {
			s.Message = v.Text
			break
		}
	}
	s.Pending, s.Pass = false, says
	if check.Not {
		s.Pass, s.Value = !says, 1-s.Value
	}
	if !s.Pass {
		s.Reason = eval.ReasonJudgedBad
	}
	return s
}
