package sensitive

import (
	"cmp"
	"slices"
)

// A Finding is one place in a text.
type Finding struct {
	// Kind is one of those that [Kinds] lists.
	Kind string
	// Start and End are byte offsets: the value is text[Start:End].
	Start, End int
	// Masked shows at most the first two and the last two characters of it.
	Masked string
}

// Find returns what is found in a text, in order and without overlap. Kinds are
// names of kinds or of groups; without any all are looked for. Where two kinds
// fit, the one that [Kinds] lists first is told.
func Find(text string, kinds []string) []Finding {
	type ranked struct {
		Finding
		rank int
	}
	var all []ranked
	lower := lowerASCII(text)
	for rank, d := range detectors() {
		if !d.wanted(kinds) {
			continue
		}
		for at := range d.candidates(text, lower) {
			if start, end := d.look(text, at); start < end {
				all = append(all, ranked{Finding{Kind: d.Name, Start: start, End: end, Masked: mask(text[start:end])}, rank})
			}
		}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.rank, b.rank))
	})
	var found []Finding
	rank := 0 // of the last one in found
	for _, f := range all {
		last := len(found) - 1
		switch {
		case last < 0 || f.Start >= found[last].End:
			found, rank = append(found, f.Finding), f.rank
		case f.rank < rank:
			found[last], rank = f.Finding, f.rank
		}
	}
	return found
}

// lowerASCII keeps every byte at its place, which strings.ToLower does not.
func lowerASCII(text string) string {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return string(lower)
}

// ellipsis stands for what is masked.
const ellipsis = "…"

// mask hides a value: the shorter it is, the less of it is shown.
func mask(value string) string {
	runes := []rune(value)
	switch n := len(runes); {
	case n < 8:
		return ellipsis
	case n < 12:
		return string(runes[:2]) + ellipsis
	default:
		return string(runes[:2]) + ellipsis + string(runes[n-2:])
	}
}
