package score

import (
	"cmp"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// rejected wants a call that a server rejected, or one of a tool that there is
// not.
func (x *exam) rejected(c eval.RejectedCheck) decision {
	if c.Kind == eval.ErrorUnknownTool {
		return x.rejectedUnknown(c)
	}
	d := decision{want: answer.Wanted(c.ExpectError), unwanted: eval.ReasonUnexpectedError, expected: c.ExpectError}
	calls := x.made()
	if c.Tool != "" {
		d.want += " from " + answer.Line(c.Tool, maxDifference)
		if calls = of(calls, c.Tool); len(calls) == 0 {
			d.reason, d.got = x.missing(c.Tool)
			return d
		}
	}
	d.reason, d.got = eval.ReasonNoError, "no call"
	if x.gaveUp() {
		d.reason = eval.ReasonGaveUp
	}
	for _, made := range calls {
		a := answer.Read(made.Outcome)
		reason, got := a.Unlike(c.ExpectError)
		if reason == "" {
			d.value, d.at, d.actual, d.got = 1, made.at, a.Complaint(), "the rejection "+answer.Quote(a.Complaint())
			return d
		}
		// A rejection of another kind is nearer than an answer.
		if d.at == "" || reason == eval.ReasonWrongError {
			d.reason, d.at, d.got, d.actual = reason, made.at, got, a.Complaint()
		}
	}
	return d
}

// rejectedUnknown wants a call of a tool that the agent was not given.
func (x *exam) rejectedUnknown(c eval.RejectedCheck) decision {
	d := decision{
		want: "a call of " + cmp.Or(answer.Line(c.Tool, maxDifference), "an unknown tool") + " to be rejected as unknown",
		got:  "none", reason: eval.ReasonNoError, unwanted: eval.ReasonUnexpectedError, expected: c.ExpectError,
	}
	for _, t := range x.tried() {
		unknown := t.Server == "" && !x.offered(t.Tool)
		if unknown && (c.Tool == "" || isTool(c.Tool, t.Server, t.Tool)) {
			d.value, d.at, d.actual = 1, t.at, t.Tool
			d.got = "a call of " + answer.Quote(t.Tool)
			return d
		}
	}
	return d
}
