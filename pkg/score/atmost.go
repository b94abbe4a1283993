package score

import (
	"fmt"
	"strings"
	"time"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// atMost compares what the trial took with its bounds.
func (x *exam) atMost(c eval.AtMostCheck) decision {
	var want, got []string
	expected, actual := map[string]any{}, map[string]any{}
	over := false
	bound := func(exceeded bool, key string, most, took any, wanted, had string) {
		want, got = append(want, wanted), append(got, had)
		expected[key], actual[key] = most, took
		over = over || exceeded
	}
	count := func(most *int, took int, key, noun string) {
		if most != nil {
			bound(took > *most, key, *most, took, plural(*most, noun), fmt.Sprint(took))
		}
	}
	count(c.Turns, x.Counts.Turns, "turns", "turn")
	count(c.ToolCalls, x.Counts.ToolCalls, "tool_calls", "tool call")
	count(c.ToolErrors, x.Counts.ToolErrors, "tool_errors", "tool error")
	count(c.InvalidCalls, x.Counts.InvalidCalls, "invalid_calls", "invalid call")
	count(c.Tokens, x.Usage.Total(), "tokens", "token")
	if c.CostMicroUSD != nil {
		if x.CostMicroUSD == nil {
			return lost("nobody knows what the trial cost: a model that it asked has no price")
		}
		took := *x.CostMicroUSD
		bound(took > *c.CostMicroUSD, "cost_microusd", *c.CostMicroUSD, took, eval.USD(*c.CostMicroUSD), eval.USD(took))
	}
	if c.Time > 0 {
		bound(x.Elapsed > c.Time, "time_ms", c.Time.Milliseconds(), x.Elapsed.Milliseconds(), c.Time.String(), x.Elapsed.Round(time.Millisecond).String())
	}
	return decision{
		value: yes(!over), want: "at most " + strings.Join(want, ", "), got: strings.Join(got, ", "),
		reason: eval.ReasonTooMuch, unwanted: eval.ReasonMismatch, expected: expected, actual: actual,
	}
}
