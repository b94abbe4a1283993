package score

import (
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
)

// noRepeats counts calls with the same tool and arguments. Those that went back
// as invalid count too: to try the same again and again is what a loop is.
func (x *exam) noRepeats(c eval.RepeatsCheck) decision {
	most := max(1, c.Max)
	d := decision{
		value: 1, want: "the same call at most " + plural(most, "time"), got: "no call more often",
		reason: eval.ReasonRepeatedCall, unwanted: eval.ReasonMismatch, expected: most,
	}
	if c.Tool != "" {
		d.want = fmt.Sprintf("the same call of %s at most %s", answer.Line(c.Tool, maxDifference), plural(most, "time"))
	}
	type key struct{ server, tool, arguments string }
	keyOf := func(made call) key {
		return key{made.Server, made.Tool, string(eval.Encode(decoded(made.Arguments))) + made.RawArguments}
	}
	counts := map[key]int{}
	var worst key // the one that is first too often
	for _, made := range x.calls {
		if made.Method == eval.MethodSearch || c.Tool != "" && !isTool(c.Tool, made.Server, made.Tool) {
			continue
		}
		k := keyOf(made)
		if counts[k]++; counts[k] > most && d.at == "" {
			worst, d.at = k, made.at
		}
	}
	if d.at != "" {
		d.value, d.actual = 0, counts[worst]
		d.got = fmt.Sprintf("%s %s", plural(counts[worst], "time"), answer.Line(worst.tool+" "+worst.arguments, maxDifference))
	}
	return d
}
