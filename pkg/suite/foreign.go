package suite

import (
	"slices"
	"strconv"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// format is what kind of file a suite is written in; as text it is a name for
// people.
type format string

const (
	formatSuite      format = "suite"
	formatGolden     format = "golden data set"
	formatScenario   format = "scenario file"
	formatConditions format = "condition fixture"
)

// foreign recognises the formats of others, none of which has our version: 1.
func foreign(n *strictyaml.Node) format {
	if v := n.Get("version"); v != nil && v.Kind == strictyaml.Number {
		return formatSuite
	}
	switch {
	case n.Field("conditions") != nil && n.Field("scenarios") != nil:
		return formatConditions
	case n.Field("user_intent") != nil || n.Field("expected_trajectory") != nil:
		return formatScenario
	case n.Field("workflows") != nil:
		return formatGolden
	}
	if cases := n.Get("cases"); cases != nil {
		for _, c := range cases.Items {
			if c.Field("tool") != nil {
				return formatGolden
			}
		}
	}
	return formatSuite
}

// entry is a key and its value, in a map that is made here.
type entry struct {
	key   string
	value *strictyaml.Node
}

// mapOf makes a map; nil values are left out.
func mapOf(pos strictyaml.Pos, entries ...entry) *strictyaml.Node {
	n := &strictyaml.Node{Pos: pos, Kind: strictyaml.Map}
	for _, e := range entries {
		if e.value != nil {
			key := &strictyaml.Node{Pos: e.value.Pos, Kind: strictyaml.String, Text: e.key}
			n.Fields = append(n.Fields, strictyaml.Field{Key: key, Value: e.value})
		}
	}
	return n
}

// listOf makes a list.
func listOf(pos strictyaml.Pos, items ...*strictyaml.Node) *strictyaml.Node {
	return &strictyaml.Node{Pos: pos, Kind: strictyaml.List, Items: items}
}

// scalarAt makes a text, a number or a boolean.
func scalarAt(pos strictyaml.Pos, kind strictyaml.Kind, text string) *strictyaml.Node {
	return &strictyaml.Node{Pos: pos, Kind: kind, Text: text}
}

// textAt makes a text.
func textAt(pos strictyaml.Pos, text string) *strictyaml.Node {
	return scalarAt(pos, strictyaml.String, text)
}

// versionAt is the version of our format.
func versionAt(pos strictyaml.Pos) entry {
	return entry{"version", scalarAt(pos, strictyaml.Number, strconv.Itoa(formatVersion))}
}

// withoutNulls leaves out what is null at the levels of cases and steps, where
// the files of others mean "not given" by it.
func withoutNulls(n *strictyaml.Node) *strictyaml.Node {
	out := *n
	out.Items, out.Fields = nil, nil
	for _, item := range n.Items {
		out.Items = append(out.Items, withoutNulls(item))
	}
	for _, f := range n.Fields {
		switch {
		case f.Value.Kind == strictyaml.Null:
			continue
		case slices.Contains([]string{"cases", "workflows", "steps", "expected_trajectory", "conditions", "scenarios"}, f.Key.Text):
			f.Value = withoutNulls(f.Value)
		}
		out.Fields = append(out.Fields, f)
	}
	return &out
}
