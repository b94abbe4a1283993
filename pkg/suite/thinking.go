package suite

import (
	"cmp"
	"fmt"

	"github.com/evalfarm/evalfarm/pkg/eval"
	"github.com/evalfarm/evalfarm/pkg/llm"
	"github.com/evalfarm/evalfarm/pkg/strictyaml"
)

// A sampled is what one place of a suite says of how a model is asked.
type sampled struct {
	at  *strictyaml.Node
	set eval.Sampling
}

// budgets reports agents that may think with as many tokens as their whole answer
// may have: Anthropic's API refuses to be asked so.
func (b *build) budgets() {
	if b.failed() || !b.thinks() {
		return
	}
	matrix, err := Expand(b.suite, Selection{})
	if err != nil {
		return // who runs the suite is told
	}
	seen := map[place]bool{}
	for _, cell := range matrix.Cells {
		all := b.samplings(cell.Case, matrix.Variants[cell.Variant])
		pos, message := overspent(all)
		if message != "" && !seen[placeOf(pos)] {
			seen[placeOf(pos)] = true
			b.report(pos, message+fmt.Sprintf(" in case %q", b.suite.Cases[cell.Case].ID), thinkingHint)
		}
	}
}

// thinks says whether a model of Anthropic's and a number of tokens to think with
// are in the suite at all.
func (b *build) thinks() bool {
	anthropic, thinking := false, false
	look := func(s eval.Sampling) { thinking = thinking || s.Thinking != nil && s.Thinking.BudgetTokens > 0 }
	for _, m := range b.suite.Models {
		anthropic = anthropic || m.Provider == eval.ProviderAnthropic
		look(m.Sampling)
	}
	for _, c := range b.suite.Cases {
		look(c.Agent.Sampling)
	}
	for _, axis := range b.suite.Axes {
		for _, p := range axis.Points {
			look(p.Agent.Sampling)
		}
	}
	return anthropic && thinking
}

// samplings are those of the agent of a case in a variant, the narrower after the
// wider; none if its model is not Anthropic's.
func (b *build) samplings(index int, v eval.Variant) []sampled {
	model, ok := b.file.Models[cmp.Or(b.suite.Cases[index].Model, v.Axes[eval.AxisModel])]
	if b.suite.Cases[index].Kind != eval.KindAgent || !ok || eval.Provider(model.Provider) != eval.ProviderAnthropic {
		return nil
	}
	all := []sampled{{model.Node(), model.sampling()}}
	agents := []*agentFile{b.file.Agent, b.written[index].Agent}
	for _, axis := range b.suite.Axes {
		if value, used := v.Axes[axis.Name]; used {
			agents = append(agents, b.file.Axes[axis.Name].Points[value].Agent)
		}
	}
	for _, a := range agents {
		if a != nil {
			all = append(all, sampled{a.Node(), a.sampling()})
		}
	}
	return all
}

const thinkingHint = "max_output_tokens counts thinking too, so it has to be more"

// overspent says where more tokens may be thought than put out, and how many;
// empty is nowhere.
func overspent(all []sampled) (pos strictyaml.Pos, message string) {
	var sum eval.Sampling
	for _, s := range all {
		sum = sum.Over(s.set)
		if s.set.Thinking != nil {
			pos = s.at.Place("thinking", "budget_tokens")
		}
	}
	most := llm.Request{Sampling: sum}.MaxOutput()
	if sum.Thinking == nil || sum.Thinking.BudgetTokens < most {
		return pos, ""
	}
	return pos, fmt.Sprintf("budget_tokens is %d and max_output_tokens %d", sum.Thinking.BudgetTokens, most)
}
