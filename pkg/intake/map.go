package intake

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A Map says from which field of a file a field of ours is read, by our names. Names
// of nested fields have dots. An empty one is not read at all. A field that is not in
// the map is read from the one of its own name, unless that is read for another.
type Map map[string]string

// A MapError says which pair of a map is wrong.
type MapError struct {
	Message string
	// Hint says what to do; it may be empty.
	Hint string
}

func (e *MapError) Error() string { return e.Message }

// ParseMap makes a map of pairs such as "case=task_id".
func ParseMap(pairs []string) (Map, error) {
	m := Map{}
	for _, pair := range pairs {
		ours, theirs, ok := strings.Cut(pair, "=")
		if !ok || ours == "" {
			return nil, &MapError{fmt.Sprintf("%q is no pair of names", pair), "case=task_id reads the case from the field task_id"}
		}
		if _, twice := m[ours]; twice {
			return nil, &MapError{Message: fmt.Sprintf("%s is given twice", ours)}
		}
		if !known(ours) {
			hint := strictyaml.DidYouMean(ours, names())
			if hint == "" {
				hint = "fields are " + strings.Join(names(), ", ") + ", and those in them"
			}
			return nil, &MapError{fmt.Sprintf("there is no field %q", ours), hint}
		}
		if ours == "case" && theirs == "" {
			return nil, &MapError{Message: "a case is always read; case= names no field"}
		}
		m[ours] = theirs
	}
	return m, nil
}

// known says whether a name is one of our fields.
func known(name string) bool {
	top, rest, nested := strings.Cut(name, ".")
	into := new(line).field(top)
	switch into := into.(type) {
	case nil:
		return false
	case *map[string]word:
		return !nested || axisName.MatchString(rest)
	case *map[string]string:
		return !nested || rest != ""
	default:
		return !nested || slices.Contains(members(into), rest)
	}
}

// A mapping is a map as it is applied to one line after another.
type mapping struct {
	names []string
	pairs []pair
	// taken are the fields of the file that are read for others than their name says.
	taken map[string]bool
	// opened are those in which a field is that is read.
	opened map[string]bool
}

type pair struct {
	top, rest, theirs string
	// found says that a line has had the field.
	found bool
}

func newMapping(m Map) *mapping {
	out := &mapping{names: names(), taken: map[string]bool{}, opened: map[string]bool{}}
	for _, ours := range slices.Sorted(maps.Keys(m)) {
		top, rest, _ := strings.Cut(ours, ".")
		out.pairs = append(out.pairs, pair{top: top, rest: rest, theirs: m[ours]})
		out.taken[m[ours]] = true
		within, _, _ := strings.Cut(m[ours], ".")
		out.opened[within] = true
		if rest == "" {
			out.taken[ours] = true // it is read from elsewhere, if at all
		}
	}
	return out
}

// name is where a field of ours is read from.
func (m *mapping) name(ours string) string {
	for _, p := range m.pairs {
		if p.top == ours && p.rest == "" {
			return p.theirs
		}
	}
	return ours
}

// find gives a field of a line by its name, or by its path with dots.
func find(fields map[string]eval.JSON, name string) (eval.JSON, bool) {
	if raw, ok := fields[name]; ok {
		return raw, !null(raw)
	}
	top, rest, nested := strings.Cut(name, ".")
	raw, ok := fields[top]
	if !nested || !ok {
		return nil, false
	}
	inner, err := object(raw)
	if err != nil {
		return nil, false
	}
	return find(inner, rest)
}

func null(raw eval.JSON) bool { return string(raw) == "null" }
