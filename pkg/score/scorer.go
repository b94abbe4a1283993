package score

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// version of what scorers are told and answer.
const version = 1

// question is what a scorer reads on its stdin.
type question struct {
	Version      int             `json:"version"`
	Case         eval.Case       `json:"case"`
	Trial        eval.Trial      `json:"trial"`
	Trajectory   eval.Trajectory `json:"trajectory"`
	Counts       eval.Counts     `json:"counts"`
	Usage        eval.Usage      `json:"usage"`
	CostMicroUSD *int64          `json:"cost_microusd"`
	Stop         eval.StopReason `json:"stop"`
	ElapsedMS    int64           `json:"elapsed_ms"`
}

// reply is what a scorer writes on its stdout: one JSON object.
type reply struct {
	// Score from 0 to 1.
	Score *float64 `json:"score"`
	// Pass decides, when it is there; else the score passes at the threshold.
	Pass *bool `json:"pass"`
	// Reason is one line for people.
	Reason string `json:"reason"`
}

// scorer asks an executable. Whatever is wrong with it or its answer is no
// failure of the agent.
func (x *exam) scorer(ctx context.Context, c eval.ScorerCheck) decision {
	stdin, err := json.Marshal(question{
		version, x.Case, x.Trial, x.Trajectory, x.Counts, x.Usage, x.CostMicroUSD, x.Stop, x.Elapsed.Milliseconds(),
	})
	if err != nil {
		return lost("write the trial for the scorer: %v", err)
	}
	out, err := x.run(ctx, command{words: c.Command, env: c.Env, timeout: c.Timeout, stdin: stdin})
	if err != nil {
		return undecided(reasonOf(ctx), fmt.Sprintf("scorer: %v", err))
	}
	if out.exit != 0 {
		return lost("scorer: exit code %d: %s", out.exit, answer.Quote(out.stderr+out.stdout))
	}
	r, err := readReply(out)
	if err != nil {
		return lost("scorer: %v; it wrote %s", err, answer.Quote(out.stdout))
	}
	d := decision{
		value: *r.Score, pass: r.Pass, want: "a score that passes", got: fmt.Sprintf("%.3g", *r.Score),
		reason: eval.ReasonMismatch, unwanted: eval.ReasonUnexpectedMatch,
	}
	if r.Reason != "" {
		d.got += ": " + answer.Quote(r.Reason)
		d.remark = d.got
	}
	return d
}

func readReply(out output) (reply, error) {
	var r reply
	if out.cut {
		return r, fmt.Errorf("an answer of more than %d bytes", maxOutput)
	}
	if err := json.Unmarshal([]byte(out.stdout), &r); err != nil {
		return r, fmt.Errorf("read its answer: %w", err)
	}
	switch {
	case r.Score == nil:
		return r, errors.New("its answer has no score")
	case *r.Score < 0 || *r.Score > 1:
		return r, fmt.Errorf("the score %g is not from 0 to 1", *r.Score)
	}
	return r, nil
}
