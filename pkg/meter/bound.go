package meter

import "github.com/evalfarm/evalfarm/pkg/llm"

// A tokenizer makes at most one token of a byte. What providers add around
// messages and tools is bounded by these.
const (
	// perRequest covers a provider's own prompt for the use of tools, which takes
	// some hundred tokens.
	perRequest = 1024
	perItem    = 64
)

// size of a request in bytes, with room for what a provider puts around it: no
// fewer than its tokens.
func size(req llm.Request) int {
	n := perRequest + len(req.System)
	for _, t := range req.Tools {
		n += perItem + len(t.Name) + len(t.Description) + len(t.Schema)
	}
	for _, m := range req.Messages {
		said := len(m.Text) + len(m.Reasoning)
		for _, c := range m.Calls {
			said += perItem + len(c.ID) + len(c.Tool) + len(c.Arguments)
		}
		n += perItem + max(said, len(m.Opaque))
		for _, r := range m.Results {
			n += perItem + len(r.ID) + len(r.Tool) + len(r.Text)
		}
	}
	return n
}

// A measure knows how many tokens the requests of one conversation can have: the
// provider has counted the one before, and what came on top is bounded by its
// bytes.
type measure struct {
	bytes, tokens int // of the last request that the provider has counted
}

// most tokens that a request can have, and about how many it has.
func (m measure) most(bytes int) (most, about int) {
	if grown := bytes - m.bytes; m.tokens > 0 && grown >= 0 {
		return m.tokens + grown, m.tokens + (grown+2)/3
	}
	return bytes, (bytes + 2) / 3
}
