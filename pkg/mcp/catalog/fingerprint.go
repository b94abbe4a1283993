package catalog

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// fingerprint hashes all that the listing says, each tool as canonical JSON on a
// line of its own, sorted by name. Pages, the order of tools and of keys, and
// white space do not change it; numbers count as they are written.
func (l listing) fingerprint() string {
	type entry struct {
		name string
		raw  []byte
	}
	var entries []entry
	for _, t := range l.tools {
		name, _ := t.fields["name"].(string)
		entries = append(entries, entry{name, eval.Encode(t.value)})
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.name, b.name), bytes.Compare(a.raw, b.raw))
	})
	hash := sha256.New()
	for _, e := range entries {
		hash.Write(append(e.raw, '\n'))
	}
	return "sha256:" + hex.EncodeToString(hash.Sum(nil))
}

func fingerprint(l listing, spec eval.Catalog) []offence {
	got := l.fingerprint()
	switch spec.Fingerprint {
	case "":
		return []offence{{message: "the case has no fingerprint to compare with"}}
	case got:
		return nil
	default:
		return []offence{{
			message:  fmt.Sprintf("the listing of %d tools is not the one that was recorded", len(l.tools)),
			expected: spec.Fingerprint, actual: got,
		}}
	}
}
