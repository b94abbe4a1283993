package judge

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// single.md and pair.md are the instructions of a judge.
var (
	//go:embed single.md
	single string
	//go:embed pair.md
	pairwise string
)

// toolName is the tool through which a judge hands in its verdict.
const toolName = "verdict"

func singleRequest(rubric string, tr eval.Trajectory, s eval.Sampling, of llm.Trial) llm.Request {
	text := render(tr)
	return request(single, section("rubric", rubric)+"\n\n"+fence("trajectory", text), s, of, llm.Tool{
		Name:        toolName,
		Description: "Hand in the verdict. Call it exactly once.",
		Schema: eval.JSON(`{"type":"object","properties":{` +
			`"reason":{"type":"string","description":"What in the trajectory decided, in one or two sentences."},` +
			`"score":{"type":"number","minimum":0,"maximum":1,"description":"How far the rubric is met, if it is a matter of degree."},` +
			`"pass":{"type":"boolean","description":"Whether the rubric is met."}},"required":["reason","pass"]}`),
	})
}

func pairRequest(rubric string, tr eval.Trajectory, answers [2]string, s eval.Sampling, of llm.Trial) llm.Request {
	text := section("rubric", rubric) + "\n\n" + fence("task", clean(tr.Prompt)) +
		"\n\n" + fence("first answer", clean(answers[0])) + "\n\n" + fence("second answer", clean(answers[1]))
	return request(pairwise, text, s, of, llm.Tool{
		Name:        toolName,
		Description: "Hand in which answer is better. Call it exactly once.",
		Schema: eval.JSON(`{"type":"object","properties":{` +
			`"reason":{"type":"string","description":"What decided, in one or two sentences."},` +
			`"better":{"enum":["first","second","tie"]}},"required":["reason","better"]}`),
	})
}

func request(system, text string, s eval.Sampling, of llm.Trial, tool llm.Tool) llm.Request {
	return llm.Request{
		System: system, Messages: []llm.Message{{Role: llm.User, Text: text}},
		Tools: []llm.Tool{tool}, MustCall: toolName, Sampling: s, Trial: of,
	}
}

// section is text of the suite's author.
func section(name, text string) string { return "# " + name + "\n\n" + strings.TrimSpace(text) }

// fence puts material between two lines that it cannot hold: they carry a hash
// of the material, which no text can foresee of itself.
func fence(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	mark := hex.EncodeToString(sum[:8])
	return "# " + name + "\n\n<<<< material " + mark + "\n" + text + "\n>>>> material " + mark
}
