package aggregate

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
)

// controls gathers what must be equal between conditions that are compared. Most
// of it is equal within one run, which froze the model, its sampling, the prompt
// and the limits; what the servers list is theirs, and may change.
type controls map[string]map[string]bool // fingerprints by case and the conditions' other axes

func (c controls) add(of eval.CaseRef, v eval.Variant, r eval.Result) {
	if r.Listing == nil || r.Listing.Fingerprint == "" {
		return
	}
	others := maps.Clone(v.Axes)
	delete(others, eval.AxisLoading)
	key := of.ID + " [" + eval.NewVariant(others).ID + "]"
	if c[key] == nil {
		c[key] = map[string]bool{}
	}
	c[key][r.Listing.Fingerprint] = true
}

// refuse says why the conditions cannot be compared; empty if they can.
func (c controls) refuse(snap eval.Snapshot) string {
	if !slices.Contains(snap.Controlled, "catalog_fingerprint") {
		return ""
	}
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if n := len(c[key]); n > 1 {
			return fmt.Sprintf("the conditions cannot be compared: catalog_fingerprint has %d values (%s)", n, key)
		}
	}
	return ""
}
