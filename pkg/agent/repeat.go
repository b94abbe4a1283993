package agent

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// defaultLoopAfter is loop_after where nobody sets it.
const defaultLoopAfter = 5

// repeats remembers the latest turns with calls since the user spoke: what was
// called, with what, and what came of it.
type repeats struct{ turns [][sha256.Size]byte }

// looping says whether the agent goes round in circles: the same calls with the
// same answers, turn after turn, or two turns that alternate. Calls that are made
// at once count as one turn, because the model has not yet seen that they come
// to the same.
func (r *repeats) looping(calls []eval.ToolCall, after int) bool {
	after = max(2, cmp.Or(after, defaultLoopAfter))
	r.turns = append(r.turns, fingerprint(calls))
	if extra := len(r.turns) - 2*after; extra > 0 {
		r.turns = r.turns[extra:]
	}
	return r.periodic(1, after) || r.periodic(2, 2*after)
}

// periodic says whether the last n turns repeat those of period turns before.
func (r *repeats) periodic(period, n int) bool {
	if len(r.turns) < n {
		return false
	}
	last := r.turns[len(r.turns)-n:]
	for i := period; i < n; i++ {
		if last[i] != last[i-period] {
			return false
		}
	}
	return true
}

// fingerprint hashes calls and what came of them.
func fingerprint(calls []eval.ToolCall) [sha256.Size]byte {
	h := sha256.New()
	for _, c := range calls {
		o := c.Outcome
		parts := []string{
			c.Method, c.Server, c.Tool, c.URI, string(c.Arguments), c.RawArguments, c.Invalid,
			string(o.Kind), string(o.Reason), string(o.Result),
		}
		if o.Error != nil {
			parts = append(parts, strconv.Itoa(o.Error.Code), o.Error.Message, string(o.Error.Data))
		}
		for _, part := range parts {
			fmt.Fprintf(h, "%d:", len(part))
			h.Write([]byte(part))
		}
		h.Write([]byte{'\n'})
	}
	return [sha256.Size]byte(h.Sum(nil))
}
