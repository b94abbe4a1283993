package suite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/strictyaml"
	"github.com/evalfarm/evalfarm/pkg/vars"
)

// names are what the placeholders of a case may stand for.
type names struct {
	have map[string]bool
	// used are those that the case refers to.
	used map[string]bool
	// open is true when something that may give names could not be read, so that
	// an unknown one is no mistake of its own.
	open bool
	// later holds what any step extracts, for hints.
	later map[string]bool
	// where says in which case a name is not known, when the text is not the
	// case's own.
	where string
}

// namesFor collects the vars of a case, its each, and what axes give.
func (b *build) namesFor(f *caseFile) *names {
	known := &names{have: map[string]bool{}, used: map[string]bool{}, later: map[string]bool{}}
	at, root := f.Node(), b.file.Node()
	for _, n := range []*strictyaml.Node{at.Get("vars"), at.Get("each"), root.Get("vars"), root.Get("axes")} {
		known.open = known.open || !b.sound(n)
	}
	if steps := at.Get("steps"); steps != nil {
		for _, step := range steps.Items {
			known.open = known.open || !b.keysSound(step) || !b.sound(step.Get("extract"))
		}
	}
	for name := range b.vars {
		known.have[name] = true
	}
	for name := range f.Vars {
		known.have[name] = true
	}
	if each := at.Get("each"); each != nil {
		for _, field := range each.Fields {
			if !variableNameRE.MatchString(field.Key.Text) {
				b.report(field.Key.Pos, strictyaml.Quote(field.Key.Text)+" is no name for a variable", "letters, digits, _ and -, beginning with a letter or _")
			}
			known.have[field.Key.Text] = true
		}
	}
	for _, axis := range b.suite.Axes {
		known.have["axis."+axis.Name] = true
	}
	for name := range b.axisSets {
		known.have[name] = true
	}
	return known
}

// placeholders checks every {{name}} in the strings of a value.
func (b *build) placeholders(n *strictyaml.Node, known *names) {
	n.Walk(func(v *strictyaml.Node) {
		if v.Kind != strictyaml.String || b.broken[placeOf(v.Pos)] {
			return
		}
		found, err := vars.NamesIn(v.Text)
		if syntax, bad := errors.AsType[*vars.SyntaxError](err); bad {
			b.report(v.Pos, syntax.Problem, "")
			return
		}
		for _, name := range found {
			b.known(v, name, known)
		}
	})
}

// known reports a name that nothing gives a value.
func (b *build) known(n *strictyaml.Node, name string, known *names) {
	known.used[name] = true
	if known.have[name] || known.open {
		return
	}
	pos := n.Pos
	switch {
	case known.later[name]:
		b.report(pos, fmt.Sprintf("{{%s}} is not known here", name), "only a later step, or this one, extracts it")
	case strings.HasPrefix(name, "row."):
		b.report(pos, fmt.Sprintf("{{%s}} is not known here", name), "rows exist in the case of a data set under include")
	default:
		all := sorted(known.have)
		hint := strictyaml.DidYouMean(name, all)
		switch {
		case hint != "":
		case len(all) == 0:
			hint = "the case has no vars; {{{{ stands for a literal {{"
		default:
			hint = "known here: " + strings.Join(all, ", ")
		}
		b.report(pos, fmt.Sprintf("nothing gives {{%s}} a value%s", name, known.where), hint)
	}
}
