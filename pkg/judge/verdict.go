package judge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// maxText bounds what is kept of a judge's reasons, in bytes.
const maxText = 2 << 10

// readVerdict finds the verdict in a judge's answer: the last call of the tool,
// or else the last JSON object in its text that has one.
func readVerdict(r llm.Response) eval.Vote {
	var v struct {
		Pass   *bool    `json:"pass"`
		Score  *float64 `json:"score"`
		Reason string   `json:"reason"`
	}
	if reason, text := find(r, &v); reason != "" {
		return eval.Vote{Reason: reason, Text: text}
	}
	switch {
	case v.Pass == nil:
		return eval.Vote{Reason: eval.ReasonJudgeMalformed, Text: "the verdict does not say whether it passes"}
	case v.Score != nil && (*v.Score < 0 || *v.Score > 1):
		return eval.Vote{Reason: eval.ReasonJudgeMalformed, Text: fmt.Sprintf("the score %g is not between 0 and 1", *v.Score)}
	case v.Score != nil && (*v.Score > 0.5) != *v.Pass && *v.Score != 0.5:
		return eval.Vote{Reason: eval.ReasonJudgeMalformed, Text: fmt.Sprintf("the verdict contradicts itself: pass is %t, the score %g", *v.Pass, *v.Score)}
	}
	vote := eval.Vote{Pass: v.Pass, Text: short(v.Reason)}
	switch {
	case v.Score != nil:
		vote.Value = *v.Score
	case *v.Pass:
		vote.Value = 1
	}
	return vote
}

// A choice is which of two answers a judge finds better.
type choice struct {
	better string // first, second or tie
	text   string
	reason eval.Reason // why there is none
}

// prefers names the better one.
func (c choice) prefers(first, second stats.Preference) stats.Preference {
	switch c.better {
	case "first":
		return first
	case "second":
		return second
	default:
		return stats.PreferTie
	}
}

func readChoice(r llm.Response) choice {
	var v struct {
		Better string `json:"better"`
		Reason string `json:"reason"`
	}
	if reason, text := find(r, &v); reason != "" {
		return choice{reason: reason, text: text}
	}
	switch v.Better {
	case "first", "second", "tie":
		return choice{better: v.Better, text: short(v.Reason)}
	default:
		return choice{reason: eval.ReasonJudgeMalformed, text: fmt.Sprintf("want first, second or tie, got %.40q", v.Better)}
	}
}

// find decodes what the judge handed in, or says why there is nothing.
func find(r llm.Response, into any) (eval.Reason, string) {
	if r.Stop == llm.StopRefused {
		return eval.ReasonJudgeRefused, short(r.Message.Text)
	}
	for _, call := range slices.Backward(r.Message.Calls) {
		if call.Tool != toolName {
			continue
		}
		if err := json.Unmarshal([]byte(call.Arguments), into); err != nil {
			return eval.ReasonJudgeMalformed, "the verdict cannot be read: " + short(call.Arguments)
		}
		return "", ""
	}
	// Some servers have no tool calls that one can insist on.
	if object := lastObject(r.Message.Text); object != "" && json.Unmarshal([]byte(object), into) == nil {
		return "", ""
	}
	if strings.TrimSpace(r.Message.Text) == "" {
		return eval.ReasonJudgeMalformed, "the judge handed in no verdict"
	}
	return eval.ReasonJudgeMalformed, "no verdict in: " + short(r.Message.Text)
}

// maxSearched bounds where a verdict is looked for, in bytes from the end: each
// brace may be the beginning of one, and hostile text has many.
const maxSearched = 16 << 10

// lastObject is the last top-level JSON object in a text, or nothing. A judge
// that thinks aloud may write several; the last word counts.
func lastObject(text string) string {
	text = text[max(0, len(text)-maxSearched):]
	last := ""
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '{')
		if i < 0 {
			break
		}
		at += i
		dec := json.NewDecoder(strings.NewReader(text[at:]))
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			at++
			continue
		}
		last = string(raw)
		at += int(dec.InputOffset())
	}
	return last
}

// short bounds a text at a rune boundary.
func short(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "�")
	if len(text) <= maxText {
		return text
	}
	return text[:runeStart(text, maxText)] + "…"
}
