package suite

import (
	"maps"
	"slices"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// build turns a decoded file into the nouns of package eval, and checks that it
// makes sense.
type build struct {
	*loader
	file   *suiteFile
	loaded *Loaded
	suite  *eval.Suite
	// vars of the suite, and the names of those that axes set.
	vars     map[string]eval.JSON
	axisSets map[string]bool
	// ids holds the ids of cases in lower case.
	ids map[string]strictyaml.Pos
	// written are the cases of the file that those of the suite come from, by the
	// index of these.
	written []*caseFile
	// homeless is true when a case without a server was reported.
	homeless bool
	// modelless is true when an agent case without a model was reported.
	modelless bool
	// unserved holds the servers of tools that were reported as missing.
	unserved map[string]bool
	// texts of files that strings of the suite name, by the name that problems
	// show.
	texts map[string]string
}

func (b *build) run() {
	s := b.suite
	s.Name = b.file.Name
	if s.Name == "" {
		s.Name = defaultName(b.loaded.Path)
	}
	s.Description = b.file.Description
	s.MinRepeats, s.Controlled, s.Metrics, s.Oracle = b.fixture.MinRepeats, b.fixture.Controlled, b.fixture.Metrics, b.fixture.Oracle
	b.ownConditions()
	b.vars, b.axisSets = b.values(b.file.Vars), map[string]bool{}
	b.servers()
	b.models()
	b.axes()
	b.cases()
	b.exclude()
	b.rules()
	b.usedAxes()
	b.idleLimits()
	b.budgets()
}

// usedAxes reports axes that change nothing.
func (b *build) usedAxes() {
	if len(b.suite.Axes) == 0 || len(b.suite.Cases) == 0 || b.failed() {
		return
	}
	used := map[string]bool{}
	for _, c := range b.suite.Cases {
		for _, name := range uses(c, b.suite) {
			used[name] = true
		}
	}
	for _, axis := range b.suite.Axes {
		if used[axis.Name] {
			continue
		}
		hint := "refer to {{axis." + axis.Name + "}} or to one of its vars, or set headers (URL) or env (command) of a server that a case talks to, or agent settings"
		switch axis.Name {
		case eval.AxisModel:
			hint = "only agent cases that name no model use it"
		case eval.AxisLoading:
			hint = "only agent cases use it"
		case eval.AxisServer:
			hint = "only cases that name no server use it"
		}
		b.report(b.file.Node().Place("axes", axis.Name), "no case uses axis "+strictyaml.Quote(axis.Name), hint)
	}
}

// later notes what this build knows and cannot carry out.
func (b *build) later(pos strictyaml.Pos, message string) {
	b.unsupported.report(pos, message, "")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
