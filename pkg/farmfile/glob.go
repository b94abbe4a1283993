package farmfile

import "strings"

// isGlob says whether a name stands for several models.
func isGlob(name string) bool { return strings.Contains(name, "*") }

// matches says whether a name is that of a model, or a glob of it. * is any text,
// slashes included: names of models have some.
func matches(name, model string) bool {
	first, rest, glob := strings.Cut(name, "*")
	if !glob {
		return name == model
	}
	model, ok := strings.CutPrefix(model, first)
	if !ok {
		return false
	}
	// What stands between two stars is found as early as it can be; the last part
	// must be the end.
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(model, part)
		}
		i := strings.Index(model, part)
		if i < 0 {
			return false
		}
		model, rest = model[i+len(part):], after
	}
}
