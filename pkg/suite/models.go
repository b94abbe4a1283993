package suite

import "github.com/evalfarm/evalfarm/pkg/eval"

// models of the suite.
func (b *build) models() {
	for name, m := range b.file.Models {
		at := m.Node()
		if m.Provider == "" {
			b.report(at.Pos, `missing key "provider"`, "who serves the model: anthropic, openai, scripted, …")
		}
		out := eval.Model{Provider: eval.Provider(m.Provider), Model: m.Model, Sampling: eval.Sampling{Temperature: m.Temperature}, Script: m.Script}
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
