package eval

import (
	"slices"
	"strings"
)

// A capability is something that some workers have and some trials need, such as
// gpu: a name of lower-case letters, digits and dashes. Who has it says so; nobody
// checks. What a trial requires is written as one text: its capabilities, sorted,
// with dots between. Empty is what any worker can do.

// MaxRequires is how long that text may be: it travels with every job.
const MaxRequires = 100

// JoinCapabilities makes the text of what is required; a name may come twice.
func JoinCapabilities(names ...string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ".")
}

// Lacks lists the required capabilities that are not among those that somebody has.
func Lacks(has []string, requires string) []string {
	var lacks []string
	for _, name := range strings.FieldsFunc(requires, func(r rune) bool { return r == '.' }) {
		if !slices.Contains(has, name) {
			lacks = append(lacks, name)
		}
	}
	return lacks
}

// IsCapability says whether a name can be that of a capability.
func IsCapability(name string) bool {
	for i, r := range name {
		letter := 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
		if !letter && (r != '-' || i == 0) {
			return false
		}
	}
	return name != "" && len(name) <= 32
}
