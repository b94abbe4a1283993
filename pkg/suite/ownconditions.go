package suite

import (
	"slices"
	"strings"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// ownConditions are those that the operator writes down, since no farm can see them.
func (b *build) ownConditions() {
	at := b.file.Node().Get("conditions")
	if at == nil || !b.sound(at) {
		return
	}
	for _, field := range at.Fields {
		switch name := field.Key.Text; {
		case !variableNameRE.MatchString(name):
			b.report(field.Key.Pos, strictyaml.Quote(name)+" is no name for a condition", "letters, digits, _ and -, beginning with a letter or _")
		case slices.Contains(eval.FarmConditions(), name):
			b.report(field.Key.Pos, "the farm itself knows the condition "+name, "another name")
		}
		if text := strings.TrimSpace(field.Value.Text); text == "" || strings.ContainsAny(text, "\r\n") {
			b.report(field.Value.Pos, "a condition is one line", "")
		}
	}
	b.suite.Conditions = b.file.Conditions
}
