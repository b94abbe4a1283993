package meter

import (
	"reflect"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
)

// A tokenizer makes at most one token of a byte. What providers add around
// messages and tools is bounded by these.
const (
	// perRequest covers a provider's own prompt for the use of tools, which takes
	// some hundred tokens.
	perRequest = 1024
	perItem    = 64
)

// Least is what the first call of a conversation is reckoned with before anything is
// said and no tool is there: who may spend less than that begins nothing.
func Least(s eval.Sampling, price *eval.Price) eval.Amount {
	req := llm.Request{Sampling: s}
	in, out := size(req), req.MaxOutput()
	least := eval.Amount{Tokens: int64(in) + int64(llm.Tokens(int64(out)))}
	if price != nil {
		least.MicroUSD = price.Bound(in, out)
	}
	return least
}

// size of a request in bytes, with room for what a provider puts around it: no
// fewer than its tokens.
func size(req llm.Request) int {
	n := perRequest + bytes(req.System) + bytes(req.MustCall)
	for _, t := range req.Tools {
		n += perItem + bytes(t.Name) + bytes(t.Description) + bytes(t.Schema)
	}
	for _, m := range req.Messages {
		said := bytes(m.Text) + bytes(m.Reasoning)
		for _, c := range m.Calls {
			said += perItem + bytes(c.ID) + bytes(c.Tool) + bytes(c.Arguments)
		}
		n += perItem + max(said, bytes(m.Opaque))
		for _, r := range m.Results {
			n += perItem + bytes(r.ID) + bytes(r.Tool) + bytes(r.Text)
		}
	}
	return n
}

// bytes of a text as it is sent: each byte that is no UTF-8 becomes a U+FFFD.
func bytes[T ~string | ~[]byte](text T) int {
	s, n := string(text), len(text)
	if utf8.ValidString(s) {
		return n
	}
	for s != "" {
		r, width := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && width == 1 {
			n += len(string(utf8.RuneError)) - 1
		}
		s = s[width:]
	}
	return n
}

// A measure knows how many tokens the requests of one conversation can have: the
// provider has counted the one before, and what came on top is bounded by its
// bytes. A request that does not go on where the last one ended is bounded by its
// bytes alone.
type measure struct {
	mu     sync.Mutex
	last   llm.Request // that the provider has counted
	tokens int         // of it; 0 before there is one
}

// most tokens that a request can have, and about how many it has.
func (m *measure) most(req llm.Request) (most, about int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := size(req)
	if m.tokens > 0 && extends(m.last, req) {
		grown := n - size(m.last)
		return m.tokens + grown, m.tokens + third(grown)
	}
	return n, third(n)
}

// counted notes how many tokens a request had.
func (m *measure) counted(req llm.Request, tokens int) {
	if tokens <= 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last, m.tokens = req, llm.Tokens(int64(tokens))
}

// extends says whether a request is another one with something added at the ends
// of its tools and messages, so that no token of it can have become several. The
// first tools bring a prompt of the provider's own with them, and so does another
// way to think.
func extends(before, req llm.Request) bool {
	return before.System == req.System && before.MustCall == req.MustCall &&
		(len(before.Tools) > 0) == (len(req.Tools) > 0) &&
		reflect.DeepEqual(before.Sampling.Thinking, req.Sampling.Thinking) &&
		begins(before.Tools, req.Tools) && begins(before.Messages, req.Messages)
}

// begins says whether a list is the beginning of another. Most of it is the same
// memory, which is quickly compared.
func begins[T any](beginning, list []T) bool {
	return len(beginning) <= len(list) && slices.EqualFunc(beginning, list[:len(beginning)], func(a, b T) bool { return reflect.DeepEqual(a, b) })
}

// third of a size: about as many tokens as a text of so many bytes has.
func third(n int) int { return (n + 2) / 3 }
