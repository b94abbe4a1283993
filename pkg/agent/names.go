package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// legal is what the model APIs take as the name of a function.
var legal = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

const maxName = 64

// names are those that are taken.
type names map[string]bool

// give finds a legal name that is nobody's: the wanted one with what is illegal
// replaced, and where that is too long or taken, with a part of the hash of its
// origin at the end.
func (n names) give(wanted, origin string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && legal.MatchString(string(r)) {
			return r
		}
		return '_'
	}, wanted)
	if name == "" {
		name = "tool"
	}
	base := name
	for len(name) > maxName || n[name] {
		sum := sha256.Sum256([]byte(origin))
		suffix := "_" + hex.EncodeToString(sum[:4])
		name = base[:min(len(base), maxName-len(suffix))] + suffix
		origin += "\x00" // for the next round, if even that is taken
	}
	n[name] = true
	return name
}
