package score

import (
	"cmp"
	"context"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// verify looks at the outside state, by a step or by a command.
func (x *exam) verify(ctx context.Context, c eval.VerifyCheck) decision {
	if c.Step != nil {
		return x.verifyStep(ctx, c.Server, *c.Step)
	}
	out, err := x.run(ctx, command{words: c.Command, env: c.Env, timeout: c.Timeout})
	if err != nil {
		return undecided(reasonOf(ctx), fmt.Sprintf("verify: %v", err))
	}
	said := out.stdout + out.stderr
	return decision{
		value: yes(out.exit == 0), want: "exit code 0 of " + answer.Quote(c.Command[0]),
		got:    fmt.Sprintf("%d: %s", out.exit, answer.Quote(said)),
		reason: eval.ReasonWrongState, unwanted: eval.ReasonWrongState, expected: 0, actual: map[string]any{"exit_code": out.exit, "output": said},
	}
}

// verifyStep carries out a step. That the server does not answer is not the
// agent's doing, so nothing is decided then.
func (x *exam) verifyStep(ctx context.Context, server string, step eval.Step) decision {
	if x.options.Verify == nil {
		return lost("verify: nothing here carries out steps")
	}
	s := x.options.Verify(ctx, server, step)
	switch s.Reason {
	case eval.ReasonMissingTool, eval.ReasonTimeout, eval.ReasonServerCrashed, eval.ReasonStreamCut,
		eval.ReasonProtocolViolation, eval.ReasonOversize, eval.ReasonHTTPStatus, eval.ReasonVariableMissing:
		return lost("verify: %s", cmp.Or(s.Message, string(s.Reason)))
	default:
	}
	if s.Reason == eval.ReasonCancelled || s.Reason.Infra() {
		return undecided(s.Reason, "verify: "+s.Message)
	}
	d := decision{
		value: yes(s.Pass), want: "the state that the step expects", got: cmp.Or(s.Message, "it"),
		reason: eval.ReasonWrongState, unwanted: eval.ReasonWrongState, target: s.Target, latencyMS: s.LatencyMS,
	}
	if len(s.Expected) > 0 {
		d.expected, d.actual = decoded(s.Expected), decoded(s.Actual)
	}
	return d
}
