package suite

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/match"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

func (m *moveFile) UnmarshalNode(d *strictyaml.Decoder, n *strictyaml.Node) {
	type plain moveFile
	d.Decode(n, (*plain)(m))
	if n.Kind != strictyaml.Map {
		return
	}
	var kinds []string
	for _, key := range []string{"call", "calls", "choose", "if", "fail"} {
		if n.Field(key) != nil {
			kinds = append(kinds, key)
		}
	}
	if n.Field("say") != nil && (len(kinds) == 0 || kinds[0] != "call" && kinds[0] != "calls") {
		kinds = append(kinds, "say")
	}
	switch len(kinds) {
	case 0:
		d.Report(n.Pos, "a move that does nothing", "it has one of say, call, calls, choose, if and fail")
	case 1:
		checkCompanions(d, n, kinds[0])
	default:
		d.Report(n.Pos, "a move is one thing, got "+strings.Join(kinds, " and "), `only "say" may stand beside "call" or "calls"`)
	}
	checkArguments(d, n)
	if say := n.Get("say"); say != nil {
		checkMovePlaceholders(d, say)
	}
	for _, key := range []string{"calls", "choose"} {
		if list := n.Get(key); list != nil && list.Kind == strictyaml.List && len(list.Items) == 0 {
			d.Report(list.Pos, "an empty list", "")
		}
	}
	if n.Field("if") != nil && n.Field("then") == nil && n.Field("else") == nil {
		d.Report(n.Pos, `"if" without "then" and "else"`, "")
	}
	checkWeights(d, n.Get("choose"), m.Choose)
}

// checkCompanions reports keys that say more about another kind of move.
func checkCompanions(d *strictyaml.Decoder, n *strictyaml.Node, kind string) {
	for _, f := range n.Fields {
		beside := companions(f.Key.Text)
		if beside == nil || slices.Contains(beside, kind) {
			continue
		}
		hint := "it goes with " + strings.Join(beside, ", ")
		if f.Key.Text == "times" {
			hint = "the same call to a model fails each time it is tried"
		}
		d.Report(f.Key.Pos, fmt.Sprintf("%q has no meaning beside %q", f.Key.Text, kind), hint)
	}
}

// companions are the kinds of moves that a key may stand beside; none for the
// keys that are kinds themselves.
func companions(key string) []string {
	switch key {
	case "arguments", "raw":
		return []string{"call"}
	case "then", "else":
		return []string{"if"}
	case "times":
		return []string{"say", "call", "calls", "choose", "if"}
	case "usage":
		return []string{"say", "call", "calls"}
	case "latency":
		return []string{"say", "call", "calls", "fail"}
	}
	return nil
}

// checkArguments of a call: an object, or text in its place.
func checkArguments(d *strictyaml.Decoder, n *strictyaml.Node) {
	arguments := n.Field("arguments")
	if arguments == nil {
		return
	}
	if n.Field("raw") != nil {
		d.Report(n.Place("raw"), `"raw" and "arguments" in one call`, `"raw" is sent in the place of arguments`)
	}
	if arguments.Value.Kind != strictyaml.Map && !arguments.Value.Bad {
		d.Report(arguments.Value.Pos, "want a map, got "+arguments.Value.Describe(), `for arguments that are malformed on purpose write raw: "…"`)
	}
	checkMovePlaceholders(d, arguments.Value)
}

// checkWeights wants one choice at least that can be taken.
func checkWeights(d *strictyaml.Decoder, n *strictyaml.Node, choices []choiceFile) {
	if len(choices) == 0 {
		return
	}
	for i, c := range choices {
		w := n.Items[i].Get("weight")
		if c.Weight > 0 || w == nil {
			return
		}
		if f, err := strconv.ParseFloat(w.Text, 64); err != nil || f != 0 {
			return // it is reported already
		}
	}
	d.Report(n.Pos, "all weights are 0", "one choice at least needs a weight above 0")
}

// checkMovePlaceholders checks the placeholders in all strings of a value.
func checkMovePlaceholders(d *strictyaml.Decoder, n *strictyaml.Node) {
	n.Walk(func(v *strictyaml.Node) {
		if v.Kind != strictyaml.String {
			return
		}
		names, err := vars.NamesIn(v.Text)
		if syntax, bad := errors.AsType[*vars.SyntaxError](err); bad {
			d.Report(v.Pos, syntax.Problem, "")
		}
		for _, name := range names {
			switch p, below := strings.CutPrefix(name, "last."); {
			case name == "last" || name == "prompt":
			case !below:
				d.Report(v.Pos, fmt.Sprintf("{{%s}} is not known here", name), "a policy knows {{last}}, {{last.PATH}} and {{prompt}}; {{{{ stands for a literal {{")
			default:
				if _, err := match.ParsePath(p); err != nil {
					d.Report(v.Pos, fmt.Sprintf("{{%s}} holds no path: %v", name, err), "")
				}
			}
		}
	})
}

// idle warns of moves that the model never comes to.
func (s *sources) idle(moves movesFile) {
	for i, m := range moves {
		s.idle(m.Then)
		s.idle(m.Else)
		for _, c := range m.Choose {
			s.idle(c.Moves)
		}
		switch {
		case i == len(moves)-1:
		case m.Fail != nil:
			s.warn(moves[i+1].Node().Pos, "this move is never made", "the one before it fails, and fails again when the call is tried again")
			return
		case m.Times < 0 && m.If == nil && m.Choose == nil:
			s.warn(moves[i+1].Node().Pos, "this move is never made", "the one before it is made for ever")
			return
		}
	}
}
