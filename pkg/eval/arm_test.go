package eval

import (
	"testing"
)

// TestConditions is which condition notices which change of a suite, and that the
// others do not.
func TestConditions(t *testing.T) {
	snapshot := func(change func(*Snapshot, *Case)) map[string]string {
		c := Case{
			ID: "a", Kind: KindAgent, Title: "t", Server: "desk", Model: "m", Prompt: "Where is it?", User: &User{Model: "u", Goal: "to know"},
			Checks: []Check{{ID: "1", Judge: &JudgeCheck{Model: "j", Rubric: "polite"}}}, Agent: Agent{System: "be brief"},
		}
		s := Snapshot{
			Servers: map[string]Server{"desk": {Revision: "1"}, "other": {}}, Prices: "1",
			Models: map[string]Model{"m": {Provider: ProviderOpenAI, Model: "x"}, "n": {Provider: ProviderOpenAI, Model: "y"}, "u": {}, "j": {}},
			Axes:   []Axis{{Name: "tone", Points: []Point{{Value: "warm"}, {Value: "cold"}}}},
		}
		change(&s, &c)
		s.Cases = []CaseRef{c.Ref("sha")}
		return s.conditions(s.Cases[0], NewVariant(map[string]string{"tone": "warm"}))
	}
	plain := snapshot(func(*Snapshot, *Case) {})
	for _, tc := range []struct {
		name   string
		change func(*Snapshot, *Case)
		want   string // the condition that differs; empty for none
	}{
		{"a title", func(_ *Snapshot, c *Case) { c.Title = "other" }, ""},
		{"a prompt", func(_ *Snapshot, c *Case) { c.Prompt = "Where?" }, ConditionCase},
		{"a limit", func(_ *Snapshot, c *Case) { c.Limits.Turns = 3 }, ConditionCase},
		{"the user's goal", func(_ *Snapshot, c *Case) { c.User.Goal = "to win" }, ConditionCase},
		{"a threshold", func(_ *Snapshot, c *Case) { c.Threshold = new(0.5) }, ConditionChecks},
		{"another model", func(_ *Snapshot, c *Case) { c.Model = "n" }, ConditionModel},
		{"the same model under another name", func(s *Snapshot, c *Case) { s.Models["k"] = s.Models["m"]; c.Model = "k" }, ""},
		{"the temperature of the model", func(s *Snapshot, _ *Case) {
			m := s.Models["m"]
			m.Temperature = new(0.5)
			s.Models["m"] = m
		}, ConditionSampling},
		{"the temperature of the agent", func(_ *Snapshot, c *Case) { c.Agent.Temperature = new(0.5) }, ConditionSampling},
		{"the system prompt", func(_ *Snapshot, c *Case) { c.Agent.System = "be kind" }, ConditionSetup},
		{"a variable of the axis", func(s *Snapshot, _ *Case) { s.Axes[0].Points[0].Vars = map[string]JSON{"x": JSON("1")} }, ConditionSetup},
		{"another value of the axis", func(s *Snapshot, _ *Case) { s.Axes[0].Points[1].Vars = map[string]JSON{"x": JSON("1")} }, ""},
		{"a revision", func(s *Snapshot, _ *Case) { s.Servers["desk"] = Server{Revision: "2"} }, ConditionRevision},
		{"the judge", func(s *Snapshot, _ *Case) { s.Models["j"] = Model{Model: "stern"} }, ConditionJudge},
		{"prices", func(s *Snapshot, _ *Case) { s.Prices = "2" }, ConditionPrices},
		{"a fixture", func(s *Snapshot, _ *Case) { s.Conditions = map[string]string{"fixture": "1"} }, "fixture"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := snapshot(tc.change)
			for _, name := range append(FarmConditions(), "fixture") {
				if differs := got[name] != plain[name]; differs != (name == tc.want) {
					t.Errorf("condition %s was %q and is %q", name, plain[name], got[name])
				}
			}
		})
	}
}
