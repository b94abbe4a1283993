package scripted

import (
	"path"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// movesFor finds the moves for a case and the key that they stand under: the id
// itself, else the longest glob that matches it, of equals the first in the
// alphabet, else the default, which has no key.
func movesFor(p eval.Policy, id string) (string, []eval.Move) {
	if moves, ok := p.Cases[id]; ok {
		return id, moves
	}
	best, found := "", false
	for key := range p.Cases {
		if covers(key, id) && (!found || len(key) > len(best) || len(key) == len(best) && key < best) {
			best, found = key, true
		}
	}
	if found {
		return best, p.Cases[best]
	}
	return "", p.Default
}

// covers matches a glob against an id or any of its leading parts, as selecting
// cases does: "order/*" covers "order/rejects/1".
func covers(glob, id string) bool {
	for part := id; part != "." && part != "/"; part = path.Dir(part) {
		if ok, err := path.Match(glob, part); ok && err == nil {
			return true
		}
	}
	return false
}
