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
	// ids holds the ids of cases in lower case.
	ids map[string]strictyaml.Pos
	// homeless is true when a case without a server was reported.
	homeless bool
}

func (b *build) run() {
	s := b.suite
	s.Name = b.file.Name
	if s.Name == "" {
		s.Name = defaultName(b.loaded.Path)
	}
	s.Description = b.file.Description
	b.servers()
	b.models()
	b.axes()
	b.cases()
	b.exclude()
	b.rules()
	b.usedAxes()
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
		hint := "refer to {{axis." + axis.Name + "}} or to one of its vars, or set headers (URL) or env (command) of a server that a case talks to"
		switch axis.Name {
		case eval.AxisModel, eval.AxisLoading:
			hint = "only agent cases use it"
		case eval.AxisServer:
			hint = "only cases that name no server use it"
		}
		b.report(b.file.Node().Place("axes", axis.Name), "no case uses axis "+strictyaml.Quote(axis.Name), hint)
	}
}

// rules of the run as a whole.
func (b *build) rules() {
	s, f := b.suite, b.file
	at := f.Node()
	if r := f.Repeats; r != nil {
		s.Repeats.N = int(r.N)
		if r.Range != nil {
			s.Repeats = eval.Repeats{Min: int(r.Range.Min), Max: int(r.Range.Max), Fit: string(r.Range.Fit), Stop: string(r.Range.Stop)}
			if s.Repeats.Min > s.Repeats.Max && s.Repeats.Max > 0 {
				b.report(r.Node().Place("min"), "min is more than max", "")
			}
			b.later(at.Place("repeats"), "repeats between min and max cannot be chosen yet")
		}
		if len(s.Cases) > 0 && !slices.ContainsFunc(s.Cases, func(c eval.Case) bool { return c.Kind == eval.KindAgent }) {
			b.warn(at.Place("repeats"), "the suite has no agent case to repeat", "script and catalog cases run once, unless a case has repeats itself or -n is given")
		}
	}
	if budget := f.Budget; budget != nil {
		s.Budget = eval.Budget{MicroUSD: int64(budget.USD), Time: budget.Time.std()}
		b.later(at.Place("budget"), "budgets cannot be kept yet")
	}
	if v := f.Validity; v != nil {
		s.Validity.MaxErrorRate = (*float64)(v.MaxErrorRate)
		b.later(at.Place("validity"), "validity is about agent cases, which cannot be run yet")
	}
	if f.Gate != nil {
		b.gate(f.Gate)
	}
}

func (b *build) gate(g *gateFile) {
	at := g.Node()
	out := &b.suite.Gate
	if p := g.PassRate; p != nil {
		out.PassRate = map[eval.Kind]eval.Rule{}
		for kind, r := range map[eval.Kind]rule{eval.KindScript: p.Script, eval.KindCatalog: p.Catalog, eval.KindAgent: p.Agent} {
			if r.Op != "" {
				out.PassRate[kind] = eval.Rule(r)
			}
		}
		if p.Agent.Op != "" {
			b.later(at.Place("pass_rate", "agent"), "pass rates of agent cases cannot be decided yet")
		}
	}
	if r := g.Regressions; r != nil {
		out.Regressions = &eval.RegressionRule{Baseline: r.Baseline}
		if r.Margin != nil {
			out.Regressions.Margin = float64(*r.Margin)
		}
		if r.Alpha != nil {
			out.Regressions.Alpha = float64(*r.Alpha)
		}
		if r.Baseline == "" {
			b.report(at.Place("regressions"), `missing key "baseline"`, "main, last-green, a run, or file:// and a path")
		}
		b.later(at.Place("regressions"), "baselines cannot be compared with yet")
	}
	if g.LatencyP95 != "" {
		out.LatencyP95 = g.LatencyP95
		b.later(at.Place("latency_p95"), "gates on latency cannot be decided yet")
	}
}

// later notes what this build knows and cannot carry out.
func (b *build) later(pos strictyaml.Pos, message string) {
	b.unsupported.report(pos, message, "")
}

// models of the suite.
func (b *build) models() {
	for name, m := range b.file.Models {
		at := m.Node()
		if m.Provider == "" {
			b.report(at.Pos, `missing key "provider"`, "who serves the model: anthropic, openai, scripted, …")
		}
		out := eval.Model{Provider: m.Provider, Model: m.Model, Temperature: m.Temperature, Script: m.Script}
		if m.Rate != nil {
			out.Rate = &eval.Rate{RequestsPerMinute: int(m.Rate.RequestsPerMinute)}
		}
		if m.Script != "" {
			b.mustExist(at.Get("script"), m.Script)
		}
		if b.suite.Models == nil {
			b.suite.Models = map[string]eval.Model{}
		}
		b.suite.Models[name] = out
	}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
