package aggregate

import "slices"

// few is a set of texts of which it keeps the first by name, so that a server which
// never says the same twice fills nothing up.
type few []string

const fewest = 8

func (f *few) add(s string) {
	if s == "" {
		return
	}
	i, known := slices.BinarySearch(*f, s)
	if known || i == fewest {
		return
	}
	*f = slices.Insert(*f, i, s)
	*f = (*f)[:min(len(*f), fewest)]
}
