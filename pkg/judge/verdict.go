package judge

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/answer"
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/stats"
)

// maxText bounds what is kept of a judge's reasons, in bytes.
const maxText = 2 << 10

// readVerdict finds the verdict in a judge's answer.
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
	handed := verdicts(r.Message)
	if len(handed) == 0 {
		if strings.TrimSpace(r.Message.Text) == "" {
			return eval.ReasonJudgeMalformed, "the judge handed in no verdict"
		}
		return eval.ReasonJudgeMalformed, "no verdict in: " + short(r.Message.Text)
	}
	var first decision
	for i, raw := range handed {
		var one decision
		if json.Unmarshal([]byte(raw), &one) != nil || json.Unmarshal([]byte(raw), into) != nil {
			return eval.ReasonJudgeMalformed, "the verdict cannot be read: " + short(raw)
		}
		if i == 0 {
			first = one
		} else if !first.same(one) {
			return eval.ReasonJudgeMalformed, "the judge handed in verdicts that differ"
		}
	}
	return "", ""
}

// A decision is what must be the same in all verdicts of one answer.
type decision struct {
	Pass   *bool  `json:"pass"`
	Better string `json:"better"`
}

func (d decision) same(o decision) bool {
	if d.Pass == nil || o.Pass == nil {
		return d.Pass == o.Pass && d.Better == o.Better
	}
	return *d.Pass == *o.Pass && d.Better == o.Better
}

// verdicts are the calls of the tool. Some servers have no calls that one can
// insist on: a message that is a JSON object and nothing else is a verdict too.
// An object inside a text is none, because a judge may quote what it judges.
func verdicts(m llm.Message) []string {
	var handed []string
	for _, call := range m.Calls {
		if call.Tool == toolName {
			handed = append(handed, call.Arguments)
		}
	}
	if len(handed) > 0 {
		return handed
	}
	text := strings.TrimSpace(m.Text)
	if body, fenced := strings.CutPrefix(text, "```"); fenced {
		body = strings.TrimPrefix(body, "json")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(body), "```"))
	}
	if strings.HasPrefix(text, "{") && json.Valid([]byte(text)) {
		return []string{text}
	}
	return nil
}

// short bounds a text at a rune boundary.
func short(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "�")
	if len(text) <= maxText {
		return text
	}
	return text[:answer.RuneStart(text, maxText)] + "…"
}
