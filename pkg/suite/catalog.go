package suite

import (
	"regexp"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// fingerprintRE matches fingerprints of tool listings.
var fingerprintRE = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// catalog says what a tool listing must satisfy.
func (b *build) catalog(f *catalogFile) *eval.Catalog {
	if f == nil {
		return nil // it could not be read
	}
	at := f.Node()
	out := &eval.Catalog{MaxContextTokens: int(f.MaxContextTokens), Fingerprint: f.Fingerprint, Lock: f.Lock}
	if f.Rules != nil && b.sound(f.Rules.Node()) {
		out.Rules = f.Rules.Names
		for i, name := range f.Rules.Names {
			if b.opts.Rules != nil && !slices.Contains(b.opts.Rules, name) {
				b.unknownName(f.Rules.Node().Items[i].Pos, "catalog rule", name, b.opts.Rules)
			}
		}
	}
	if f.Lock != "" {
		b.mustExist(at.Get("lock"), f.Lock)
		b.later(at.Place("lock"), "listings cannot be compared with a lock file yet")
	}
	if f.Fingerprint != "" && !fingerprintRE.MatchString(f.Fingerprint) {
		b.report(at.Get("fingerprint").Pos, strictyaml.Quote(f.Fingerprint)+" is no fingerprint", "sha256: and 64 hex digits")
	}
	return out
}
