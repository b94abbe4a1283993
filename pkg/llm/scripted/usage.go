package scripted

import (
	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// estimate counts a token for every four bytes of the texts in a request and in
// its answer.
func estimate(req llm.Request, answer llm.Message) eval.Usage {
	in := len(req.System)
	for _, m := range req.Messages {
		in += size(m)
	}
	for _, t := range req.Tools {
		in += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return eval.Usage{Input: tokens(in), Output: tokens(size(answer))}
}

func size(m llm.Message) int {
	n := len(m.Text) + len(m.Reasoning)
	for _, c := range m.Calls {
		n += len(c.Tool) + len(c.Arguments)
	}
	for _, r := range m.Results {
		n += len(r.Text)
	}
	return n
}

func tokens(bytes int) int { return (bytes + 3) / 4 }
