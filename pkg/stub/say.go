package stub

import (
	"context"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// Say is a model that always says the same. A tool that it must call it calls,
// without arguments. Usage is an estimate of four bytes a token.
type Say struct {
	// Text to say.
	Text string
	// Tokens is how many to say: the text is repeated, or cut, to that length.
	// Zero means the text once.
	Tokens int
}

// Generate answers.
func (s Say) Generate(_ context.Context, req llm.Request) (llm.Response, error) {
	res := llm.Response{Message: llm.Message{Role: llm.Assistant}, Stop: llm.StopEnd, Usage: eval.Usage{Input: inputTokens(req)}, Tries: 1}
	if req.MustCall != "" && !answered(req) {
		res.Message.Calls = []llm.Call{{Tool: req.MustCall, Arguments: "{}"}}
		res.Stop, res.Usage.Output = llm.StopCalls, tokens(len(req.MustCall)+2)
		return res, nil
	}
	said := s.Text
	if s.Tokens > 0 && said != "" {
		n := s.Tokens * bytesPerToken
		said = cut(strings.Repeat(said+" ", n/(len(said)+1)+1), n)
	}
	if limit := req.Sampling.MaxOutputTokens; limit > 0 && tokens(len(said)) > limit {
		said, res.Stop = cut(said, limit*bytesPerToken), llm.StopOutput
	}
	res.Message.Text, res.Usage.Output = said, tokens(len(said))
	return res, nil
}

// answered says whether the tools have been called already.
func answered(req llm.Request) bool {
	n := len(req.Messages)
	return n > 0 && len(req.Messages[n-1].Results) > 0
}

// bytesPerToken is the rule of thumb for English text.
const bytesPerToken = 4

func tokens(size int) int { return (size + bytesPerToken - 1) / bytesPerToken }

// inputTokens estimates what a request holds.
func inputTokens(req llm.Request) int {
	size := len(req.System)
	for _, m := range req.Messages {
		size += len(m.Text) + len(m.Reasoning)
		for _, c := range m.Calls {
			size += len(c.Tool) + len(c.Arguments)
		}
		for _, r := range m.Results {
			size += len(r.Text)
		}
	}
	for _, t := range req.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return tokens(size)
}

// cut shortens a text to at most n bytes of whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}
